"""The check of core numbers accepts right answers and no other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.k_core import check_k_core


def _by_definition(case: SmallGraph) -> list[int]:
    """For every k, take away who has fewer than k neighbours until nobody has."""
    matrix = case.to_matrix() > 0
    matrix |= matrix.T
    np.fill_diagonal(matrix, False)
    cores = np.zeros(case.num_vertices, np.int64)
    for k in range(1, case.num_vertices):
        left = np.ones(case.num_vertices, bool)
        while (too_few := left & (matrix[:, left].sum(axis=1) < k)).any():
            left &= ~too_few
        cores[left] = k
    found: list[int] = cores.tolist()
    return found


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_cores(case: SmallGraph, data: st.DataObject) -> None:
    graph, right = case.build(), _by_definition(case)
    check_k_core(graph, np.asarray(right, np.int32))
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    one_wrong = list(right)
    one_wrong[vertex] += data.draw(st.sampled_from((-1, 1, 2)))
    for wrong in (one_wrong, [0] * case.num_vertices, [core + 1 for core in right]):
        if wrong != right:
            with pytest.raises(VerificationError):
                check_k_core(graph, wrong)


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        ([2, 2, 2, 2], r"vertex 3 \(core 2, such neighbours 1\) .* as many neighbours"),
        ([1, 1, 1, 1], r"vertex 0 \(core 1, largest 2\) .* largest possible"),
        ([2, 2, 2], "one value per vertex"),
        ([2.0, 2.0, 2.0, 1.0], "type float64"),
    ],
)
def test_names_the_rule_and_the_place(cores: list[float], message: str) -> None:
    graph = tg.from_edges([0, 0, 1, 2], [1, 2, 2, 3])
    check_k_core(graph, [2, 2, 2, 1])
    with pytest.raises(VerificationError, match=message):
        check_k_core(graph, cores)


def test_no_vertices() -> None:
    check_k_core(tg.from_edges([], []), np.zeros(0, np.int32))
