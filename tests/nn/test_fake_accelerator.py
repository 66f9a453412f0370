"""Learning on a strict fake accelerator: no tensor of the host among those of the device, and the answer of the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tgraph as tg

torch = pytest.importorskip("torch", reason="torch is not installed")

from fake_accelerator import MixedDevicesError  # noqa: E402
from tgraph.kernels import registry  # noqa: E402
from tgraph.nn import Block, EdgeProduct, Loader, Rows, neighbor_apply, pull, rows  # noqa: E402

if TYPE_CHECKING:
    from fake_accelerator import Counters


@pytest.fixture(params=["plain", "operators"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The plain path, and the operators of GPUs, whose twins then run on what the device hides."""
    if request.param == "operators":
        pytest.importorskip("triton", reason="triton is not installed")
        monkeypatch.setitem(registry.KERNELS, "fake", "gpu")
    return str(request.param)


def random_block(num_sources: int = 30, num_targets: int = 12, num_edges: int = 90) -> Block:
    generator = np.random.default_rng(3)
    counts = generator.multinomial(num_edges, np.ones(num_targets) / num_targets)
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]))
    return Block(offsets, torch.from_numpy(generator.integers(0, num_sources, num_edges).astype(np.int32)), num_sources)


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def with_gradients(function: Any, given: list[Any]) -> list[Any]:
    leaves = [one.detach().clone().requires_grad_() for one in given]
    answer = function(*leaves)
    (answer * answer).sum().backward()
    return [answer.detach(), *(leaf.grad for leaf in leaves)]


CASES = {
    "sum": lambda block, x, y, w: pull(block, x, w),
    "mean": lambda block, x, y, w: pull(block, x, w, f="mean"),
    "max": lambda block, x, y, w: pull(block, x, w, "add", "max"),
    "softmax": lambda block, x, y, w: pull(block, x, w, f="softmax"),
    "product": lambda block, x, y, w: pull(block, x, EdgeProduct(x, y), "add", "mean"),
    "dot": lambda block, x, y, w: neighbor_apply(block, x, y, "dot"),
    "cosine": lambda block, x, y, w: neighbor_apply(block, x, y, "cosine"),
    "leaky": lambda block, x, y, w: neighbor_apply(block, x, y, "additive", x[0]),
}


@pytest.mark.parametrize("case", CASES)
def test_aggregations_and_gradients_stay_on_the_device(fake_accelerator: Counters, kernels: str, case: str) -> None:
    function = CASES[case]
    block = random_block()
    given = [numbers(30, 2, 4), numbers(12, 2, 4), numbers(90, 2)]

    def run(block: Block, *tensors: Any) -> Any:
        return function(block, *tensors) + 0 * sum(one.sum() for one in tensors)

    expected = with_gradients(lambda *tensors: run(block, *tensors), given)
    near = block.to("fake"), [one.to("fake") for one in given]
    fake_accelerator.reset()
    found = with_gradients(lambda *tensors: run(near[0], *tensors), near[1])
    assert (fake_accelerator.to_device_bytes, fake_accelerator.to_host_bytes) == (0, 0)
    assert fake_accelerator.syncs == 0
    for one, other in zip(found, expected, strict=True):
        assert one.device.type == "fake"
        torch.testing.assert_close(one.cpu(), other, rtol=1e-12, atol=1e-12)


def test_a_mixed_operator_is_caught(fake_accelerator: Counters, kernels: str) -> None:
    block = random_block()
    with pytest.raises((MixedDevicesError, RuntimeError)):
        pull(block, numbers(30, 4).to("fake"))  # the block is on the host


def test_models_learn_the_same(fake_accelerator: Counters, kernels: str) -> None:
    graph = tg.generate.rmat(6, 4, seed=2, runtime="torch").symmetrize()
    features = torch.randn(graph.num_vertices, 5, generator=torch.Generator().manual_seed(1))
    blocks = [Block.of_graph(graph)] * 2
    for name in ("GCN", "GraphSAGE", "GAT", "GIN"):
        torch.manual_seed(4)
        model = getattr(tg.nn.models, name)(5, 6, 3).eval()  # without dropout
        expected = model(blocks, features)
        expected.square().sum().backward()
        gradients = [one.grad.clone() for one in model.parameters()]
        parameters = {key: value.detach().to("fake").requires_grad_() for key, value in model.named_parameters()}
        near = [block.to("fake") for block in blocks], features.to("fake")
        found = torch.func.functional_call(model, parameters, near)
        found.square().sum().backward()
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-4)
        for one, other in zip(parameters.values(), gradients, strict=True):
            torch.testing.assert_close(one.grad.cpu(), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("ahead", [0, 2])
def test_batches_arrive_as_they_are_on_the_host(fake_accelerator: Counters, ahead: int) -> None:
    graph = tg.generate.rmat(7, 4, seed=2, runtime="torch")
    features, labels = np.arange(graph.num_vertices * 3.0).reshape(-1, 3), np.arange(graph.num_vertices)
    options: Any = {"features": features, "labels": labels, "ahead": ahead, "seed": 5}
    with (
        Loader(graph, None, (3, 2), 40, **options) as there,
        Loader(graph, None, (3, 2), 40, device="fake", **options) as near,
    ):
        for expected, found in zip(there, near, strict=True):
            fake_accelerator.reset()
            assert found.features.device.type == found.blocks[0].sources.device.type == "fake"
            assert torch.equal(found.features.cpu(), expected.features)
            assert torch.equal(found.labels.cpu(), expected.labels)
            moved = pull(found.blocks[0], found.features, f="mean")
            torch.testing.assert_close(moved.cpu(), pull(expected.blocks[0], expected.features, f="mean"))


def test_a_sample_is_drawn_where_the_graph_is(fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    graph = tg.generate.rmat(8, 8, seed=2, weights=(0.5, 2.0), runtime="torch")
    near = graph.to("torch", "fake")
    near.adjacency("in")
    for options in ({}, {"replace": True}, {"replace": True, "weighted": True}):
        expected = tg.nn.NeighborSampler(graph, (4, 3), **options).sample([1, 5, 5], 3)
        monkeypatch.setitem(registry.KERNELS, "fake", "gpu")
        sampler = tg.nn.NeighborSampler(near, (4, 3), **options)
        fake_accelerator.reset()
        found = sampler.sample([1, 5, 5], 3)
        assert fake_accelerator.to_host_bytes == 0
        assert fake_accelerator.to_device_bytes == 3 * 8  # the seeds
        assert fake_accelerator.syncs <= 1 + 2 * 2  # numbering the seeds; two waits per layer
        assert torch.equal(found.vertices.cpu(), expected.vertices)
        for one, other in zip(found.blocks, expected.blocks, strict=True):
            assert torch.equal(one.offsets.cpu(), other.offsets)
            assert torch.equal(one.sources.cpu(), other.sources)
            assert torch.equal(one.weights.cpu(), other.weights)


def test_rows_of_pinned_memory_are_read_where_they_lie(
    fake_accelerator: Counters, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    monkeypatch.setitem(registry.KERNELS, "fake", "gpu")
    monkeypatch.setattr(rows, "FAR_READERS", ["fake"])
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor, device=None: True)
    block = random_block()
    table, ids = numbers(100, 2, 4), torch.arange(30) * 3
    far = Rows(table, ids.to("fake"))
    fake_accelerator.reset()
    assert far.is_far
    found = pull(block.to("fake"), far)
    assert fake_accelerator.host_read_bytes == 30 * 2 * 4 * 8
    torch.testing.assert_close(found.cpu(), pull(block, Rows(table, ids)))
