"""Other orders of vertices: the same graph under the same ids, and what each order promises."""

from __future__ import annotations

from collections import Counter

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
