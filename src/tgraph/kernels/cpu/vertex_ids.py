"""From the user's integer ids to vertex numbers 0, 1, 2, ... in ascending order of the ids.

Ids that are small against the number of edges go through a table indexed by id (one byte, then one word per id);
sparse 64-bit ids are sorted once and looked up in a hash table, so that an id of 10^18 costs no more than another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

TABLE_IDS_PER_EDGE = 4  # a direct table may be this many times as long as the edge list

HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive ids


def number_ids(columns: list[Array]) -> tuple[list[Array], Array | None]:
    """Return the columns with vertex numbers for ids, and the ids in ascending order.

    The second is None where the ids are exactly 0, 1, ..., V - 1: then the numbers are the ids. Columns are int64.
    Deterministic.
    """
    total = sum(column.size for column in columns)
    if not total:
        return [column.astype(np.int32) for column in columns], None
    low = min(column.min() for column in columns if column.size)
    high = max(column.max() for column in columns if column.size)
    if low >= 0 and high < TABLE_IDS_PER_EDGE * total + 1024:
        return _number_by_table(columns, int(high) + 1)
    return _number_by_hash(columns)


def _number_by_table(columns: list[Array], table_size: int) -> tuple[list[Array], Array | None]:
    present = np.zeros(table_size, np.uint8)
    for column in columns:
        run_team(_mark_present, team_size(column.size), column, present)
    num_vertices = int(np.count_nonzero(present))
    dtype = index_dtype(num_vertices)
    if num_vertices == table_size:
        return [column.astype(dtype) for column in columns], None
    numbers = np.cumsum(present, dtype=dtype)
    numbers -= 1
    numbered = [np.empty(column.size, dtype) for column in columns]
    for column, result in zip(columns, numbered, strict=True):
        run_team(_look_up_table, team_size(column.size), column, numbers, result)
    return numbered, np.flatnonzero(present).astype(np.int64)


def _number_by_hash(columns: list[Array]) -> tuple[list[Array], Array]:
    ascending = np.concatenate(columns)
    ascending.sort()
    ids = ascending[np.concatenate([[True], ascending[1:] != ascending[:-1]])]
    del ascending
    table = IdTable(ids)
    return [table.numbers_of(column) for column in columns], ids


class IdTable:
    """A hash table from distinct ids to their positions; at most half full, 16 to 32 bytes per id."""

    def __init__(self, ids: Array) -> None:
        self._ids = ids
        bits = max(1, int(2 * ids.size - 1).bit_length())
        self._slots = np.full(1 << bits, -1, np.int64)
        self._shift = np.uint64(64 - bits)
        _fill_hash_table(ids, self._slots, self._shift)

    def numbers_of(self, column: Array) -> Array:
        """Return the position of every id of an int64 column, -1 = unknown. Deterministic."""
        result = np.empty(column.size, index_dtype(self._ids.size))
        run_team(_look_up_hash, team_size(column.size), column, self._ids, self._slots, self._shift, result)
        return result


@njit(**JIT)
def _mark_present(rank, size, column, present):
    """Writes present[id] = 1; threads may write the same byte, always the same value."""
    first, last = part(rank, size, column.size)
    for i in range(first, last):
        present[column[i]] = 1


@njit(**JIT)
def _look_up_table(rank, size, column, numbers, result):
    """Writes the thread's part of the result."""
    first, last = part(rank, size, column.size)
    for i in range(first, last):
        result[i] = numbers[column[i]]


@njit(**JIT)
def _fill_hash_table(ids, slots, shift):
    """Writes the number of every id into the first free slot from its home on. Serial. slots is at most half full."""
    mask = slots.size - 1
    for number in range(ids.size):
        slot = np.int64((np.uint64(ids[number]) * HASH_MULTIPLIER) >> shift)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number


@njit(**JIT)
def _look_up_hash(rank, size, column, ids, slots, shift, result):
    """Writes the thread's part of the result."""
    mask = slots.size - 1
    first, last = part(rank, size, column.size)
    for i in range(first, last):
        slot = np.int64((np.uint64(column[i]) * HASH_MULTIPLIER) >> shift)
        while slots[slot] >= 0 and ids[slots[slot]] != column[i]:
            slot = (slot + 1) & mask
        result[i] = slots[slot]
