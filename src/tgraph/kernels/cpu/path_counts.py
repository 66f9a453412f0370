"""The forward half of a search for shortest paths: levels, and the number of shortest paths to each vertex.

Used by `tgraph.kernels.cpu.betweenness`, whose header says how it works and what it needs. A search is a row of every
array of `make_scratch`; its threads share the words of `control`, and each keeps a copy of `state`. Words that are
written in every level exist three times, one set for each of three levels in turn: while one level is written, the
level before can still be read and the set of the next one is made 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, fetch_or, trailing_zeros
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.bit_count import bit_count
from tgraph.kernels.cpu.direction import prefers_pull
from tgraph.kernels.cpu.prefetch import ask_for_rows
from tgraph.kernels.cpu.team import JIT, part
from tgraph.kernels.cpu.watch import is_stopped
from tgraph.runtime.protocol import Array

BYTES_PER_SEARCH = 37  # per vertex: counts and flows 16 each, queue 4, bits; the rest is rarely touched
CHUNK = 64  # queue positions, also words of 64 vertices, that a thread takes at once
BUFFER = 1024  # vertices that a thread keeps before it puts them into the queue
DENSE = 16  # a frontier with more than this part of the vertices is put in order
HUGE = 2.0**512  # where counts are scaled
TINY = 2.0**-900  # counts so small need blocks

# Words of a search that its threads share, 8 apart; word 0 counts arrivals. Those of a level are three times there.
SETS, TURN, TAIL, EDGES, SWEEP, STOP, SET_SIZE = 8, 0, 8, 16, 24, 32, 40
TOLD = SETS + 3 * SET_SIZE
REACHED, ENDS, CONTROL_SIZE = TOLD + 14, TOLD + 15, TOLD + 16  # at the end: how many vertices, and if stopped
# What every thread knows of a search. One that worked alone tells all but the last two to the others, from TOLD on.
FIRST, LAST, DEPTH, FRONTIER_EDGES, SEEN_EDGES, PULLS, SCALES, FAILS, STOPS, WIDE, MEETING = range(11)
STATE_SIZE = 11

ZERO, ONE, SIX, LOW_BITS = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


def make_scratch(searches: int, num_vertices: int, dtype: np.dtype[Any], size: int) -> tuple[Array, ...]:
    """Return what searches write into, one row for each. Counts and flows are apart for even and odd levels."""
    words = -(-num_vertices // 64)
    return (
        np.empty((searches, num_vertices), dtype),  # queue: reached vertices, level by level
        np.empty((searches, num_vertices + 2), dtype),  # starts: where each level begins in the queue
        np.zeros((searches, num_vertices)),  # counts of even levels: shortest paths to a vertex, 0 = not known yet
        np.zeros((searches, num_vertices)),  # counts of odd levels
        np.zeros((searches, num_vertices)),  # flows of even levels: (1 + share) / paths, 0 = not known yet
        np.zeros((searches, num_vertices)),  # flows of odd levels
        np.zeros((searches, num_vertices), np.int32),  # blocks: a count has this many factors HUGE
        np.zeros((searches, words), np.uint64),  # seen: a bit per vertex
        np.zeros((searches, words), np.uint64),  # found: bits of the next level, 0 between levels
        np.zeros((searches, num_vertices + 2), np.uint8),  # scaled: whether counts of a level were divided by HUGE
        np.zeros((searches, 3, size, 8)),  # peaks of each thread in a level: largest and smallest count, vertices
    )


@njit(**JIT)
def meet_team(control, state, size):
    """Wait for the other threads of the search."""
    if size > 1:
        state[MEETING] = meet(control, state[MEETING], size)


@njit(**JIT)
def width(starts, depth):
    """Return the number of vertices of a level."""
    return np.int64(starts[depth + 1]) - np.int64(starts[depth])


@njit(**JIT)
def words_of(depth):
    """Return where the shared words of a level begin."""
    return SETS + SET_SIZE * (depth % 3)


@njit(**JIT)
def fill_zero(values, first, last):
    """Set values[first:last] to 0; a loop, because slices take seconds to compile."""
    for i in range(np.uint64(first), np.uint64(last)):
        values[i] = 0


@njit(**JIT)
def begin(rank, control, state, source, is_wide, out_offsets, own):
    """Make the source the frontier."""
    queue, starts, counts = own[0][0], own[0][1], own[0][2]
    degree = np.int64(out_offsets[source + ONE] - out_offsets[source])
    fill_zero(state, 0, WIDE)
    state[LAST], state[WIDE], state[FRONTIER_EDGES], state[SEEN_EDGES] = 1, is_wide, degree, degree
    if rank == 0:
        queue[0], starts[0], counts[source] = source, 0, 1.0
        own[1][1][source >> SIX] = ONE << (source & LOW_BITS)
        fill_zero(control, SETS, SETS + 3 * SET_SIZE)


@njit(**JIT)
def forward(rank, size, shared, control, state, rows, is_symmetric, own):
    """Count the paths to the frontier and find the next one.

    Writes counts of this level, the queue behind the frontier, and bits of the next level.
    """
    (queue, starts, even_counts, odd_counts, _, _), (_, seen, found, scaled, peaks, _) = own
    depth, slot, place = state[DEPTH], state[DEPTH] % 3, words_of(state[DEPTH])
    if rank == 0:
        fill_zero(control, words_of(depth + 1), words_of(depth + 1) + SET_SIZE)
        control[place + STOP] = is_stopped(shared)
        starts[depth + 1], scaled[depth] = state[LAST], state[SCALES]
    before, counts = (odd_counts, even_counts) if depth % 2 == 0 else (even_counts, odd_counts)
    peak, least = _scan(control, state, size == 1, rows, is_symmetric, before, counts, own)
    peaks[slot, rank, 0], peaks[slot, rank, 1] = peak, least
    meet_team(control, state, size)
    for other in range(size):
        peak, least = max(peak, peaks[slot, other, 0]), min(least, peaks[slot, other, 1])
    if state[PULLS] != 0:
        low, high = part(rank, size, seen.size)
        for word in range(np.uint64(low), np.uint64(high)):
            seen[word] |= found[word]
            found[word] = ZERO
        meet_team(control, state, size)
    elif control[place + TAIL] * DENSE > queue.size:
        _put_in_order(rank, size, control, state, queue, found, peaks[slot])
    state[SCALES], state[FAILS] = peak >= HUGE and state[WIDE] == 0, least < TINY
    _advance(control, place, state, rows[1].size, queue.size)


@njit(**JIT)
def _put_in_order(rank, size, control, state, queue, found, notes):
    """Order the frontier that a push found by ids, so that its rows are read one after the other.

    Writes the queue behind the frontier; bits in found, atomically, which are 0 again afterwards; its own notes.
    """
    first, count = state[LAST], control[words_of(state[DEPTH]) + TAIL]
    low, high = part(rank, size, count)
    for position in range(np.uint64(first + low), np.uint64(first + high)):
        vertex = queue[position]
        fetch_or(found, vertex >> SIX, ONE << (vertex & LOW_BITS))
    meet_team(control, state, size)
    low, high = part(rank, size, found.size)
    number = 0
    for word in range(np.uint64(low), np.uint64(high)):
        number += np.int64(bit_count(found[word]))
    notes[rank, 2] = number
    meet_team(control, state, size)
    for other in range(rank):
        first += np.int64(notes[other, 2])
    tail = np.uint64(first)
    for word in range(np.uint64(low), np.uint64(high)):
        bits, found[word] = found[word], ZERO
        while bits != ZERO:
            queue[tail] = (word << SIX) + trailing_zeros(bits)
            bits &= bits - ONE
            tail += ONE
    meet_team(control, state, size)


@njit(**JIT)
def _advance(control, place, state, num_arcs, num_vertices):
    """Make the vertices that were found the frontier, and choose how to go on; every thread decides the same."""
    state[FIRST], state[LAST] = state[LAST], state[LAST] + control[place + TAIL]
    state[FRONTIER_EDGES], state[STOPS] = control[place + EDGES], control[place + STOP]
    state[SEEN_EDGES] += state[FRONTIER_EDGES]
    state[DEPTH] += 1
    state[PULLS] = prefers_pull(state[FRONTIER_EDGES], num_arcs - state[SEEN_EDGES], num_vertices, num_arcs)


@njit(**JIT)
def _scan(control, state, is_alone, rows, is_symmetric, before, counts, own):
    """Writes counts of the frontier and the queue behind it; returns the largest and the smallest count."""
    queue, blocks, seen, found, buffer = own[0][0], own[1][0], own[1][1], own[1][2], own[1][5]
    out_offsets, out_targets, in_offsets, in_sources = rows
    first, last, place = state[FIRST], state[LAST], words_of(state[DEPTH])
    scale, is_push = 1.0 / HUGE if state[SCALES] != 0 else 1.0, state[PULLS] == 0
    borders = (place, first, last)
    if is_push and is_symmetric and state[WIDE] == 0 and first > 0:
        return _count_and_push(
            control, borders, is_alone, in_offsets, in_sources, before, counts, scale, queue, seen, buffer
        )
    peak, least = 0.0, HUGE
    if first > 0 and state[WIDE] == 0:
        peak, least = _count(control, borders, in_offsets, in_sources, before, counts, scale, queue)
    elif first > 0:
        _count_wide(control, borders, in_offsets, in_sources, before, counts, blocks, queue)
    if is_push:
        _push(control, borders, is_alone, out_offsets, out_targets, queue, seen, buffer)
    else:
        _pull(control, borders, in_offsets, in_sources, out_offsets, queue, seen, found, buffer)
    return peak, least


@njit(**JIT)
def _count_and_push(control, borders, is_alone, offsets, neighbors, before, counts, scale, queue, seen, buffer):
    """Count the paths to the frontier, and find the next one in the same scan: for edges that lead both ways."""
    place, first, last = borders
    peak, least, filled = 0.0, HUGE, ZERO
    while True:
        chunk = first + fetch_add(control, place + TURN, CHUNK)
        if chunk >= last:
            break
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, last))):
            vertex = queue[position]
            previous, total = vertex, 0.0
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = neighbors[edge]
                total += before[neighbor] if neighbor != previous else 0.0
                previous = neighbor
                word, bit = neighbor >> SIX, ONE << (neighbor & LOW_BITS)
                if seen[word] & bit == ZERO:
                    if is_alone:
                        seen[word] |= bit
                    elif fetch_or(seen, word, bit) & bit != ZERO:
                        continue
                    buffer[filled] = neighbor
                    filled += ONE
                    if filled == np.uint64(BUFFER):
                        filled = _flush(control, place, last, filled, offsets, queue, buffer)
            total *= scale
            counts[vertex] = total
            peak, least = max(peak, total), min(least, total)
    _flush(control, place, last, filled, offsets, queue, buffer)
    return peak, least


@njit(**JIT)
def _count(control, borders, offsets, neighbors, before, counts, scale, queue):
    """Count the paths to the frontier."""
    place, first, last = borders
    peak, least = 0.0, HUGE
    while True:
        chunk = first + fetch_add(control, place + TURN, CHUNK)
        if chunk >= last:
            return peak, least
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, last))):
            vertex = queue[position]
            previous, total = vertex, 0.0
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = neighbors[edge]
                total += before[neighbor] if neighbor != previous else 0.0
                previous = neighbor
            total *= scale
            counts[vertex] = total
            peak, least = max(peak, total), min(least, total)


@njit(**JIT)
def _count_wide(control, borders, offsets, neighbors, before, counts, blocks, queue):
    """Count the paths to the frontier: from 1 to HUGE, times HUGE to the power of the vertex's blocks."""
    place, first, last = borders
    while True:
        chunk = first + fetch_add(control, place + TURN, CHUNK)
        if chunk >= last:
            break
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, last))):
            vertex = queue[position]
            previous, total, block = vertex, 0.0, np.int32(0)
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = neighbors[edge]
                count = before[neighbor]
                if count == 0.0 or neighbor == previous:
                    continue
                previous = neighbor
                if blocks[neighbor] > block:
                    total = total / HUGE if blocks[neighbor] == block + 1 else 0.0
                    block = blocks[neighbor]
                if blocks[neighbor] == block:
                    total += count
                elif blocks[neighbor] == block - 1:
                    total += count / HUGE
            if total >= HUGE:
                total, block = total / HUGE, block + np.int32(1)
            counts[vertex], blocks[vertex] = total, block


@njit(**JIT)
def _push(control, borders, is_alone, offsets, targets, queue, seen, buffer):
    """Find the next frontier: who is not seen yet and an edge of the frontier leads to."""
    place, first, last = borders
    filled = ZERO
    while True:
        chunk = first + fetch_add(control, place + SWEEP, CHUNK)
        if chunk >= last:
            break
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, last))):
            vertex = queue[position]
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                target = targets[edge]
                word, bit = target >> SIX, ONE << (target & LOW_BITS)
                if seen[word] & bit == ZERO:
                    if is_alone:
                        seen[word] |= bit
                    elif fetch_or(seen, word, bit) & bit != ZERO:
                        continue
                    buffer[filled] = target
                    filled += ONE
                    if filled == np.uint64(BUFFER):
                        filled = _flush(control, place, last, filled, offsets, queue, buffer)
    _flush(control, place, last, filled, offsets, queue, buffer)


@njit(**JIT)
def _pull(control, borders, in_offsets, in_sources, out_offsets, queue, seen, found, buffer):
    """Find the next frontier: who is not seen yet and has an edge from someone seen. Writes found, its own words.

    The frontier is nearly in the order of ids then, so that its rows are read one after the other.
    """
    place, _, last = borders
    filled, num_vertices = ZERO, in_offsets.size - 1
    while True:
        chunk = fetch_add(control, place + SWEEP, CHUNK)
        if chunk >= seen.size:
            break
        for word in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, seen.size))):
            base, left = word << SIX, _not_seen(word, seen, num_vertices)
            if word + ONE < np.uint64(seen.size):
                ask_for_rows(_not_seen(word + ONE, seen, num_vertices), base + np.uint64(64), in_offsets, in_sources)
            new_bits = _look_at_first(base, left, in_offsets, in_sources, seen)
            new_bits |= _look_at_others(base, left & ~new_bits, in_offsets, in_sources, seen)
            found[word] = new_bits
            while new_bits != ZERO:
                buffer[filled] = base + trailing_zeros(new_bits)
                new_bits &= new_bits - ONE
                filled += ONE
                if filled == np.uint64(BUFFER):
                    filled = _flush(control, place, last, filled, out_offsets, queue, buffer)
    _flush(control, place, last, filled, out_offsets, queue, buffer)


@njit(**JIT)
def _not_seen(word, seen, num_vertices):
    """Return the bits of a word's vertices that are not seen yet."""
    left, missing = ~seen[word], np.int64((word + ONE) << SIX) - num_vertices
    return left & (~ZERO >> np.uint64(missing)) if missing > 0 else left


@njit(**JIT)
def _look_at_first(base, left, offsets, sources, seen):
    """Return the bits of vertices whose first neighbour is seen, without a branch that could be guessed wrongly."""
    new_bits, end = ZERO, np.uint64(sources.size - 1)
    while left != ZERO:
        bit = trailing_zeros(left)
        left &= left - ONE
        first, last = offsets[base + bit], offsets[base + bit + ONE]
        source = sources[min(first, end)]
        new_bits |= (seen[source >> SIX] >> (source & LOW_BITS) & np.uint64(first < last)) << bit
    return new_bits


@njit(**JIT)
def _look_at_others(base, left, offsets, sources, seen):
    """Return the bits of vertices of which another neighbour than the first is seen."""
    new_bits = ZERO
    while left != ZERO:
        bit = trailing_zeros(left)
        left &= left - ONE
        for edge in range(offsets[base + bit] + ONE, offsets[base + bit + ONE]):
            source = sources[edge]
            if seen[source >> SIX] >> (source & LOW_BITS) & ONE != ZERO:
                new_bits |= ONE << bit
                break
    return new_bits


@njit(**JIT)
def _flush(control, place, last, filled, out_offsets, queue, buffer):
    """Move the vertices of the buffer to the queue; return 0, the number that it then holds."""
    if filled > ZERO:
        tail, edges = np.uint64(last + fetch_add(control, place + TAIL, np.int64(filled))), ZERO
        for i in range(filled):
            vertex = buffer[i]
            queue[tail + i] = vertex
            edges += out_offsets[vertex + ONE] - out_offsets[vertex]
        fetch_add(control, place + EDGES, np.int64(edges))
    return ZERO
