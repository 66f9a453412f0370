"""From edges to compressed rows and from rows to rows.

Edges are grouped by the two-level counting sort of `tgraph.kernels.cpu.partition`. What works on rows gives every
thread rows of its own: no atomics on results, and nothing depends on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.partition import KEEP_ALL, KEEP_DIFFERENT, KEEP_GREATER, Edges, group_edges
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array, "Array | None"]  # offsets [R+1], neighbours [E], weights [E] or None

ONE = np.uint64(1)
NOBODY = np.uint64(2**64 - 1)  # no vertex has this id
ROWS_PER_CLAIM = 1024  # rows that a thread takes at a time where their lengths are not known


def rows_from_edges(keys: Array, neighbors: Array, weights: Array | None, num_rows: int) -> Rows:
    """Return the edges grouped by key; inside a row they keep their order.

    Needs 0 <= keys < num_rows and neighbours that are not negative. Deterministic.
    """
    ids = as_unsigned(neighbors)
    edges = Edges(as_unsigned(keys), ids, None, _contiguous(weights))
    return group_edges(edges, num_rows, int(ids.max(initial=0)) + 1, neighbors.dtype)


def ascending_rows(
    sources: Array,
    targets: Array,
    weights: Array | None,
    num_vertices: int,
    dtype: np.dtype[Any],
    *,
    drop_loops: bool = False,
    mirror: bool = False,
) -> Rows:
    """Return the edges grouped by source, the targets of each ascending, as ids of type `dtype`.

    Edges between the same two vertices keep their order. With `drop_loops` self-loops are left out; with `mirror`
    every other edge is also stored the other way, right behind itself as far as that order goes.
    Needs 0 <= sources, targets < num_vertices, of any integer types. Deterministic.
    """
    keep = KEEP_DIFFERENT if drop_loops else KEEP_ALL
    edges = Edges(as_unsigned(sources), as_unsigned(targets), None, _contiguous(weights), keep, mirror)
    return group_edges(edges, num_vertices, num_vertices, dtype, sort=True)


def transpose(offsets: Array, neighbors: Array, weights: Array | None, num_rows: int) -> Rows:
    """Return the reverse direction; inside a row the neighbours ascend.

    Needs 0 <= neighbors < num_rows. Deterministic.
    """
    edges = Edges(as_unsigned(neighbors), None, as_unsigned(offsets), _contiguous(weights))
    return group_edges(edges, num_rows, offsets.size - 1, neighbors.dtype)


def mirror_rows(offsets: Array, neighbors: Array, weights: Array | None, *, upper: bool = False) -> Rows:
    """Return the edges in both directions, a self-loop once, with ascending neighbours.

    With `upper` only edges from a smaller to a larger vertex are taken, each in both directions; edges between the
    same two vertices keep their order. Needs 0 <= neighbors < R. Deterministic.
    """
    keep = KEEP_GREATER if upper else KEEP_ALL  # the neighbour is the key here, its row is the neighbour
    edges = Edges(as_unsigned(neighbors), None, as_unsigned(offsets), _contiguous(weights), keep, mirror=True)
    num_rows = offsets.size - 1
    return group_edges(edges, num_rows, num_rows, neighbors.dtype, sort=True)


def merge_duplicates(
    offsets: Array, neighbors: Array, weights: Array | None, policy: str, *, drop_loops: bool = False
) -> Rows:
    """Return rows in which every neighbour occurs once; `policy` (first, last, min, max, sum) joins the weights.

    With `drop_loops` a row is no neighbour of itself. Needs rows with ascending neighbours. One thread per row.
    Deterministic.
    """
    if policy == "sum" and weights is not None and _may_overflow(weights):
        _check_sums(offsets, neighbors, weights, drop_loops)
    num_rows = offsets.size - 1
    size = team_size(neighbors.size)
    dtype, neighbors, weights = neighbors.dtype, as_unsigned(neighbors), _contiguous(weights)
    offsets = as_unsigned(offsets)
    new_offsets = np.zeros(num_rows + 1, np.int64)
    run_team(_count_distinct, size, offsets, neighbors, drop_loops, new_offsets)
    np.cumsum(new_offsets, out=new_offsets)
    new_neighbors, new_weights = _room(new_offsets[-1], neighbors, weights)
    code = ("first", "last", "min", "max", "sum").index(policy)
    places = as_unsigned(new_offsets)
    run_team(_join_duplicates, size, offsets, neighbors, weights, code, drop_loops, places, new_neighbors, new_weights)
    return new_offsets, new_neighbors.view(dtype), new_weights


def _may_overflow(weights: Array) -> bool:
    """Whether a sum of these integers could be beyond their type."""
    if weights.dtype.kind != "i" or not weights.size:
        return False
    largest = max(abs(int(weights.min())), abs(int(weights.max())))
    return largest * weights.size > np.iinfo(weights.dtype).max


def _check_sums(offsets: Array, neighbors: Array, weights: Array, drop_loops: bool) -> None:
    """Raise if the sum of the weights of some edge is beyond their type, told by sums in float64."""
    sums = merge_duplicates(offsets, neighbors, weights.astype(np.float64), "sum", drop_loops=drop_loops)[2]
    assert sums is not None
    limit = 2.0 ** (8 * weights.dtype.itemsize - 1)
    wrong = sums[(sums >= limit) | (sums < -limit)]
    if wrong.size:
        wider = "int64 or float64" if weights.dtype.itemsize == 4 else "float64"
        raise InvalidArgumentError(
            f"duplicates='sum' makes a weight of {wrong[0]:.6g}, beyond {weights.dtype.name}; use {wider} weights"
        )


def select_rows(offsets: Array, neighbors: Array, weights: Array | None, rows: Array, new_ids: Array) -> Rows:
    """Return the given rows with only those neighbours whose `new_ids` entry is not negative, renamed by it.

    One thread per row. Deterministic.
    """
    size = team_size(neighbors.size)
    weights, rows = _contiguous(weights), np.ascontiguousarray(rows)
    old = as_unsigned(offsets), as_unsigned(neighbors)
    new_offsets = np.zeros(rows.size + 1, np.int64)
    run_team(_count_selected, size, np.zeros(1, np.int64), *old, rows, new_ids, new_offsets)
    np.cumsum(new_offsets, out=new_offsets)
    new = _room(new_offsets[-1], new_ids, weights)
    run_team(_copy_selected, size, np.zeros(1, np.int64), *old, weights, rows, new_ids, new_offsets, *new)
    return new_offsets, *new


def _room(size: int, neighbors: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """Return empty arrays for `size` edges of these types."""
    return np.empty(size, neighbors.dtype), None if weights is None else np.empty(size, weights.dtype)


def _contiguous(weights: Array | None) -> Array | None:
    return None if weights is None else np.ascontiguousarray(weights)


@njit(**JIT)
def row_part(rank, size, offsets):
    """The rows of one thread: parts of about equal numbers of edges and rows."""
    num_rows = offsets.size - 1
    total = np.int64(offsets[num_rows]) + num_rows
    first, last = part(rank, size, total)
    return np.uint64(_row_at(offsets, first)), np.uint64(_row_at(offsets, last))


@njit(**JIT)
def _row_at(offsets, work):
    """The first row before which at least `work` edges and rows lie."""
    low, high = 0, offsets.size - 1
    while low < high:
        middle = (low + high) // 2
        if np.int64(offsets[middle]) + middle < work:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**JIT)
def _count_distinct(rank, size, offsets, neighbors, drop_loops, new_counts):
    """Writes new_counts[row + 1] for the thread's rows."""
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        count = 0
        previous = NOBODY
        for i in range(offsets[row], offsets[row + ONE]):
            neighbor = np.uint64(neighbors[i])
            if neighbor != previous and not (drop_loops and neighbor == row):
                count += 1
            previous = neighbor
        new_counts[row + ONE] = count


@njit(**JIT)
def _join_duplicates(
    rank, size, offsets, neighbors, weights, code, drop_loops, new_offsets, new_neighbors, new_weights
):
    """Writes the thread's rows; code: 0 first, 1 last, 2 min, 3 max, 4 sum. NaN wins min and max."""
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        place = new_offsets[row]  # where the next distinct neighbour goes
        previous = NOBODY
        for i in range(offsets[row], offsets[row + ONE]):
            neighbor = np.uint64(neighbors[i])
            if drop_loops and neighbor == row:
                continue
            if neighbor != previous:
                new_neighbors[place] = neighbor
                if weights is not None:
                    new_weights[place] = weights[i]
                place += ONE
                previous = neighbor
            elif weights is not None:
                old, new = new_weights[place - ONE], weights[i]
                is_extreme = (code == 2 and new < old) or (code == 3 and new > old) or (code in (2, 3) and new != new)
                if code == 1 or is_extreme:
                    new_weights[place - ONE] = new
                elif code == 4:
                    new_weights[place - ONE] = old + new


@njit(**JIT)
def _count_selected(rank, size, claimed, offsets, neighbors, rows, new_ids, new_counts):
    """Writes new_counts[k + 1] for the rows that the thread takes."""
    first = fetch_add(claimed, 0, ROWS_PER_CLAIM)
    while first < rows.size:
        for k in range(first, min(first + ROWS_PER_CLAIM, rows.size)):
            row = np.uint64(rows[k])
            count = 0
            for i in range(offsets[row], offsets[row + ONE]):
                count += new_ids[neighbors[i]] >= 0
            new_counts[k + 1] = count
        first = fetch_add(claimed, 0, ROWS_PER_CLAIM)


@njit(**JIT)
def _copy_selected(
    rank, size, claimed, offsets, neighbors, weights, rows, new_ids, new_offsets, new_neighbors, new_weights
):
    """Writes the rows that the thread takes."""
    first = fetch_add(claimed, 0, ROWS_PER_CLAIM)
    while first < rows.size:
        for k in range(first, min(first + ROWS_PER_CLAIM, rows.size)):
            row = np.uint64(rows[k])
            place = np.uint64(new_offsets[k])
            for i in range(offsets[row], offsets[row + ONE]):
                new_id = new_ids[neighbors[i]]
                if new_id >= 0:
                    new_neighbors[place] = new_id
                    if weights is not None:
                        new_weights[place] = weights[i]
                    place += ONE
        first = fetch_add(claimed, 0, ROWS_PER_CLAIM)


def count_distinct(offsets: Array, neighbors: Array) -> int:
    """Return how many neighbours there are if each counts once per row. Rows must ascend. Deterministic."""
    counts = np.zeros(offsets.size, np.int64)
    size = team_size(neighbors.size)
    run_team(_count_distinct, size, as_unsigned(offsets), as_unsigned(neighbors), False, counts)
    return int(counts.sum())


def count_self_loops(offsets: Array, neighbors: Array) -> int:
    """Return how many neighbours equal their row."""
    size = team_size(neighbors.size)
    counts = np.zeros(size, np.int64)
    run_team(_count_loops, size, as_unsigned(offsets), as_unsigned(neighbors), counts)
    return int(counts.sum())


@njit(**JIT)
def _count_loops(rank, size, offsets, neighbors, counts):
    """Writes counts[rank]."""
    first, last = row_part(rank, size, offsets)
    count = 0
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + ONE]):
            count += np.uint64(neighbors[i]) == row
    counts[rank] = count


def count_between(offsets: Array, neighbors: Array, groups: Array) -> int:
    """Return how many edges lead from one group of vertices to another; groups is [V]. Deterministic.

    >>> count_between(np.array([0, 2, 3, 3]), np.array([1, 2, 0], np.int32), np.array([7, 7, 8]))
    1
    """
    size = team_size(neighbors.size)
    counts = np.zeros(size, np.int64)
    run_team(_count_different, size, as_unsigned(offsets), as_unsigned(neighbors), as_unsigned(groups), counts)
    return int(counts.sum())


@njit(**JIT)
def _count_different(rank, size, offsets, neighbors, groups, counts):
    """Writes counts[rank]."""
    first, last = row_part(rank, size, offsets)
    count = 0
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + ONE]):
            count += groups[neighbors[i]] != groups[row]
    counts[rank] = count
