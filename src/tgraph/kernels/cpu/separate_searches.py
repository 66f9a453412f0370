"""Breadth-first searches from many sources, one after another, each by one thread with a queue of its own.

For deep graphs: where searches meet the same vertex in different levels, nothing is gained by following them together
(`multi_source`), and a level has too few vertices for several threads. Threads take sources, or, where results are per
vertex, go through as many sources as there are threads and then add up the levels found, each for its own vertices, in
the order of the sources. So sums of 1 / distance are the same on any number of threads.

Memory per thread and vertex: one id and one bit, and 4 bytes where results are per vertex. There are fewer threads
where that would be more than the graph's own rows and 32 bytes per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array]  # offsets [V+1], neighbours [E]
Sums = tuple[Array, Array, Array]  # counts, totals, inverses

DEEP_LEVELS = 16  # a search that needs more levels for the first part of the edges makes a graph deep
FIRST_PART = 64
LEAST_EDGES = 1 << 12  # in the first part
ZERO, ONE, SIX, LOW_BITS = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


def is_deep(rows: Rows, source: int) -> bool:
    """Say whether a search from a vertex goes on for many levels before it has met 1 in 64 of the edges.

    >>> is_deep((np.arange(0, 101), np.arange(1, 101) % 100), 0), is_deep((np.array([0, 1, 2]), np.array([1, 0])), 0)
    (True, False)
    """
    offsets, neighbors = as_unsigned(rows[0]), as_unsigned(rows[1])
    limit = max(neighbors.size // FIRST_PART, LEAST_EDGES)
    seen = np.zeros(-(-(offsets.size - 1) // 64), np.uint64)
    queue = np.empty(min(offsets.size - 1, limit + 1) + 1, neighbors.dtype)
    return bool(_count_levels(offsets, neighbors, np.uint64(source), limit, seen, queue) > DEEP_LEVELS)


def search_for_sources(rows: Rows, sources: Array, sums: Sums, levels: Array | None, watch: Watch) -> None:
    """Fill `sums` `[S]` (unless empty) with what every source reaches, and `levels` `[S, V]`; -1 = not reached."""
    size, seen, queues = _scratch(rows, sources, 4)
    arrays = (as_unsigned(rows[0]), as_unsigned(rows[1]), as_unsigned(sources), seen, queues)
    watch.run(_take_sources, size, *arrays, sums, np.empty((0, 0), np.int32) if levels is None else levels)


def search_for_vertices(rows: Rows, sources: Array, sums: Sums, watch: Watch) -> None:
    """Add to `sums` `[V]` how many sources reach every vertex, and how far they are."""
    size, seen, queues = _scratch(rows, sources, 8)
    arrays = (as_unsigned(rows[0]), as_unsigned(rows[1]), as_unsigned(sources), seen, queues)
    watch.run(_take_rounds, size, *arrays, sums, np.empty((size, seen.shape[1] * 64), np.int32))


def _scratch(rows: Rows, sources: Array, more_bytes: int) -> tuple[int, Array, Array]:
    """Return how many threads search, and their bits and queues."""
    num_vertices, neighbors = rows[0].size - 1, rows[1]
    room = rows[0].nbytes + neighbors.nbytes + 32 * num_vertices
    fitting = room // max(num_vertices * (neighbors.itemsize + more_bytes), 1)
    size = max(1, min(team_size(sources.size * (neighbors.size + num_vertices)), sources.size, fitting))
    seen = np.empty((size, -(-num_vertices // 64)), np.uint64)
    return size, seen, np.empty((size, num_vertices), as_unsigned(neighbors).dtype)


@njit(**JIT)
def _count_levels(offsets, neighbors, source, limit, seen, queue):
    """Return the number of levels until `limit` edges were met, or all that the source reaches. Serial."""
    queue[0] = source
    seen[source >> SIX] = ONE << (source & LOW_BITS)
    head, tail, depth, edges = ZERO, ONE, 0, 0
    while head < tail and edges < limit:
        end, depth = tail, depth + 1
        while head < end and edges < limit:
            vertex = queue[head]
            head += ONE
            for edge in range(offsets[vertex], min(offsets[vertex + ONE], offsets[vertex] + np.uint64(limit - edges))):
                neighbor = np.uint64(neighbors[edge])
                word, bit = seen[neighbor >> SIX], ONE << (neighbor & LOW_BITS)
                if word & bit == ZERO:
                    seen[neighbor >> SIX] = word | bit
                    queue[tail] = neighbor
                    tail += ONE
            edges += np.int64(offsets[vertex + ONE] - offsets[vertex])
    return depth


@njit(**JIT)
def _search(shared, offsets, neighbors, source, seen, queue, levels):
    """Return how many others a source reaches, and the sums of distances and of 1 / distance. Writes levels, if any."""
    seen[:] = ZERO
    levels[:] = -1
    if levels.size > 0:
        levels[source] = 0
    queue[0] = source
    seen[source >> SIX] = ONE << (source & LOW_BITS)
    head, tail, depth, total, inverses = ZERO, ONE, 0, 0, 0.0
    while head < tail and not is_stopped(shared):
        end, depth = tail, depth + 1
        while head < end:
            vertex = queue[head]
            head += ONE
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = np.uint64(neighbors[edge])
                word, bit = seen[neighbor >> SIX], ONE << (neighbor & LOW_BITS)
                if word & bit == ZERO:
                    seen[neighbor >> SIX] = word | bit
                    queue[tail] = neighbor
                    tail += ONE
        found = np.int64(tail - end)
        total += found * depth
        inverses += found / depth
        if levels.size > 0:
            for place in range(end, tail):
                levels[queue[place]] = depth
    return np.int64(tail) - 1, total, inverses


@njit(**JIT)
def _take_sources(rank, size, shared, offsets, neighbors, sources, seen, queues, sums, levels):
    """Writes sums and levels of the sources that it takes; seen and queues: its own."""
    nowhere = np.empty(0, np.int32)
    while True:
        number = fetch_add(shared, COUNTERS, 1)
        if number >= sources.size or is_stopped(shared):
            break
        row = levels[number] if levels.size > 0 else nowhere
        found = _search(shared, offsets, neighbors, np.uint64(sources[number]), seen[rank], queues[rank], row)
        if sums[0].size > 0:
            sums[0][number], sums[1][number], sums[2][number] = found
        fetch_add(shared, DONE, 1)


@njit(**JIT)
def _take_rounds(rank, size, shared, offsets, neighbors, sources, seen, queues, sums, levels):
    """Writes sums of its part of the vertices; seen, queues and levels: its own."""
    counts, totals, inverses = sums
    first, last = part(rank, size, counts.size)
    meeting = 1
    for begin in range(0, sources.size, size):
        width = min(size, sources.size - begin)
        if rank < width:
            source = np.uint64(sources[begin + rank])
            _search(shared, offsets, neighbors, source, seen[rank], queues[rank], levels[rank])
        if rank == 0:
            shared[COUNTERS] = is_stopped(shared)
        meeting = meet(shared, meeting, size)
        if shared[COUNTERS]:
            break
        for number in range(width):
            for vertex in range(first, last):
                level = levels[number, vertex]
                if level > 0:
                    counts[vertex] += 1
                    totals[vertex] += level
                    inverses[vertex] += 1.0 / level
        if rank == 0:
            shared[DONE] += width
        meeting = meet(shared, meeting, size)
