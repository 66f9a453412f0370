"""Maximal independent sets against the serial greedy loop and their own check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.mis import mis
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.mis import first_independent, random_order
from tgraph.verify.mis import check_mis


def greedy(case: SmallGraph, order: np.ndarray) -> list[bool]:
    """Ask one vertex after the other."""
    matrix = case.to_matrix() > 0
    beside = matrix | matrix.T
    members = np.zeros(case.num_vertices, bool)
    for vertex in np.argsort(order):
        others = beside[vertex].copy()
        others[vertex] = False
        members[vertex] = not (members & others).any()
    return members.tolist()


@settings(deadline=None, max_examples=500, derandomize=True)
@given(small_graphs(), ways_to_run(), st.integers(0, 2**64 - 1))
def test_the_set_is_that_of_the_greedy_loop(case: SmallGraph, how: dict[str, Any], seed: int) -> None:
    graph, order = case.build(), random_order(case.num_vertices, seed)
    result = mis(graph, seed, **how)
    assert result.to_numpy().tolist() == greedy(case, order)
    assert result.converged
    check_mis(graph, result.members, order)


@pytest.mark.parametrize("directed", [True, False])
def test_threads_and_kernels_change_nothing(monkeypatch: pytest.MonkeyPatch, directed: bool) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    ends = np.random.default_rng(3).integers(0, 3000, (2, 9000))
    graph = tg.from_edges(*ends, directed=directed, num_vertices=3100)
    plain = mis(graph, 11, kernel="plain").to_numpy()
    check_mis(graph, plain, random_order(3100, 11))
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(mis(graph, 11, threads=threads).to_numpy(), plain)


def test_a_large_graph_passes_its_check() -> None:
    graph = tg.generate.rmat(14, 8, seed=3, runtime="numpy")
    check_mis(graph, mis(graph, 4, threads=2).members, random_order(graph.num_vertices, 4))


def test_seeds_give_different_sets_of_one_graph(runtime_name: str) -> None:
    graph = tg.generate.erdos_renyi(300, 900, seed=1, runtime=runtime_name)
    sets = {tuple(mis(graph, seed).members.tolist()) for seed in range(5)}
    assert len(sets) == 5
    assert mis(graph).members.tolist() == mis(graph, seed=0).members.tolist()


@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_loops_duplicates_isolated_vertices_and_nothing(runtime_name: str, kernel: str) -> None:
    how: dict[str, Any] = {"runtime": runtime_name, "kernel": kernel}
    assert mis(tg.from_edges([0, 1, 1], [0, 1, 1]), **how).members.tolist() == [True, True]
    assert mis(tg.from_edges([], [], num_vertices=3), **how).members.tolist() == [True] * 3
    assert mis(tg.from_edges([], []), **how).members.tolist() == []
    assert sum(mis(tg.from_edges([0, 0, 1], [1, 1, 0]), **how).members.tolist()) == 1
    assert mis(tg.from_edges(["ann"], ["ann"]), **how)["ann"] is True


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hub_and_a_long_path(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    star = tg.from_edges(np.zeros(20_000, int), np.arange(1, 20_001))
    assert int(mis(star, 1, threads=threads).to_numpy().sum()) in (1, 20_000)
    path = tg.from_edges(np.arange(20_000), np.arange(1, 20_001))
    check_mis(path, mis(path, 1, threads=threads).members, random_order(20_001, 1))


def test_wide_ids_and_rows_that_do_not_ascend() -> None:
    offsets, targets = np.array([0, 3, 5, 6, 6]), np.array([2, 1, 1, 3, 0, 0], np.int64)
    graph = tg.from_csr(offsets, targets)
    order = random_order(4, 9)
    in_rows = graph.adjacency("in").to_numpy()
    members = first_independent(((offsets, targets), (in_rows[0], in_rows[1].astype(np.int64))), order)
    assert mis(graph, 9).members.tolist() == members.tolist()
    check_mis(graph, members, order)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, True, "x"])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"seed=.* must be a whole number, from 0 to"):
        mis(tg.from_edges([0], [1]), seed)
