"""The check of components accepts right answers and no other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, expected_labels, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify import check_wcc


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_labels(case: SmallGraph, data: st.DataObject) -> None:
    graph, right = case.build(), expected_labels(case)
    check_wcc(graph, np.asarray(right, np.int32))
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    other = data.draw(st.integers(-1, case.num_vertices))
    one_wrong = [*right[:vertex], other, *right[vertex + 1 :]]
    renamed = [other if label == right[vertex] else label for label in right]
    for labels in (one_wrong, renamed, list(range(case.num_vertices)), [0] * case.num_vertices):
        if labels != right:
            with pytest.raises(VerificationError):
                check_wcc(graph, labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 2, 3], r"edge 3 -> 2 \(labels 3 and 2\) .* both ends of an edge have one label"),
        ([1, 1, 2, 2], r"vertex 0 \(label 1, smallest 0\) .* smallest vertex of the component"),
        ([0, 0, 0, 0], "vertex 2 .* smallest vertex of the component"),
        ([0, 0, 2], "one value per vertex"),
        ([0.0, 0.0, 2.0, 2.0], "type float64"),
    ],
)
def test_names_the_rule_and_the_place(labels: list[int], message: str) -> None:
    graph = tg.from_edges([0, 3], [1, 2])
    check_wcc(graph, [0, 0, 2, 2])
    with pytest.raises(VerificationError, match=message):
        check_wcc(graph, labels)


def test_deep_trees_and_no_vertices() -> None:
    count = 20_000
    order = np.random.default_rng(3).permutation(count)
    check_wcc(tg.from_edges(order[1:], order[:-1]), np.zeros(count, np.int64))
    check_wcc(tg.from_edges([], []), np.zeros(0, np.int64))
