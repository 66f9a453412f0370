"""Shortest paths against NetworkX, SciPy and their own check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import tgraph as tg
from small_graphs import DIRECTIONS, SmallGraph, expected_distances, small_graphs, ways_to_run
from tgraph.errors import InvalidArgumentError
from tgraph.verify import check_sssp

INF = float("inf")
NOWHERE = 2**63 - 1


@settings(deadline=None, max_examples=500, derandomize=True)
@given(small_graphs(weights=("none", "small", "large", "float")), ways_to_run(), st.data())
def test_distances_are_those_of_networkx(case: SmallGraph, how: dict[str, Any], data: st.DataObject) -> None:
    graph, source = case.build(), data.draw(st.integers(0, case.num_vertices - 1))
    result = tg.sssp(graph, source, **how)
    assert result.to_numpy().dtype == np.float64
    assert result.to_numpy().tolist() == expected_distances(case, source)
    check_sssp(graph, source, result.distances, result.parents)
    assert result.converged


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_float_weights_are_added_as_dijkstra_adds_them(runtime_name: str, direction: str) -> None:
    """The least rounded sum over all paths is one number, so that even floats are equal to the last bit."""
    graph = tg.generate.rmat(9, 8, seed=4, weights=(0.0, 1.0)).simplify()
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    matrix = csr_array((weights.astype(np.float64), targets, offsets), (graph.num_vertices,) * 2)
    result = tg.sssp(graph, 0, runtime=runtime_name, direction=direction)
    check_sssp(graph, 0, result.distances, result.parents)
    assert result.to_numpy().tolist() == dijkstra(matrix, indices=0).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_every_type_of_weights(runtime_name: str, dtype: str) -> None:
    weights = np.asarray([3, 1, 1, 0], dtype)
    graph = tg.from_edges([0, 0, 1, 2], [2, 1, 2, 3], weights, runtime=runtime_name)
    result = tg.sssp(graph, 0)
    assert result.to_numpy().dtype == np.float64
    assert result.distances.tolist() == [0.0, 1.0, 2.0, 2.0]
    assert result.parents.tolist() == [0, 0, 1, 2]


def test_float32_weights_are_added_in_float64(runtime_name: str) -> None:
    weights = np.asarray([16_777_216, 1, 1], np.float32)
    graph = tg.from_edges([0, 1, 2], [1, 2, 3], weights, runtime=runtime_name)
    assert tg.sssp(graph, 0)[3] == 16_777_218.0


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_integers_beyond_float64_are_exact(runtime_name: str, direction: str) -> None:
    huge = 2**55
    weights = np.asarray([huge, 1, 1, huge + 3, 5])
    graph = tg.from_edges([0, 1, 2, 0, 5], [1, 2, 3, 3, 4], weights, runtime=runtime_name)
    result = tg.sssp(graph, 0, direction=direction)
    assert result.to_numpy().dtype == np.int64
    assert result.distances.tolist() == [0, huge, huge + 1, huge + 2, NOWHERE, NOWHERE]
    assert result.parents.tolist() == [0, 0, 1, 2, -1, -1]
    check_sssp(graph, 0, result.distances, result.parents)


def test_integers_that_may_pass_int64_are_refused(runtime_name: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2], np.asarray([2**62, 2**62]), runtime=runtime_name)
    with pytest.raises(InvalidArgumentError, match=rf"weights holds {2**62}; .* use weights up to {NOWHERE // 3}"):
        tg.sssp(graph, 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_infinite_weights_bar_an_edge(runtime_name: str, direction: str) -> None:
    weights = [1.0, INF, 1.0, INF]
    graph = tg.from_edges([0, 1, 2, 0], [1, 2, 3, 1], weights, runtime=runtime_name)
    result = tg.sssp(graph, 0, direction=direction)
    assert result.distances.tolist() == [0.0, 1.0, INF, INF]
    assert result.parents.tolist() == [0, 0, -1, -1]
    check_sssp(graph, 0, result.distances, result.parents)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -0.5], r"weights holds -0\.5 at edge 1; sssp needs weights of 0 or more"),
        ([1, -7], "weights holds -7 at edge 1; sssp needs weights of 0 or more"),
        ([np.nan, 1.0], "weights holds NaN at edge 0; sssp needs numbers"),
        ([1.0, -INF], "weights holds -inf at edge 1"),
    ],
)
def test_weights_that_have_no_shortest_paths_are_refused(runtime_name: str, weights: list[float], message: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2], weights, runtime=runtime_name)
    with pytest.raises(InvalidArgumentError, match=message):
        tg.sssp(graph, 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_parents_are_a_tree_where_all_weights_are_zero(runtime_name: str, direction: str) -> None:
    count = 50
    ring = np.arange(count)
    graph = tg.from_edges(ring, (ring + 1) % count, np.zeros(count, int), directed=False, runtime=runtime_name)
    result = tg.sssp(graph, 7, direction=direction)
    check_sssp(graph, 7, result.distances, result.parents)
    assert not result.to_numpy().any()


def test_max_iterations_and_no_parents(runtime_name: str) -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0], runtime=runtime_name)
    result = tg.sssp(graph, 0, parents=False, max_iterations=2)
    assert result.distances.tolist() == [0.0, 1.0, 2.0, INF]
    assert not result.converged
    assert "parents" not in result.fields


def test_ids_of_the_user(runtime_name: str) -> None:
    graph = tg.from_edges(["ann", "ann", "bob"], ["cy", "bob", "cy"], [5.0, 1.0, 2.5], runtime=runtime_name)
    result = tg.sssp(graph, "ann")
    assert result["cy"] == 3.5
    assert result.to_pandas()["parents"].to_dict() == {"ann": "ann", "bob": "ann", "cy": "bob"}
