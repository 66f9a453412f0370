"""Betweenness against NetworkX, against its own check, and against itself on other threads, runtimes and paths."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import RUNTIMES, SmallGraph, small_graphs
from tgraph.algorithms.betweenness import betweenness
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu import betweenness as kernel
from tgraph.kernels.cpu import team
from tgraph.verify.betweenness import check_betweenness

KERNELS = ("auto", "plain")


def simple(case: SmallGraph) -> Any:
    return (nx.DiGraph if case.directed else nx.Graph)(case.to_networkx())


@pytest.fixture
def every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(kernel, "SMALL", 1)


@settings(deadline=None, max_examples=150)
@given(small_graphs(), st.booleans(), st.sampled_from(RUNTIMES), st.sampled_from(KERNELS))
def test_scores_are_those_of_networkx(case: SmallGraph, normalized: bool, runtime: str, kernel: str) -> None:
    graph = case.build()
    result = betweenness(graph, normalized=normalized, runtime=runtime, kernel=kernel)
    expected = nx.betweenness_centrality(simple(case), normalized=normalized)
    assert result.to_numpy().tolist() == pytest.approx([expected[v] for v in range(case.num_vertices)], abs=1e-12)
    assert result.converged
    check_betweenness(graph, result.scores, normalized=normalized)


@settings(deadline=None, max_examples=60)
@given(small_graphs(), st.booleans(), st.sampled_from(KERNELS), st.data())
def test_given_sources_add_their_part(case: SmallGraph, normalized: bool, kernel: str, data: st.DataObject) -> None:
    sources = data.draw(st.lists(st.integers(0, case.num_vertices - 1), min_size=1, unique=True))
    graph, other = case.build(), simple(case)
    found = betweenness(graph, sources=sources, normalized=normalized, kernel=kernel).to_numpy()
    if case.num_vertices > 2:
        expected = nx.betweenness_centrality_subset(other, sources, list(other), normalized)
        assert found.tolist() == pytest.approx([expected[v] for v in range(case.num_vertices)], abs=1e-12)
    check_betweenness(graph, found, sources=sources, normalized=normalized)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_samples_are_scaled_as_networkx_scales_them(
    directed: bool, normalized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = np.random.default_rng(2).integers(0, 40, (2, 120))
    graph = tg.from_edges(*ends, num_vertices=40, directed=directed)
    other = (nx.DiGraph if directed else nx.Graph)()
    other.add_nodes_from(range(40))
    other.add_edges_from(ends.T.tolist())
    for samples in (1, 7, 40):
        drawn = np.random.default_rng(5).choice(40, samples, replace=False).tolist()
        monkeypatch.setattr(nx.utils.misc.random.Random, "sample", lambda *_, drawn=drawn: drawn)
        expected = nx.betweenness_centrality(other, k=samples, normalized=normalized)
        found = betweenness(graph, samples=samples, seed=5, normalized=normalized).to_numpy()
        np.testing.assert_allclose(found, [expected[v] for v in range(40)], rtol=1e-12, atol=1e-15)
        check_betweenness(graph, found, samples=samples, seed=5, normalized=normalized)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_threads_change_no_bit(every_thread: None, directed: bool, dtype: Any) -> None:
    graph = tg.generate.rmat(9, 6, seed=4, runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    out_rows, in_rows = (graph.adjacency(along).to_numpy()[:2] for along in ("out", "in"))
    out_rows, in_rows = (out_rows[0], out_rows[1].astype(dtype)), (in_rows[0], in_rows[1].astype(dtype))
    in_rows = in_rows if directed else out_rows
    found = []
    for threads in (1, 2, 5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tg.config, "num_threads", threads)
            together = kernel.path_shares(out_rows, in_rows, np.arange(60, dtype=dtype))
            alone = np.zeros(graph.num_vertices)
            for source in range(60):
                alone += kernel.path_shares(out_rows, in_rows, np.array([source], dtype))
            found += [together.tobytes(), alone.tobytes()]
    assert len(set(found)) == 1
    check_betweenness(graph, together / (1 if directed else 2), sources=range(60), normalized=False)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_wide_level_that_was_pushed_is_put_in_order(
    every_thread: None, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(tg.config, "num_threads", threads)
    monkeypatch.setattr(kernel, "SMALL", 0)
    middle, leaves = np.split(np.random.default_rng(1).permutation(3300) + 1, [300])
    ends = np.concatenate([np.zeros(300, np.int64), np.repeat(middle, 10)]), np.concatenate([middle, leaves])
    graph = tg.from_edges(*ends, num_vertices=3301, runtime="numpy")
    out_rows, in_rows = (graph.adjacency(along).to_numpy()[:2] for along in ("out", "in"))
    expected = np.zeros(3301)
    expected[middle] = 10.0
    np.testing.assert_array_equal(kernel.path_shares(out_rows, in_rows, np.array([0])), expected)


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("small", [1, 12, 40])
def test_one_thread_and_all_threads_take_turns(
    every_thread: None, monkeypatch: pytest.MonkeyPatch, threads: int, small: int
) -> None:
    rng, sizes = np.random.default_rng(2), np.tile([1, 2, 9, 3, 30, 1, 14], 6)  # levels with few and with many edges
    starts = np.concatenate([[0], np.cumsum(sizes)])
    edges = [
        rng.integers((low, middle), (middle, high), (2 * int(high - low), 2))
        for low, middle, high in zip(starts, starts[1:], starts[2:], strict=False)
    ]
    pairs = np.concatenate(edges)
    graph = tg.from_edges(pairs[:, 0], pairs[:, 1], directed=False, num_vertices=int(starts[-1]), runtime="numpy")
    rows = graph.adjacency("out").to_numpy()[:2]
    sources = np.arange(0, graph.num_vertices, 12, dtype=rows[1].dtype)
    monkeypatch.setattr(kernel, "SMALL", small)
    monkeypatch.setattr(kernel, "_plan", lambda *_: (1, threads))
    together = kernel.path_shares(rows, rows, sources)
    monkeypatch.setattr(kernel, "_plan", lambda *_: (1, 1))
    assert together.tobytes() == kernel.path_shares(rows, rows, sources).tobytes()
    check_betweenness(graph, together / 2, sources=sources, normalized=False)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["many rows", "few edges", "components", "one path"])
def test_large_graphs_pass_their_check(every_thread: None, threads: int, name: str) -> None:
    graph = {
        "many rows": lambda: tg.generate.rmat(12, 16, seed=1).symmetrize(),
        "few edges": lambda: tg.generate.erdos_renyi(5_000, 15_000, seed=1),
        "components": lambda: tg.generate.erdos_renyi(5_000, 4_000, seed=2).symmetrize(),
        "one path": lambda: tg.from_edges(np.arange(150), np.arange(1, 151), directed=False),
    }[name]()
    for samples in (2, 7):
        found = betweenness(graph, samples=samples, seed=1, threads=threads)
        check_betweenness(graph, found.scores, samples=samples, seed=1)


def test_more_paths_than_any_float_can_count(every_thread: None) -> None:
    rng, depth, width = np.random.default_rng(6), 500, 6  # about 2^1000 paths, and more to some than to others
    layers = np.arange(depth)[:, None, None] * width
    sources = layers + rng.integers(0, width, (depth, width, 5))
    targets = np.broadcast_to(layers + width + np.arange(width)[:, None], sources.shape)
    graph = tg.from_edges(sources.ravel(), targets.ravel(), num_vertices=(depth + 1) * width)
    for one in (graph, graph.symmetrize()):
        for how in ({"threads": 1}, {"threads": 2}, {"kernel": "plain"}):
            found = betweenness(one, sources=[0, 1502], normalized=False, **how)
            assert np.isfinite(found.to_numpy()).all()
            check_betweenness(one, found.scores, sources=[0, 1502], normalized=False)


def test_counts_that_differ_by_more_than_a_float_can_say(every_thread: None) -> None:
    diamonds = 1400  # 2^1400 paths to the end of them, and one path beside them
    starts = 3 * np.arange(diamonds)
    last = 3 * diamonds
    beside = last + 1 + np.arange(2 * diamonds)
    sources = np.concatenate([starts, starts, starts + 1, starts + 2, [0], beside[:-1], beside[-1:]])
    targets = np.concatenate([starts + 1, starts + 2, starts + 3, starts + 3, beside[:1], beside[1:], [last - 1]])
    graph = tg.from_edges(sources, targets)
    for threads in (1, 2):
        found = betweenness(graph, sources=[0], normalized=False, threads=threads)
        check_betweenness(graph, found.scores, sources=[0], normalized=False)


@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_graphs(runtime_name: str, kernel: str) -> None:
    how = {"runtime": runtime_name, "kernel": kernel}
    assert betweenness(tg.from_edges([], []), **how).to_numpy().size == 0
    assert betweenness(tg.from_edges([0], [0]), **how).scores.tolist() == [0.0]
    assert betweenness(tg.from_edges([], [], num_vertices=4), **how).scores.tolist() == [0.0] * 4
    twice = tg.from_edges([0, 0, 1, 1, 1], [1, 1, 1, 2, 2], directed=False)
    assert betweenness(twice, **how).scores.tolist() == [0.0, 1.0, 0.0]
    unsorted = tg.from_csr([0, 4, 4, 5, 6], [2, 1, 2, 0, 3, 1])
    expected = nx.betweenness_centrality(nx.DiGraph([(0, 2), (0, 1), (2, 3), (3, 1)]))
    assert betweenness(unsorted, **how).scores.tolist() == pytest.approx([expected[v] for v in range(4)])
    names = tg.from_edges(["ann", "bob"], ["bob", "cy"], [float("nan"), -1.0])
    assert betweenness(names, sources=["ann"], normalized=False, **how)["bob"] == 1.0
    star = tg.from_edges([0] * 3000, range(1, 3001), directed=False)
    assert betweenness(star, sources=[5], normalized=False, **how)[0] == 2999 / 2


def test_wrong_arguments_are_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="sources and samples=2 are both given"):
        betweenness(graph, sources=[0], samples=2)
    with pytest.raises(InvalidArgumentError, match="samples=4 must be a whole number, 1 to 3"):
        betweenness(graph, samples=4)
    with pytest.raises(InvalidArgumentError, match="samples=0"):
        betweenness(graph, samples=0)
    with pytest.raises(InvalidArgumentError, match="seed=-1"):
        betweenness(graph, samples=1, seed=-1)
    with pytest.raises(InvalidArgumentError, match="more than once"):
        betweenness(graph, sources=[0, 0])
    with pytest.raises(InvalidArgumentError, match="empty"):
        betweenness(graph, sources=[])
    with pytest.raises(InvalidArgumentError, match=r"write \['ann'\]"):
        betweenness(graph, sources="ann")
    with pytest.raises(VertexNotFoundError):
        betweenness(graph, sources=[3])
    with pytest.raises(InvalidArgumentError, match="not known"):
        betweenness(graph, wide=True)  # type: ignore[call-arg]
