"""Penalised hitting probabilities against a linear solver, walks by hand and their own check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tgraph as tg
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.php import php
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.verify.php import check_php


def solved(graph: tg.Graph, source: int, damping: float, weighted: bool) -> np.ndarray:
    """Solve x = damping P^T x with x = 1 at the source."""
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    matrix = np.zeros((graph.num_vertices,) * 2)
    np.add.at(matrix, (targets, sources), weights if weighted else 1.0)
    sums = matrix.sum(0)
    matrix = damping * np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    matrix[source] = 0
    start = np.zeros(graph.num_vertices)
    start[source] = 1
    return np.linalg.solve(np.eye(graph.num_vertices) - matrix, start)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(small_graphs(), ways_to_run())
def test_scores_solve_the_equation(case: SmallGraph, how: dict[str, Any]) -> None:
    graph = case.build()
    if not graph.num_vertices:
        return
    weighted = graph.weighted and min(case.weights or [-1]) >= 0
    source = graph.labels_of(np.array([graph.num_vertices // 2])).tolist()[0]
    result = php(graph, source, tol_l1=1e-13, weighted=weighted, **how)
    assert result.converged
    expected = solved(graph, graph.num_vertices // 2, 0.8, weighted)
    np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-9, atol=1e-12)
    check_php(graph, source, result.scores, 0.8, 1e-12, weighted)


def test_a_path_loses_the_factor_at_every_step(runtime_name: str) -> None:
    graph = tg.from_edges(["a", "b", "c"], ["b", "c", "d"], runtime=runtime_name)
    result = php(graph, "a", 0.5)
    assert result.scores.tolist() == [1.0, 0.5, 0.25, 0.125]
    assert result["d"] == 0.125


def test_walkers_that_come_back_end_at_the_source() -> None:
    graph = tg.from_edges([0], [1], directed=False)
    assert php(graph, 0, 0.5).scores.tolist() == [1.0, 0.5]


def test_a_large_graph_passes_its_check() -> None:
    graph = tg.generate.rmat(12, 8, seed=4, weights=(1.0, 5.0), runtime="numpy")
    for weighted in (False, True):
        result = php(graph, 7, tol_l1=1e-9, weighted=weighted)
        assert result.trace.kernel == "fused"
        assert check_php(graph, 7, result.scores, 0.8, 1e-9, weighted) < 1e-7


def test_what_cannot_be_is_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 0])
    with pytest.raises(InvalidArgumentError, match="damping=1"):
        php(graph, 0, 1)
    with pytest.raises(VertexNotFoundError):
        php(graph, 5)


def test_a_tolerance_that_is_no_number_is_named() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="tol_l1=None must be"):
        tg.php(graph, 0, tol_l1=None)  # type: ignore[arg-type]
