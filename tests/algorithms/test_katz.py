"""Katz centrality against NetworkX, a linear solver and its own check."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import tgraph as tg
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.katz import katz
from tgraph.errors import InvalidArgumentError
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
