"""Neighbours that follow each other in many rows: such pairs are counted, and replaced by new symbols, round by round.

A round looks at pairs of adjacent symbols three times: in a table of small counters that many pairs share, which tells
rare pairs; in a hash table, which counts the others; and again in that when pairs are replaced. A pair gives way where
one that overlaps with it is more frequent. Pairs are numbered in the order of their symbols, so the result does not
depend on the number of threads. Whether a round is worth it is estimated from a sample before.

A pair that is rare stays so while no symbols change their places, because all that a round adds are pairs with new
symbols. So later rounds look only at those, and at pairs that gave way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add, load
from tgraph.kernels.cpu.symbol_rows import SymbolRows, take_rows
from tgraph.kernels.cpu.team import JIT, team_size
from tgraph.kernels.cpu.watch import COUNTERS, Watch
from tgraph.runtime.protocol import Array

MOST_FREQUENT = 64  # the small counters hold this and one more for every thread
PROBES = 64  # after which a pair that finds no place is not replaced in this round
SMALLEST_TABLE = 1 << 10
SAMPLED = 1 << 16  # sequences that an estimate looks at: their table stays in the cache

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE, HALF = np.uint64(1), np.uint64(32)


def replace_pairs(rows: SymbolRows, least: int, first_symbol: int, watch: Watch) -> Array:
    """Replace pairs that occur at least `least` times by symbols from `first_symbol` on.

    Returns the pairs, `[P, 2]`. Writes the rows, and which pairs the next round, with the same `least`, looks at: after
    `rows.open_all()` it is all of them. Deterministic.

    >>> rows = SymbolRows(np.array([5, 6, 7, 5, 6], np.uint32), np.array([0, 3]), np.array([3, 2]))
    >>> pairs = replace_pairs(rows, 2, 8, Watch())
    >>> pairs.tolist(), rows.symbols[:2].tolist(), rows.sizes.tolist()
    ([[5, 6]], [8, 7], [2, 1])
    """
    size, rough = min(team_size(rows.num_pairs), 128), min(least, MOST_FREQUENT)
    small = np.zeros(_table_size(2 * rows.num_pairs), np.uint8)
    arrays = rows.symbols, rows.starts, rows.sizes, rows.open_rows, rows.rare_mask
    frequent = int(watch.run(_count_roughly, size, *arrays, small, rough)[COUNTERS + 8])
    keys = np.full(_table_size(2 * frequent // rough), FREE)
    counts, numbers = np.zeros(keys.size, np.int32), np.zeros(keys.size, np.uint32)
    watch.run(_count, size, *arrays, small, rough, keys, counts)
    counts[counts < least] = 0
    slots = np.flatnonzero(counts)
    slots = slots[np.argsort(keys[slots])]
    numbers[slots] = np.arange(first_symbol, first_symbol + slots.size)
    sizes = rows.sizes[rows.open_rows]
    longest = int(sizes.max(initial=1))
    shared = watch.run(_replace, size, *arrays, keys, counts, numbers, longest)
    rows.close_unchanged(sizes, int(shared[COUNTERS + 8]))
    found = keys[slots]
    return np.stack([found >> HALF, found & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


def estimate_repeated(rows: SymbolRows, length: int, least: int, watch: Watch) -> int:
    """Return about how many sequences of `length` symbols in a row occur at least `least` times, at all their places.

    Those that begin with a pair which is not looked at are left out. Exact up to `SAMPLED` sequences. Of more, those
    are counted whose hash is in a part of all: some of the different sequences, but each of them wherever it occurs.
    Deterministic.

    >>> rows = SymbolRows(np.array([5, 6, 7, 5, 6], np.uint32), np.array([0, 3]), np.array([3, 2]))
    >>> estimate_repeated(rows, 2, 2, Watch()), estimate_repeated(rows, 3, 1, Watch())
    (2, 1)
    """
    sequences = np.maximum(rows.sizes[rows.open_rows] - (length - 1), 0)
    num_sequences = min(int(sequences.sum()), rows.num_pairs)
    shift = max(num_sequences.bit_length() - SAMPLED.bit_length() + 1, 0)
    keys = np.full(_table_size(2 * (num_sequences >> shift)), FREE)
    counts = np.zeros(keys.size, np.int32)
    arrays = rows.symbols, rows.starts, rows.sizes, rows.open_rows, rows.rare_mask
    watch.run(_sample, team_size(num_sequences), *arrays, length, np.uint64(2**63 >> shift), keys, counts)
    return int(counts[counts >= least].sum()) << shift


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
def _count_roughly(rank, size, shared, symbols, starts, sizes, rows, rare_mask, small, rough):
    """Writes small counters, up to `rough`, by atomic additions, and the number of places whose counter reached it."""
    mask = np.uint64(small.size - 1)
    frequent = 0
    while True:
        first, last = take_rows(shared, rows.size)
        if first == last:
            break
        for row in rows[first:last]:
            for i in range(starts[row], starts[row] + sizes[row] - 1):
                if rare_mask[i]:
                    continue
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
def _count(rank, size, shared, symbols, starts, sizes, rows, rare_mask, small, rough, keys, counts):
    """Writes keys, by compare-and-swap, counts, by atomic additions, and marks pairs whose small counter says rare."""
    small_mask, mask = np.uint64(small.size - 1), np.uint64(keys.size - 1)
    while True:
        first, last = take_rows(shared, rows.size)
        if first == last:
            break
        for row in rows[first:last]:
            for i in range(starts[row], starts[row] + sizes[row] - 1):
                if rare_mask[i]:
                    continue
                key = _pair(symbols, i)
                bits = _mix(key)
                if small[bits & small_mask] < rough:
                    rare_mask[i] = True
                else:
                    _add(keys, counts, key, (bits >> HALF) & mask, mask)


@njit(**JIT)
def _sample(rank, size, shared, symbols, starts, sizes, rows, rare_mask, length, limit, keys, counts):
    """Writes hashes of sequences below `limit`, by compare-and-swap, and counts, by atomic additions."""
    mask = np.uint64(keys.size - 1)
    while True:
        first, last = take_rows(shared, rows.size)
        if first == last:
            break
        for row in rows[first:last]:
            for i in range(starts[row], starts[row] + sizes[row] - length + 1):
                if rare_mask[i]:
                    continue
                bits = _mix(_pair(symbols, i))
                for j in range(i + 2, i + length):
                    bits = _mix(bits ^ np.uint64(symbols[j]))
                bits >>= ONE
                if bits < limit:
                    _add(keys, counts, bits, bits & mask, mask)


@njit(**JIT, forceinline=True)
def _find(key, keys, counts):
    """Return the slot of a pair and how often it occurs, 0 where that is too seldom."""
    mask = np.uint64(keys.size - 1)
    slot = (_mix(key) >> HALF) & mask
    for _ in range(PROBES):
        held = keys[slot]
        if held == key:
            return slot, counts[slot]
        if held == FREE:
            break
        slot = (slot + ONE) & mask
    return np.uint64(0), np.int32(0)


@njit(**JIT)
def _replace(rank, size, shared, symbols, starts, sizes, rows, rare_mask, keys, counts, numbers, longest):
    """Writes the rows, each by the thread that took it, which of their pairs are rare, and how many others are left.

    All pairs of a row are looked up before one is replaced, so that the processor waits for many of them at a time.
    """
    slots, found = np.empty(longest, np.uint64), np.zeros(longest, np.int32)
    left = 0
    while True:
        first, last = take_rows(shared, rows.size)
        if first == last:
            break
        for row in rows[first:last]:
            start, count = starts[row], sizes[row]
            most = np.int32(0)
            for i in range(count - 1):
                found[i] = 0
                if not rare_mask[start + i]:
                    slots[i], found[i] = _find(_pair(symbols, start + i), keys, counts)
                    most = max(most, found[i])
            if most == 0:
                continue
            found[count - 1] = 0
            put, i, before = start, 0, np.int32(0)
            while i < count:
                symbols[put], rare_mask[put] = symbols[start + i], found[i] == 0
                if found[i] > 0 and found[i] >= max(before, found[i + 1]):
                    symbols[put], rare_mask[put] = numbers[slots[i]], False
                    if put > start:
                        rare_mask[put - 1] = False
                    i += 1
                before = found[i]
                i += 1
                put += 1
            sizes[row] = put - start
            for i in range(start, put - 1):
                left += not rare_mask[i]
    fetch_add(shared, COUNTERS + 8, left)
