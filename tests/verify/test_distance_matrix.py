"""The check of a matrix of distances accepts right answers and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, expected_levels, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.distance_matrix import check_distance_matrix


@settings(deadline=None, max_examples=100)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_levels(case: SmallGraph, data: st.DataObject) -> None:
    graph, count = case.build(), case.num_vertices
    right = np.asarray([expected_levels(case, source) for source in range(count)])
    check_distance_matrix(graph, None, right)
    row, column = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    right[row, column] += data.draw(st.sampled_from([-1, 1, 5]))
    with pytest.raises(VerificationError):
        check_distance_matrix(graph, None, right)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0, 1, 2], "a row per source and a column per vertex"),
        ([[0, 1, 2], [0, 1, 2]], "a row per source"),
        ([[0.0, 1.0, 2.0]], "type float64"),
        ([[0, 1, 1]], r"from 0 to 2 \(level 1, search 2\) .* those of a search"),
    ],
)
def test_names_the_rule_and_the_place(levels: list[Any], message: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    check_distance_matrix(graph, [0], [[0, 1, 2]])
    with pytest.raises(VerificationError, match=message):
        check_distance_matrix(graph, [0], levels)
