"""Greedy colourings against NetworkX, the serial loop and their own check."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.coloring import coloring
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.coloring import first_fit_colors, largest_first_order
from tgraph.verify.coloring import check_coloring


def degrees_of(graph: tg.Graph) -> np.ndarray:
    """Both directions where there are two."""
    out = np.diff(graph.adjacency("out").to_numpy()[0])
    return out + np.diff(graph.adjacency("in").to_numpy()[0]) if graph.directed else out


def order_of(graph: tg.Graph, seed: int) -> np.ndarray:
    return largest_first_order(degrees_of(graph), seed)


def expected_colors(case: SmallGraph, order: np.ndarray) -> list[int]:
    """NetworkX colours in the order that it is given."""
    network = nx.Graph(case.to_networkx())
    network.remove_edges_from(list(nx.selfloop_edges(network)))
    found = nx.greedy_color(network, strategy=lambda *_: np.argsort(order).tolist())
    return [found[vertex] for vertex in range(case.num_vertices)]


@settings(deadline=None, max_examples=500, derandomize=True)
@given(small_graphs(), ways_to_run(), st.integers(0, 2**64 - 1))
def test_the_colors_are_those_of_networkx_in_the_same_order(case: SmallGraph, how: dict[str, Any], seed: int) -> None:
    graph = case.build()
    order = order_of(graph, seed)
    result = coloring(graph, seed, **how)
    assert result.to_numpy().tolist() == expected_colors(case, order)
    assert result.num_colors == max(result.to_numpy()) + 1
    assert result.to_numpy().dtype == np.int32
    assert result.converged
    check_coloring(graph, result.colors, order)


def test_larger_degrees_come_first_and_seeds_change_only_ties() -> None:
    degrees = np.random.default_rng(0).integers(0, 9, 400)
    orders = [np.argsort(largest_first_order(degrees, seed)) for seed in range(3)]
    for order in orders:
        assert (np.diff(degrees[order]) <= 0).all()
    assert not (orders[0] == orders[1]).all()
    huge = np.array([2**60, 2**60, 0, 5])  # no room for random bits
    assert np.argsort(largest_first_order(huge, 3)).tolist() == [0, 1, 3, 2]


@pytest.mark.parametrize("directed", [True, False])
def test_threads_and_kernels_change_nothing(monkeypatch: pytest.MonkeyPatch, directed: bool) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    ends = np.random.default_rng(3).integers(0, 3000, (2, 20_000))
    graph = tg.from_edges(*ends, directed=directed, num_vertices=3100)
    plain = coloring(graph, 11, kernel="plain").to_numpy()
    check_coloring(graph, plain, order_of(graph, 11))
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(coloring(graph, 11, threads=threads).to_numpy(), plain)


def test_about_as_many_colors_as_networkx_needs() -> None:
    graph = tg.generate.rmat(12, 8, seed=3, runtime="numpy").symmetrize().simplify()
    theirs = nx.greedy_color(tg.to_networkx(graph), strategy="largest_first")
    result = coloring(graph, threads=2)
    check_coloring(graph, result.colors, order_of(graph, 0))
    assert abs(result.num_colors - (max(theirs.values()) + 1)) <= 3


@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_known_graphs_loops_and_nothing(runtime_name: str, kernel: str) -> None:
    how: dict[str, Any] = {"runtime": runtime_name, "kernel": kernel}
    assert coloring(tg.generate.complete(7), **how).num_colors == 7
    assert coloring(tg.generate.star(3000), **how).num_colors == 2
    assert coloring(tg.from_edges([0, 1, 1], [0, 1, 1]), **how).colors.tolist() == [0, 0]
    assert coloring(tg.from_edges([0, 0, 1], [1, 1, 0]), **how).num_colors == 2
    assert coloring(tg.from_edges([], [], num_vertices=3), **how).colors.tolist() == [0, 0, 0]
    empty = coloring(tg.from_edges([], []), **how)
    assert (empty.num_colors, empty.colors.tolist()) == (0, [])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_path_and_users_ids(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    path = tg.from_edges(np.arange(20_000), np.arange(1, 20_001))
    result = coloring(path, threads=threads)
    assert result.num_colors <= 3
    check_coloring(path, result.colors, order_of(path, 0))
    named = coloring(tg.from_edges(["ann", "ann"], ["bob", "cy"]))
    assert (named["ann"], named["bob"], named.to("numpy").num_colors) == (0, 1, 2)


def test_wide_ids_and_rows_that_do_not_ascend() -> None:
    offsets, targets = np.array([0, 3, 5, 6, 6]), np.array([2, 1, 1, 3, 0, 0], np.int64)
    graph = tg.from_csr(offsets, targets)
    order = order_of(graph, 9)
    in_rows = graph.adjacency("in").to_numpy()
    colors = first_fit_colors(((offsets, targets), (in_rows[0], in_rows[1].astype(np.int64))), order)
    assert coloring(graph, 9).colors.tolist() == colors.tolist()
    check_coloring(graph, colors, order)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, True, "x"])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"seed=.* must be a whole number, from 0 to"):
        coloring(tg.from_edges([0], [1]), seed)
