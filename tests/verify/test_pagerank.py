"""The check of PageRank accepts ranks within the tolerance and no others, and its bound holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, expected_ranks, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify import check_pagerank


@settings(deadline=None, max_examples=150, derandomize=True)
@given(small_graphs(weights=("none", "small", "float")), st.sampled_from([0.0, 0.5, 0.85, 0.99]), st.data())
def test_the_exact_ranks_pass_and_the_bound_holds(case: SmallGraph, damping: float, data: st.DataObject) -> None:
    weighted = case.weights is not None and data.draw(st.booleans())
    graph, exact = case.build(), expected_ranks(case, damping, weighted=weighted)
    assert check_pagerank(graph, exact, damping, 1e-13, weighted=weighted) < 1e-10
    noise = data.draw(st.lists(st.floats(0, 1), min_size=case.num_vertices, max_size=case.num_vertices))
    near = exact + 1e-3 * np.asarray(noise)
    near /= near.sum()
    bound = check_pagerank(graph, near, damping, 2.0, weighted=weighted)
    assert np.abs(near - exact).sum() <= bound + 1e-12


@settings(deadline=None, max_examples=150, derandomize=True)
@given(small_graphs(), st.data())
def test_moved_mass_is_found(case: SmallGraph, data: st.DataObject) -> None:
    exact = expected_ranks(case, 0.85)
    giver, taker = (data.draw(st.integers(0, case.num_vertices - 1)) for _ in range(2))
    wrong = exact.copy()
    wrong[giver] -= 1e-4 * exact[giver]
    wrong[taker] += 1e-4 * exact[giver]
    if giver != taker:
        with pytest.raises(VerificationError, match="one step leaves the ranks as they are"):
            check_pagerank(case.build(), wrong, 0.85, 1e-8)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([0.6, 0.6, -0.2], "vertex 2 .* a rank is a number, 0 or more"),
        ([0.5, np.nan, 0.5], "vertex 1 .* a rank is a number"),
        ([0.5, np.inf, 0.5], "vertex 1 .* a rank is a number"),
        ([0.5, 0.5, 0.5], "the sum 1.5 .* ranks sum to 1"),
        ([0.5, 0.25, 0.25], "vertex 0 .* one step leaves the ranks as they are"),
        ([0, 0, 1], "type int64"),
        ([0.5, 0.5], "one value per vertex"),
    ],
)
def test_names_the_rule_and_the_place(ranks: list[float], message: str) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 0])
    check_pagerank(graph, [1 / 3] * 3)
    with pytest.raises(VerificationError, match=message):
        check_pagerank(graph, ranks)


def test_the_mass_of_dangling_vertices_must_not_vanish() -> None:
    """Ranks that drop the mass of dangling vertices, as some programs do, and are scaled to sum 1 are refused."""
    case = SmallGraph(4, ((0, 1), (0, 2), (3, 0)), None, directed=True)
    follow = case.to_matrix() / np.maximum(case.to_matrix().sum(axis=1), 1)[:, None]
    dropped = np.linalg.solve(np.eye(4) - 0.85 * follow.T, np.full(4, 0.15 / 4))
    with pytest.raises(VerificationError, match="sum to 1"):
        check_pagerank(case.build(), dropped)
    jumps = {0: 3.0, 1: 1.0}
    personal = expected_ranks(case, 0.85, np.asarray([3.0, 1.0, 0.0, 0.0]))
    check_pagerank(case.build(), personal, personalization=jumps)
    check_pagerank(case.build(), personal, personalization=[3, 1, 0, 0])
    with pytest.raises(VerificationError):
        check_pagerank(case.build(), personal)


def test_damping_of_one_gives_no_bound() -> None:
    graph = tg.from_edges([0, 1, 2, 3], [1, 0, 3, 2])
    for share in (0.25, 0.4):
        assert check_pagerank(graph, [share, share, 0.5 - share, 0.5 - share], 1.0) == np.inf
    assert check_pagerank(tg.from_edges([], []), np.zeros(0)) == 0.0


def test_float32_ranks_get_the_rounding_of_their_type() -> None:
    case = SmallGraph(50, tuple((u, (7 * u + k) % 50) for u in range(50) for k in range(u % 5)), None, directed=True)
    exact = expected_ranks(case, 0.85)
    check_pagerank(case.build(), exact.astype(np.float32), 0.85, 1e-9)
    with pytest.raises(VerificationError):
        check_pagerank(case.build(), exact.astype(np.float32).astype(np.float64), 0.85, 1e-9)
