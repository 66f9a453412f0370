"""Minimum spanning forests against NetworkX, SciPy and their own check."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

import tgraph as tg
from odd_graphs import odd_graphs
from small_graphs import RUNTIMES, SmallGraph, expected_labels, small_graphs
from tgraph.algorithms.mst import SpanningForest, mst
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import mst as kernel
from tgraph.kernels.cpu import team
from tgraph.verify.mst import check_mst


def check(graph: tg.Graph, forest: SpanningForest) -> None:
    check_mst(graph, forest.sources, forest.targets, forest.edge_weights, forest.labels)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(small_graphs(weights=("none", "small", "large", "float")), st.sampled_from(RUNTIMES))
def test_the_weight_is_that_of_networkx_and_the_edges_pass_their_check(case: SmallGraph, runtime: str) -> None:
    graph = case.build()
    forest = mst(graph, runtime=runtime)
    expected = nx.minimum_spanning_tree(replace(case, directed=False).to_networkx()).size("weight")
    assert forest.weight == pytest.approx(expected)
    assert forest.to_numpy().tolist() == expected_labels(case)
    check(graph, forest)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(odd_graphs())
def test_negative_infinite_and_extreme_weights_of_every_type(graph: tg.Graph) -> None:
    forest = mst(graph)
    check(graph, forest)
    if graph.weighted:
        assert forest.edge_weights.dtype == graph.adjacency("out").to_numpy()[2].dtype


def _random(directed: bool, high: int, seed: int = 5) -> tg.Graph:
    numbers = np.random.default_rng(seed)
    ends = numbers.integers(0, 1500, (2, 12_000))
    return tg.from_edges(*ends, numbers.integers(0, high, 12_000), directed=directed, num_vertices=1600)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("high", [1, 3, 10**6])
def test_threads_and_the_share_of_light_edges_change_nothing(
    monkeypatch: pytest.MonkeyPatch, directed: bool, high: int
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = _random(directed, high)
    check(graph, mst(graph, threads=1))
    expected = set(zip(*(column.tolist() for column in mst(graph).edges), strict=True))
    for light_per_vertex in (0, 1, 2, 100):
        monkeypatch.setattr(kernel, "LIGHT_PER_VERTEX", light_per_vertex)
        forests = [mst(graph, threads=threads) for threads in (1, 2, 5)]
        for forest in forests:
            assert set(zip(*(column.tolist() for column in forest.edges), strict=True)) == expected
            np.testing.assert_array_equal(forest.sources, forests[0].sources)


def test_unweighted_edges_weigh_one_and_are_the_first_that_join(runtime_name: str) -> None:
    graph = tg.from_edges([3, 0, 1, 0], [1, 3, 0, 0], num_vertices=5, runtime=runtime_name)
    forest = mst(graph)
    assert sorted(zip(*(column.tolist() for column in forest.edges), strict=True)) == [(0, 1, 1), (0, 3, 1)]
    assert forest.weight == 2
    assert forest.labels.tolist() == [0, 0, 2, 0, 4]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_weight_of_a_large_graph_is_that_of_scipy(threads: int) -> None:
    graph = tg.generate.rmat(14, 8, seed=2, weights=(1, 200), runtime="numpy").symmetrize().simplify()
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    tree = minimum_spanning_tree(csr_array((weights.astype(float), targets, offsets), (graph.num_vertices,) * 2))
    forest = mst(graph, threads=threads)
    assert forest.weight == tree.sum()
    assert forest.sources.size == tree.nnz
    check(graph, forest)
    plain = tg.from_csr(offsets, targets, directed=False)
    check(plain, mst(plain, threads=threads))


@pytest.mark.parametrize("weights", [np.arange(50_000), -np.arange(50_000), np.zeros(50_000)])
def test_long_paths_join_in_few_rounds(weights: np.ndarray) -> None:
    forest = mst(tg.from_edges(np.arange(50_000), np.arange(1, 50_001), weights))
    assert forest.sources.size == 50_000
    assert forest.weight == weights.sum()
    assert not forest.to_numpy().any()


def test_zero_is_a_weight_and_both_zeros_are_equal() -> None:
    forest = mst(tg.from_edges([0, 1, 2], [1, 2, 0], [0.0, -0.0, 0.0]))
    assert sorted(zip(forest.sources.tolist(), forest.targets.tolist(), strict=True)) == [(0, 1), (0, 2)]
    forest = mst(tg.from_edges([0, 0], [1, 1], [math.inf, math.inf]))
    assert forest.weight == math.inf
    assert math.isnan(mst(tg.from_edges([0, 1], [1, 2], [math.inf, -math.inf])).weight)


def test_integer_totals_do_not_overflow() -> None:
    assert mst(tg.from_edges([0, 1], [1, 2], [2**62, 2**62 + 1])).weight == 2**63 + 1


def test_edges_carry_the_users_ids_also_on_another_runtime(runtime_name: str) -> None:
    forest = mst(tg.from_edges(["cy", "ann"], ["bob", "bob"], [1.5, 2.5], runtime=runtime_name))
    other = forest.to("numpy")
    for result in (forest, other):
        assert sorted(zip(*(column.tolist() for column in result.edges), strict=True)) == [
            ("ann", "bob", 2.5),
            ("bob", "cy", 1.5),
        ]
    assert isinstance(other.labels, np.ndarray)
    assert forest["cy"] == "ann"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_graphs_without_edges(runtime_name: str, count: int) -> None:
    forest = mst(tg.from_edges([], [], num_vertices=count, runtime=runtime_name))
    assert forest.labels.tolist() == list(range(count))
    assert forest.weight == 0
    assert forest.edges[0].size == 0


def test_wide_ids_and_rows_that_do_not_ascend() -> None:
    offsets, targets = np.array([0, 3, 5, 6, 6]), np.array([2, 1, 1, 3, 0, 0], np.int64)
    weights = np.array([4.0, 2.0, 1.0, 0.5, 9.0, 1.0])
    forest = kernel.minimum_spanning_forest(offsets, targets, weights, False)
    graph = tg.from_csr(offsets, targets, weights=weights)
    check_mst(graph, forest.sources, forest.targets, forest.weights, forest.labels)
    check(graph, mst(graph))


def test_nan_and_the_plain_kernel_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"weights\[1\] is nan"):
        mst(tg.from_edges([0, 1], [1, 2], [1.0, math.nan]))
    how: dict[str, Any] = {"kernel": "plain"}
    with pytest.raises(InvalidArgumentError, match="kernel='plain' is not there for MST"):
        mst(tg.from_edges([0], [1]), **how)
