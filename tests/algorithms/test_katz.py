"""Katz centrality against NetworkX, a linear solver and its own check."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import tgraph as tg
import tgraph.task
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.katz import katz
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import cuts
from tgraph.verify.katz import check_katz


def solved(graph: tg.Graph, alpha: float, beta: float, weighted: bool) -> np.ndarray:
    """Solve (I - alpha A^T) x = beta."""
    matrix = np.zeros((graph.num_vertices,) * 2)
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    np.add.at(matrix, (targets, sources), weights if weighted else 1.0)
    return np.linalg.solve(np.eye(graph.num_vertices) - alpha * matrix, np.full(graph.num_vertices, beta))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(small_graphs(), ways_to_run())
def test_scores_solve_the_equation(case: SmallGraph, how: dict[str, Any]) -> None:
    graph = case.build()
    alpha = 0.9 / max(1, int(np.max(graph.to("numpy").in_degrees(), initial=1)))
    result = katz(graph, alpha, 2.0, 1e-12, normalized=False, **how)
    assert result.converged
    np.testing.assert_allclose(result.to_numpy(), solved(graph, alpha, 2.0, False), rtol=1e-9)
    check_katz(graph, result.scores, alpha, 2.0, 1e-12)


def test_scores_equal_those_of_networkx(runtime_name: str) -> None:
    network = nx.karate_club_graph()
    graph = tg.from_networkx(network, weight="weight", runtime=runtime_name)
    for weighted in (False, True):
        expected = nx.katz_centrality_numpy(network, alpha=0.02, weight="weight" if weighted else None)
        result = katz(graph, 0.02, tol_l1=1e-12, weighted=weighted)
        np.testing.assert_allclose(result.to_numpy(), [expected[vertex] for vertex in network], rtol=1e-9)
        assert np.square(result.to_numpy()).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_default_alpha_converges(weighted: bool) -> None:
    graph = tg.generate.rmat(10, 8, seed=1, weights=(1.0, 9.0), runtime="numpy")
    result = katz(graph, weighted=weighted, normalized=False, tol_l1=1e-9)
    assert result.converged
    weights = graph.in_weights if weighted else np.ones(graph.num_arcs)
    largest = max(part.sum() for part in np.split(weights, graph.in_offsets[1:-1]))
    check_katz(graph, result.scores, 1.0 / (1.0 + largest), 1.0, 1e-9, weighted)


def test_a_graph_without_vertices_or_edges() -> None:
    assert katz(tg.from_edges([], [], num_vertices=0)).scores.tolist() == []
    assert katz(tg.from_edges([], [], num_vertices=4)).scores.tolist() == [0.5] * 4


def test_what_cannot_be_is_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 0])
    with pytest.raises(InvalidArgumentError, match="scores grow; use a smaller"):
        katz(graph, alpha=1e9)
    with pytest.raises(InvalidArgumentError, match="alpha=-1"):
        katz(graph, alpha=-1)
    with pytest.raises(InvalidArgumentError, match="weighted=True needs"):
        katz(graph, weighted=True)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_pieces_of_hubs(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    graph = tg.generate.rmat(9, 8, seed=6, directed=False, runtime="numpy")
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(cuts, "HUB_EDGES", 64)
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 16)
    result, alone = (katz(graph, 0.005, tol_l1=1e-11, normalized=False, threads=number) for number in (threads, 1))
    assert result.scores.tobytes() == alone.scores.tobytes()
    assert [row.residual for row in result.trace] == [row.residual for row in alone.trace]
    np.testing.assert_allclose(result.scores, solved(graph, 0.005, 1.0, False), rtol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 1e-200, 3.0, 1e200])
def test_scores_grow_with_beta(beta: float) -> None:
    graph = tg.generate.rmat(6, 4, seed=2, directed=False, runtime="numpy")
    result = katz(graph, 0.01, beta, 1e-13 * beta, normalized=False)
    assert result.converged
    np.testing.assert_allclose(result.scores, solved(graph, 0.01, beta, False), rtol=1e-12)


def test_the_residual_is_what_another_iteration_would_change() -> None:
    graph = tg.generate.rmat(9, 8, seed=6, directed=False, runtime="numpy")
    for limit in (1, 2, 3):
        result = katz(graph, 0.001, 1.0, 0.0, limit, normalized=False)
        assert (result.iterations, result.converged) == (limit, False)
        offsets, targets, _ = graph.adjacency("out").to_numpy()
        again = 0.001 * np.add.reduceat(np.append(result.scores[targets], 0.0), offsets[:-1]) * (np.diff(offsets) > 0)
        assert np.abs(again + 1.0 - result.scores).sum() == pytest.approx(result.residual, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 0.0])
def test_without_a_tolerance_it_ends_where_nothing_changes(alpha: float) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 3], directed=False, runtime="numpy")
    result = katz(graph, alpha, tol_l1=0.0, normalized=False)
    assert result.converged
    assert result.iterations < 200
    np.testing.assert_allclose(result.scores, solved(graph, alpha, 1.0, False), rtol=1e-15)


def test_more_than_one_call_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.from_edges(range(50), range(1, 51), directed=False, runtime="numpy")
    monkeypatch.setattr(tgraph.task, "ITERATIONS_PER_CALL", 3)
    result = katz(graph, 0.45, tol_l1=1e-11, normalized=False)
    assert result.iterations > 6
    np.testing.assert_allclose(result.scores, solved(graph, 0.45, 1.0, False), rtol=1e-11)


def test_a_tolerance_that_is_no_number_is_named() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="tol_l1=None must be"):
        tg.katz(graph, tol_l1=None)  # type: ignore[arg-type]
