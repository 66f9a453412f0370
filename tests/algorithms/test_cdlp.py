"""Label propagation against its definition written out, on every path, and against its own check."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs, ways_to_run
from tgraph.algorithms.cdlp import cdlp
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import cdlp as kernel
from tgraph.kernels.cpu import team
from tgraph.verify.cdlp import check_cdlp


def expected_labels(case: SmallGraph, max_iterations: int) -> list[int]:
    around: list[list[int]] = [[] for _ in range(case.num_vertices)]
    for source, target in case.edges:
        around[source].append(target)
        if case.directed or source != target:
            around[target].append(source)
    labels = list(range(case.num_vertices))
    for _ in range(max_iterations):
        counted = [Counter(labels[neighbor] for neighbor in neighbors) for neighbors in around]
        labels = [
            min(counts, key=lambda label, counts=counts: (-counts[label], label)) if counts else labels[vertex]
            for vertex, counts in enumerate(counted)
        ]
    return labels


@settings(deadline=None, max_examples=400)
@given(small_graphs(), ways_to_run(), st.integers(0, 6))
def test_labels_follow_the_definition(case: SmallGraph, how: dict[str, Any], max_iterations: int) -> None:
    graph = case.build()
    result = cdlp(graph, max_iterations=max_iterations, **how)
    assert result.labels.tolist() == expected_labels(case, max_iterations)
    assert result.iterations <= max_iterations
    check_cdlp(graph, result.labels, max_iterations)
    if result.converged:
        check_cdlp(graph, result.labels, max_iterations + 3)


@settings(deadline=None, max_examples=200)
@given(small_graphs(max_vertices=30), st.sampled_from([1, 2, 5]), st.integers(1, 12))
def test_threads_hubs_and_pieces_change_no_label(case: SmallGraph, threads: int, hub_edges: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "MIN_WORK_PER_THREAD", 1)
        patch.setattr(kernel, "HUB_EDGES", hub_edges)
        patch.setattr(kernel, "CHUNK", 3)
        result = cdlp(case.build(), max_iterations=6, threads=threads)
    assert result.labels.tolist() == expected_labels(case, 6)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("directed", [True, False])
def test_a_large_graph_passes_its_check_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, threads: int, directed: bool
) -> None:
    monkeypatch.setattr(kernel, "HUB_EDGES", 600)
    monkeypatch.setattr(kernel, "CHUNK", 1 << 10)
    graph = tg.generate.rmat(13, 16, seed=4, runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    result = cdlp(graph, threads=threads)
    check_cdlp(graph, result.labels)
    plain = cdlp(graph, kernel="plain")
    assert np.array_equal(plain.labels, result.labels)
    assert [row.residual for row in plain.trace] == [row.residual for row in result.trace]
    assert result.trace[-1].active_edges < result.trace[0].active_edges


def test_blocks_of_edges_change_no_label(monkeypatch: pytest.MonkeyPatch, runtime_name: str) -> None:
    graph = tg.generate.rmat(8, 8, seed=2, runtime=runtime_name)
    whole = cdlp(graph, kernel="plain").labels.tolist()
    monkeypatch.setattr(importlib.import_module("tgraph.operators.reconstruct"), "EDGES_PER_BLOCK", 50)
    assert cdlp(graph, kernel="plain").labels.tolist() == whole == cdlp(graph).labels.tolist()


def test_64_bit_neighbours_give_the_same_labels() -> None:
    graph = tg.generate.rmat(8, 8, seed=2, runtime="numpy").symmetrize()
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    narrow = kernel.Propagation((offsets, targets), None, np.arange(256, dtype=np.int32))
    wide = kernel.Propagation((offsets, targets.astype(np.int64)), None, np.arange(256))
    for _ in range(4):
        assert narrow.sweep() == wide.sweep()
        assert narrow.labels.tolist() == wide.labels.tolist()


@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_the_smallest_label_is_the_smallest_id(runtime_name: str, kernel: str) -> None:
    star = tg.from_edges([0, 0, 0], [1, 2, 3], directed=False, runtime=runtime_name)
    for ids in ([9, 30, 20, 10], ["m", "d", "c", "b"]):
        named = star.relabel(ids)
        result = cdlp(named, max_iterations=1, kernel=kernel)
        assert result[ids[0]] == ids[3]
        assert result[ids[3]] == ids[0]
        check_cdlp(named, result.labels, 1)
    by_number = cdlp(star.relabel([(9, 9), (3, 3), (2, 2), (1, 1)]), max_iterations=1, kernel=kernel)
    assert by_number[(9, 9)] == (3, 3)


@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_an_edge_both_ways_counts_twice(runtime_name: str, kernel: str) -> None:
    graph = tg.from_edges([0, 3, 3, 2], [3, 0, 1, 3], runtime=runtime_name)
    assert cdlp(graph, max_iterations=1, kernel=kernel).labels.tolist() == [3, 3, 3, 0]
    graph = tg.from_edges([3, 2, 3, 1], [1, 3, 2, 0], runtime=runtime_name)
    assert cdlp(graph, max_iterations=1, kernel=kernel).labels.tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_odd_graphs(runtime_name: str, kernel: str) -> None:
    how = {"kernel": kernel, "runtime": runtime_name}
    empty = cdlp(tg.from_edges([], []), **how)
    assert (empty.labels.tolist(), empty.iterations, empty.converged) == ([], 0, True)
    assert cdlp(tg.from_edges([], [], num_vertices=3), **how).labels.tolist() == [0, 1, 2]
    assert cdlp(tg.from_edges([1], [1], num_vertices=2), **how).labels.tolist() == [0, 1]
    pair = cdlp(tg.from_edges([0], [1]), max_iterations=7, **how)
    assert (pair.labels.tolist(), pair.converged, pair.residual) == ([1, 0], False, 2.0)
    unsorted = tg.from_csr([0, 3, 5, 6, 6], [2, 1, 1, 3, 0, 0])
    check_cdlp(unsorted, cdlp(unsorted, **how).labels)
    spokes = tg.from_edges(np.zeros(5000, int), np.arange(1, 5001), directed=False)
    check_cdlp(spokes, cdlp(spokes, **how).labels)
    none = cdlp(spokes, max_iterations=0, **how)
    assert (none.labels.tolist(), none.iterations) == (list(range(5001)), 0)


@pytest.mark.parametrize("max_iterations", [None, -1, 2.5, True])
def test_the_limit_is_a_whole_number(max_iterations: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="max_iterations="):
        cdlp(tg.from_edges([0], [1]), max_iterations=max_iterations)
