"""All five algorithms on the graphs that programs forget: empty, tiny, looped, doubled, lopsided, oddly named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tgraph as tg
from small_graphs import DIRECTIONS
from tgraph.errors import VertexNotFoundError
from tgraph.verify import check_bfs, check_hits, check_pagerank, check_sssp, check_wcc


def _path(count: int) -> tg.Graph:
    return tg.from_edges(np.arange(count - 1), np.arange(1, count))


def _hub() -> tg.Graph:
    """Vertex 0 has most of the edges, in both directions."""
    spokes = np.arange(1, 3000)
    others = np.random.default_rng(0).integers(1, 3000, (2, 300))
    zeros = np.zeros_like(spokes)
    return tg.from_edges([*zeros, *spokes[::2], *others[0]], [*spokes, *zeros[::2], *others[1]])


def _unsorted() -> tg.Graph:
    """Rows as a user may have them: not in ascending order."""
    return tg.from_csr([0, 3, 5, 6, 6], [2, 1, 1, 3, 0, 0], weights=[4.0, 2.0, 1.0, 0.5, 9.0, 1.0])


GRAPHS = {
    "one vertex": (lambda: tg.from_edges([], [], num_vertices=1), 0),
    "one vertex with a self-loop": (lambda: tg.from_edges([0], [0]), 0),
    "only self-loops": (lambda: tg.from_edges([0, 1, 2, 2], [0, 1, 2, 2], [1, 0, 2, 2]), 1),
    "isolated vertices": (lambda: tg.from_edges([3], [5], num_vertices=9), 3),
    "no edges": (lambda: tg.from_edges([], [], num_vertices=4), 2),
    "duplicates": (lambda: tg.from_edges([0, 0, 0, 1, 1], [1, 1, 1, 2, 2], [3, 1, 2, 0, 7]), 0),
    "duplicates both ways": (lambda: tg.from_edges([0, 1, 0, 1], [1, 0, 1, 1], [3, 1, 2, 0], directed=False), 1),
    "disconnected": (lambda: tg.from_edges([0, 1, 3, 4, 6], [1, 2, 4, 3, 6]), 3),
    "path": (lambda: _path(400), 0),
    "undirected path from its middle": (lambda: _path(401).symmetrize(), 170),
    "star outwards": (lambda: tg.from_edges(np.zeros(2000, int), np.arange(1, 2001)), 0),
    "star inwards": (lambda: tg.from_edges(np.arange(1, 2001), np.zeros(2000, int)), 5),
    "hub": (_hub, 17),
    "unsorted rows": (_unsorted, 0),
    "turned around": (lambda: _unsorted().reverse(), 3),
    "sparse 64-bit ids": (lambda: tg.from_edges([2**62, -5, 10**18], [10**18, 2**62, 7]), -5),
    "strings": (lambda: tg.from_edges(["ann", "bob", "ann"], ["bob", "çelik", "zoë"], [1.5, 0.0, 2.5]), "ann"),
    "all zero weights": (lambda: tg.from_edges([0, 1, 2, 0], [1, 2, 0, 2], [0, 0, 0, 0]), 0),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_all_algorithms_pass_their_checks(name: str, runtime_name: str, direction: str) -> None:
    build, source = GRAPHS[name]
    graph, how = build(), {"runtime": runtime_name, "direction": direction}
    found = tg.bfs(graph, source, **how)
    check_bfs(graph, source, found.levels, found.parents)
    found = tg.sssp(graph, source, **how)
    check_sssp(graph, source, found.distances, found.parents)
    check_wcc(graph, tg.wcc(graph, **how).labels)
    found = tg.pagerank(graph, tol_l1=1e-10, max_iterations=500, **how)
    assert found.converged
    check_pagerank(graph, found.ranks, tol_l1=1e-10)
    found = tg.hits(graph, **how)
    check_hits(graph, found.hubs, found.authorities, max(1e-7, 100 * found.residual))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_empty_graph(runtime_name: str, direction: str) -> None:
    graph, how = tg.from_edges([], [], runtime=runtime_name), {"direction": direction}
    for result in (tg.wcc(graph, **how), tg.pagerank(graph, **how), tg.hits(graph, **how)):
        assert result.to_numpy().size == 0
        assert result.converged
        assert result.iterations == 0
        assert result.top() == []
        assert len(result.to_pandas()) == 0
    for search in (tg.bfs, tg.sssp):
        with pytest.raises(VertexNotFoundError, match=r"vertex 0 is not in the graph.*the graph is empty"):
            search(graph, 0, **how)


@pytest.mark.parametrize("search", [tg.bfs, tg.sssp])
@pytest.mark.parametrize(
    ("edges", "source", "message"),
    [
        (([0, 1], [1, 2]), 3, "vertex 3 is not in the graph; its ids are 0 to 2"),
        (([0, 1], [1, 2]), -1, "vertex -1 is not in the graph; its ids are 0 to 2"),
        (([0, 1], [1, 2]), "ann", "'ann' is not in the graph"),
        (([10, 20], [20, 30]), 2, "2"),
        ((["ann"], ["bob"]), "eve", "'eve'"),
        ((["ann"], ["bob"]), 0, "0"),
    ],
)
def test_a_source_that_is_not_there(search: Any, edges: tuple[Any, Any], source: Any, message: str) -> None:
    with pytest.raises(VertexNotFoundError, match=message):
        search(tg.from_edges(*edges), source)


def test_known_answers_on_a_path_and_a_star(runtime_name: str) -> None:
    path = _path(2000).to(runtime_name)
    assert tg.bfs(path, 0).levels.tolist() == list(range(2000))
    assert tg.sssp(path, 10).distances.tolist() == [float("inf")] * 10 + [float(step) for step in range(1990)]
    assert set(tg.wcc(path).labels.tolist()) == {0}
    star = tg.from_edges([0] * 50, range(1, 51), runtime=runtime_name)
    assert tg.bfs(star, 0).levels.tolist() == [0] + [1] * 50
    assert tg.bfs(star, 1).levels.tolist() == [-1, 0] + [-1] * 49
    assert tg.hits(star).authorities.tolist() == pytest.approx([0.0] + [1 / 50] * 50)


def test_a_duplicate_edge_counts_twice_for_ranks_and_once_for_levels(runtime_name: str) -> None:
    graph = tg.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 0, 0], runtime=runtime_name)
    ranks = tg.pagerank(graph, tol_l1=1e-12, max_iterations=1000).ranks.tolist()
    assert ranks[1] - 0.05 == pytest.approx(2 * (ranks[2] - 0.05))
    assert tg.bfs(graph, 0).levels.tolist() == [0, 1, 1]


def test_a_graph_is_not_changed_by_running_on_another_runtime() -> None:
    graph = tg.from_edges([0, 1], [1, 2], runtime="torch")
    result = tg.bfs(graph, 0, runtime="numpy")
    assert isinstance(result.levels, np.ndarray)
    assert result.graph.runtime.name == "numpy"
    assert graph.runtime.name == "torch"
    assert not isinstance(tg.bfs(graph, 0).levels, np.ndarray)
