"""Random walks: every step follows an edge, and steps are as frequent as they should be (chi-square, fixed seeds)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.algorithms.random_walks import random_walks
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu import random_walks as kernel
from tgraph.kernels.cpu import team
from tgraph.verify.random_walks import check_random_walks


def assert_frequent_as(counts: np.ndarray, shares: np.ndarray) -> None:
    """Refuse with probability 0.0001 if right; categories without a share must not occur at all."""
    assert (counts[shares == 0] == 0).all()
    counts, shares = counts[shares > 0], shares[shares > 0] / shares.sum()
    expected = counts.sum() * shares
    assert (expected > 5).all()
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(0.9999, counts.size - 1)


@settings(deadline=None, max_examples=200)
@given(
    small_graphs(("none", "small", "float")),
    st.sampled_from([(1.0, 1.0), (0.25, 4.0), (1e9, 1.0), (1e-9, 1e9)]),
    st.sampled_from(["numpy", "torch"]),
    st.booleans(),
)
def test_every_step_follows_an_edge(case: SmallGraph, bias: tuple[float, float], runtime: str, by_weight: bool) -> None:
    graph, weighted = case.build(), by_weight and case.weights is not None
    found = random_walks(graph, length=6, walks_per_vertex=2, p=bias[0], q=bias[1], weighted=weighted, runtime=runtime)
    assert found.to_numpy().shape == (2 * case.num_vertices, 7)
    assert found.to_numpy()[:, 0].tolist() == np.repeat(np.arange(case.num_vertices), 2).tolist()
    check_random_walks(graph, found.walks, weighted)
    assert found.trace[0].active_edges == int((found.to_numpy()[:, 1:] >= 0).sum())


def test_uniform_steps_count_duplicates_and_self_loops() -> None:
    graph = tg.from_edges([0, 0, 0, 0, 1, 2, 3], [1, 2, 2, 0, 0, 0, 0])
    walks = random_walks(graph, [0], length=400, walks_per_vertex=200, seed=3).to_numpy()
    following = walks[:, 1:][walks[:, :-1] == 0]
    assert_frequent_as(np.bincount(following, minlength=4), np.array([1, 1, 2, 0]))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_weighted_steps_follow_the_weights(dtype: Any) -> None:
    weights = np.array([1, 0, 5, 2, 0], dtype)
    graph = tg.from_edges([0, 0, 0, 0, 0], [1, 2, 3, 4, 5], weights)
    found = random_walks(graph, [0], length=2, walks_per_vertex=20_000, seed=1, weighted=True).to_numpy()
    assert (found[:, 2] == -1).all()
    assert_frequent_as(np.bincount(found[:, 1], minlength=6)[1:], weights.astype(float))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(0.5, 2.0), (4.0, 0.25), (1.0, 3.0), (20.0, 0.05)])
def test_second_order_steps_follow_p_and_q(p: float, q: float, weighted: bool) -> None:
    """From 0 to 1, then back to 0, to 2 (a neighbour of 0), or to 3 and 4 (which are none)."""
    targets, weights = np.array([1, 2, 4, 0, 3, 2], np.int32), np.array([1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    graph = tg.from_csr(np.array([0, 2, 6, 6, 6, 6]), targets, weights)
    assert not graph.is_sorted
    how = {"walks_per_vertex": 30_000, "seed": 5, "weighted": weighted}
    found = random_walks(graph, [0], length=2, p=p, q=q, **how).to_numpy()
    third = found[found[:, 1] == 1, 2]
    edge_weights = np.array([2.0, 0.0, 4.0, 3.0, 1.0]) if weighted else np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    assert_frequent_as(np.bincount(third, minlength=5), edge_weights * np.array([1 / p, 1.0, 1.0, 1 / q, 1 / q]))


def test_a_seldom_step_is_drawn_exactly_after_many_tries() -> None:
    """From 1 there are only the way back and two edges away, all of them seldom kept."""
    graph = tg.from_edges([0, 1, 1, 1], [1, 0, 2, 3])
    found = random_walks(graph, [0], length=2, walks_per_vertex=30_000, seed=2, p=1e9, q=5e8).to_numpy()
    assert_frequent_as(np.bincount(found[:, 2], minlength=4), np.array([1.0, 0.0, 2.0, 2.0]))


def test_steps_of_different_walks_and_times_are_independent() -> None:
    complete = tg.generate.complete(4)
    walks = random_walks(complete, length=300, walks_per_vertex=50, seed=9).to_numpy()
    turns = walks[:, 1:] - walks[:, :-1]
    codes = (turns % 4 - 1)[:, :-1] * 3 + (turns % 4 - 1)[:, 1:]
    assert_frequent_as(np.bincount(codes.reshape(-1), minlength=9), np.ones(9))
    codes = (turns % 4 - 1)[:-1] * 3 + (turns % 4 - 1)[1:]
    assert_frequent_as(np.bincount(codes.reshape(-1), minlength=9), np.ones(9))


@pytest.mark.parametrize("how", [{}, {"p": 0.5, "q": 2.0}, {"weighted": True}, {"weighted": True, "p": 3.0}])
def test_threads_change_no_step(monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]) -> None:
    graph = tg.generate.rmat(9, 8, seed=1, weights=(0, 5), runtime="numpy")
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    found = [random_walks(graph, length=9, seed=4, threads=threads, **how).to_numpy() for threads in (1, 2, 5)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    check_random_walks(graph, found[0], how.get("weighted", False))
    other = random_walks(graph, length=9, seed=5, **how).to_numpy()
    assert not np.array_equal(found[0], other)
    fewer = random_walks(graph, range(10), length=9, seed=4, **how).to_numpy()
    assert np.array_equal(fewer, found[0][:10])


def test_64_bit_neighbours_give_the_same_walks() -> None:
    offsets, targets, _ = tg.generate.rmat(8, 8, seed=1, runtime="numpy").adjacency("out").to_numpy()
    starts = np.arange(256)
    narrow, wide = (kernel.walk(offsets, targets.astype(d), None, starts, 8, 0) for d in (np.int32, np.int64))
    assert wide.dtype == np.int64
    assert np.array_equal(narrow, wide)


def test_odd_graphs_and_ids(runtime_name: str) -> None:
    empty = random_walks(tg.from_edges([], [], runtime=runtime_name), length=3)
    assert (empty.to_numpy().shape, len(empty), empty.to_lists()) == ((0, 4), 0, [])
    alone = random_walks(tg.from_edges([], [], num_vertices=1, runtime=runtime_name), length=2)
    assert alone.walks.tolist() == [[0, -1, -1]]
    loop = random_walks(tg.from_edges([0], [0], runtime=runtime_name), length=2, p=2.0, q=0.1)
    assert loop.walks.tolist() == [[0, 0, 0]]
    assert random_walks(tg.from_edges([0], [1]), length=0).walks.tolist() == [[0], [1]]
    named = random_walks(tg.from_edges(["b", "c"], ["c", "a"], runtime=runtime_name), ["b", "c"], length=2)
    assert named.to_lists() == [["b", "c", "a"], ["c", "a"]]
    numbered = random_walks(tg.from_edges([10, 20], [20, 30]), [20], length=2)
    assert numbered.ids().tolist() == [[20, 30, -1]]
    assert "1 walks of up to 2 steps" in repr(numbered)
    no_weight = tg.from_edges([0, 0], [1, 2], [0.0, 0.0])
    assert random_walks(no_weight, [0], length=1, weighted=True).walks.tolist() == [[0, -1]]
    assert random_walks(no_weight, [0, 0], length=1, p=2.0, weighted=True).walks.tolist() == [[0, -1]] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": -1}, "length"),
        ({"length": 2.5}, "length"),
        ({"length": 1, "walks_per_vertex": -1}, "walks_per_vertex"),
        ({"length": 1, "p": 0.0}, r"p=0\.0 must be a number above 0"),
        ({"length": 1, "q": float("nan")}, "q=nan"),
        ({"length": 1, "q": "far"}, "q='far'"),
        ({"length": 1, "seed": -1}, "seed"),
        ({"length": 1, "weighted": True}, "weighted=True needs a graph with weights"),
        ({"length": 1, "kernel": "plain"}, "kernel='plain'"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        random_walks(tg.from_edges([0], [1]), **arguments)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), -3, 1.7e308])
def test_bad_weights_are_refused(weight: float) -> None:
    with pytest.raises(InvalidArgumentError, match="weights"):
        random_walks(tg.from_edges([0, 0], [1, 2], [weight, weight]), length=1, weighted=True)


def test_a_start_that_is_not_there() -> None:
    with pytest.raises(VertexNotFoundError):
        random_walks(tg.from_edges([0], [1]), [7], length=1)
