"""The check of HITS accepts the scores of the largest singular value and no others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify import check_hits


def _scores(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    left, values, right = np.linalg.svd(matrix)
    hubs, authorities = np.abs(left[:, 0]), np.abs(right[0])
    return hubs / hubs.sum(), authorities / authorities.sum(), values


@settings(deadline=None, max_examples=200, derandomize=True)
@given(small_graphs(weights=("none", "small")), st.data())
def test_singular_vectors_pass_and_moved_mass_does_not(case: SmallGraph, data: st.DataObject) -> None:
    weighted = case.weights is not None
    matrix = case.to_matrix(weighted)
    assume(matrix.any() and case.num_vertices > 1)
    hubs, authorities, values = _scores(matrix)
    assume(values[1] < 0.9 * values[0])
    check_hits(case.build(), hubs, authorities, 1e-9, weighted=weighted)
    taker = data.draw(st.integers(0, case.num_vertices - 1))
    for scores in (hubs, authorities):
        moved, giver = scores.copy(), int(np.argmax(scores))
        moved[giver] -= 1e-4 * scores[giver]
        moved[taker] += 1e-4 * scores[giver]
        if giver != taker:
            with pytest.raises(VerificationError):
                check_hits(case.build(), *(moved if s is scores else s for s in (hubs, authorities)), 1e-9, weighted)


def test_a_weaker_community_is_a_fixed_point_but_no_answer() -> None:
    graph = tg.from_edges([0, 1, 2, 5], [3, 3, 3, 6], num_vertices=7)
    third = 1 / 3
    check_hits(graph, [third, third, third, 0, 0, 0, 0], [0.0, 0, 0, 1, 0, 0, 0])
    with pytest.raises(VerificationError, match=r"the value 1, below 1\.73\d*, .* largest singular value"):
        check_hits(graph, [0.0, 0, 0, 0, 0, 1, 0], [0.0, 0, 0, 0, 0, 0, 1])


def test_equal_communities_may_share_in_any_way() -> None:
    graph = tg.from_edges([0, 1], [2, 3])
    for share in (0.5, 0.3, 1.0):
        check_hits(graph, [share, 1 - share, 0, 0], [0, 0, share, 1 - share])


@pytest.mark.parametrize(
    ("hubs", "authorities", "message"),
    [
        ([0.5, 0.5, -0.0001], [0.0, 0.0, 1.0], "vertex 2 .* hubs are numbers, 0 or more"),
        ([0.5, 0.5, 0.0], [0.0, np.nan, 1.0], "vertex 1 .* authorities are numbers"),
        ([0.5, 0.6, 0.0], [0.0, 0.0, 1.0], "hubs sum to 1"),
        ([0.5, 0.5, 0.0], [0.0, 0.0, 0.9], "authorities sum to 1"),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], "hubs sum to 1"),
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], "vertex 1 .* one step leaves authorities as they are"),
        ([0.4, 0.4, 0.2], [0.0, 0.0, 1.0], "vertex 2 .* one step leaves hubs as they are"),
        ([1, 0, 0], [0.0, 0.0, 1.0], "type int64"),
    ],
)
def test_names_the_rule_and_the_place(hubs: list[float], authorities: list[float], message: str) -> None:
    graph = tg.from_edges([0, 1], [2, 2])
    with pytest.raises(VerificationError, match=message):
        check_hits(graph, hubs, authorities)


def test_without_edges_all_scores_are_zero() -> None:
    graph = tg.from_edges([], [], num_vertices=3)
    check_hits(graph, np.zeros(3), np.zeros(3))
    check_hits(tg.from_edges([], []), np.zeros(0), np.zeros(0))
    check_hits(tg.from_edges([0], [1], [0.0]), np.zeros(2), np.zeros(2), weighted=True)
    with pytest.raises(VerificationError, match=r"vertex 1 .* without edges all scores are 0"):
        check_hits(graph, np.asarray([0.0, 1.0, 0.0]), np.zeros(3))
