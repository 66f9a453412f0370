"""Core numbers against NetworkX, the definition, and their own check."""

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
from tgraph.algorithms.k_core import k_core
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import k_core as kernel
from tgraph.kernels.cpu import team
from tgraph.verify.k_core import check_k_core
from unsorted_graphs import unsorted

THREADS = (1, 2, 5)


@pytest.fixture(scope="module", autouse=True)
def threads_for_small_graphs() -> Iterator[None]:
    """As many threads as asked for, on however few edges."""
    with mock.patch.object(team, "MIN_WORK_PER_THREAD", 1):
        yield


def expected_cores(case: SmallGraph) -> list[int]:
    simple = nx.Graph(edge for edge in case.edges if edge[0] != edge[1])
    found = nx.core_number(simple)
    return [found.get(vertex, 0) for vertex in range(case.num_vertices)]


@settings(deadline=None, max_examples=300, derandomize=True)
@given(small_graphs(), ways_to_run(), st.sampled_from(THREADS))
def test_cores_are_those_of_networkx(case: SmallGraph, how: dict[str, Any], threads: int) -> None:
    graph, expected = case.build(), expected_cores(case)
    for one in (graph, unsorted(graph)):
        result = k_core(one, threads=threads, **how)
        assert result.to_numpy().tolist() == expected
        assert result.to_numpy().dtype == np.int32
    check_k_core(graph, result.cores)
    assert result.converged


def _hub() -> tg.Graph:
    spokes = np.arange(1, 3000)
    others = np.random.default_rng(0).integers(1, 3000, (2, 3000))
    return tg.from_edges([*np.zeros_like(spokes), *others[0]], [*spokes, *others[1]])


def _nested_cliques() -> tg.Graph:
    """Cliques of 3, 9 and 60 vertices: most levels have nobody to take away."""
    pairs = [
        (first + i, first + j) for first, size in ((0, 3), (3, 9), (12, 60)) for i in range(size) for j in range(i)
    ]
    return tg.from_edges(*zip(*pairs, strict=True))


GRAPHS: dict[str, tuple[Callable[[], tg.Graph], int | None]] = {
    "empty": (lambda: tg.from_edges([], []), 0),
    "one vertex": (lambda: tg.from_edges([], [], num_vertices=1), 0),
    "one vertex with a self-loop": (lambda: tg.from_edges([0, 0], [0, 0]), 0),
    "isolated vertices": (lambda: tg.from_edges([1, 2, 5], [2, 5, 1], num_vertices=99), 2),
    "two vertices joined both ways": (lambda: tg.from_edges([0, 1, 0, 1], [1, 0, 1, 1]), 1),
    "everything doubled": (lambda: tg.from_edges([0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 1, 2, 0, 0]), 2),
    "disconnected": (lambda: tg.from_edges([0, 1, 2, 7, 8, 9, 7, 8], [1, 2, 0, 8, 9, 7, 8, 7]), 2),
    "star": (lambda: tg.from_edges(np.zeros(9000, int), np.arange(1, 9001)), 1),
    "path": (lambda: tg.generate.path(500), 1),
    "grid": (lambda: tg.generate.grid(20, 30), 2),
    "complete": (lambda: tg.generate.complete(120), 119),
    "nested cliques": (_nested_cliques, 59),
    "hub": (_hub, None),
    "strange weights": (lambda: tg.from_edges([0, 1, 2], [1, 2, 0], [np.nan, -1.0, np.inf]), 2),
}


@pytest.mark.parametrize("kind", ["auto", "plain"])
@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name: str, kind: str, runtime_name: str) -> None:
    build, largest = GRAPHS[name]
    for graph in (build(), build().symmetrize(), unsorted(build())):
        for threads in THREADS:
            result = k_core(graph, runtime=runtime_name, kernel=kind, threads=threads)
            check_k_core(graph, result.cores)
            assert largest is None or result.to_numpy().max(initial=0) == largest


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("directed", [False, True])
def test_large_graphs_pass_their_check(threads: int, directed: bool) -> None:
    graph = tg.generate.rmat(14, 16, seed=5, runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    check_k_core(graph, k_core(graph, threads=threads).cores)


@pytest.mark.parametrize("threads", THREADS)
def test_repeated_edges_and_self_loops_on_a_large_graph(threads: int) -> None:
    sources, targets, _ = tg.generate.rmat(13, 16, seed=5, runtime="numpy").edges()
    sources, targets = np.concatenate([sources, sources, targets]), np.concatenate([targets, targets, targets])
    graph = tg.from_edges(sources, targets, directed=False, runtime="numpy")
    check_k_core(graph, k_core(graph, threads=threads).cores)


@pytest.mark.parametrize("threads", THREADS)
def test_more_vertices_fall_at_once_than_a_thread_holds(threads: int) -> None:
    count = 5 * kernel.STACK
    rings = tg.from_edges(np.arange(count), np.roll(np.arange(count), 1))
    assert (k_core(rings, threads=threads).to_numpy() == 2).all()
    spokes = np.arange(2, count)  # two hubs: when the first goes, all others fall
    twice = tg.from_edges([*np.zeros_like(spokes), *np.ones_like(spokes)], [*spokes, *spokes])
    check_k_core(twice, k_core(twice, threads=threads).cores)
    star = tg.from_edges([*np.zeros_like(spokes), 0], [*spokes, 1])
    assert (k_core(star, threads=threads).to_numpy() == 1).all()


def test_ids_of_64_bits() -> None:
    graph = tg.generate.rmat(10, 12, seed=3)
    rows, reverse = (graph.adjacency(side).to_numpy()[:2] for side in ("out", "in"))
    wide = [(offsets, neighbors.astype(np.int64)) for offsets, neighbors in (rows, reverse)]
    found = kernel.core_numbers(*wide, is_sorted=True)
    check_k_core(graph, found)
    assert found.dtype == np.int32


def test_the_users_ids_and_the_trace() -> None:
    graph = tg.from_edges(["ann", "bob", "cy", "cy"], ["bob", "cy", "ann", "dan"])
    result = k_core(graph)
    assert result["ann"] == 2
    assert result["dan"] == 1
    assert result.trace.kernel == "fused"
    assert k_core(graph, kernel="plain").trace.kernel == "plain"


def test_wrong_keywords_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match="the keyword 'k' is not known"):
        k_core(tg.generate.complete(3), k=2)
