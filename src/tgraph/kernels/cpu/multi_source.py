"""Breadth-first search from many sources at once, a bit for each (MS-BFS: Then et al. 2014).

128 sources are searched together: two words per vertex say which searches have seen it, which of them reached it in
this level and which will in the next. An edge passes on the bits of all searches by one OR. A level is pushed from its
list of active vertices, or, where they have many edges, pulled by the vertices that some search has not seen, each
until all have. All threads work on the same level. Where the graph is so deep that searches meet a vertex in different
levels, each is followed by itself instead (`separate_searches`).

What is found is written per vertex (the sources that reach it and how far they are), per source (the vertices that it
reaches and how far they are), or as a matrix of levels. All numbers are integers, except sums of 1 / distance: a thread
adds them for its own vertices, level after level, and those per source are added from the counts of each level. So the
answer is the same on any number of threads. Needs 57 bytes per vertex, and the results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, fetch_or, trailing_zeros
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.bit_count import bit_count
from tgraph.kernels.cpu.separate_searches import is_deep, search_for_sources, search_for_vertices
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

BATCH = 128  # sources, the bits of two words
CHUNK = 256  # vertices that a thread takes at once
PULL_PART = 8  # pull if the active vertices have more than this part of the edges
BUFFER = 1024  # vertices that a thread keeps before it puts them into the list
PER_VERTEX, PER_SOURCE, MATRIX = 0, 1, 2

# Words that the threads share, 8 apart: the next chunk, and behind it the list's tail and the edges of its vertices.
_STOP, _CHUNKS, _TAIL, _EDGES, _SET = COUNTERS, COUNTERS + 8, 8, 16, 24

ZERO, ONE, SIX, LOW_BITS = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


class Reach(NamedTuple):
    """How many others reach a vertex (or are reached by it), and how far they are."""

    counts: Array  # int64, itself not counted
    totals: Array  # int64, the sum of the distances
    inverses: Array  # float64, the sum of 1 / distance

    @classmethod
    def zeros(cls, count: int) -> Reach:
        """Nobody is reached yet."""
        return cls(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count))


def reach_of_vertices(
    out_rows: tuple[Array, Array], in_rows: tuple[Array, Array], sources: Array, watch: Watch | None = None
) -> Reach:
    """Return, for every vertex, how many of the sources reach it and how far they are. Deterministic.

    >>> out_rows, in_rows = (np.array([0, 1, 1]), np.array([1])), (np.array([0, 0, 1]), np.array([0]))
    >>> reach_of_vertices(out_rows, in_rows, np.array([0, 1])).totals.tolist()
    [0, 1]
    """
    reach = Reach.zeros(out_rows[0].size - 1)
    if sources.size and is_deep(out_rows, sources[0]):
        search_for_vertices(out_rows, sources, reach, watch or Watch())
    else:
        _search(out_rows, in_rows, sources, PER_VERTEX, reach, np.zeros((1, 0), np.int32), watch)
    return reach


def reach_of_sources(
    out_rows: tuple[Array, Array], in_rows: tuple[Array, Array], sources: Array, watch: Watch | None = None
) -> Reach:
    """Return, for every source, how many vertices it reaches and how far they are. Deterministic."""
    reach = Reach.zeros(sources.size)
    if sources.size and is_deep(out_rows, sources[0]):
        search_for_sources(out_rows, sources, reach, None, watch or Watch())
    else:
        _search(out_rows, in_rows, sources, PER_SOURCE, reach, np.zeros((1, 0), np.int32), watch)
    return reach


def levels_from_sources(
    out_rows: tuple[Array, Array], in_rows: tuple[Array, Array], sources: Array, watch: Watch | None = None
) -> Array:
    """Return the level of every vertex in the search of every source, `[S, V] int32`, -1 = not reached."""
    reach, shape = Reach.zeros(0), (sources.size, out_rows[0].size - 1)
    if sources.size and is_deep(out_rows, sources[0]):
        levels = np.empty(shape, np.int32)
        search_for_sources(out_rows, sources, reach, levels, watch or Watch())
        return levels
    levels = np.full(shape, -1, np.int32)
    levels[np.arange(sources.size), sources] = 0
    _search(out_rows, in_rows, sources, MATRIX, reach, levels, watch)
    return levels


def _search(
    out_rows: tuple[Array, Array],
    in_rows: tuple[Array, Array],
    sources: Array,
    mode: int,
    reach: Reach,
    levels: Array,
    watch: Watch | None,
) -> None:
    """Follow batches of sources; fill `reach` or `levels`, as the mode says."""
    num_vertices = out_rows[0].size - 1
    size = team_size(out_rows[1].size + num_vertices)
    rows = tuple(as_unsigned(array) for array in (*out_rows, *in_rows))
    bits = tuple(np.zeros((num_vertices, 2), np.uint64) for _ in range(3))
    lists = tuple(np.empty(num_vertices, rows[1].dtype) for _ in range(2))
    found = np.zeros((size, BATCH), np.int64)
    marks = np.zeros(-(-num_vertices // 64), np.uint64)
    results = (tuple(reach), levels, mode, found)
    (watch or Watch()).run(_run, size, rows, as_unsigned(sources), bits, lists, marks, results, PULL_PART)


@njit(**JIT)
def _run(rank, size, shared, rows, sources, bits, lists, marks, results, pull_part):
    """Writes the results of its own vertices; rank 0 also those of the sources.

    Levels use two sets of counters in turn, so that one can be read, and set to 0, while the other is written.
    """
    (counts, totals, inverses), _, mode, found = results
    seen, meeting = bits[0], 1
    buffer = np.empty(BUFFER, lists[0].dtype)
    for batch in range(0, sources.size, BATCH):
        width = min(BATCH, sources.size - batch)
        if rank == 0:
            _begin(shared, rows[0], sources, batch, width, seen, bits[1], lists[0])
        meeting = meet(shared, meeting, size)
        depth, active, turn = 0, width, 0
        while active > 0:
            depth += 1
            front, new = (bits[1], bits[2]) if turn == 0 else (bits[2], bits[1])
            listed, new_listed = (lists[0], lists[1]) if turn == 0 else (lists[1], lists[0])
            place = _CHUNKS + turn * _SET
            if shared[place + _EDGES] * pull_part > rows[1].size:
                _pull(shared, place, rows[2], rows[3], width, seen, front, new, buffer, new_listed)
            else:
                lists_now = (listed, new_listed, buffer)
                _push(shared, place, active, rows[0], rows[1], seen, front, new, marks, size == 1, lists_now)
            meeting = meet(shared, meeting, size)
            first, last = part(rank, size, active)
            for position in range(np.uint64(first), np.uint64(last)):
                front[listed[position], 0], front[listed[position], 1] = ZERO, ZERO
            active = shared[place + _TAIL]
            turn = 1 - turn
            edges = _settle(rank, size, active, depth, batch, rows[0], seen, new, marks, new_listed, results)
            fetch_add(shared, _CHUNKS + turn * _SET + _EDGES, edges)
            if rank == 0:
                shared[_CHUNKS + turn * _SET], shared[_CHUNKS + turn * _SET + _TAIL] = 0, 0
                shared[place + _EDGES], shared[_STOP] = 0, is_stopped(shared)
            meeting = meet(shared, meeting, size)
            if rank == 0 and mode == PER_SOURCE:
                _add_sources(depth, batch, width, found, counts, totals, inverses)
            if shared[_STOP] != 0:
                return
        first, last = part(rank, size, seen.shape[0])
        for vertex in range(np.uint64(first), np.uint64(last)):
            seen[vertex, 0], seen[vertex, 1] = ZERO, ZERO
        if rank == 0:
            shared[DONE] += width
        meeting = meet(shared, meeting, size)


@njit(**JIT)
def _begin(shared, out_offsets, sources, batch, width, seen, front, listed):
    """Make the sources of a batch the first level."""
    edges = ZERO
    for i in range(np.uint64(width)):
        vertex, bit = sources[np.uint64(batch) + i], ONE << (i & LOW_BITS)
        seen[vertex, i >> SIX] = bit
        front[vertex, i >> SIX] = bit
        listed[i] = vertex
        edges += out_offsets[vertex + ONE] - out_offsets[vertex]
    for place in range(_CHUNKS, _CHUNKS + 2 * _SET, 8):
        shared[place] = 0
    shared[_CHUNKS + _EDGES] = np.int64(edges)


@njit(**JIT)
def _push(shared, place, active, offsets, targets, seen, front, new, marks, is_alone, lists_now):
    """Pass on the bits of active vertices. Writes new, marks (atomic) and the list behind its tail."""
    listed, new_listed, buffer = lists_now
    filled = 0
    while True:
        chunk = fetch_add(shared, place, CHUNK)
        if chunk >= active:
            break
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, active))):
            vertex = listed[position]
            low, high = front[vertex, 0], front[vertex, 1]
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                target = targets[edge]
                more_low, more_high = low & ~seen[target, 0], high & ~seen[target, 1]
                if more_low | more_high == ZERO:
                    continue
                _set_bits(new, target, more_low, more_high, is_alone)
                word, bit = target >> SIX, ONE << (target & LOW_BITS)
                if marks[word] & bit == ZERO and _mark(marks, word, bit, is_alone):
                    buffer[filled] = target
                    filled += 1
                    if filled == BUFFER:
                        filled = _flush(shared, place, filled, buffer, new_listed)
    _flush(shared, place, filled, buffer, new_listed)


@njit(**JIT)
def _set_bits(new, vertex, low, high, is_alone):
    """Set bits of a vertex."""
    if is_alone:
        new[vertex, 0] |= low
        new[vertex, 1] |= high
        return
    flat = new.reshape(new.size)
    place = np.uint64(vertex) << ONE
    if low & ~flat[place] != ZERO:
        fetch_or(flat, place, low)
    if high & ~flat[place + ONE] != ZERO:
        fetch_or(flat, place + ONE, high)


@njit(**JIT)
def _mark(marks, word, bit, is_alone):
    """Set a bit; say whether it was not set."""
    if is_alone:
        marks[word] |= bit
        return True
    return fetch_or(marks, word, bit) & bit == ZERO


@njit(**JIT)
def _flush(shared, place, filled, buffer, new_listed):
    """Move the vertices of the buffer to the list; return 0, the number that it then holds."""
    if filled > 0:
        tail = np.uint64(fetch_add(shared, place + _TAIL, filled))
        for i in range(np.uint64(filled)):
            new_listed[tail + i] = buffer[i]
    return 0


@njit(**JIT)
def _pull(shared, place, offsets, sources, width, seen, front, new, buffer, new_listed):
    """Collect the bits that reach vertices. Writes new of its chunks and the list behind its tail."""
    filled, num_vertices = 0, offsets.size - 1
    all_low = ~ZERO if width >= 64 else (ONE << np.uint64(width)) - ONE
    all_high = ~ZERO if width == BATCH else (ONE << np.uint64(max(width - 64, 0))) - ONE
    while True:
        chunk = fetch_add(shared, place, CHUNK)
        if chunk >= num_vertices:
            break
        for vertex in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            old_low, old_high = seen[vertex, 0], seen[vertex, 1]
            if old_low == all_low and old_high == all_high:
                continue
            low, high = old_low, old_high
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                source = sources[edge]
                low |= front[source, 0]
                high |= front[source, 1]
                if low == all_low and high == all_high:
                    break
            if low != old_low or high != old_high:
                new[vertex, 0], new[vertex, 1] = low & ~old_low, high & ~old_high
                buffer[filled] = vertex
                filled += 1
                if filled == BUFFER:
                    filled = _flush(shared, place, filled, buffer, new_listed)
    _flush(shared, place, filled, buffer, new_listed)


@njit(**JIT)
def _settle(rank, size, active, depth, batch, out_offsets, seen, new, marks, listed, results):
    """Write down who was reached in a level; return the edges of these vertices. Writes only its own vertices."""
    (counts, totals, inverses), levels, mode, found = results
    first, last = part(rank, size, active)
    edges = ZERO
    for position in range(np.uint64(first), np.uint64(last)):
        vertex = listed[position]
        low, high = new[vertex, 0], new[vertex, 1]
        seen[vertex, 0] |= low
        seen[vertex, 1] |= high
        marks[vertex >> SIX] = ZERO
        edges += out_offsets[vertex + ONE] - out_offsets[vertex]
        if mode == PER_VERTEX:
            number = np.int64(bit_count(low) + bit_count(high))
            counts[vertex] += number
            totals[vertex] += number * depth
            inverses[vertex] += number / depth
        else:
            for half in range(2):
                bits = low if half == 0 else high
                while bits != ZERO:
                    search = np.int64(trailing_zeros(bits)) + 64 * half
                    bits &= bits - ONE
                    if mode == MATRIX:
                        levels[batch + search, vertex] = depth
                    else:
                        found[rank, search] += 1
    return np.int64(edges)


@njit(**JIT)
def _add_sources(depth, batch, width, found, counts, totals, inverses):
    """Add what all threads counted in a level to the sources of the batch; the counts are 0 afterwards."""
    for search in range(width):
        number = 0
        for rank in range(found.shape[0]):
            number += found[rank, search]
            found[rank, search] = 0
        counts[batch + search] += number
        totals[batch + search] += number * depth
        inverses[batch + search] += number / depth
