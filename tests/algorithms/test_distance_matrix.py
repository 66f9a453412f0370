"""Distances from several sources against NetworkX, SciPy and single searches."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

import tgraph as tg
from small_graphs import RUNTIMES, SmallGraph, small_graphs
from tgraph.algorithms.distance_matrix import distance_matrix
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu import team
from tgraph.verify.distance_matrix import check_distance_matrix

KERNELS = ("auto", "plain")


@settings(deadline=None, max_examples=120)
@given(small_graphs(), st.sampled_from(RUNTIMES), st.sampled_from(KERNELS), st.data())
def test_rows_are_the_searches_of_networkx(case: SmallGraph, runtime: str, kernel: str, data: st.DataObject) -> None:
    graph, other = case.build(), case.to_networkx()
    sources = data.draw(st.lists(st.integers(0, case.num_vertices - 1), min_size=1, unique=True))
    found = distance_matrix(graph, sources, runtime=runtime, kernel=kernel)
    for row, source in zip(found.tolist(), sources, strict=True):
        lengths = nx.single_source_shortest_path_length(other, source)
        assert row == [lengths.get(vertex, -1) for vertex in range(case.num_vertices)]
    check_distance_matrix(graph, sources, found)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 64, 128, 129, 400])
def test_batches_of_every_size_equal_scipy(monkeypatch: pytest.MonkeyPatch, threads: int, count: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    ends = np.random.default_rng(count).integers(0, 400, (2, 1500))
    graph = tg.from_edges(*ends, num_vertices=400, runtime="numpy")
    sources = np.random.default_rng(1).permutation(400)[:count]
    expected = shortest_path(csr_array((np.ones(1500), ends), (400, 400)), unweighted=True, indices=sources)
    found = distance_matrix(graph, sources, threads=threads)
    assert found.dtype == np.int32
    assert np.array_equal(found, np.where(np.isinf(expected), -1, expected))


@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_graphs(runtime_name: str, kernel: str) -> None:
    how = {"runtime": runtime_name, "kernel": kernel}
    assert tuple(distance_matrix(tg.from_edges([], []), **how).shape) == (0, 0)
    assert distance_matrix(tg.from_edges([0], [0]), **how).tolist() == [[0]]
    assert distance_matrix(tg.from_edges([], [], num_vertices=2), **how).tolist() == [[0, -1], [-1, 0]]
    unsorted = tg.from_csr([0, 4, 4, 5, 6], [2, 1, 2, 0, 3, 1])
    assert distance_matrix(unsorted, [2, 0], **how).tolist() == [[-1, 2, 0, 1], [0, 1, 1, 2]]
    names = tg.from_edges(["ann", "bob"], ["bob", "cy"], [float("nan"), -1.0])
    assert distance_matrix(names, ["bob"], **how).tolist() == [[-1, 0, 1]]
    star = distance_matrix(tg.from_edges([0] * 3000, range(1, 3001), directed=False), [9], **how)
    assert star[0, :10].tolist() == [1, *[2] * 8, 0]


def test_wrong_sources_are_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="sources is empty"):
        distance_matrix(graph, [])
    with pytest.raises(InvalidArgumentError, match="more than once"):
        distance_matrix(graph, [1, 1])
    with pytest.raises(VertexNotFoundError):
        distance_matrix(graph, [5])
