"""From edges to compressed rows and from rows to rows, by stable counting sort.

Every function splits its input into contiguous parts, one per thread, counts per part, and gives each (row, part) its
own place: no atomics, and the result does not depend on the number of threads. Extra memory: 8 bytes per row and
thread, with fewer threads where rows are many and edges few.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array, "Array | None"]  # offsets [R+1], neighbours [E], weights [E] or None


def rows_from_edges(keys: Array, neighbors: Array, weights: Array | None, num_rows: int) -> Rows:
    """Return the edges grouped by key; inside a row they keep their order.

    Needs 0 <= keys < num_rows. Deterministic.
    """
    keys = as_unsigned(keys)
    starts, offsets = _find_places(keys, num_rows)
    new_neighbors, new_weights = _room(keys.size, neighbors, weights)
    neighbors, weights = np.ascontiguousarray(neighbors), _contiguous(weights)
    run_team(_place_edges, len(starts), keys, neighbors, weights, starts, new_neighbors, new_weights)
    return offsets, new_neighbors, new_weights


def transpose(offsets: Array, neighbors: Array, weights: Array | None, num_rows: int) -> Rows:
    """Return the reverse direction; inside a row the neighbours ascend.

    Needs 0 <= neighbors < num_rows. Deterministic.
    """
    keys = as_unsigned(neighbors)
    starts, new_offsets = _find_places(keys, num_rows)
    new_neighbors, new_weights = _room(keys.size, neighbors, weights)
    offsets, weights = as_unsigned(offsets), _contiguous(weights)
    run_team(_place_rows, len(starts), offsets, keys, weights, starts, new_neighbors, new_weights)
    return new_offsets, new_neighbors, new_weights


def merge_duplicates(offsets: Array, neighbors: Array, weights: Array | None, policy: str) -> Rows:
    """Return rows in which every neighbour occurs once; `policy` (first, last, min, max, sum) joins the weights.

    Needs rows with ascending neighbours. One thread per row. Deterministic.
    """
    num_rows = offsets.size - 1
    size = team_size(neighbors.size)
    neighbors, weights = np.ascontiguousarray(neighbors), _contiguous(weights)
    offsets = np.ascontiguousarray(offsets)
    new_offsets = np.zeros(num_rows + 1, np.int64)
    run_team(_count_distinct, size, offsets, neighbors, new_offsets)
    np.cumsum(new_offsets, out=new_offsets)
    new_neighbors, new_weights = _room(new_offsets[-1], neighbors, weights)
    code = ("first", "last", "min", "max", "sum").index(policy)
    run_team(_join_duplicates, size, offsets, neighbors, weights, code, new_offsets, new_neighbors, new_weights)
    return new_offsets, new_neighbors, new_weights


def select_rows(offsets: Array, neighbors: Array, weights: Array | None, rows: Array, new_ids: Array) -> Rows:
    """Return the given rows with only those neighbours whose `new_ids` entry is not negative, renamed by it.

    One thread per row. Deterministic.
    """
    size = team_size(neighbors.size)
    neighbors, weights = np.ascontiguousarray(neighbors), _contiguous(weights)
    offsets, rows = np.ascontiguousarray(offsets), np.ascontiguousarray(rows)
    new_offsets = np.zeros(rows.size + 1, np.int64)
    run_team(_count_selected, size, offsets, neighbors, rows, new_ids, new_offsets)
    np.cumsum(new_offsets, out=new_offsets)
    new_neighbors, new_weights = _room(new_offsets[-1], new_ids, weights)
    run_team(_copy_selected, size, offsets, neighbors, weights, rows, new_ids, new_offsets, new_neighbors, new_weights)
    return new_offsets, new_neighbors, new_weights


def _find_places(keys: Array, num_rows: int) -> tuple[Array, Array]:
    """Return the first place of every (thread, row) `[T, R]`, and the offsets `[R+1]` of the rows.

    There are fewer threads where rows are many: the counters take no more than 8 bytes per edge, or one thread's.
    """
    size = max(1, min(team_size(keys.size), keys.size // max(num_rows, 1)))
    starts = np.zeros((size, num_rows), np.int64)
    run_team(_count_keys, size, keys, starts)
    offsets = np.empty(num_rows + 1, np.int64)
    _counts_to_starts(starts, offsets)
    return starts, offsets


def _room(size: int, neighbors: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """Return empty arrays for `size` edges of these types."""
    return np.empty(size, neighbors.dtype), None if weights is None else np.empty(size, weights.dtype)


def _contiguous(weights: Array | None) -> Array | None:
    return None if weights is None else np.ascontiguousarray(weights)


@njit(**JIT)
def _count_keys(rank, size, keys, counts):
    """Writes counts[rank]."""
    first, last = part(rank, size, keys.size)
    for i in range(first, last):
        counts[rank, keys[i]] += 1


@njit(**JIT)
def _counts_to_starts(counts, offsets):
    """Turns counts [T, R] into the first place of every (thread, row), in place, and fills offsets [R+1]."""
    place = 0
    for row in range(counts.shape[1]):
        offsets[row] = place
        for rank in range(counts.shape[0]):
            count = counts[rank, row]
            counts[rank, row] = place
            place += count
    offsets[counts.shape[1]] = place


@njit(**JIT)
def _place_edges(rank, size, keys, neighbors, weights, starts, new_neighbors, new_weights):
    """Writes the places that starts[rank] gives, which no other thread has."""
    first, last = part(rank, size, keys.size)
    for i in range(first, last):
        place = starts[rank, keys[i]]
        starts[rank, keys[i]] = place + 1
        new_neighbors[place] = neighbors[i]
        if weights is not None:
            new_weights[place] = weights[i]


@njit(**JIT)
def _place_rows(rank, size, offsets, keys, weights, starts, new_neighbors, new_weights):
    """As _place_edges, with the row number as neighbour; parts are cut by edges, so a hub is shared by threads."""
    first, last = part(rank, size, keys.size)
    row = np.searchsorted(offsets, np.uint64(first), side="right") - 1
    for i in range(first, last):
        while offsets[row + 1] <= np.uint64(i):
            row += 1
        place = starts[rank, keys[i]]
        starts[rank, keys[i]] = place + 1
        new_neighbors[place] = row
        if weights is not None:
            new_weights[place] = weights[i]


@njit(**JIT)
def _row_part(rank, size, offsets):
    """The rows of one thread: parts of about equal numbers of edges and rows."""
    num_rows = offsets.size - 1
    total = offsets[num_rows] + num_rows
    first, last = part(rank, size, total)
    return _row_at(offsets, first), _row_at(offsets, last)


@njit(**JIT)
def _row_at(offsets, work):
    """The first row before which at least `work` edges and rows lie."""
    low, high = 0, offsets.size - 1
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] + middle < work:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**JIT)
def _count_distinct(rank, size, offsets, neighbors, new_counts):
    """Writes new_counts[row + 1] for the thread's rows."""
    first, last = _row_part(rank, size, offsets)
    for row in range(first, last):
        count = 0
        for i in range(offsets[row], offsets[row + 1]):
            if i == offsets[row] or neighbors[i] != neighbors[i - 1]:
                count += 1
        new_counts[row + 1] = count


@njit(**JIT)
def _join_duplicates(rank, size, offsets, neighbors, weights, code, new_offsets, new_neighbors, new_weights):
    """Writes the thread's rows; code: 0 first, 1 last, 2 min, 3 max, 4 sum. NaN wins min and max."""
    first, last = _row_part(rank, size, offsets)
    for row in range(first, last):
        place = new_offsets[row] - 1
        for i in range(offsets[row], offsets[row + 1]):
            if i == offsets[row] or neighbors[i] != neighbors[i - 1]:
                place += 1
                new_neighbors[place] = neighbors[i]
                if weights is not None:
                    new_weights[place] = weights[i]
            elif weights is not None:
                old, new = new_weights[place], weights[i]
                is_extreme = (code == 2 and new < old) or (code == 3 and new > old) or (code in (2, 3) and new != new)
                if code == 1 or is_extreme:
                    new_weights[place] = new
                elif code == 4:
                    new_weights[place] = old + new


@njit(**JIT)
def _count_selected(rank, size, offsets, neighbors, rows, new_ids, new_counts):
    """Writes new_counts[i + 1] for the thread's share of the rows."""
    first, last = part(rank, size, rows.size)
    for k in range(first, last):
        count = 0
        for i in range(offsets[rows[k]], offsets[rows[k] + 1]):
            if new_ids[neighbors[i]] >= 0:
                count += 1
        new_counts[k + 1] = count


@njit(**JIT)
def _copy_selected(rank, size, offsets, neighbors, weights, rows, new_ids, new_offsets, new_neighbors, new_weights):
    """Writes the thread's share of the rows."""
    first, last = part(rank, size, rows.size)
    for k in range(first, last):
        place = new_offsets[k]
        for i in range(offsets[rows[k]], offsets[rows[k] + 1]):
            new_id = new_ids[neighbors[i]]
            if new_id >= 0:
                new_neighbors[place] = new_id
                if weights is not None:
                    new_weights[place] = weights[i]
                place += 1


def count_self_loops(offsets: Array, neighbors: Array) -> int:
    """Return how many neighbours equal their row."""
    size = team_size(neighbors.size)
    counts = np.zeros(size, np.int64)
    run_team(_count_loops, size, np.ascontiguousarray(offsets), np.ascontiguousarray(neighbors), counts)
    return int(counts.sum())


@njit(**JIT)
def _count_loops(rank, size, offsets, neighbors, counts):
    """Writes counts[rank]."""
    first, last = _row_part(rank, size, offsets)
    count = 0
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + 1]):
            if neighbors[i] == row:
                count += 1
    counts[rank] = count
