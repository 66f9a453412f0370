"""The nearest of several sources against NetworkX and its own check."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import DIRECTIONS, SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.distance_matrix import distance_matrix
from tgraph.algorithms.multi_source_bfs import multi_source_bfs
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu import nearest_source, team
from tgraph.verify.multi_source_bfs import check_multi_source_bfs


def nearest(case: SmallGraph, sources: list[int]) -> tuple[list[int], list[int]]:
    other = case.to_networkx()
    lengths = {source: nx.single_source_shortest_path_length(other, source) for source in sources}
    pairs = [
        min(((lengths[source][vertex], source) for source in sources if vertex in lengths[source]), default=(-1, -1))
        for vertex in range(case.num_vertices)
    ]
    return [level for level, _ in pairs], [origin for _, origin in pairs]


@settings(deadline=None, max_examples=300)
@given(small_graphs(), ways_to_run(), st.data())
def test_levels_and_origins_are_the_nearest_of_networkx(
    case: SmallGraph, how: dict[str, Any], data: st.DataObject
) -> None:
    graph = case.build()
    sources = data.draw(st.lists(st.integers(0, case.num_vertices - 1), min_size=1, unique=True))
    result = multi_source_bfs(graph, sources, **how)
    assert (result.levels.tolist(), result.origins.tolist()) == nearest(case, sources)
    check_multi_source_bfs(graph, sources, result.levels, result.origins)
    assert result.converged
    without = multi_source_bfs(graph, sources, origins=False, **how)
    assert without.levels.tolist() == result.levels.tolist()
    assert not hasattr(without, "origins")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_large_graphs(monkeypatch: pytest.MonkeyPatch, runtime_name: str, direction: str, threads: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = tg.generate.rmat(11, 4, seed=5, runtime=runtime_name)
    sources = np.random.default_rng(1).permutation(graph.num_vertices)[:40]
    result = multi_source_bfs(graph, sources, direction=direction, threads=threads)
    check_multi_source_bfs(graph, sources, result.levels, result.origins)
    levels = np.asarray(distance_matrix(graph, sources)).astype(np.int64)
    levels[levels < 0] = 1 << 40
    smallest = levels.min(axis=0)
    assert np.array_equal(result.to_numpy(), np.where(smallest < 1 << 40, smallest, -1))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("pull_part", [0, 6, 1 << 40])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_one_thread_and_several_push_and_pull_agree(
    monkeypatch: pytest.MonkeyPatch, threads: int, pull_part: int, dtype: Any
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(tg.config, "num_threads", threads)
    monkeypatch.setattr(nearest_source, "PULL_PART", pull_part)
    for graph in (tg.generate.rmat(12, 4, seed=6, runtime="numpy"), tg.generate.grid(40, 50, runtime="numpy")):
        sources = np.random.default_rng(2).permutation(graph.num_vertices)[:7].astype(dtype)
        expected = multi_source_bfs(graph, sources, kernel="plain")
        sides = [graph.adjacency(along).to_numpy()[:2] for along in ("out", "in")]
        sides = [(offsets, neighbors.astype(dtype)) for offsets, neighbors in sides]
        for few_edges in (0, 64, nearest_source.FEW_EDGES):
            monkeypatch.setattr(nearest_source, "FEW_EDGES", few_edges)
            found = nearest_source.nearest_sources(*sides, sources)
            assert found.levels.tolist() == expected.levels.tolist()
            assert found.origins.tolist() == expected.origins.tolist()
            assert found.rows[:, 1].sum() == (found.levels >= 0).sum()
            assert len(found.ticks) == len(found.rows) == found.levels.max() + 1


@pytest.mark.parametrize("directed", [True, False])
def test_levels_alone(runtime_name: str, directed: bool) -> None:
    graph = tg.generate.rmat(9, 4, seed=3, directed=directed, runtime=runtime_name)
    both, levels = multi_source_bfs(graph, [5, 9, 300]), multi_source_bfs(graph, [5, 9, 300], origins=False)
    assert levels.levels.tolist() == both.levels.tolist()
    assert list(levels.fields) == ["levels"]
    assert [row.active_vertices for row in levels.trace] == [row.active_vertices for row in both.trace]


def test_the_trace_tells_the_levels() -> None:
    result = multi_source_bfs(tg.generate.path(100), [0, 99])
    assert [row.active_vertices for row in result.trace] == [2] * 50
    assert result.trace.kernel == "fused"


def test_odd_graphs(runtime_name: str) -> None:
    result = multi_source_bfs(tg.from_edges([0], [0], runtime=runtime_name), [0])
    assert (result.levels.tolist(), result.origins.tolist()) == ([0], [0])
    result = multi_source_bfs(tg.from_edges(["ann", "cy"], ["bob", "bob"], runtime=runtime_name), ["cy", "ann"])
    assert result.column("origins").tolist() == ["ann", "ann", "cy"]
    star = tg.from_edges([0] * 3000, range(1, 3001), directed=False, runtime=runtime_name)
    assert multi_source_bfs(star, [8, 5]).origins.tolist()[:10] == [5, 5, 5, 5, 5, 5, 5, 5, 8, 5]
    unsorted = tg.from_csr([0, 4, 4, 5, 6], [2, 1, 2, 0, 3, 1], runtime=runtime_name)
    assert multi_source_bfs(unsorted, [3, 0]).origins.tolist() == [0, 0, 0, 3]
    path = tg.from_edges(np.arange(1000), np.arange(1, 1001), directed=False, runtime=runtime_name)
    assert multi_source_bfs(path, [0, 1000], max_iterations=3).levels.tolist()[:5] == [0, 1, 2, 3, -1]


def test_wrong_sources_are_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="sources is empty"):
        multi_source_bfs(graph, [])
    with pytest.raises(InvalidArgumentError, match="more than once"):
        multi_source_bfs(graph, [1, 1])
    for label in (5, -1, "ann"):
        with pytest.raises(VertexNotFoundError):
            multi_source_bfs(graph, [label])
    with pytest.raises(InvalidArgumentError, match="empty"):
        multi_source_bfs(tg.from_edges([], []), [])
