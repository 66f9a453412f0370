"""Kernels and the plain path on real accelerators against the CPU. Run with `pytest -m gpu` on a machine with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tgraph as tg

torch = pytest.importorskip("torch", reason="torch is not installed")

from tgraph.bench.launch_sizes import tune_device  # noqa: E402
from tgraph.kernels.registry import kernels_on  # noqa: E402
from tgraph.nn import Block, NeighborSampler, Rows, neighbor_apply, plain, pull  # noqa: E402
from user_programs import WidestPath  # noqa: E402

pytestmark = pytest.mark.gpu


def graph_of(scale: int = 12) -> tg.Graph:
    graph = tg.generate.rmat(scale, 16, seed=3, weights=(1, 40), runtime="torch")
    graph.adjacency("in")
    return graph


def assert_close(found: Any, expected: Any, rtol: float) -> None:
    torch.testing.assert_close(found.cpu(), expected.to(found.dtype), rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
def test_algorithms(device: str, float_dtype: str, direction: str) -> None:
    graph = graph_of()
    near = graph.to("torch", device)
    expected = tg.bfs(graph, 0, kernel="plain")
    assert tg.bfs(near, 0, direction=direction).levels.tolist() == expected.levels.tolist()
    ranks = tg.pagerank(graph, tol_l1=0, max_iterations=20, kernel="plain", dtype=float_dtype).ranks
    found = tg.pagerank(near, tol_l1=0, max_iterations=20, dtype=float_dtype, direction=direction).ranks
    assert_close(found, ranks, 1e-4)
    labels = tg.wcc(graph, kernel="plain").labels
    assert tg.wcc(near).labels.tolist() == labels.tolist()


def test_programs_of_users_are_compiled_in(device: str, float_dtype: str) -> None:
    if kernels_on(device) != "gpu" or float_dtype != "float64":
        pytest.skip(f"there are no Triton kernels for {device} here")
    graph = graph_of()
    near = graph.to("torch", device)
    expected = tg.run(WidestPath(), graph, kernel="plain")
    for direction in ("push", "pull", "auto"):
        found = tg.run(WidestPath(), near, kernel="fused", direction=direction)
        assert found.trace.kernel == "fused"
        assert torch.equal(found.values.cpu(), expected.values)


def test_a_sweep_gives_the_same_bits_in_every_run(device: str, float_dtype: str) -> None:
    if kernels_on(device) != "gpu":
        pytest.skip(f"there are no Triton kernels for {device} here")
    near = graph_of().to("torch", device)
    first, second = (tg.pagerank(near, tol_l1=0, max_iterations=10, dtype=float_dtype).ranks for _ in range(2))
    assert torch.equal(first, second)


def random_block(seed: int = 0) -> Block:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 40, 500)
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]))
    return Block(offsets, torch.from_numpy(generator.integers(0, 900, int(offsets[-1])).astype(np.int32)), 900)


@pytest.mark.parametrize("f", ["sum", "mean", "max", "softmax"])
@pytest.mark.parametrize("width", [7, 130])
def test_aggregations_and_gradients(device: str, f: str, width: int) -> None:
    block = random_block()
    generator = torch.Generator().manual_seed(1)
    x, weights = torch.randn(900, width, generator=generator), torch.randn(block.num_edges, generator=generator)
    answers = []
    for where, run in (("cpu", plain.pull), (device, pull)):
        leaves = [one.to(where).requires_grad_() for one in (x, weights)]
        answer = run(block.to(where), *leaves, "multiply", f)
        answer.square().sum().backward()
        answers.append([answer.detach(), *(leaf.grad for leaf in leaves)])
    for expected, found in zip(*answers, strict=True):
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("g", ["dot", "cosine", "additive"])
def test_scores(device: str, g: str) -> None:
    block = random_block()
    x, y = torch.randn(900, 20), torch.randn(500, 20)
    found = neighbor_apply(block.to(device), x.to(device), y.to(device), g)
    torch.testing.assert_close(found.cpu(), plain.score(block, x, y, g), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("replace", [False, True])
def test_a_sample_is_that_of_the_cpu(device: str, replace: bool) -> None:
    graph = graph_of()
    expected = NeighborSampler(graph, (10, 5), replace=replace).sample(range(50), 3)
    found = NeighborSampler(graph.to("torch", device), (10, 5), replace=replace).sample(range(50), 3)
    assert torch.equal(found.vertices.cpu(), expected.vertices)
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert torch.equal(one.sources.cpu(), other.sources)


def test_pinned_memory_is_read_where_it_lies(device: str) -> None:
    if device != "cuda" or kernels_on(device) != "gpu":
        pytest.skip(f"{device} does not read pinned memory through Triton")
    table, ids = torch.randn(1000, 33).pin_memory(), torch.arange(0, 1000, 7)
    rows = Rows(table, ids.to(device))
    assert rows.is_far
    assert torch.equal(rows.gather().cpu(), table[ids])


def test_tuning_changes_no_answer(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernels_on(device) != "gpu":
        pytest.skip(f"there are no Triton kernels for {device} here")
    monkeypatch.setattr(tg.config, "cache_dir", str(tmp_path))
    expected = tg.bfs(graph_of(), 0, kernel="plain").levels.tolist()
    from tgraph.kernels.gpu import launch

    found = tune_device(device, 14, 3)
    assert all(seconds > 0 for kind in found.seconds.values() for seconds in kind.values())
    near = graph_of().to("torch", device)
    assert launch.read_sizes(launch.device_key(near.out_offsets.device)) == found.sizes
    assert tg.bfs(near, 0).levels.tolist() == expected
