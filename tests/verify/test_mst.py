"""The check of spanning forests accepts right answers and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.mst import check_mst


@settings(deadline=None, max_examples=150, derandomize=True)
@given(small_graphs(weights=("small", "large")), st.data())
def test_accepts_the_forest_of_networkx_with_unique_weights_and_nothing_else(
    case: SmallGraph, data: st.DataObject
) -> None:
    unique = SmallGraph(case.num_vertices, case.edges, tuple(range(len(case.edges))), case.directed)
    tree = nx.minimum_spanning_tree(replace(unique, directed=False).to_networkx())
    right = [(u, v, data["weight"]) for u, v, data in tree.edges(data=True)]
    graph = unique.build()
    check_mst(graph, *_columns(right))
    if right:
        gone = data.draw(st.integers(0, len(right) - 1))
        fewer = right[:gone] + right[gone + 1 :]
        for wrong in (fewer, [*right, right[gone]], [*fewer, (*right[gone][:2], 10**7)]):
            with pytest.raises(VerificationError):
                check_mst(graph, *_columns(wrong))


def _columns(edges: list[tuple[int, int, Any]]) -> tuple[list[Any], ...]:
    return tuple([edge[place] for edge in edges] for place in range(3))


@pytest.mark.parametrize(
    ("edges", "labels", "message"),
    [
        ([(0, 1, 1), (1, 2, 5)], None, r"edge 0 - 2 \(weight 2\) is missing"),
        ([(0, 1, 1)], None, r"edge 0 - 2 \(weight 2\) is missing"),
        ([(0, 1, 1), (0, 2, 2), (1, 2, 5)], None, r"edge 1 - 2 \(weight 5\) is too much"),
        ([(0, 1, 1), (0, 2, 2), (0, 2, 2)], None, "is too much"),
        ([(0, 1, 1), (0, 2, 2), (0, 9, 2)], None, "with no vertex 9"),
        ([(0, 1, 1), (0, 2, 2)], [0, 0, 2, 3], "both ends of an edge have one label"),
    ],
)
def test_names_the_edge(edges: list[tuple[int, int, int]], labels: list[int] | None, message: str) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 0], [1, 5, 2], num_vertices=4)
    check_mst(graph, [1, 2], [0, 0], [1, 2], [0, 0, 0, 3])
    with pytest.raises(VerificationError, match=message):
        check_mst(graph, *_columns(edges), labels)


def test_columns_of_different_lengths() -> None:
    with pytest.raises(VerificationError, match="every edge has two ends and a weight"):
        check_mst(tg.from_edges([0], [1]), [0], [1], [])
