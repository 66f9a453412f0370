"""Clustering coefficients against NetworkX, the definition, and their own check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.lcc import lcc
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.lcc import clustering_coefficients
from tgraph.verify.lcc import check_lcc
from unsorted_graphs import unsorted

THREADS = (1, 2, 5)


@pytest.fixture(scope="module", autouse=True)
def threads_for_small_graphs() -> Iterator[None]:
    """As many threads as asked for, on however few edges."""
    with mock.patch.object(team, "MIN_WORK_PER_THREAD", 1):
        yield


def by_definition(case: SmallGraph) -> list[float]:
    arcs = {edge for edge in case.edges if edge[0] != edge[1]}
    if not case.directed:
        arcs |= {(target, source) for source, target in arcs}
    found = []
    for vertex in range(case.num_vertices):
        around = {end for arc in arcs for end in arc if vertex in arc} - {vertex}
        inside = sum(source in around and target in around for source, target in arcs)
        found.append(inside / (len(around) * (len(around) - 1)) if len(around) > 1 else 0.0)
    return found


@settings(deadline=None, max_examples=300, derandomize=True)
@given(small_graphs(), ways_to_run(), st.sampled_from(THREADS))
def test_coefficients_follow_the_definition(case: SmallGraph, how: dict[str, Any], threads: int) -> None:
    graph, expected = case.build(), by_definition(case)
    for one in (graph, unsorted(graph)):
        result = lcc(one, threads=threads, **how)
        assert result.to_numpy().tolist() == expected
        assert result.to_numpy().dtype == np.float64
    check_lcc(graph, result.coefficients)
    assert result.converged


@settings(deadline=None, max_examples=100, derandomize=True)
@given(small_graphs(), ways_to_run())
def test_undirected_coefficients_are_those_of_networkx(case: SmallGraph, how: dict[str, Any]) -> None:
    simple = nx.Graph(edge for edge in case.edges if edge[0] != edge[1])
    expected = nx.clustering(simple)
    found = lcc(case.build().symmetrize(), **how).to_numpy().tolist()
    assert found == [expected.get(vertex, 0) for vertex in range(case.num_vertices)]


def _hub() -> tg.Graph:
    spokes = np.arange(1, 3000)
    others = np.random.default_rng(0).integers(1, 3000, (2, 3000))
    return tg.from_edges([*np.zeros_like(spokes), *others[0]], [*spokes, *others[1]])


GRAPHS: dict[str, Callable[[], tg.Graph]] = {
    "empty": lambda: tg.from_edges([], []),
    "one vertex": lambda: tg.from_edges([], [], num_vertices=1),
    "one vertex with a self-loop": lambda: tg.from_edges([0, 0], [0, 0]),
    "isolated vertices": lambda: tg.from_edges([1, 2, 5], [2, 5, 1], num_vertices=99),
    "two vertices joined both ways": lambda: tg.from_edges([0, 1, 0, 1], [1, 0, 1, 1]),
    "everything doubled": lambda: tg.from_edges([0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 1, 2, 0, 0]),
    "disconnected": lambda: tg.from_edges([0, 1, 2, 7, 8, 9, 7, 8], [1, 2, 0, 8, 9, 7, 8, 7]),
    "star": lambda: tg.from_edges(np.zeros(2000, int), np.arange(1, 2001)),
    "path": lambda: tg.generate.path(1000),
    "grid": lambda: tg.generate.grid(30, 40),
    "complete": lambda: tg.generate.complete(120),
    "hub": _hub,
    "strange weights": lambda: tg.from_edges([0, 1, 2], [1, 2, 0], [np.nan, -1.0, np.inf]),
}


@pytest.mark.parametrize("kind", ["auto", "plain"])
@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name: str, kind: str, runtime_name: str) -> None:
    build = GRAPHS[name]
    for graph in (build(), build().symmetrize(), unsorted(build())):
        for threads in THREADS:
            check_lcc(graph, lcc(graph, runtime=runtime_name, kernel=kind, threads=threads).coefficients)


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_with_hubs_passes_its_check_on_any_number_of_threads(runtime_name: str, directed: bool) -> None:
    graph = tg.generate.rmat(13, 16, seed=5)
    graph = graph if directed else graph.symmetrize()
    one, several = (lcc(graph, threads=count, runtime=runtime_name) for count in (1, 5))
    check_lcc(graph, one.coefficients)
    assert one.to_numpy().tolist() == several.to_numpy().tolist()


def test_directions_count() -> None:
    one_way = tg.from_edges([0, 0, 1], [1, 2, 2])
    assert lcc(one_way).coefficients.tolist() == [0.5, 0.5, 0.5]
    one_edge_back = tg.from_edges([0, 0, 1, 2], [1, 2, 2, 1])
    assert lcc(one_edge_back).coefficients.tolist() == [1.0, 0.5, 0.5]
    assert lcc(tg.from_edges([0, 0, 1], [1, 2, 2], directed=False)).coefficients.tolist() == [1.0, 1.0, 1.0]


def test_ids_of_64_bits() -> None:
    graph = tg.generate.rmat(9, 12, seed=3)
    rows, reverse = (graph.adjacency(side).to_numpy()[:2] for side in ("out", "in"))
    wide = [(offsets, neighbors.astype(np.int64)) for offsets, neighbors in (rows, reverse)]
    check_lcc(graph, clustering_coefficients(*wide, is_sorted=True))
    symmetric = graph.symmetrize()
    offsets, neighbors, _ = symmetric.adjacency("out").to_numpy()
    check_lcc(symmetric, clustering_coefficients((offsets, neighbors.astype(np.int64)), None, True))


def test_the_users_ids_and_the_trace() -> None:
    graph = tg.from_edges(["ann", "bob", "cy", "cy"], ["bob", "cy", "ann", "dan"], directed=False)
    result = lcc(graph)
    assert result["ann"] == 1.0
    assert result["cy"] == 1 / 3
    assert result.trace.kernel == "fused"
    assert lcc(graph, kernel="plain").trace.kernel == "plain"


def test_wrong_keywords_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match="the keyword 'weight' is not known"):
        lcc(tg.generate.complete(3), weight=True)
