"""Compressed rows: the CPU kernels against their plain twin and against Python, on any number of threads."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph import runtime as runtimes
from tgraph.config import config
from tgraph.kernels.cpu import csr, partition, team
from tgraph.kernels.plain import csr as plain

Array = np.ndarray[Any, Any]
Rows = tuple[Array, Array, "Array | None"]

THREADS = (1, 2, 3, 7)
POLICIES = ("first", "last", "min", "max", "sum")


@pytest.fixture(params=THREADS)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As many threads as asked for, on however few edges; more of them than there are cores."""
    monkeypatch.setattr(config, "num_threads", request.param)
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    return int(request.param)


@pytest.fixture(params=[True, False], ids=["buckets", "rows"])
def levels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Group edges in two levels, as many edges are, or in one."""
    use_buckets(monkeypatch, request.param)
    return bool(request.param)


def use_buckets(patch: pytest.MonkeyPatch, wanted: bool) -> None:
    """Use buckets of a few edges for a handful of rows, or none."""
    patch.setattr(partition, "ONE_LEVEL_BITS", 0 if wanted else 64)
    patch.setattr(partition, "BUCKET_EDGE_BITS", 4)
    patch.setattr(partition, "LARGEST_SHARE", 1)


def check_equal(left: Rows, right: Rows) -> None:
    for one, other in zip(left, right, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def on_runtime(name: str, function: str, *args: Any, **options: Any) -> Rows:
    """Call the plain twin with NumPy arrays, give NumPy arrays back."""
    rt = runtimes.get(name, "cpu")
    tensors = [rt.asarray(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    result = getattr(plain, function)(rt, *tensors, **options)
    return tuple(None if one is None else rt.to_numpy(one) for one in result)  # type: ignore[return-value]


def make_weights(kind: str | None, size: int) -> Array | None:
    """Small whole numbers, so that a sum is exact in any order and any type."""
    return None if kind is None else (np.arange(size) * 7919 % 13 - 6).astype(kind)


@st.composite
def edges(draw: st.DrawFn) -> tuple[Array, Array, Array | None, int]:
    num_rows = draw(st.integers(1, 12))
    ids = st.integers(0, num_rows - 1)
    hub = st.just(num_rows - 1)
    pairs = draw(st.lists(st.tuples(st.one_of(ids, hub), ids), max_size=60))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    kind = draw(st.sampled_from([None, "float32", "float64", "int32", "int64"]))
    keys, neighbors = np.array(pairs, dtype).reshape(-1, 2).T
    return keys.copy(), neighbors.copy(), make_weights(kind, keys.size), num_rows


def check_all(graph: tuple[Array, Array, Array | None, int], runtime_name: str) -> None:
    keys, neighbors, weights, num_rows = graph
    rows = csr.rows_from_edges(keys, neighbors, weights, num_rows)
    check_equal(rows, on_runtime(runtime_name, "rows_from_edges", *graph))
    check_rows_by_hand(rows, graph)
    turned = csr.transpose(*rows, num_rows)
    check_equal(turned, on_runtime(runtime_name, "transpose", *rows, num_rows))
    for row in range(num_rows):
        assert (np.diff(turned[1][turned[0][row] : turned[0][row + 1]]) >= 0).all()
    for policy, drop in itertools.product(POLICIES, (False, True)):
        merged = csr.merge_duplicates(*turned, policy, drop_loops=drop)
        check_equal(merged, on_runtime(runtime_name, "merge_duplicates", *turned, policy, drop_loops=drop))
    for upper in (False, True):
        mirrored = csr.mirror_rows(*rows, upper=upper)
        check_equal(mirrored, on_runtime(runtime_name, "mirror_rows", *rows, upper=upper))
        check_equal((*mirrored[:2], None), csr.transpose(*mirrored[:2], None, num_rows))
    for drop, mirror in itertools.product((False, True), repeat=2):
        options = {"drop_loops": drop, "mirror": mirror}
        ascending = csr.ascending_rows(*graph, np.dtype(np.int32), **options)
        check_equal(ascending, on_runtime(runtime_name, "ascending_rows", *graph, np.dtype(np.int32), **options))
    loops = int((np.repeat(np.arange(num_rows), np.diff(rows[0])) == rows[1]).sum())
    assert csr.count_self_loops(rows[0], rows[1]) == loops


def check_rows_by_hand(rows: Rows, graph: tuple[Array, Array, Array | None, int]) -> None:
    keys, neighbors, weights, num_rows = graph
    offsets, new_neighbors, new_weights = rows
    assert offsets.dtype == np.int64
    assert offsets.tolist() == np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=num_rows))]).tolist()
    for row in range(num_rows):
        mine = np.flatnonzero(keys == row)
        part = slice(offsets[row], offsets[row + 1])
        assert new_neighbors[part].tolist() == neighbors[mine].tolist()
        if weights is not None and new_weights is not None:
            assert new_weights[part].tolist() == weights[mine].tolist()


@settings(max_examples=60, deadline=None)
@given(
    graph=edges(),
    num_threads=st.sampled_from(THREADS),
    name=st.sampled_from(["torch", "numpy"]),
    buckets=st.booleans(),
)
def test_kernels_equal_their_twins(graph: Any, num_threads: int, name: str, buckets: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_buckets(patch, buckets)
        patch.setattr(config, "num_threads", num_threads)
        patch.setattr(team, "MIN_WORK_PER_THREAD", 1)
        check_all(graph, name)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kind", [None, "float64", "int32"])
def test_many_edges_with_a_hub(threads: int, levels: bool, dtype: str, kind: str | None, runtime_name: str) -> None:
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 50, 5000)
    keys[rng.random(5000) < 0.5] = 17  # a hub that every thread has a share of
    neighbors = rng.integers(0, 50, 5000)
    check_all((keys.astype(dtype), neighbors.astype(dtype), make_weights(kind, 5000), 50), runtime_name)


@pytest.mark.parametrize("num_rows", [0, 1, 5])
@pytest.mark.parametrize("kind", [None, "float32"])
def test_no_edges(threads: int, levels: bool, num_rows: int, kind: str | None, runtime_name: str) -> None:
    empty = np.empty(0, np.int32)
    rows = csr.rows_from_edges(empty, empty, make_weights(kind, 0), num_rows)
    assert rows[0].tolist() == [0] * (num_rows + 1)
    check_equal(rows, on_runtime(runtime_name, "rows_from_edges", empty, empty, make_weights(kind, 0), num_rows))
    check_equal(csr.transpose(*rows, num_rows), rows)
    check_equal(on_runtime(runtime_name, "transpose", *rows, num_rows), rows)
    check_equal(csr.merge_duplicates(*rows, "sum"), rows)
    check_equal(on_runtime(runtime_name, "merge_duplicates", *rows, "sum"), rows)
    assert csr.count_self_loops(rows[0], rows[1]) == 0


def test_isolated_rows_at_both_ends(threads: int, levels: bool) -> None:
    keys, neighbors = np.array([3, 3, 5], np.int32), np.array([9, 0, 3], np.int32)
    offsets, new_neighbors, _ = csr.transpose(*csr.rows_from_edges(keys, neighbors, None, 10), 10)
    assert offsets.tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3]
    assert new_neighbors.tolist() == [3, 5, 3]


def test_transposing_twice_sorts_and_keeps_weights(threads: int, levels: bool) -> None:
    rng = np.random.default_rng(2)
    keys, neighbors = rng.integers(0, 40, (2, 3000)).astype(np.int32)
    weights = np.arange(3000)
    rows = csr.transpose(*csr.rows_from_edges(neighbors, keys, weights, 40), 40)
    order = np.lexsort((np.arange(3000), neighbors, keys))
    assert np.array_equal(rows[1], neighbors[order])
    assert np.array_equal(rows[2], weights[order])


def test_more_rows_than_edges_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counters of the threads must not outgrow the edges."""
    monkeypatch.setattr(config, "num_threads", 64)
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    for num_edges, num_rows, threads in ((10, 1000, 1), (1000, 10, 64), (30, 10, 3)):
        keys = np.zeros(num_edges, np.uint32)
        starts, bounds = partition.find_places(partition.Edges(keys, keys, None, None), num_rows, 0)
        assert starts.shape == (threads, num_rows)
        assert bounds[1:].tolist() == [num_edges] * num_rows


@pytest.mark.parametrize("policy", ["min", "max"])
@pytest.mark.parametrize("weights", [[np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan], [np.inf, -np.inf, 0]])
def test_nan_wins_whatever_its_place(policy: str, weights: list[float], runtime_name: str) -> None:
    rows = (np.array([0, 3]), np.zeros(3, np.int32), np.array(weights))
    merged = csr.merge_duplicates(*rows, policy)
    check_equal(merged, on_runtime(runtime_name, "merge_duplicates", *rows, policy))
    expected = (np.min if policy == "min" else np.max)(weights)
    np.testing.assert_array_equal(merged[2], [expected])


def test_weights_beyond_53_bits_stay_exact(threads: int) -> None:
    rows = (np.array([0, 3, 4]), np.zeros(4, np.int32), np.array([2**53 + 1, 2**53 + 3, 2**53 + 2, 1]))
    expected = {"min": 2**53 + 1, "max": 2**53 + 3, "sum": 3 * 2**53 + 6, "first": 2**53 + 1, "last": 2**53 + 2}
    for policy, value in expected.items():
        assert csr.merge_duplicates(*rows, policy)[2].tolist() == [value, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", [None, "float64", "int32"])
def test_select_rows(threads: int, kind: str | None) -> None:
    rng = np.random.default_rng(3)
    keys, neighbors = rng.integers(0, 30, (2, 800)).astype(np.int32)
    offsets, targets, weights = csr.rows_from_edges(keys, neighbors, make_weights(kind, 800), 30)
    chosen = np.array([4, 29, 0, 11, 12], np.int32)
    new_ids = np.full(30, -1, np.int32)
    new_ids[chosen] = np.arange(5)
    new_offsets, new_targets, new_weights = csr.select_rows(offsets, targets, weights, chosen, new_ids)
    for i, row in enumerate(chosen):
        part, new_part = slice(offsets[row], offsets[row + 1]), slice(new_offsets[i], new_offsets[i + 1])
        kept = np.isin(targets[part], chosen)
        assert new_targets[new_part].tolist() == new_ids[targets[part][kept]].tolist()
        if weights is not None and new_weights is not None:
            assert new_weights[new_part].tolist() == weights[part][kept].tolist()
    nothing = csr.select_rows(offsets, targets, weights, chosen[:0], new_ids)
    assert nothing[0].tolist() == [0]
    assert nothing[1].size == 0


def test_views_and_read_only_arrays_are_accepted() -> None:
    both = np.array([[0, 1], [1, 0], [1, 1]], np.int32)
    both.setflags(write=False)
    rows = csr.rows_from_edges(both[:, 0], both[:, 1], np.arange(6.0)[::2], 2)
    assert (rows[0].tolist(), rows[1].tolist()) == ([0, 1, 3], [1, 0, 1])
    assert rows[2] is not None
    assert rows[2].tolist() == [0, 2, 4]
    check_equal(csr.transpose(*rows, 2), (np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.array([2.0, 0, 4])))


CACHE_SCRIPT = """
import numpy as np
from tgraph.kernels.cpu import csr, partition
from tgraph.kernels.cpu.csr import rows_from_edges, transpose, merge_duplicates
for dtype, weights in (("int32", None), ("int32", np.arange(4.0)), ("int64", np.arange(4, dtype="int32"))):
    rows = rows_from_edges(np.array([1, 0, 1, 1], dtype), np.array([0, 1, 1, 0], dtype), weights, 2)
    rows = merge_duplicates(*transpose(*transpose(*rows, 2), 2), "sum")
    print(dtype, *[None if one is None else (one.dtype.name, one.tolist()) for one in rows])
workers = (partition._count_edges, partition._place_edges, csr._count_distinct, csr._join_duplicates)
hits = sum(sum(worker.stats.cache_hits.values()) for worker in workers)
print("hits", hits)
"""


def test_compiled_code_is_found_again_for_every_type(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", CACHE_SCRIPT]
    outputs = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    ]
    assert outputs[0][:-1] == outputs[1][:-1]
    assert outputs[0][0] == "int32 ('int64', [0, 1, 3]) ('int32', [1, 0, 1]) None"
    assert outputs[0][1] == "int32 ('int64', [0, 1, 3]) ('int32', [1, 0, 1]) ('float64', [1.0, 3.0, 2.0])"
    assert outputs[0][2] == "int64 ('int64', [0, 1, 3]) ('int64', [1, 0, 1]) ('int32', [1, 3, 2])"
    assert outputs[0][-1] == "hits 0"
    assert int(outputs[1][-1].split()[1]) == 6 + 6 + 2 + 3  # every worker and type from the first process
