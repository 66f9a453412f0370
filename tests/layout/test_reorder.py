"""Other orders of vertices: the same graph under the same ids, and what each order promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import odd_graphs
from tgraph.errors import InvalidArgumentError
from tgraph.layout.reorder import ORDERS


@settings(deadline=None)
@given(graph=odd_graphs(labels=("none", "integers", "strings")), by=st.sampled_from(ORDERS))
def test_the_graph_and_its_results_stay_the_same_under_the_users_ids(graph: tg.Graph, by: str) -> None:
    other = tg.reorder(graph, by)
    kind = tuple if graph.directed else frozenset
    edges = [
        Counter(map(kind, zip(*(column.tolist() for column in one.edges()[:2]), strict=True))) for one in (graph, other)
    ]
    assert edges[0] == edges[1]
    assert (other.num_edges, other.directed, other.weighted) == (graph.num_edges, graph.directed, graph.weighted)
    if graph.num_vertices:
        label = graph.labels_of([0]).tolist()[0]
        assert dict(tg.bfs(other, label).top(100)) == dict(tg.bfs(graph, label).top(100))


def _by_id(result: tg.Result) -> dict[Any, Any]:
    return dict(zip(result.vertex_ids().tolist(), result.to_numpy().tolist(), strict=True))


def _components(result: tg.Result) -> set[frozenset[Any]]:
    members: dict[Any, set[Any]] = {}
    for vertex, component in _by_id(result).items():
        members.setdefault(component, set()).add(vertex)
    return {frozenset(some) for some in members.values()}


@settings(deadline=None)
@given(graph=odd_graphs(weights=("none",), labels=("none", "integers", "strings", "tuples")), data=st.data())
@pytest.mark.parametrize("by", ORDERS)
def test_every_vertex_has_its_own_level_rank_and_component_in_any_order(by: str, graph: tg.Graph, data: Any) -> None:
    other = tg.reorder(graph, by)
    assert _components(tg.wcc(other)) == _components(tg.wcc(graph))
    if graph.num_vertices == 0:
        return
    source = graph.labels_of([data.draw(st.integers(0, graph.num_vertices - 1))]).tolist()[0]
    assert _by_id(tg.bfs(other, source)) == _by_id(tg.bfs(graph, source))
    ranks, expected = (_by_id(tg.pagerank(one, tol_l1=1e-14, max_iterations=1000)) for one in (other, graph))
    assert ranks == pytest.approx(expected, rel=0, abs=1e-12)


def test_parts_of_the_well_connected_order_lie_one_behind_the_other() -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="numpy")
    parts = tg.partition(graph, 64).parts
    order = tg.reorder(graph, "well_connected").vertex_labels
    assert (np.diff(parts[order]) >= 0).all()


def test_hubs_come_first_and_the_others_keep_their_order() -> None:
    graph = tg.generate.rmat(10, 8, seed=1, runtime="numpy")
    order = tg.reorder(graph, "hubs").vertex_labels
    importance = graph.out_degrees() * graph.in_degrees()
    hubs, others = order[:82], order[82:]
    assert (np.diff(importance[hubs]) <= 0).all()
    assert importance[hubs].min() >= importance[others].max()
    assert (np.diff(others) > 0).all()


def test_degrees_fall_and_senders_come_first() -> None:
    graph = tg.generate.rmat(10, 4, seed=1, runtime="numpy")
    assert (np.diff(tg.reorder(graph, "degree").out_degrees()) <= 0).all()
    has_edges = tg.reorder(graph, "senders_first").out_degrees() > 0
    assert (np.diff(has_edges.astype(int)) <= 0).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_cuthill_mckee_brings_neighbours_together(seed: int) -> None:
    grid = tg.generate.grid(20, 30, runtime="numpy")
    shuffled = grid.subgraph(np.random.default_rng(seed).permutation(600))

    def bandwidth(graph: tg.Graph) -> int:
        sources, targets, _ = graph.relabel(None).edges()
        return int(np.abs(sources - targets).max())

    assert bandwidth(tg.reorder(shuffled, "cuthill_mckee")) <= 30
    assert bandwidth(shuffled) > 400


def test_other_names_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="by="):
        tg.reorder(tg.from_edges([0], [1]), "size")
