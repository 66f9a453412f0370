"""Triangles against NetworkX, matrices and their own check, by every way that the kernel has."""

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
from tgraph.algorithms.triangles import triangles
from tgraph.errors import InterruptedRunError, InvalidArgumentError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu import triangles as kernel
from tgraph.kernels.cpu.half_graph import build_half_graph
from tgraph.kernels.cpu.watch import Watch
from tgraph.verify.triangles import check_triangles
from unsorted_graphs import unsorted

THREADS = (1, 2, 5)


@pytest.fixture(scope="module", autouse=True)
def threads_for_small_graphs() -> Iterator[None]:
    """As many threads as asked for, on however few edges."""
    with mock.patch.object(team, "MIN_WORK_PER_THREAD", 1):
        yield


def expected_triangles(case: SmallGraph) -> list[int]:
    simple = nx.Graph(edge for edge in case.edges if edge[0] != edge[1])
    found = nx.triangles(simple)
    return [found.get(vertex, 0) for vertex in range(case.num_vertices)]


def triangles_by_matrix(graph: tg.Graph) -> list[int]:
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    matrix = np.zeros((graph.num_vertices, graph.num_vertices), np.int64)
    matrix[np.repeat(np.arange(graph.num_vertices), np.diff(offsets)), targets] = 1
    matrix |= matrix.T
    np.fill_diagonal(matrix, 0)
    found: list[int] = (((matrix @ matrix) * matrix).sum(axis=1) // 2).tolist()
    return found


def merged_degree(limit: float) -> Any:
    """Up to this mean degree at the ends of edges rows are merged: 0 = never, inf = always."""
    return mock.patch.object(kernel, "MERGED_DEGREE", limit)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(small_graphs(), ways_to_run(), st.sampled_from(THREADS), st.sampled_from((0, np.inf)))
def test_counts_are_those_of_networkx(case: SmallGraph, how: dict[str, Any], threads: int, merged: float) -> None:
    graph, expected = case.build(), expected_triangles(case)
    with merged_degree(merged):
        for one in (graph, unsorted(graph)):
            result = triangles(one, threads=threads, **how)
            assert result.to_numpy().tolist() == expected
            assert result.to_numpy().dtype == np.int64
            assert result.total == sum(expected) // 3
    check_triangles(graph, result.triangles)
    assert result.converged


def _hub() -> tg.Graph:
    spokes = np.arange(1, 3000)
    others = np.random.default_rng(0).integers(1, 3000, (2, 3000))
    return tg.from_edges([*np.zeros_like(spokes), *others[0]], [*spokes, *others[1]])


GRAPHS: dict[str, tuple[Callable[[], tg.Graph], int | None]] = {
    "empty": (lambda: tg.from_edges([], []), 0),
    "one vertex": (lambda: tg.from_edges([], [], num_vertices=1), 0),
    "one vertex with a self-loop": (lambda: tg.from_edges([0, 0], [0, 0]), 0),
    "isolated vertices": (lambda: tg.from_edges([1, 2, 5], [2, 5, 1], num_vertices=99), 1),
    "two vertices joined both ways": (lambda: tg.from_edges([0, 1, 0, 1], [1, 0, 1, 1]), 0),
    "a triangle with everything doubled": (
        lambda: tg.from_edges([0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 1, 2, 0, 0], directed=False),
        1,
    ),
    "disconnected": (lambda: tg.from_edges([0, 1, 2, 7, 8, 9, 7], [1, 2, 0, 8, 9, 7, 8]), 2),
    "star": (lambda: tg.from_edges(np.zeros(2000, int), np.arange(1, 2001)), 0),
    "path": (lambda: tg.generate.path(1000), 0),
    "grid": (lambda: tg.generate.grid(30, 40), 0),
    "complete": (lambda: tg.generate.complete(120), 120 * 119 * 118 // 6),
    "hub": (_hub, None),
    "strange weights": (
        lambda: tg.from_edges([0, 1, 2], [1, 2, 0], [np.nan, -1.0, np.inf]),
        1,
    ),
}


@pytest.mark.parametrize("kind", ["auto", "plain"])
@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name: str, kind: str, runtime_name: str) -> None:
    build, total = GRAPHS[name]
    for graph in (build(), build().symmetrize(), unsorted(build())):
        for threads in THREADS:
            result = triangles(graph, runtime=runtime_name, kernel=kind, threads=threads)
            check_triangles(graph, result.triangles)
            assert total is None or result.total == total


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("directed", [False, True])
def test_rows_with_many_hubs_compare_words(threads: int, directed: bool) -> None:
    ends = np.random.default_rng(4).integers(0, 400, (2, 30_000))
    graph = tg.from_edges(*ends, directed=directed, num_vertices=400)
    result = triangles(graph, threads=threads)
    assert result.to_numpy().tolist() == triangles_by_matrix(graph)


def test_hubs_and_others_meet(runtime_name: str) -> None:
    graph = tg.generate.rmat(13, 16, seed=5)
    one, several = (triangles(graph, threads=count, runtime=runtime_name) for count in (1, 5))
    check_triangles(graph, one.triangles)
    assert one.to_numpy().tolist() == several.to_numpy().tolist()
    assert one.total > 100_000


def test_merged_and_marked_rows_give_the_same() -> None:
    graph = tg.generate.rmat(11, 8, seed=2).symmetrize().simplify()
    with merged_degree(np.inf):
        merged = triangles(graph)
    with merged_degree(0):
        marked = triangles(graph)
    assert merged.to_numpy().tolist() == marked.to_numpy().tolist()


@pytest.mark.parametrize("merged", [0, np.inf])
def test_ids_of_64_bits(merged: float) -> None:
    graph = tg.generate.rmat(9, 12, seed=3).symmetrize().simplify()
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    with merged_degree(merged):
        found = kernel.count_triangles((offsets, targets.astype(np.int64)), None, True)
    check_triangles(graph, found)


@pytest.mark.parametrize("threads", THREADS)
def test_half_of_a_graph_holds_every_edge_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "num_threads", threads)
    graph = tg.from_edges(*np.random.default_rng(6).integers(0, 200, (2, 3000)), num_vertices=200)
    rows, reverse = (graph.adjacency(side).to_numpy()[:2] for side in ("out", "in"))
    half = build_half_graph(rows, reverse, True, False, Watch())
    vertices = np.argsort(half.ranks)
    pairs = [
        tuple(sorted((int(vertices[rank]), int(vertices[other]))))
        for rank in range(200)
        for other in half.neighbors[half.starts[rank] : half.ends[rank]]
    ]
    simple = graph.symmetrize().simplify()
    assert sorted(pairs) == [tuple(pair) for pair in np.stack(simple.edges()[:2], axis=1).tolist()]
    assert half.degrees.tolist() == simple.out_degrees().tolist()
    degrees = (graph.out_degrees() + graph.in_degrees()).tolist()
    assert [degrees[vertex] for vertex in vertices] == sorted(degrees, reverse=True)


def test_the_users_ids_and_another_runtime() -> None:
    result = triangles(tg.from_edges(["ann", "bob", "cy", "cy"], ["bob", "cy", "ann", "dan"], runtime="torch"))
    assert result["cy"] == 1
    assert result["dan"] == 0
    moved = result.to("numpy")
    assert isinstance(moved.triangles, np.ndarray)
    assert moved.total == 1


def test_the_trace_says_what_ran() -> None:
    graph = tg.generate.complete(5)
    assert triangles(graph).trace.kernel == "fused"
    assert triangles(graph, kernel="plain").trace.kernel == "plain"
    assert triangles(graph).iterations == triangles(graph, kernel="plain").iterations == 1


def test_wrong_keywords_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match="kernel='quick'"):
        triangles(tg.generate.complete(3), kernel="quick")


def test_an_interrupt_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel, "count_triangles", press)
    with pytest.raises(InterruptedRunError, match="Triangles was interrupted"):
        triangles(tg.generate.complete(3))
