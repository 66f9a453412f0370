"""Linked trees against a serial union-find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.components import smallest_connected
from tgraph.kernels.cpu.union_find import smallest_in_component


@settings(deadline=None, max_examples=200)
@given(small_graphs(), st.integers(1, 5), st.sampled_from(["int32", "int64"]))
def test_labels_equal_those_of_union_find(case: SmallGraph, threads: int, dtype: str) -> None:
    graph = case.build()
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "MIN_WORK_PER_THREAD", 1)
        patch.setattr(tg.config, "num_threads", threads)
        labels = smallest_connected(offsets, targets.astype(dtype), not graph.directed)
    assert labels.dtype == dtype
    assert labels.tolist() == smallest_in_component(offsets, targets).tolist()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("edges", [30_000, 60_000, 300_000])
def test_large_sparse_graphs(monkeypatch: pytest.MonkeyPatch, threads: int, edges: int) -> None:
    monkeypatch.setattr(tg.config, "num_threads", threads)
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = tg.generate.erdos_renyi(50_000, edges, seed=3, runtime="numpy")
    for one in (graph, graph.symmetrize()):
        offsets, targets, _ = one.adjacency("out").to_numpy()
        labels = smallest_connected(offsets, targets, not one.directed)
        assert np.array_equal(labels, smallest_in_component(offsets, targets))
