"""Weakly connected components against NetworkX, SciPy and their own check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import tgraph as tg
from small_graphs import DIRECTIONS, SmallGraph, expected_labels, small_graphs, ways_to_run
from tgraph.verify import check_wcc


@settings(deadline=None, max_examples=500, derandomize=True)
@given(small_graphs(), ways_to_run())
def test_labels_are_the_smallest_vertices_of_networkx_components(case: SmallGraph, how: dict[str, Any]) -> None:
    graph = case.build()
    result = tg.wcc(graph, **how)
    assert result.to_numpy().tolist() == expected_labels(case)
    check_wcc(graph, result.labels)
    assert result.converged


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_many_components_of_a_sparse_graph(runtime_name: str, direction: str) -> None:
    ends = np.random.default_rng(8).integers(0, 3000, (2, 2000))
    graph = tg.from_edges(*ends, num_vertices=3000)
    result = tg.wcc(graph, runtime=runtime_name, direction=direction)
    check_wcc(graph, result.labels)
    count, _ = connected_components(csr_array((np.ones(2000), ends), (3000, 3000)), directed=False)
    assert np.unique(result.to_numpy()).size == count


def test_edges_against_the_order_of_the_vertices(runtime_name: str) -> None:
    graph = tg.from_edges([4, 3, 9, 8], [3, 1, 8, 6], num_vertices=10, runtime=runtime_name)
    assert tg.wcc(graph).labels.tolist() == [0, 1, 2, 1, 1, 5, 6, 7, 6, 6]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_long_paths_take_few_iterations(runtime_name: str, direction: str) -> None:
    order = np.random.default_rng(1).permutation(5000)
    graph = tg.from_edges(order[:-1], order[1:])
    result = tg.wcc(graph, runtime=runtime_name, direction=direction)
    check_wcc(graph, result.labels)
    assert result.iterations < 50


def test_the_labels_carry_the_users_ids(runtime_name: str) -> None:
    graph = tg.from_edges(["bob", "dan"], ["ann", "eve"], runtime=runtime_name)
    result = tg.wcc(graph)
    assert result.column("labels").tolist() == ["ann", "ann", "dan", "dan"]
    assert result["bob"] == "ann"


def test_max_iterations_is_kept(runtime_name: str) -> None:
    graph = tg.from_edges(np.arange(1000), np.arange(1, 1001), runtime=runtime_name)
    result = tg.wcc(graph, max_iterations=1)
    assert result.iterations == 1
    assert not result.converged
