"""The check of strong components accepts right answers and no other."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.scc import check_scc


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_labels(case: SmallGraph, data: st.DataObject) -> None:
    network = case.to_networkx()
    components = nx.strongly_connected_components(network) if case.directed else nx.connected_components(network)
    smallest = {vertex: min(component) for component in components for vertex in component}
    graph, right = case.build(), [smallest[vertex] for vertex in range(case.num_vertices)]
    check_scc(graph, np.asarray(right, np.int32))
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    other = data.draw(st.integers(-1, case.num_vertices))
    one_wrong = [*right[:vertex], other, *right[vertex + 1 :]]
    renamed = [other if label == right[vertex] else label for label in right]
    for labels in (one_wrong, renamed, list(range(case.num_vertices)), [0] * case.num_vertices):
        if labels != right:
            with pytest.raises(VerificationError):
                check_scc(graph, labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 2, 2], "vertex 3 .* a vertex reaches the vertex that its label names"),
        ([0, 1, 2, 3], "vertex 0 .* components that reach each other are one"),
        ([1, 1, 2, 3], "vertex 0 .* the smallest vertex of the component"),
        ([0, 0, 0, 3], "vertex 2 .* a vertex reaches the vertex"),
        ([0, 0, 2, 0], "vertex 3 .* a vertex is reached by the vertex"),
        ([0, 2, 0, 3], "vertex 1 .* the vertex that a label names has that label"),
        ([0, 0, 2, 4], "vertex 3 .* a label is a vertex"),
        ([0, 0, 2], "one value per vertex"),
        ([0.0, 0.0, 2.0, 3.0], "type float64"),
    ],
)
def test_names_the_rule_and_the_place(labels: list[int], message: str) -> None:
    graph = tg.from_edges([0, 1, 1, 2], [1, 0, 2, 3])
    check_scc(graph, [0, 0, 2, 3])
    with pytest.raises(VerificationError, match=message):
        check_scc(graph, labels)


def test_no_vertices() -> None:
    check_scc(tg.from_edges([], []), np.zeros(0, np.int64))
