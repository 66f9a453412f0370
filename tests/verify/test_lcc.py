"""The check of clustering coefficients accepts right answers and no other."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.lcc import check_lcc


def _by_trying(case: SmallGraph) -> list[float]:
    """Try all ordered pairs of neighbours in the matrix of the graph."""
    matrix = case.to_matrix() > 0
    joined = matrix | matrix.T
    found = []
    for vertex in range(case.num_vertices):
        around = [other for other in range(case.num_vertices) if joined[vertex, other] and other != vertex]
        pairs = list(permutations(around, 2))
        found.append(sum(bool(matrix[pair]) for pair in pairs) / max(len(pairs), 1))
    return found


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_coefficients(case: SmallGraph, data: st.DataObject) -> None:
    graph, right = case.build(), _by_trying(case)
    check_lcc(graph, np.asarray(right))
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    wrong = list(right)
    wrong[vertex] += data.draw(st.sampled_from((-0.1, 1e-9, 0.5, np.nan, np.inf)))
    with pytest.raises(VerificationError, match=f"vertex {vertex} "):
        check_lcc(graph, wrong)


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        ([0.5, 0.5, 1.0], r"vertex 2 \(coefficient 1.0, expected 0.5\) .* share of possible edges"),
        ([0.5, 0.5], "one value per vertex"),
        ([1, 1, 1], "type int64"),
    ],
)
def test_names_the_rule_and_the_place(coefficients: list[float], message: str) -> None:
    graph = tg.from_edges([0, 0, 1], [1, 2, 2])
    check_lcc(graph, [0.5, 0.5, 0.5])
    with pytest.raises(VerificationError, match=message):
        check_lcc(graph, coefficients)


def test_no_vertices() -> None:
    check_lcc(tg.from_edges([], []), np.zeros(0))
