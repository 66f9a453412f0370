"""The check of triangles accepts right answers and no other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.triangles import check_triangles


def _by_trying(case: SmallGraph) -> list[int]:
    """Try all triples of vertices."""
    joined = {frozenset(edge) for edge in case.edges}
    counts = [0] * case.num_vertices
    for triple in combinations(range(case.num_vertices), 3):
        if all(frozenset(pair) in joined for pair in combinations(triple, 2)):
            for vertex in triple:
                counts[vertex] += 1
    return counts


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_counts(case: SmallGraph, data: st.DataObject) -> None:
    graph, right = case.build(), _by_trying(case)
    check_triangles(graph, np.asarray(right, np.int64))
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    wrong = list(right)
    wrong[vertex] += data.draw(st.sampled_from((-1, 1, 3)))
    with pytest.raises(VerificationError, match=f"vertex {vertex} "):
        check_triangles(graph, wrong)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 1, 1, 1], r"vertex 3 \(triangles 1, edges among neighbours 0\) .* one triangle per edge"),
        ([1, 1, 1], "one value per vertex"),
        ([1.0, 1.0, 1.0, 0.0], "type float64"),
    ],
)
def test_names_the_rule_and_the_place(counts: list[float], message: str) -> None:
    graph = tg.from_edges([0, 0, 1, 2], [1, 2, 2, 3])
    check_triangles(graph, [1, 1, 1, 0])
    with pytest.raises(VerificationError, match=message):
        check_triangles(graph, counts)


def test_no_vertices() -> None:
    check_triangles(tg.from_edges([], []), np.zeros(0, np.int64))
