"""NeighborApply and Pull against plain torch, gradients against differences, on odd and on random blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg

torch = pytest.importorskip("torch", reason="torch is not installed")

from tgraph.nn import Block, EdgeProduct, Rows, apply, neighbor_apply, plain, pull  # noqa: E402
from tgraph.nn.sums import _added_by_index, weighted_sum  # noqa: E402

# Sums of at most some hundred terms of size 1: float32 has 24 bits, and the two sides add in another order.
TOLERANCES = {
    torch.float64: {"rtol": 1e-12, "atol": 1e-12},
    torch.float32: {"rtol": 1e-5, "atol": 1e-4},
    # Against the same computed from the same numbers in float64: one rounding to 8 bits at the end, and in gradients
    # one of each intermediate tensor.
    torch.bfloat16: {"rtol": 4e-2, "atol": 4e-2},
}
WEIGHTS = ("none", "edge", "head", "product")
GRAPHS = {  # sources, targets, number of sources, number of targets
    "no vertices": ([], [], 0, 0),
    "no edges": ([], [], 3, 2),
    "one vertex": ([], [], 1, 1),
    "self-loop": ([0], [0], 1, 1),
    "duplicates": ([1, 1, 0, 1], [0, 0, 0, 1], 2, 2),
    "isolated target": ([0, 2, 4, 3], [0, 0, 2, 2], 5, 3),
    "hub": ([*range(40), 1, 2], [3] * 40 + [0, 5], 40, 6),
}


def block_of(sources: Any, targets: Any, num_sources: int, num_targets: int) -> Block:
    """Return the block of edges given in any order."""
    targets, sources = np.asarray(targets, np.int64), np.asarray(sources, np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=num_targets))])
    order = np.argsort(targets, kind="stable")
    return Block(torch.from_numpy(offsets.astype(np.int64)), torch.from_numpy(sources[order]), num_sources)


def random_block(num_sources: int = 300, num_targets: int = 60, num_edges: int = 3000, seed: int = 0) -> Block:
    generator = np.random.default_rng(seed)
    targets = np.minimum(generator.geometric(0.05, num_edges) - 1, num_targets - 1)
    return block_of(generator.integers(0, num_sources, num_edges), targets, num_sources, num_targets)


def numbers(*shape: int, dtype: Any = torch.float64, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


@pytest.fixture(params=GRAPHS)
def odd_block(request: pytest.FixtureRequest) -> Block:
    return block_of(*GRAPHS[request.param])


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets how many threads kernels use, also for little work."""
    before = tg.config.num_threads
    yield lambda count: setattr(tg.config, "num_threads", count)
    tg.config.num_threads = before


def inputs(block: Block, kind: str, heads: bool, dtype: Any = torch.float64) -> list[Any]:
    """Return embeddings and what weights of this kind are made from."""
    tail = (2, 3) if heads else (3,)
    x = numbers(block.num_sources, *tail, dtype=dtype)
    if kind == "none":
        return [x]
    if kind == "product":
        p = numbers(block.num_sources, *tail, dtype=dtype, seed=1)
        return [x, p, numbers(block.num_targets, *tail, dtype=dtype, seed=2)]
    return [x, numbers(block.num_edges, *((2,) if kind == "head" else ()), dtype=dtype, seed=3)]


def weights_of(block: Block, kind: str, given: list[Any]) -> Any:
    if kind == "none":
        return None
    return EdgeProduct(*given) if kind == "product" else given[0]


def pulled(block: Block, kind: str, h: str, f: str) -> Callable[..., Any]:
    return lambda x, *rest: pull(block, x, weights_of(block, kind, list(rest)), h, f)


def plainly_pulled(block: Block, kind: str, h: str, f: str) -> Callable[..., Any]:
    def run(x: Any, *rest: Any) -> Any:
        weights = plain.score(block, *rest, "product") if kind == "product" else (rest[0] if rest else None)
        return plain.pull(block, x, weights, h, f)

    return run


def with_gradients(function: Callable[..., Any], given: list[Any]) -> list[Any]:
    """Return the answer and the gradients of all inputs of a weighted sum of it."""
    leaves = [one.detach().clone().requires_grad_() for one in given]
    answer = function(*leaves)
    (answer * numbers(*answer.shape, dtype=answer.dtype, seed=9)).sum().backward()
    return [answer.detach(), *(leaf.grad for leaf in leaves)]


def assert_alike(found: list[Any], expected: list[Any], dtype: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype
        assert one.isfinite().all()
        torch.testing.assert_close(one.double(), other.double(), **TOLERANCES[dtype])


def cases() -> list[Any]:
    found = []
    for kind in WEIGHTS:
        for f in ("sum", "mean", "max", "softmax"):
            for h in ("multiply", "add") if kind != "none" else ("multiply",):
                if not (f == "softmax" and kind in ("none", "product")):
                    found.append(pytest.param(kind, h, f, id=f"{kind}-{h}-{f}"))
    return found


def scores(g: str, has_attention: bool) -> Callable[..., Any]:
    """Return neighbor_apply and its plain twin as functions of a block and tensors."""
    return lambda block, *given: neighbor_apply(block, given[0], given[1], g, *given[2:])


SCORES = [("dot", False), ("cosine", False), ("additive", False), ("additive", True)]


def score_inputs(block: Block, has_attention: bool, heads: bool, dtype: Any = torch.float64) -> list[Any]:
    tail = (2, 5) if heads else (5,)
    ends = [numbers(count, *tail, dtype=dtype, seed=count) for count in (block.num_sources, block.num_targets)]
    return [*ends, numbers(*tail, dtype=dtype)] if has_attention else ends


@pytest.mark.parametrize(("kind", "h", "f"), cases())
def test_pull_passes_gradcheck(kind: str, h: str, f: str) -> None:
    block = random_block(7, 4, 15)
    given = [one.requires_grad_() for one in inputs(block, kind, kind == "head")]
    assert torch.autograd.gradcheck(pulled(block, kind, h, f), given)


@pytest.mark.parametrize("heads", [False, True])
@pytest.mark.parametrize(("g", "has_attention"), SCORES)
def test_neighbor_apply_passes_gradcheck(g: str, has_attention: bool, heads: bool) -> None:
    block = random_block(7, 4, 15)
    given = [one.requires_grad_() for one in score_inputs(block, has_attention, heads)]
    assert torch.autograd.gradcheck(lambda *tensors: scores(g, has_attention)(block, *tensors), given)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("kind", "h", "f"), cases())
def test_pull_equals_plain_torch(kind: str, h: str, f: str, dtype: Any) -> None:
    block = random_block(30, 12, 120)
    for heads in {True, kind == "head"}:
        given = inputs(block, kind, heads, dtype)
        expected = with_gradients(plainly_pulled(block, kind, h, f), [one.double() for one in given])
        if dtype == torch.bfloat16 and f == "max":  # a message that is rounded may win: only the value is compared
            assert_alike([pulled(block, kind, h, f)(*given)], expected[:1], dtype)
        else:
            assert_alike(with_gradients(pulled(block, kind, h, f), given), expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("heads", [False, True])
@pytest.mark.parametrize(("g", "has_attention"), SCORES)
def test_neighbor_apply_equals_plain_torch(g: str, has_attention: bool, heads: bool, dtype: Any) -> None:
    block = random_block(30, 12, 60)
    given = score_inputs(block, has_attention, heads, dtype)
    found = with_gradients(lambda *tensors: scores(g, has_attention)(block, *tensors), given)
    wide = [one.double() for one in given]
    expected = with_gradients(lambda x, y, *more: plain.score(block, x, y, g, *more), wide)
    assert_alike(found, expected, dtype)


@pytest.mark.parametrize(("kind", "h", "f"), cases())
def test_pull_on_odd_blocks(odd_block: Block, kind: str, h: str, f: str) -> None:
    for heads in {True, kind == "head"}:
        given = inputs(odd_block, kind, heads)
        expected = with_gradients(plainly_pulled(odd_block, kind, h, f), given)
        found = with_gradients(pulled(odd_block, kind, h, f), given)
        assert_alike(found, expected, torch.float64)
        is_isolated = odd_block.offsets.diff() == 0
        assert not found[0][is_isolated].any()


@pytest.mark.parametrize(("g", "has_attention"), SCORES)
def test_neighbor_apply_on_odd_blocks(odd_block: Block, g: str, has_attention: bool) -> None:
    given = score_inputs(odd_block, has_attention, True)
    found = with_gradients(lambda *tensors: scores(g, has_attention)(odd_block, *tensors), given)
    expected = with_gradients(lambda x, y, *more: plain.score(odd_block, x, y, g, *more), given)
    assert_alike(found, expected, torch.float64)


@st.composite
def blocks(draw: Any) -> Block:
    num_targets, extra = draw(st.integers(1, 6)), draw(st.integers(0, 5))
    num_sources = num_targets + extra
    edges = st.tuples(st.integers(0, num_sources - 1), st.integers(0, num_targets - 1))
    pairs = draw(st.lists(edges, max_size=25))
    return block_of([s for s, _ in pairs], [t for _, t in pairs], num_sources, num_targets)


@settings(max_examples=40, deadline=None)
@given(blocks(), st.sampled_from([case.values for case in cases()]), st.booleans())
def test_pull_on_any_block(block: Block, case: tuple[str, str, str], heads: bool) -> None:
    given_tensors = inputs(block, case[0], heads or case[0] == "head")
    expected = with_gradients(plainly_pulled(block, *case), given_tensors)
    assert_alike(with_gradients(pulled(block, *case), given_tensors), expected, torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("kind", "h", "f"), cases())
def test_pull_gives_the_same_bits_on_any_number_of_threads(
    kind: str, h: str, f: str, dtype: Any, threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tgraph.kernels.cpu.team.MIN_WORK_PER_THREAD", 1)
    block = random_block()
    given = inputs(block, kind, kind == "head", dtype)
    answers = []
    for count in (1, 2, 4):
        threads(count)
        answers.append(with_gradients(pulled(block, kind, h, f), given))
    for other in answers[1:]:
        assert all(torch.equal(a, b) for a, b in zip(answers[0], other, strict=True))


@pytest.mark.parametrize(("g", "has_attention"), SCORES)
def test_neighbor_apply_gives_the_same_bits_on_any_number_of_threads(
    g: str, has_attention: bool, threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tgraph.kernels.cpu.team.MIN_WORK_PER_THREAD", 1)
    block = random_block()
    given = score_inputs(block, has_attention, True, torch.float32)
    answers = []
    for count in (1, 2, 4):
        threads(count)
        answers.append(with_gradients(lambda *tensors: scores(g, has_attention)(block, *tensors), given))
    for other in answers[1:]:
        assert all(torch.equal(a, b) for a, b in zip(answers[0], other, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("kind", "h", "f"), cases())
def test_rows_equal_gathered_tensors(kind: str, h: str, f: str, dtype: Any) -> None:
    """Also in the gradient of the table, in which a row may occur twice. Ids are of both widths."""
    block = random_block(30, 12, 120)
    heads = (2, 3) if kind == "head" else (3,)
    table = numbers(50, *heads, dtype=dtype, seed=5)
    rest = inputs(block, kind, kind == "head", dtype)[1:]
    ids = torch.from_numpy(np.random.default_rng(1).integers(0, 50, 30).astype(np.int32 if f == "sum" else np.int64))

    def through(read: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda table, *more: pull(block, read(table), weights_of(block, kind, list(more)), h, f)

    found = with_gradients(through(lambda table: Rows(table, ids)), [table, *rest])
    expected = with_gradients(through(lambda table: table[ids]), [table, *rest])
    assert_alike(found, [one.double() for one in expected], dtype)


@pytest.mark.parametrize("h", ["multiply", "add"])
@pytest.mark.parametrize("f", ["sum", "mean", "max"])
def test_products_of_rows_of_one_table(h: str, f: str) -> None:
    """NGCF's first layer: embeddings, factors and targets are rows of one table."""
    block, table = random_block(30, 12, 120), numbers(50, 3)
    ids = torch.from_numpy(np.random.default_rng(1).integers(0, 50, 30))

    def lazy(table: Any) -> Any:
        rows = Rows(table, ids)
        return pull(block, rows, neighbor_apply(block, rows, rows[:12], "product"), h, f)

    def copied(table: Any) -> Any:
        x = table[ids]
        return plain.pull(block, x, plain.score(block, x, x[:12], "product"), h, f)

    assert_alike(with_gradients(lazy, [table]), with_gradients(copied, [table]), torch.float64)
    torch.testing.assert_close(lazy(table), copied(table))  # without a gradient the targets are read in place too


@pytest.mark.parametrize(("g", "has_attention"), SCORES)
def test_scores_of_rows(g: str, has_attention: bool) -> None:
    block, table = random_block(30, 12, 120), numbers(50, 2, 5)
    ids = torch.from_numpy(np.random.default_rng(1).integers(0, 50, 30))
    attention = score_inputs(block, has_attention, True)[2:]
    found = with_gradients(
        lambda table, *more: neighbor_apply(block, Rows(table, ids), Rows(table, ids)[:12], g, *more),
        [table, *attention],
    )
    expected = with_gradients(
        lambda table, *more: plain.score(block, table[ids], table[ids[:12]], g, *more), [table, *attention]
    )
    assert_alike(found, expected, torch.float64)


def test_a_memory_map_is_read_in_place(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    values.tofile(tmp_path / "table")
    mapped = np.memmap(tmp_path / "table", np.float32, "r", shape=(50, 3))
    block, ids = random_block(30, 12, 120), np.arange(10, 40)
    rows = Rows(mapped, ids)
    assert rows.table.data_ptr() == mapped.ctypes.data
    torch.testing.assert_close(pull(block, rows), pull(block, torch.from_numpy(values[ids])))


def test_what_needs_no_gradient_gets_none() -> None:
    """The first layer's features need none: then the reverse of the block is not even made."""
    block = random_block(30, 12, 120)
    weights = numbers(120).requires_grad_()
    pull(block, numbers(30, 3), weights, f="mean").sum().backward()
    assert weights.grad is not None
    assert "reverse" not in block.__dict__


def test_ties_go_to_the_first_edge() -> None:
    block = block_of([2, 0, 1], [0, 0, 0], 3, 1)
    x = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    pull(block, x, f="max").sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0], [1, 1]]


def test_nan_wins_a_maximum() -> None:
    block = block_of([0, 1, 2], [0, 0, 0], 3, 1)
    x = torch.tensor([[1.0], [torch.nan], [2.0]])
    assert pull(block, x, f="max").isnan().all()


def test_softmax_of_extreme_scores() -> None:
    """Neither overflow nor a row in which every score is -inf gives NaN, forward or backward."""
    block = block_of([0, 1, 2, 0, 1], [0, 0, 1, 1, 2], 3, 3)
    for dtype in (torch.float32, torch.float64):
        scores = torch.tensor([1e4, 1e4, -torch.inf, 3.0, -torch.inf], dtype=dtype, requires_grad=True)
        x = torch.arange(3.0, dtype=dtype).unsqueeze(1).requires_grad_()
        answer = pull(block, x, scores, f="softmax")
        assert answer.tolist() == [[0.5], [0.0], [0.0]]
        answer.sum().backward()
        assert scores.grad.isfinite().all()
        assert x.grad.isfinite().all()


def test_cosine_of_zero_is_zero() -> None:
    block = block_of([0, 1], [0, 0], 2, 1)
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    scores = neighbor_apply(block, x, torch.tensor([[4.0, 3.0]]), "cosine")
    torch.testing.assert_close(scores, torch.tensor([0.0, 0.96]))
    scores.sum().backward()
    assert x.grad[0].tolist() == [0, 0]


def test_functions_of_the_user() -> None:
    block = random_block(7, 4, 15)
    given = [numbers(7, 3).requires_grad_(), numbers(4, 3).requires_grad_()]
    assert torch.autograd.gradcheck(lambda x, y: neighbor_apply(block, x, y, lambda a, b: (a - b).tanh()), given)


def test_apply_runs_modules_in_turn() -> None:
    linear = torch.nn.Linear(3, 2, dtype=torch.float64)
    rows = Rows(numbers(5, 3), [4, 0])
    torch.testing.assert_close(apply(rows, linear, torch.relu), torch.relu(linear(rows.gather())))


def test_strided_tensors() -> None:
    block = random_block(30, 12, 120)
    x = numbers(3, 30).T
    torch.testing.assert_close(pull(block, x), pull(block, x.contiguous()))
    y = numbers(3, 12).T
    torch.testing.assert_close(
        neighbor_apply(block, x, y, "dot"), neighbor_apply(block, x.contiguous(), y.contiguous(), "dot")
    )


@pytest.mark.parametrize("f", ["sum", "mean"])
@pytest.mark.parametrize("needs", ["both", "sources", "targets"])
def test_gradients_of_messages_that_share_their_source(odd_block: Block, f: str, needs: str) -> None:
    """x_j + x_i * x_j is summed as (1 + x_i) * the sum of x_j; each end may want a gradient without the other."""
    x = numbers(odd_block.num_sources, 3).requires_grad_(needs != "targets")
    y = numbers(odd_block.num_targets, 3, seed=1).requires_grad_(needs != "sources")
    assert torch.autograd.gradcheck(lambda x, y: pull(odd_block, x, EdgeProduct(x, y), "add", f), (x, y))
    literal = plain.pull(odd_block, x, plain.score(odd_block, x, y, "product"), "add", f)
    torch.testing.assert_close(pull(odd_block, x, EdgeProduct(x, y), "add", f), literal)


def test_weights_of_the_block_are_reversed_once_and_learnt_ones_every_time() -> None:
    block, x = random_block(), numbers(300, 4).requires_grad_()
    weights = numbers(block.num_edges)
    block = replace(block, weights=weights)

    def gradient() -> torch.Tensor:
        (found,) = torch.autograd.grad(pull(block, x, block.weights).square().sum(), x)
        return found

    expected = torch.autograd.grad(plain.pull(block, x, weights, "multiply", "sum").square().sum(), x)[0]
    torch.testing.assert_close(gradient(), expected)
    torch.testing.assert_close(gradient(), expected)
    assert block.weights is not None
    block.weights.requires_grad_()
    with torch.no_grad():
        weights.mul_(2)
    torch.testing.assert_close(gradient(), 4 * expected)


@pytest.mark.parametrize("case", [("none", "multiply", "max"), ("product", "add", "sum"), ("product", "add", "max")])
def test_tables_that_do_not_fit_into_the_cache(case: tuple[str, str, str]) -> None:
    """Rows are then asked for before they are read."""
    block = random_block(30_000, 50, 1000)
    given = [numbers(count, 100, dtype=torch.float32) for count in (30_000, 30_000, 50)]
    given = given[: 3 if case[0] == "product" else 1]
    assert_alike(
        [pulled(block, *case)(*given)], [plainly_pulled(block, *case)(*[one.double() for one in given])], torch.float32
    )


@pytest.mark.parametrize(("g", "has_attention"), SCORES)
def test_scores_of_tables_that_do_not_fit_into_the_cache(g: str, has_attention: bool) -> None:
    block = random_block(30_000, 50, 1000)
    x, y, attention = (numbers(*shape, dtype=torch.float32) for shape in ((30_000, 100), (50, 100), (100,)))
    more = [attention] if has_attention else []
    expected = plain.score(block, x.double(), y.double(), g, *[one.double() for one in more])
    assert_alike([neighbor_apply(block, x, y, g, *more)], [expected], torch.float32)


@pytest.mark.parametrize("heads", [1, 2])
def test_sums_on_other_devices_are_the_same(heads: int) -> None:
    block, x = random_block(30, 12, 120), numbers(30, heads, 3)
    for weights in (None, numbers(120, heads)):
        expected = weighted_sum(block.offsets, block.sources, weights, x)
        torch.testing.assert_close(_added_by_index(block.offsets, block.sources, weights, x), expected)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda block, x: pull(block, x[:3]), "3 source embeddings; the block has 30 sources"),
        (lambda block, x: pull(block, x.long()), "give floats"),
        (lambda block, x: pull(block, x, f="median"), "f='median' is not known"),
        (lambda block, x: pull(block, x, h="divide"), "h='divide' is not known"),
        (lambda block, x: pull(block, x, f="softmax"), "there are none"),
        (lambda block, x: pull(block, x, numbers(119)), "edge_weights are"),
        (lambda block, x: pull(block, x, EdgeProduct(x, x[:12]), f="softmax"), "not a product"),
        (lambda block, x: pull(block, x, EdgeProduct(x[:, :1], x[:12, :1])), "they must agree"),
        (lambda block, x: neighbor_apply(block, x, x, "dot"), "30 target embeddings; the block has 12 targets"),
        (lambda block, x: neighbor_apply(block, x, x[:12, :1], "dot"), "must agree in features"),
        (lambda block, x: neighbor_apply(block, x, x[:12], "dot", x[0]), "belongs to g='additive'"),
        (lambda block, x: neighbor_apply(block, x, x[:12], "angle"), "g='angle' is not known"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(tg.errors.InvalidArgumentError) as caught:
        call(random_block(30, 12, 120), numbers(30, 3))
    assert words in str(caught.value)


def test_ids_outside_the_table_are_named() -> None:
    with pytest.raises(tg.errors.OutOfRangeError, match="ids reach from 0 to 5; the table has 5 rows"):
        Rows(numbers(5, 3), [0, 5])
