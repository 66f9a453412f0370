"""From the user's integer ids to vertex numbers 0, 1, 2, ... in ascending order of the ids.

Ids that are small against the number of edges go through a table indexed by id (one byte, then one word per id). For
sparse 64-bit ids every thread numbers the ids of its part in a hash table of its own, in the order in which it meets
them; only the distinct ids are sorted, and the threads then change their own numbers for the common ones. Where most
ids occur once or twice, all are sorted instead. So an id of 10^18 costs no more than another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.atomics import compare_swap, trailing_zeros
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

TABLE_IDS_PER_EDGE = 4  # a direct table may be this many times as long as the edge list

SMALLEST_TABLE = 4096  # slots; a power of two
SAMPLE = 1 << 16  # ids
BLOCK = 256  # ids that are looked for together

ONE = np.uint64(1)
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads consecutive ids


def number_ids(columns: list[Array]) -> tuple[list[Array], Array | None]:
    """Return the columns with vertex numbers for ids, and the ids in ascending order.

    The second is None where the ids are exactly 0, 1, ..., V - 1: then the numbers are the ids, and the columns come
    back as they are. Columns are int32 or int64. Deterministic.
    """
    total = sum(column.size for column in columns)
    if not total:
        return columns, None
    limits = [id_range(column) for column in columns if column.size]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    if low >= 0 and high < TABLE_IDS_PER_EDGE * total + 1024:
        return _number_by_table(columns, high + 1)
    return _number_sparse(columns, total)


def id_range(column: Array) -> tuple[int, int]:
    """Return the smallest and the largest id of an integer column; 0 and -1 where it is empty. Deterministic."""
    if not column.size:
        return 0, -1
    size = team_size(column.size)
    limits = np.empty((size, 2), column.dtype)
    run_team(_find_range, size, np.ascontiguousarray(column), limits)
    return int(limits[:, 0].min()), int(limits[:, 1].max())


def mark_ids(column: Array, present: Array) -> None:
    """Set `present[id]` to 1 for every id of an integer column. Needs 0 <= ids < present.size. Deterministic."""
    run_team(_mark_present, team_size(column.size), np.ascontiguousarray(column), present)


def _number_by_table(columns: list[Array], table_size: int) -> tuple[list[Array], Array | None]:
    present = np.zeros(table_size, np.uint8)
    for column in columns:
        mark_ids(column, present)
    num_vertices = int(np.count_nonzero(present))
    if num_vertices == table_size:
        return columns, None
    dtype = index_dtype(num_vertices)
    numbers = np.cumsum(present, dtype=dtype)
    numbers -= 1
    numbered = [np.empty(column.size, dtype) for column in columns]
    for column, result in zip(columns, numbered, strict=True):
        run_team(_look_up_table, team_size(column.size), column, numbers, result)
    return numbered, np.flatnonzero(present).astype(np.int64)


def _number_sparse(columns: list[Array], total: int) -> tuple[list[Array], Array]:
    columns = [np.ascontiguousarray(column) for column in columns]
    if _repeat_often(columns, total):
        return _number_parts(columns, total)
    ascending: list[Array] = [np.empty(0, np.int64)] * team_size(total)

    def sort_part(rank: int, size: int) -> None:
        ids = np.concatenate([column[slice(*part(rank, size, column.size))] for column in columns], dtype=np.int64)
        ids.sort()
        ascending[rank] = ids

    run_team(sort_part, len(ascending))
    ids = _merge_distinct(ascending)
    table = IdTable(ids)
    return [table.numbers_of(column) for column in columns], ids


def _repeat_often(columns: list[Array], total: int) -> bool:
    """Guess from a sample whether an id occurs four times and more on average."""
    step = max(1, total // SAMPLE)
    sample = np.sort(np.concatenate([column[::step] for column in columns]))
    repeats = np.count_nonzero(sample[1:] == sample[:-1])
    return bool(repeats * total >= 2 * sample.size * sample.size)  # n of V ids have about n^2 / 2V repeats


def _number_parts(columns: list[Array], total: int) -> tuple[list[Array], Array]:
    """Number the ids of every thread's part, sort the distinct ids, and change the numbers for the common ones."""
    numbered = [np.empty(column.size, index_dtype(total)) for column in columns]
    size = team_size(total)
    found: list[Array] = [np.empty(0, np.int64)] * size  # the ids of each thread, in the order of its own numbers
    ascending = list(found)

    def collect(rank: int, size: int) -> None:
        found[rank] = _number_part(rank, size, tuple(columns), tuple(numbered))
        ascending[rank] = np.sort(found[rank])

    run_team(collect, size)
    ids = _merge_distinct(ascending)
    table = IdTable(ids)

    def translate(rank: int, size: int) -> None:
        _translate_part(rank, size, table.numbers_of(found[rank], num_threads=1), tuple(numbered))

    run_team(translate, size)
    return [column.astype(index_dtype(ids.size), copy=False) for column in numbered], ids


def _merge_distinct(ascending: list[Array]) -> Array:
    """Return the distinct ids of ascending arrays; every thread merges one range of the ids."""
    size = len(ascending)
    longest = max(ascending, key=len)
    limits = longest[[longest.size * rank // size for rank in range(1, size)]]
    cuts = [[0, *np.searchsorted(one, limits).tolist(), one.size] for one in ascending]
    merged: list[Array] = [longest] * size

    def merge(rank: int, size: int) -> None:
        pieces = [one[cut[rank] : cut[rank + 1]] for one, cut in zip(ascending, cuts, strict=True)]
        ids = np.concatenate(pieces)
        ids.sort()
        is_first = np.ones(ids.size, bool)
        np.not_equal(ids[1:], ids[:-1], out=is_first[1:])
        merged[rank] = ids[is_first]

    run_team(merge, size)
    return np.concatenate(merged)


class IdTable:
    """A hash table from distinct ids to their positions; at most half full, 8 to 32 bytes per id."""

    def __init__(self, ids: Array) -> None:
        self._ids = np.ascontiguousarray(ids)
        bits = self._bits(ids.size)
        self._slots = np.full(1 << bits, -1, index_dtype(ids.size))
        self._shift = np.uint64(64 - bits)
        run_team(_fill_hash_table, team_size(ids.size), self._ids, self._slots, self._shift)

    @staticmethod
    def _bits(num_ids: int) -> int:
        return max(1, int(2 * num_ids - 1).bit_length())

    @classmethod
    def num_bytes(cls, num_ids: int) -> int:
        """Return the bytes of a table of so many ids, beside the ids themselves."""
        return index_dtype(num_ids).itemsize << cls._bits(num_ids)

    def numbers_of(self, column: Array, num_threads: int | None = None) -> Array:
        """Return the position of every id of an integer column, -1 = unknown. Deterministic."""
        result = np.empty(column.size, index_dtype(self._ids.size))
        size = team_size(column.size, num_threads)
        run_team(_look_up_hash, size, column, self._ids, self._slots, self._shift, result)
        return result


@njit(**JIT)
def _find_range(rank, size, column, limits):
    """Writes limits[rank]. Every thread has an id of its own."""
    first, last = part(rank, size, column.size)
    low, high = column[first], column[first]
    for i in range(first, last):
        low, high = min(low, column[i]), max(high, column[i])
    limits[rank, 0], limits[rank, 1] = low, high


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
def _home(label, shift):
    """The slot where the search for an id begins."""
    return (np.uint64(np.int64(label)) * HASH_MULTIPLIER) >> shift


@njit(**JIT)
def _number_part(rank, size, columns, numbered):
    """Writes numbers of its own, from 0, for the ids of the thread's part; returns the ids in the order of numbers."""
    slots = np.full(SMALLEST_TABLE, -1, numbered[0].dtype)
    ids = np.empty(SMALLEST_TABLE // 2, np.int64)
    count = 0
    for k in range(len(columns)):
        column, result = columns[k], numbered[k]
        first, last = part(rank, size, column.size)
        while first < last:
            first, count = _number_while_room(column, result, first, last, ids, slots, count)
            if first < last:
                ids, slots = _grow(ids, slots, count)
    return ids[:count].copy()


@njit(**JIT)
def _number_while_room(column, result, first, last, ids, slots, count):
    """Numbers ids until the last one or until ids may be full; returns where it stopped and how many ids there are."""
    shift, mask = np.uint64(64) - trailing_zeros(np.uint64(slots.size)), np.uint64(slots.size - 1)
    guesses = np.empty(BLOCK, np.int64)
    while first < last and count + BLOCK <= ids.size:
        block, new = column[first : min(first + BLOCK, last)], result[first : min(first + BLOCK, last)]
        _guess_numbers(block, ids, slots, shift, guesses)
        for i in range(block.size):
            label = np.int64(block[i])
            number = guesses[i]
            if number < 0:
                slot, number = _find(label, ids, slots, shift, mask)
                if number < 0:
                    number = count
                    ids[number] = label
                    slots[slot] = number
                    count += 1
            new[i] = number
        first += block.size
    return first, count


@njit(**JIT)
def _guess_numbers(block, ids, slots, shift, guesses):
    """Writes the number in the home slot of every id if it is the id's own, else -1.

    Without branches, so that the memory is asked for many ids at a time.
    """
    for i in range(block.size):
        guesses[i] = slots[_home(block[i], shift)]
    for i in range(block.size):
        is_right = ids[np.uint64(max(guesses[i], 0))] == block[i]
        guesses[i] = guesses[i] if is_right else -1


@njit(**JIT)
def _find(label, ids, slots, shift, mask):
    """The slot of an id and its number, or the free slot where it would be and -1."""
    slot = _home(label, shift)
    number = np.int64(slots[slot])
    while number >= 0 and ids[np.uint64(number)] != label:
        slot = (slot + ONE) & mask
        number = np.int64(slots[slot])
    return slot, number


@njit(**JIT)
def _grow(ids, slots, count):
    """Twice the room for ids and a table of twice the slots."""
    more_ids = np.empty(2 * ids.size, ids.dtype)
    more_ids[:count] = ids[:count]
    more_slots = np.full(2 * slots.size, -1, slots.dtype)
    shift, mask = np.uint64(64) - trailing_zeros(np.uint64(more_slots.size)), np.uint64(more_slots.size - 1)
    for number in range(count):
        slot = _home(ids[number], shift)
        while more_slots[slot] >= 0:
            slot = (slot + ONE) & mask
        more_slots[slot] = number
    return more_ids, more_slots


@njit(**JIT)
def _translate_part(rank, size, numbers, numbered):
    """Changes the thread's own numbers for the common ones, in the parts that it numbered."""
    for result in numbered:
        first, last = part(rank, size, result.size)
        for i in range(first, last):
            result[i] = numbers[np.uint64(result[i])]


@njit(**JIT)
def _fill_hash_table(rank, size, ids, slots, shift):
    """Writes the numbers of the thread's part of the ids into the first free slots from their homes on.

    Which of two ids comes first on the way from their home depends on the threads; what is found does not. slots is at
    most half full.
    """
    mask = np.uint64(slots.size - 1)
    first, last = part(rank, size, ids.size)
    for number in range(first, last):
        slot = _home(ids[number], shift)
        while slots[slot] >= 0 or not compare_swap(slots, slot, slots.dtype.type(-1), slots.dtype.type(number)):
            slot = (slot + ONE) & mask


@njit(**JIT)
def _look_up_hash(rank, size, column, ids, slots, shift, result):
    """Writes the thread's part of the result. ids may be empty."""
    mask = np.uint64(slots.size - 1)
    guesses = np.empty(BLOCK, np.int64)
    first, last = part(rank, size, column.size)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        if ids.size > 0:
            _guess_numbers(column[begin:end], ids, slots, shift, guesses)
        for i in range(begin, end):
            number = guesses[i - begin] if ids.size > 0 else -1
            if number < 0:
                _, number = _find(np.int64(column[i]), ids, slots, shift, mask)
            result[i] = number
