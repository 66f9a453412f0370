"""HITS against singular vectors, NetworkX, and its own check."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings

import tgraph as tg
import tgraph.task
from small_graphs import DIRECTIONS, SmallGraph, small_graphs, ways_to_run
from tgraph.errors import InterruptedRunError, InvalidArgumentError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import cuts
from tgraph.verify import check_hits

FULLY = {"tol_l1": 1e-14, "max_iterations": 300}
CLOSE = {"rtol": 1e-9, "atol": 1e-12}  # scores that fade to 0 do so by the gap of the singular values


def _singular_scores(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return hubs, authorities and the second singular value as a share of the first."""
    left, values, right = np.linalg.svd(matrix)
    hubs, authorities = np.abs(left[:, 0]), np.abs(right[0])
    return hubs / hubs.sum(), authorities / authorities.sum(), (values[1] if values.size > 1 else 0) / values[0]


@settings(deadline=None, max_examples=440, derandomize=True)
@given(small_graphs(weights=("none", "small")), ways_to_run())
def test_scores_are_the_first_singular_vectors(case: SmallGraph, how: dict[str, Any]) -> None:
    weighted = case.weights is not None
    graph, matrix = case.build(), case.to_matrix(weighted)
    result = tg.hits(graph, **FULLY, weighted=weighted, **how)
    moved = max(1e-9, 100 * result.residual)  # where the singular values are close, 300 iterations are too few
    check_hits(graph, result.hubs, result.authorities, moved, weighted=weighted)
    if not matrix.any():
        return
    hubs, authorities, share = _singular_scores(matrix)
    if share < 0.9:  # unique, and 300 iterations are enough
        assert result.converged
        np.testing.assert_allclose(result.column("hubs"), hubs, **CLOSE)
        np.testing.assert_allclose(result.column("authorities"), authorities, **CLOSE)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(small_graphs(), ways_to_run())
def test_scores_are_those_of_networkx(case: SmallGraph, how: dict[str, Any]) -> None:
    assume(case.num_vertices > 3 and case.edges)
    assume(_singular_scores(case.to_matrix())[2] < 0.9)
    start = dict.fromkeys(range(case.num_vertices), 1.0)  # else NetworkX starts at random
    hubs, authorities = nx.hits(case.to_networkx(), max_iter=5000, tol=1e-14, nstart=start)
    result = tg.hits(case.build(), **FULLY, **how)
    vertices = range(case.num_vertices)
    np.testing.assert_allclose(result.column("hubs"), [hubs[vertex] for vertex in vertices], rtol=1e-9, atol=1e-9)
    expected = [authorities[vertex] for vertex in vertices]
    np.testing.assert_allclose(result.column("authorities"), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_scores_sum_to_one(runtime_name: str, direction: str) -> None:
    graph = tg.generate.rmat(9, 8, seed=6)
    result = tg.hits(graph, runtime=runtime_name, direction=direction)
    assert result.converged
    assert result.residual <= 1e-8
    for name in ("hubs", "authorities"):
        assert result.column(name).dtype == np.float64
        assert result.column(name).sum() == pytest.approx(1.0, abs=1e-12)
    check_hits(graph, result.hubs, result.authorities, 1e-7)


def test_hubs_and_authorities_swap_when_edges_turn(runtime_name: str) -> None:
    graph = tg.generate.rmat(7, 6, seed=2, runtime=runtime_name)
    there, back = tg.hits(graph, **FULLY), tg.hits(graph.reverse(), **FULLY)
    np.testing.assert_allclose(there.column("hubs"), back.column("authorities"), rtol=1e-9, atol=1e-13)
    undirected = tg.hits(graph.symmetrize(), **FULLY)
    np.testing.assert_allclose(undirected.column("hubs"), undirected.column("authorities"), rtol=1e-9, atol=1e-13)


def test_equally_strong_communities_share_by_the_start(runtime_name: str) -> None:
    result = tg.hits(tg.from_edges([0, 1], [2, 3], runtime=runtime_name))
    assert result.hubs.tolist() == [0.5, 0.5, 0.0, 0.0]
    assert result.authorities.tolist() == [0.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_without_edges_all_scores_are_zero(runtime_name: str, count: int) -> None:
    graph = tg.from_edges([], [], num_vertices=count, runtime=runtime_name)
    result = tg.hits(graph)
    assert result.converged
    assert result.hubs.tolist() == result.authorities.tolist() == [0.0] * count


def test_all_weights_zero_is_as_no_edges(runtime_name: str) -> None:
    graph = tg.from_edges([0], [1], [0.0], runtime=runtime_name)
    assert tg.hits(graph, weighted=True).hubs.tolist() == [0.0, 0.0]
    assert tg.hits(graph).hubs.tolist() == [1.0, 0.0]


def test_weights_too_small_to_be_scaled_are_as_none(runtime_name: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2], [1e-310, 1e-305], runtime=runtime_name)
    assert tg.hits(graph, weighted=True).hubs.tolist() == [0.0, 0.0, 0.0]


def test_very_large_and_very_small_weights(runtime_name: str) -> None:
    for scale in (1e-150, 1e200):
        graph = tg.from_edges([0, 1, 1], [2, 2, 3], np.asarray([1.0, 2.0, 1.0]) * scale, runtime=runtime_name)
        result = tg.hits(graph, **FULLY, weighted=True)
        hubs, authorities, _ = _singular_scores(np.asarray([[0, 0, 1, 0], [0, 0, 2, 1], [0] * 4, [0] * 4], float))
        np.testing.assert_allclose(result.column("hubs"), hubs, **CLOSE)
        np.testing.assert_allclose(result.column("authorities"), authorities, **CLOSE)


def test_what_does_not_converge_says_so(runtime_name: str) -> None:
    result = tg.hits(tg.generate.rmat(8, 8, seed=1), tol_l1=0.0, max_iterations=2, runtime=runtime_name)
    assert not result.converged
    assert result.iterations == 2
    assert result.residual > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_threads_and_pieces_of_hubs(monkeypatch: pytest.MonkeyPatch, weighted: bool, directed: bool) -> None:
    graph = tg.generate.rmat(9, 8, seed=6, weights=(1.0, 3.0), directed=directed, runtime="numpy")
    expected = tg.hits(graph, 1e-13, weighted=weighted, kernel="plain")
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(cuts, "HUB_EDGES", 64)
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 16)
    answers = [tg.hits(graph, 1e-13, weighted=weighted, threads=threads) for threads in (1, 2, 5)]
    for result in answers:
        assert result.trace.kernel == "fused"
        assert result.iterations <= expected.iterations
        assert result.hubs.tobytes() == answers[0].hubs.tobytes()
        assert result.authorities.tobytes() == answers[0].authorities.tobytes()
        assert [row.residual for row in result.trace] == [row.residual for row in answers[0].trace]
    np.testing.assert_allclose(answers[0].hubs, expected.hubs, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(answers[0].authorities, expected.authorities, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("tol_l1", [1e-3, 1e-6, 1e-9, 1e-12])
def test_one_more_step_changes_no_more_than_the_tolerance(tol_l1: float) -> None:
    graph = tg.generate.rmat(10, 4, seed=3, runtime="numpy")
    result = tg.hits(graph, tol_l1)
    assert result.converged
    check_hits(graph, result.hubs, result.authorities, max(2 * tol_l1, 1e-12))


@pytest.mark.parametrize("limit", [2, 3, 4, 7, 20])
def test_limits_in_the_middle_of_a_cycle(limit: int) -> None:
    graph = tg.from_edges(range(60), range(1, 61), directed=False, runtime="numpy")  # its singular values are close
    result = tg.hits(graph, 1e-300, limit)
    power = tg.hits(graph, 0.0, limit)
    assert (result.iterations, result.converged) == (limit, False)
    assert result.hubs.min() >= 0
    assert result.hubs.sum() == pytest.approx(1.0)
    assert result.authorities.sum() == pytest.approx(1.0)
    assert result.residual <= power.residual * (1 + 1e-9)
    check_hits(graph, result.hubs, result.authorities, 2 * result.residual)


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_limits_and_more_than_one_call(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    graph = tg.generate.rmat(8, 8, seed=1, runtime="numpy")
    plain = tg.hits(graph, 0.0, limit, kernel="plain")
    monkeypatch.setattr(tgraph.task, "ITERATIONS_PER_CALL", 2)
    fused = tg.hits(graph, 0.0, limit)
    assert (fused.iterations, fused.converged) == (limit, False)
    np.testing.assert_allclose(fused.hubs, plain.hubs, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(fused.authorities, plain.authorities, rtol=1e-9, atol=1e-15)
    assert fused.residual == pytest.approx(plain.residual)


@pytest.mark.parametrize("tol_l1", [0.0, 1e-300])  # steps of the power method, cycles of several products
def test_ctrl_c_gives_what_is_there(tol_l1: float) -> None:
    graph = tg.from_edges(range(30_000), range(1, 30_001), directed=False, runtime="numpy")  # it never settles
    tg.hits(graph, tol_l1, max_iterations=1)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(InterruptedRunError, match="HITS was interrupted after") as caught:
        tg.hits(graph, tol_l1, max_iterations=10**7)
    partial = caught.value.result
    assert partial.iterations > 0
    assert not partial.converged
    for scores in (partial.hubs, partial.authorities):
        assert scores.min() >= 0
        assert scores.sum() == pytest.approx(1.0)


def test_top_by_either_score() -> None:
    result = tg.hits(tg.from_edges(["ann", "bob", "ann"], ["cy", "cy", "dan"]))
    assert result.top(1)[0][0] == "ann"
    assert result.top(1, field="authorities")[0][0] == "cy"


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_wrong_weights_are_refused_where_they_are_used(wrong: float) -> None:
    graph = tg.from_edges([0, 1], [1, 2], [1.0, wrong])
    assert tg.hits(graph).converged
    with pytest.raises(InvalidArgumentError, match=rf"weights holds {wrong} at edge 1"):
        tg.hits(graph, weighted=True)


def test_wrong_arguments_are_named() -> None:
    graph = tg.from_edges([0], [1])
    with pytest.raises(InvalidArgumentError, match=r"tol_l1=-1\.0 must be 0 or more"):
        tg.hits(graph, tol_l1=-1.0)
    with pytest.raises(InvalidArgumentError, match="weighted=True needs a graph with weights"):
        tg.hits(graph, weighted=True)


def test_a_tolerance_that_is_no_number_is_named() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="tol_l1=None must be"):
        tg.hits(graph, tol_l1=None)  # type: ignore[arg-type]
