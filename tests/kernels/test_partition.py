"""Edges grouped in two levels, against NumPy's stable comparison sort."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tgraph.config import config
from tgraph.kernels.cpu import partition
from tgraph.kernels.cpu.csr import ascending_rows, rows_from_edges, transpose
from tgraph.kernels.cpu.partition import KEEP_ALL, KEEP_DIFFERENT, KEEP_GREATER, Edges, group_edges

Array = np.ndarray[Any, Any]

NUM_ROWS = 6000


def random_edges(num_edges: int, num_rows: int, dtype: str = "int32") -> tuple[Array, Array]:
    """Edges of which a fifth begins at few vertices and some are self-loops."""
    rng = np.random.default_rng(num_edges)
    keys, neighbors = rng.integers(0, num_rows, (2, num_edges)).astype(dtype)
    keys[rng.random(num_edges) < 0.2] %= 37
    neighbors[::50] = keys[::50]
    return keys, neighbors


def expected_edges(edges: Edges, sort: bool) -> tuple[Array, Array, Array]:
    """Keys, neighbours and weights in the right order, by `np.lexsort`."""
    assert edges.neighbors is not None
    assert edges.weights is not None
    keys, neighbors, weights = edges.keys.astype(np.int64), edges.neighbors.astype(np.int64), edges.weights
    kept = {KEEP_ALL: keys >= 0, KEEP_DIFFERENT: keys != neighbors, KEEP_GREATER: keys > neighbors}[edges.keep]
    keys, neighbors, weights = keys[kept], neighbors[kept], weights[kept]
    if edges.mirror:
        keep_mirror = np.stack([keys >= 0, keys != neighbors], 1).ravel()
        keys, neighbors = np.stack([keys, neighbors], 1).ravel(), np.stack([neighbors, keys], 1).ravel()
        keys, neighbors, weights = keys[keep_mirror], neighbors[keep_mirror], np.repeat(weights, 2)[keep_mirror]
    position = np.arange(keys.size)
    order = np.lexsort((position, neighbors, keys) if sort else (position, keys))
    return keys[order], neighbors[order], weights[order]


@pytest.mark.parametrize("bucket_bits", [4, 12])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("sort", [False, True])
def test_every_choice_equals_a_comparison_sort(
    sort: bool, dtype: str, bucket_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition, "BUCKET_EDGE_BITS", bucket_bits)
    keys, neighbors = random_edges(110_000, NUM_ROWS, dtype)
    weights = np.random.default_rng(1).random(keys.size)
    columns = keys.view(f"u{keys.itemsize}"), neighbors.view(f"u{keys.itemsize}"), None, weights
    for keep, mirror in itertools.product((KEEP_ALL, KEEP_DIFFERENT, KEEP_GREATER), (False, True)):
        edges = Edges(*columns, keep, mirror)
        found = group_edges(edges, NUM_ROWS, NUM_ROWS, np.dtype(dtype), sort)
        wanted_keys, wanted_neighbors, wanted_weights = expected_edges(edges, sort)
        assert found[1].dtype == dtype
        np.testing.assert_array_equal(found[1], wanted_neighbors)
        np.testing.assert_array_equal(found[2], wanted_weights)
        np.testing.assert_array_equal(np.diff(found[0]), np.bincount(wanted_keys, minlength=NUM_ROWS))
        alone = group_edges(edges._replace(weights=None), NUM_ROWS, NUM_ROWS, np.dtype(dtype), sort)
        assert alone[2] is None
        np.testing.assert_array_equal(alone[1], wanted_neighbors)


def test_two_levels_are_used_where_rows_are_many() -> None:
    assert partition._low_bits(20, 20, 32, 1 << 24) == 12
    assert partition._low_bits(20, 20, 64, 1 << 24) == 12
    assert partition._low_bits(24, 24, 32, 1 << 28) == 8  # what is free above a neighbour
    assert partition._low_bits(24, 24, 64, 1 << 28) == 12
    assert partition._low_bits(31, 31, 32, 1 << 33) == 1
    assert partition._low_bits(33, 32, 32, 1 << 33) == 0
    assert partition._low_bits(11, 11, 32, 1 << 24) == 0


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_threads_do_not_change_the_rows(num_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, neighbors = random_edges(300_000, 50_000)
    weights = np.arange(keys.size)
    monkeypatch.setattr(config, "num_threads", 1)
    one = ascending_rows(keys, neighbors, weights, 50_000, np.dtype(np.int32), mirror=True)
    monkeypatch.setattr(config, "num_threads", num_threads)
    other = ascending_rows(keys, neighbors, weights, 50_000, np.dtype(np.int32), mirror=True)
    assert one[1].size == 2 * keys.size - np.count_nonzero(keys == neighbors)
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("sort", [False, True])
def test_a_hub_with_most_edges_is_shared_by_threads(sort: bool) -> None:
    keys, neighbors = random_edges(200_000, NUM_ROWS)
    keys[:150_000] = 4321
    weights = np.arange(keys.size)
    edges = Edges(keys.view(np.uint32), neighbors.view(np.uint32), None, weights)
    found = group_edges(edges, NUM_ROWS, NUM_ROWS, np.dtype(np.int32), sort)
    _, wanted_neighbors, wanted_weights = expected_edges(edges, sort)
    np.testing.assert_array_equal(found[1], wanted_neighbors)
    np.testing.assert_array_equal(found[2], wanted_weights)


def test_neighbors_may_outnumber_rows() -> None:
    """Neighbours that fill the word leave no room for rows: then rows are buckets."""
    keys, _ = random_edges(100_000, NUM_ROWS)
    neighbors = np.arange(2**31 - 100_000, 2**31, dtype=np.int64).astype(np.int32)
    offsets, found, _ = rows_from_edges(keys, neighbors, None, NUM_ROWS)
    np.testing.assert_array_equal(found, neighbors[np.argsort(keys, kind="stable")])
    assert offsets[-1] == keys.size


def test_columns_of_two_types_become_the_type_asked_for() -> None:
    keys, neighbors = random_edges(100_000, NUM_ROWS)
    wanted = ascending_rows(keys, neighbors, None, NUM_ROWS, np.dtype(np.int32))
    for left, right in (("int64", "int32"), ("int32", "int64"), ("int64", "int64")):
        found = ascending_rows(keys.astype(left), neighbors.astype(right), None, NUM_ROWS, np.dtype(np.int32))
        assert found[1].dtype == np.int32
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])


def test_a_transposed_rectangle() -> None:
    keys, neighbors = random_edges(100_000, NUM_ROWS)
    offsets, targets, _ = rows_from_edges(keys % 100, neighbors, None, 100)
    turned_offsets, turned, _ = transpose(offsets, targets, None, NUM_ROWS)
    np.testing.assert_array_equal(turned, (keys % 100)[np.lexsort((keys % 100, neighbors))])
    np.testing.assert_array_equal(np.diff(turned_offsets), np.bincount(neighbors, minlength=NUM_ROWS))
