"""The check of colourings accepts right answers and no other."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.coloring import check_coloring


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_colors_of_an_order(case: SmallGraph, data: st.DataObject) -> None:
    order = np.asarray(data.draw(st.permutations(range(case.num_vertices))))
    network = nx.Graph(case.to_networkx())
    network.remove_edges_from(list(nx.selfloop_edges(network)))
    found = nx.greedy_color(network, strategy=lambda *_: np.argsort(order).tolist())
    graph, right = case.build(), [found[vertex] for vertex in range(case.num_vertices)]
    check_coloring(graph, right, order)
    check_coloring(graph, right)
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    other = data.draw(st.integers(-1, case.num_vertices))
    one_wrong = [*right[:vertex], other, *right[vertex + 1 :]]
    for colors in (one_wrong, list(range(case.num_vertices)), [color + 1 for color in right]):
        if colors != right:
            with pytest.raises(VerificationError):
                check_coloring(graph, colors, order)


@pytest.mark.parametrize(
    ("colors", "order", "message"),
    [
        ([0, 0, 1], None, r"edge 0 -> 1 \(colors 0 and 0\) .* neighbours have different colors"),
        ([0, 1, 2], None, "vertex 2 .* every smaller color is beside a vertex"),
        ([1, 2, 1], None, "vertex 0 .* every smaller color is beside a vertex"),
        ([-1, 0, 1], None, "vertex 0 .* a color is 0 or more"),
        ([0, 1, 0], [2, 0, 1], "vertex 1 .* at an earlier one"),
        ([0, 1], None, "one value per vertex"),
        ([0.0, 1.0, 0.0], None, "type float64"),
    ],
)
def test_names_the_rule_and_the_place(colors: list[int], order: list[int] | None, message: str) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 2])
    check_coloring(graph, [0, 1, 0], [0, 2, 1])
    with pytest.raises(VerificationError, match=message):
        check_coloring(graph, colors, order)


def test_no_vertices() -> None:
    check_coloring(tg.from_edges([], []), np.zeros(0, np.int64))
