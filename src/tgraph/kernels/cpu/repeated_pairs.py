"""Neighbours that follow each other in many rows: such pairs are counted, and replaced by new symbols, round by round.

A row is a sequence of symbols: numbers of vertices, and above them numbers of pairs of earlier symbols. One round looks
at every pair of adjacent symbols three times: in a table of small counters that many pairs share, which tells rare
pairs; in a hash table, which counts the others; and again in both when pairs are replaced. A pair gives way where the
pair that begins with its second symbol is more frequent. Pairs are numbered in the order of their symbols, so the
result does not depend on the number of threads. Whether a round is worth it is estimated from a sample before.

Between rounds the symbols of a row may be put into another order where the order of its neighbours is known anyway
(ascending rows): symbols that occur about equally often, first and last in the same rows, then stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add, load
from tgraph.kernels.cpu.team import JIT, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

MOST_FREQUENT = 64  # the small counters hold this and one more for every thread
ROWS_PER_CHUNK = 1 << 10
PROBES = 64  # after which a pair that finds no place is not replaced in this round
SMALLEST_TABLE = 1 << 10
SAMPLED = 1 << 16  # sequences that an estimate looks at: their table stays in the cache

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE, HALF = np.uint64(1), np.uint64(32)


@dataclass
class SymbolRows:
    """Rows of symbols that become shorter: those of row r are `sizes[r]` from `starts[r]` on."""

    symbols: Array  # [E] uint32
    starts: Array  # [V] int64
    sizes: Array  # [V] int64

    @property
    def num_symbols(self) -> int:
        """How many there are now."""
        return int(self.sizes.sum())

    @property
    def num_pairs(self) -> int:
        """How many symbols have another one behind them."""
        return self.num_symbols - int(np.count_nonzero(self.sizes))


def replace_pairs(rows: SymbolRows, least: int, first_symbol: int, watch: Watch) -> Array:
    """Replace pairs that occur at least `least` times by symbols from `first_symbol` on.

    Returns the pairs, `[P, 2]`. Writes the rows. Deterministic.

    >>> rows = SymbolRows(np.array([5, 6, 7, 5, 6], np.uint32), np.array([0, 3]), np.array([3, 2]))
    >>> pairs = replace_pairs(rows, 2, 8, Watch())
    >>> pairs.tolist(), rows.symbols[:2].tolist(), rows.sizes.tolist()
    ([[5, 6]], [8, 7], [2, 1])
    """
    num_pairs = rows.num_pairs
    size, rough = min(team_size(num_pairs), 128), min(least, MOST_FREQUENT)
    small = np.zeros(_table_size(2 * num_pairs), np.uint8)
    arrays = rows.symbols, rows.starts, rows.sizes
    frequent = int(watch.run(_count_roughly, size, *arrays, small, rough)[COUNTERS + 8])
    keys = np.full(_table_size(2 * frequent // rough), FREE)
    counts, numbers = np.zeros(keys.size, np.int32), np.zeros(keys.size, np.uint32)
    watch.run(_count, size, *arrays, small, rough, keys, counts)
    counts[counts < least] = 0
    slots = np.flatnonzero(counts)
    slots = slots[np.argsort(keys[slots])]
    numbers[slots] = np.arange(first_symbol, first_symbol + slots.size)
    longest = int(rows.sizes.max(initial=1))
    watch.run(_replace, size, *arrays, small, rough, keys, counts, numbers, longest)
    found = keys[slots]
    return np.stack([found >> HALF, found & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


def estimate_repeated(rows: SymbolRows, length: int, least: int, watch: Watch) -> int:
    """Return about how many sequences of `length` symbols in a row occur at least `least` times, at all their places.

    Exact up to `SAMPLED` sequences. Of more, those are counted whose hash is in a part of all: some of the different
    sequences, but each of them wherever it occurs. Deterministic.

    >>> rows = SymbolRows(np.array([5, 6, 7, 5, 6], np.uint32), np.array([0, 3]), np.array([3, 2]))
    >>> estimate_repeated(rows, 2, 2, Watch()), estimate_repeated(rows, 3, 1, Watch())
    (2, 1)
    """
    num_sequences = int(np.maximum(rows.sizes - (length - 1), 0).sum())
    shift = max(num_sequences.bit_length() - SAMPLED.bit_length() + 1, 0)
    keys = np.full(_table_size(2 * (num_sequences >> shift)), FREE)
    counts = np.zeros(keys.size, np.int32)
    arrays = rows.symbols, rows.starts, rows.sizes
    watch.run(_sample, team_size(num_sequences), *arrays, length, np.uint64(2**63 >> shift), keys, counts)
    return int(counts[counts >= least].sum()) << shift


def put_alike_together(rows: SymbolRows, num_symbols: int, watch: Watch) -> None:
    """Order the symbols of every row by how often they occur (by powers of 2), and by the first and last row with them.

    Writes the rows. Deterministic.

    >>> rows = SymbolRows(np.array([1, 2, 3, 1, 3], np.uint32), np.array([0, 3]), np.array([3, 2]))
    >>> put_alike_together(rows, 4, Watch())
    >>> rows.symbols.tolist()
    [1, 3, 2, 1, 3]
    """
    uses = np.zeros((num_symbols, 3), np.int32)
    _look_for_uses(rows.symbols, rows.starts, rows.sizes, uses)
    used = np.flatnonzero(uses[:, 0])
    counts, first, last = uses[used].astype(np.int64).T
    bits = max(int(rows.starts.size).bit_length() - 29, 0)  # rows beyond 2^29 are told apart by fewer bits
    power = 63 - np.frexp(counts)[1].astype(np.int64)
    keys = (power << 58) | ((first >> bits) << 29) | (last >> bits)
    order = used[_sort_keys(keys.view(np.uint64))].astype(np.uint32)
    ranks = np.empty(num_symbols, np.uint32)
    ranks[order] = np.arange(order.size, dtype=np.uint32)
    watch.run(_order_rows, team_size(rows.num_symbols), rows.symbols, rows.starts, rows.sizes, ranks, order)


def _table_size(least: int) -> int:
    return max(1 << (max(least, 1) - 1).bit_length(), SMALLEST_TABLE)


@njit(**JIT)
def _mix(key):
    """Return bits in which those of a key are spread."""
    key ^= key >> HALF
    key *= np.uint64(0xD6E8FEB86659FD93)
    key ^= key >> HALF
    key *= np.uint64(0xD6E8FEB86659FD93)
    return key ^ (key >> HALF)


@njit(**JIT)
def _pair(symbols, i):
    return (np.uint64(symbols[i]) << HALF) | np.uint64(symbols[i + 1])


@njit(**JIT)
def _take_rows(shared, num_rows):
    """Return the rows that a thread works on next, none when all are taken or the user stops."""
    first = fetch_add(shared, COUNTERS, ROWS_PER_CHUNK)
    if first >= num_rows or is_stopped(shared):
        return num_rows, num_rows
    fetch_add(shared, DONE, min(ROWS_PER_CHUNK, num_rows - first))
    return first, min(first + ROWS_PER_CHUNK, num_rows)


@njit(**JIT)
def _count_roughly(rank, size, shared, symbols, starts, sizes, small, rough):
    """Writes small counters, up to `rough`, by atomic additions, and the number of places whose counter reached it."""
    mask = np.uint64(small.size - 1)
    frequent = 0
    while True:
        first, last = _take_rows(shared, starts.size)
        if first == last:
            break
        for row in range(first, last):
            for i in range(starts[row], starts[row] + sizes[row] - 1):
                slot = _mix(_pair(symbols, i)) & mask
                before = np.int64(small[slot])
                if before < rough:
                    before = np.int64(fetch_add(small, slot, np.uint8(1)))
                frequent += rough if before == rough - 1 else before >= rough  # that place, and all those before it
    fetch_add(shared, COUNTERS + 8, frequent)


@njit(**JIT, forceinline=True)
def _add(keys, counts, key, slot, mask):
    """Count a key once more, in the first place from `slot` on that has it or is free."""
    for _ in range(PROBES):
        held = load(keys, slot)
        if held == FREE and not compare_swap(keys, slot, FREE, key):
            held = load(keys, slot)
        elif held == FREE:
            held = key
        if held == key:
            fetch_add(counts, slot, np.int32(1))
            break
        slot = (slot + ONE) & mask


@njit(**JIT)
def _count(rank, size, shared, symbols, starts, sizes, small, rough, keys, counts):
    """Writes keys, by compare-and-swap, and counts, by atomic additions."""
    small_mask, mask = np.uint64(small.size - 1), np.uint64(keys.size - 1)
    while True:
        first, last = _take_rows(shared, starts.size)
        if first == last:
            break
        for row in range(first, last):
            for i in range(starts[row], starts[row] + sizes[row] - 1):
                key = _pair(symbols, i)
                bits = _mix(key)
                if small[bits & small_mask] < rough:
                    continue
                _add(keys, counts, key, (bits >> HALF) & mask, mask)


@njit(**JIT)
def _sample(rank, size, shared, symbols, starts, sizes, length, limit, keys, counts):
    """Writes hashes of sequences below `limit`, by compare-and-swap, and counts, by atomic additions."""
    mask = np.uint64(keys.size - 1)
    while True:
        first, last = _take_rows(shared, starts.size)
        if first == last:
            break
        for row in range(first, last):
            for i in range(starts[row], starts[row] + sizes[row] - length + 1):
                bits = _mix(_pair(symbols, i))
                for j in range(i + 2, i + length):
                    bits = _mix(bits ^ np.uint64(symbols[j]))
                bits >>= ONE
                if bits < limit:
                    _add(keys, counts, bits, bits & mask, mask)


@njit(**JIT, forceinline=True)
def _find(key, small, small_mask, rough, keys, counts, mask):
    """Return the slot of a pair and how often it occurs, 0 where that is too seldom; a larger table is asked last."""
    bits = _mix(key)
    if 8 * keys.size <= small.size or small[bits & small_mask] >= rough:
        slot = (bits >> HALF) & mask
        for _ in range(PROBES):
            held = keys[slot]
            if held == key:
                return slot, counts[slot]
            if held == FREE:
                break
            slot = (slot + ONE) & mask
    return np.uint64(0), np.int32(0)


@njit(**JIT)
def _replace(rank, size, shared, symbols, starts, sizes, small, rough, keys, counts, numbers, longest):
    """Writes the rows, each by the thread that took it.

    All pairs of a row are looked up before one is replaced, so that the processor waits for many of them at a time.
    """
    small_mask, mask = np.uint64(small.size - 1), np.uint64(keys.size - 1)
    slots, found = np.empty(longest, np.uint64), np.zeros(longest, np.int32)
    while True:
        first, last = _take_rows(shared, starts.size)
        if first == last:
            break
        for row in range(first, last):
            start, count = starts[row], sizes[row]
            most = np.int32(0)
            for i in range(count - 1):
                key = _pair(symbols, start + i)
                slots[i], found[i] = _find(key, small, small_mask, rough, keys, counts, mask)
                most = max(most, found[i])
            if most == 0:
                continue
            found[count - 1] = 0
            put, i = start, 0
            while i < count:
                if found[i] > 0 and found[i] >= found[min(i + 1, count - 1)]:
                    symbols[put] = numbers[slots[i]]
                    i += 2
                else:
                    symbols[put] = symbols[start + i]
                    i += 1
                put += 1
            sizes[row] = put - start


@njit(**JIT)
def _look_for_uses(symbols, starts, sizes, uses):
    """Writes how often each symbol occurs, and the first and the last row with it, side by side. One thread."""
    for row in range(starts.size):
        for i in range(starts[row], starts[row] + sizes[row]):
            symbol = symbols[i]
            if uses[symbol, 0] == 0:
                uses[symbol, 1] = row
            uses[symbol, 0] += 1
            uses[symbol, 2] = row


@njit(**JIT)
def _sort_keys(keys):
    """Return the places of keys in ascending order, equal ones as they are. One thread; 11 bits a pass."""
    order, moved = np.arange(keys.size), np.empty(keys.size, np.int64)
    places, digit_mask = np.empty((1 << 11) + 1, np.int64), np.uint64((1 << 11) - 1)
    for shift in range(0, 64, 11):
        places[:] = 0
        for key in keys:
            places[((key >> np.uint64(shift)) & digit_mask) + ONE] += 1
        for digit in range(1 << 11):
            places[digit + 1] += places[digit]
        for place in order:
            digit = (keys[place] >> np.uint64(shift)) & digit_mask
            moved[places[digit]] = place
            places[digit] += 1
        order, moved = moved, order
    return order


@njit(**JIT)
def sort_small(values, start, end):
    """Sort values[start:end], in place."""
    if end - start > 32:
        values[start:end] = np.sort(values[start:end])
        return
    for i in range(start + 1, end):
        value, j = values[i], i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@njit(**JIT)
def _order_rows(rank, size, shared, symbols, starts, sizes, ranks, order):
    """Writes the rows, each by the thread that took it."""
    while True:
        first, last = _take_rows(shared, starts.size)
        if first == last:
            break
        for row in range(first, last):
            start, end = starts[row], starts[row] + sizes[row]
            for i in range(start, end):
                symbols[i] = ranks[symbols[i]]
            sort_small(symbols, start, end)
            for i in range(start, end):
                symbols[i] = order[symbols[i]]
