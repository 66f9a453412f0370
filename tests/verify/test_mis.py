"""The check of independent sets accepts right answers and no other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.mis import check_mis


@settings(deadline=None, max_examples=60, derandomize=True)
@given(small_graphs(max_vertices=6), st.randoms(use_true_random=False))
def test_accepts_exactly_the_maximal_sets_and_one_of_them_for_an_order(case: SmallGraph, random: object) -> None:
    graph = case.build()
    matrix = case.to_matrix() > 0
    beside = (matrix | matrix.T) & ~np.eye(case.num_vertices, dtype=bool)
    order = np.argsort([random.random() for _ in range(case.num_vertices)])  # type: ignore[attr-defined]
    with_order = 0
    for bits in itertools.product([False, True], repeat=case.num_vertices):
        members = np.asarray(bits)
        reached = (beside[members]).any(axis=0) if members.any() else np.zeros(members.size, bool)
        is_right = not (reached & members).any() and bool((reached | members).all())
        assert _is_accepted(graph, members) == is_right
        with_order += _is_accepted(graph, members, order)
    assert with_order == 1


def _is_accepted(graph: tg.Graph, members: np.ndarray, order: np.ndarray | None = None) -> bool:
    try:
        check_mis(graph, members, order)
    except VerificationError:
        return False
    return True


@pytest.mark.parametrize(
    ("members", "order", "message"),
    [
        ([True, True, False], None, "edge 0 -> 1 .* no edge joins two members"),
        ([False, False, True], None, "vertex 0 .* has a neighbour in the set"),
        ([True, False, True], [2, 0, 1], "vertex 1 .* out only because of an earlier one"),
        ([True, False], None, "one value per vertex"),
        ([1, 0, 1], None, "type int64"),
    ],
)
def test_names_the_rule_and_the_place(members: list[bool], order: list[int] | None, message: str) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 2])
    check_mis(graph, [True, False, True], [0, 2, 1])
    with pytest.raises(VerificationError, match=message):
        check_mis(graph, members, order)
