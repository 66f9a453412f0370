"""Aggregating first and combining first: the same answers and gradients, and a choice by measured cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tgraph as tg

torch = pytest.importorskip("torch", reason="torch is not installed")

from tgraph.nn import Block, Placement, Rows, aggregate_and_combine, plain  # noqa: E402
from tgraph.nn.placement import Layer, Plan, Sizes, feasible_plans, fit, work  # noqa: E402

AGGREGATE, COMBINE = "aggregate_first", "combine_first"
LAYER = Layer(64, 16, True, True, False, False)


def random_block(num_sources: int = 9, num_targets: int = 4, num_edges: int = 20) -> Block:
    generator = np.random.default_rng(0)
    counts = np.bincount(generator.integers(0, num_targets - 1, num_edges), minlength=num_targets)  # the last has none
    offsets = np.concatenate([[0], np.cumsum(counts)])
    sources = generator.integers(0, num_sources, num_edges).astype(np.int32)
    return Block(torch.from_numpy(offsets), torch.from_numpy(sources), num_sources)


class Fixed(Placement):
    """Always the same plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    def choose(self, layer: Layer, sizes: Sizes) -> Plan:
        return self.plan if self.plan in feasible_plans(layer) else Plan(self.plan.forward, self.plan.forward)


PLANS = [Plan(AGGREGATE, AGGREGATE), Plan(AGGREGATE, COMBINE), Plan(COMBINE, COMBINE)]


def tensors(dtype: Any = torch.float64, num_edges: int = 20) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(9, 5), (3, 5), (3,), (num_edges,)]
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes
    ]


@pytest.mark.parametrize("f", ["sum", "mean"])
@pytest.mark.parametrize("plan", PLANS, ids="-".join)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_plan_passes_gradcheck(plan: Plan, f: str, weighted: bool) -> None:
    block, given = random_block(), tensors()[: 4 if weighted else 3]
    assert torch.autograd.gradcheck(
        lambda *tensors: aggregate_and_combine(block, *tensors, f=f, placement=Fixed(plan)), given
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("plan", PLANS, ids="-".join)
def test_plans_agree_with_plain_torch(plan: Plan, dtype: Any) -> None:
    """Only rounding differs: of 8 bits in bfloat16, whose intermediate tensors are rounded too."""
    block, given = random_block(), tensors(dtype)[:3]
    weights = tensors(dtype)[3].detach()
    found = aggregate_and_combine(block, *given, weights, "mean", Fixed(plan))
    found.sum().backward()
    wide = [one.detach().double().requires_grad_() for one in given]
    expected = torch.nn.functional.linear(plain.pull(block, wide[0], weights.double(), "multiply", "mean"), *wide[1:])
    expected.sum().backward()
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 5e-2}[dtype]
    for one, other in zip(
        [found, *(leaf.grad for leaf in given)], [expected, *(leaf.grad for leaf in wide)], strict=True
    ):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("plan", PLANS, ids="-".join)
def test_rows_of_a_table(plan: Plan) -> None:
    block, (_, weight, bias, scales) = random_block(), tensors()
    table = torch.randn(12, 5, dtype=torch.float64, requires_grad=True)
    ids = torch.from_numpy(np.random.default_rng(1).integers(0, 12, 9))
    assert torch.autograd.gradcheck(
        lambda table, *more: aggregate_and_combine(block, Rows(table, ids), *more, placement=Fixed(plan)),
        [table, weight, bias, scales],
    )


def test_the_first_layer_aggregates_nothing_backward_after_aggregating_first() -> None:
    block, (x, weight, bias, _) = random_block(), tensors()
    aggregate_and_combine(block, x.detach(), weight, bias).sum().backward()
    assert weight.grad is not None
    assert "reverse" not in block.__dict__


def test_no_edges_and_isolated_targets() -> None:
    block = Block(torch.zeros(3, dtype=torch.int64), torch.empty(0, dtype=torch.int32), 4)
    x, weight = torch.randn(4, 2, requires_grad=True), torch.randn(3, 2, requires_grad=True)
    for plan in PLANS:
        answer = aggregate_and_combine(block, x, weight, torch.ones(3), f="mean", placement=Fixed(plan))
        assert answer.tolist() == [[1.0] * 3] * 2
        answer.sum().backward()
        assert not x.grad.any()
        assert not weight.grad.any()


def seconds_of(direction: str, plan: Plan, layer: Layer, sizes: Sizes) -> float:
    """A machine whose costs are known."""
    edges, dense = work(direction, plan, layer, sizes)
    return 3e-10 * edges + 2e-11 * dense + 1e-5


def train(placement: Placement, layer: Layer, sizes: list[Sizes]) -> None:
    for batch in sizes:
        plan = placement.choose(layer, batch)
        for direction in ("forward", "backward"):
            placement.record(direction, plan, layer, batch, seconds_of(direction, plan, layer, batch))


@pytest.mark.parametrize(
    ("layer", "sizes"),
    [
        (Layer(600, 64, False, True, False, False), Sizes(36_000, 6_000, 60_000)),  # a sampled block
        (Layer(1433, 16, False, True, False, False), Sizes(2_700, 2_700, 10_500)),  # a layer on a whole graph
        (Layer(16, 64, True, True, False, False), Sizes(2_700, 2_700, 10_500)),
        (Layer(600, 64, True, True, True, False), Sizes(36_000, 6_000, 60_000)),
    ],
)
def test_the_cheapest_plan_is_found(layer: Layer, sizes: Sizes) -> None:
    """On a machine that follows the model, also for batches of a size that was not measured."""
    placement = Placement(trials=3)
    batches = [Sizes(*(int(count * scale) for count in sizes)) for scale in (1, 0.9, 1.1, 0.95, 1.05, 1, 0.9, 1.1, 1)]
    train(placement, layer, batches)
    for scale in (0.5, 1, 2):
        batch = Sizes(*(int(count * scale) for count in sizes))
        totals = {
            plan: sum(seconds_of(way, plan, layer, batch) for way in ("forward", "backward"))
            for plan in feasible_plans(layer)
        }
        chosen = placement.choose(layer, batch)
        assert totals[chosen] <= 1.001 * min(totals.values())
        assert placement.estimate("forward", chosen, layer, batch) == pytest.approx(
            seconds_of("forward", chosen, layer, batch), rel=0.05
        )


def test_every_plan_is_tried_before_one_is_chosen() -> None:
    placement = Placement(trials=2)
    train(placement, LAYER, [Sizes(100, 50, 400)] * 8)
    reasons = [entry.reason for entry in placement.trace if entry.direction == "forward"]
    assert reasons == ["trial"] * 6 + ["estimate"] * 2
    assert all(entry.estimated_seconds is None for entry in placement.trace if entry.reason == "trial")
    assert all(entry.estimated_seconds for entry in placement.trace if entry.reason == "estimate")


def test_the_trace_of_real_layers() -> None:
    """Two layers share a placement; each has its own costs, and evaluation has others than training."""
    block, (x, weight, bias, _) = random_block(), tensors()
    second = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    square = Block(block.offsets, block.sources % 4, 4)
    placement = Placement(trials=1)
    expected = None
    for _ in range(6):
        hidden = aggregate_and_combine(block, x.detach(), weight, bias, placement=placement).relu()
        answer = aggregate_and_combine(square, hidden, second, f="mean", placement=placement)
        answer.sum().backward()
        expected = answer if expected is None else expected
        torch.testing.assert_close(answer, expected)
    assert len(placement.trace) == 6 * 4
    assert {entry.order for entry in placement.trace} == {AGGREGATE, COMBINE}
    assert all(entry.measured_seconds > 0 for entry in placement.trace)
    with torch.no_grad():
        aggregate_and_combine(square, hidden.detach(), second, f="mean", placement=placement)
    assert placement.trace[-1].reason == "trial"


@pytest.mark.parametrize("order", [AGGREGATE, COMBINE])
def test_an_order_can_be_forced(order: str) -> None:
    block, (x, weight, bias, _) = random_block(), tensors()
    placement = Placement(order)
    for _ in range(3):
        aggregate_and_combine(block, x, weight, bias, placement=placement).sum().backward()
    assert {(entry.order, entry.reason) for entry in placement.trace} == {(order, "forced")}


def test_costs_are_never_negative() -> None:
    """Noise can make plain least squares say that more work takes less time."""
    coefficients = fit([(1.0, 5.0), (2.0, 4.0), (3.0, 3.0)], [3.0, 2.0, 1.0])
    assert (coefficients >= 0).all()
    assert coefficients @ [2.0, 4.0, 1.0] == pytest.approx(2.0, rel=0.3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"f": "max"}, "f='max' cannot change places"),
        ({"embeddings": torch.zeros(9, 4)}, "embeddings are [9, 4]; the block and the weight need [9, 5]"),
        ({"edge_weights": torch.zeros(19)}, "edge_weights are [19]; the block needs [20]"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], words: str) -> None:
    arguments = {"block": random_block(), "embeddings": torch.zeros(9, 5), "weight": torch.zeros(3, 5), **change}
    with pytest.raises(tg.errors.InvalidArgumentError) as caught:
        aggregate_and_combine(**arguments)
    assert words in str(caught.value)


def test_wrong_orders_are_named() -> None:
    with pytest.raises(tg.errors.InvalidArgumentError, match="order='both' is not known"):
        Placement("both")
    with pytest.raises(tg.errors.InvalidArgumentError, match="trials=0"):
        Placement(trials=0)
