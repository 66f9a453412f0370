"""The nearest of several sources, and how far it is: one breadth-first search from all of them.

Levels with few edges are followed by one thread, without meetings. Others are pushed by all threads: everybody offers
its origin to neighbours that were not reached before, the smallest stays, and who offers first puts the neighbour into
the next queue. Where the queue has a large part of the edges that are left, vertices that are not reached
collect the smallest origin around them instead, and end at the smallest of all: whom such a vertex finds reached is in
the queue, for otherwise it would have been reached before (Beamer, Asanovic, Patterson 2012).

Levels and origins are the same for any number of threads. Memory: levels, origins and two queues, 16 bytes per vertex
with 32-bit ids, and 32 bytes per level. Counters of three levels take turns; each set is cleared one level before it is
used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, fetch_min, load, store
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

PULL_PART = 6  # pull if the queue has more than this part of the edges that are left, and of the vertices
FEW_EDGES = 1 << 15  # one thread follows a queue with fewer alone
BUFFER = 1024  # vertices that a thread keeps before it puts them into the queue
MAX_CHUNK, PULL_CHUNK = 64, 1 << 10  # vertices that a thread takes at once
NOBODY = np.uint64(0xFFFFFFFFFFFFFFFF)  # cut to the type of ids: no origin
ONE = np.uint64(1)

_DEPTH, _COUNT, _EDGES, _LEFT, _HALT = (COUNTERS + i for i in range(5))  # written by rank 0: the level that is next
_SETS, _SET, _TAKE, _FOUND, _NEW_EDGES = COUNTERS + 8, 24, 0, 8, 16


@dataclass(frozen=True)
class Nearest:
    """What a search found, and what each level did."""

    levels: Array  # [V] int32, -1 = not reached
    origins: Array  # [V], -1 = not reached
    rows: Array  # [L, 3]: pulled, vertices, edges
    ticks: Array  # [L]


def nearest_sources(
    outgoing: tuple[Array, Array],
    incoming: tuple[Array, Array] | None,
    sources: Array,
    watch: Watch | None = None,
) -> Nearest:
    """Find the nearest source of every vertex, the smallest of several; `incoming` None = push only.

    >>> rows = np.array([0, 1, 2, 2, 3]), np.array([1, 2, 2], np.int32)
    >>> found = nearest_sources(rows, None, np.array([3, 0]))
    >>> found.levels.tolist(), found.origins.tolist()
    ([0, 1, 1, 0], [0, 0, 3, 3])
    """
    num_vertices, ids = outgoing[0].size - 1, outgoing[1].dtype
    levels, origins = np.empty(num_vertices, np.int32), np.empty(num_vertices, ids)
    rows, times = np.empty((num_vertices, 3), np.int64), np.empty(num_vertices + 1, np.int64)  # touched as needed
    queues = np.empty((2, num_vertices), as_unsigned(origins).dtype)
    queues[0, : sources.size] = sources
    sides = [as_unsigned(array) for array in (*outgoing, *(incoming or outgoing))]
    pull_part = PULL_PART if incoming is not None else 0
    watch = watch or Watch()
    size = team_size(outgoing[1].size + num_vertices)
    few_edges = FEW_EDGES if size > 1 else outgoing[1].size + 1
    limits = (sources.size, as_unsigned(sources).min(), pull_part, few_edges)
    watch.run(_search, size, *sides, *limits, levels, as_unsigned(origins), queues, rows, times)
    done = int(watch.shared[DONE])
    return Nearest(levels, origins, rows[:done].copy(), np.diff(times[: done + 1]))


@njit(**JIT)
def _search(
    rank, size, shared, offsets, neighbors, in_offsets, in_neighbors, num_sources, smallest, pull_part,
    few_edges, levels, origins, queues, rows, times,
):  # fmt: skip
    """Writes everything behind few_edges."""
    first, last = part(rank, size, np.int64(levels.size))
    for vertex in range(first, last):
        levels[vertex], origins[vertex] = -1, NOBODY
    meeting, turn, buffer = meet(shared, 1, size), 0, np.empty((2, BUFFER), origins.dtype)
    if rank == 0:
        _begin(shared, num_sources, offsets, neighbors, levels, origins, queues[0], times)
    while True:
        if rank == 0:
            _follow_few(shared, offsets, neighbors, pull_part, few_edges, levels, origins, queues, rows, times)
        meeting = meet(shared, meeting, size)
        depth, count, edges = shared[_DEPTH], shared[_COUNT], shared[_EDGES]
        if count == 0 or shared[_HALT]:
            break
        pulls = edges * pull_part > shared[_LEFT]
        slot, queue, new_queue = _SETS + _SET * turn, queues[depth & 1], queues[(depth + 1) & 1]
        if pulls:
            found = new_queue, queue, buffer
            edges = _pull(shared, slot, depth + 1, smallest, offsets, in_offsets, in_neighbors, levels, origins, found)
        else:
            found = new_queue, buffer
            edges = _push(shared, slot, depth + 1, count, offsets, neighbors, levels, origins, queue, found)
        fetch_add(shared, slot + _NEW_EDGES, edges)
        meeting = meet(shared, meeting, size)
        if pulls:
            first, last = part(rank, size, shared[slot + _FOUND])
            for place in range(first, last):
                origins[new_queue[place]] = queue[place]
        turn = (turn + 1) % 3
        if rank == 0:
            _end_level(shared, pulls, shared[slot + _FOUND], shared[slot + _NEW_EDGES], rows, times)
            for word in range(_SET):
                shared[_SETS + _SET * turn + word] = 0
        meeting = meet(shared, meeting, size)


@njit(**JIT)
def _begin(shared, num_sources, offsets, neighbors, levels, origins, queue, times):
    """Make the sources the first level."""
    edges = np.uint64(0)
    for place in range(num_sources):
        source = queue[place]
        levels[source], origins[source] = 0, source
        edges += offsets[source + ONE] - offsets[source]
    shared[_COUNT], shared[_EDGES], shared[_LEFT] = num_sources, edges, neighbors.size + levels.size
    times[0] = ticks()


@njit(**JIT)
def _end_level(shared, pulled, found, new_edges, rows, times):
    """Note what a level did, and say what the next one has to do. By rank 0."""
    depth = shared[_DEPTH]
    rows[depth, 0], rows[depth, 1], rows[depth, 2] = pulled, shared[_COUNT], shared[_EDGES]
    times[depth + 1] = ticks()
    shared[_LEFT] -= shared[_EDGES]
    shared[_DEPTH], shared[_COUNT], shared[_EDGES] = depth + 1, found, new_edges
    shared[_HALT] = load(shared, STOP)
    store(shared, DONE, depth + 1)


@njit(**JIT)
def _follow_few(shared, offsets, neighbors, pull_part, few_edges, levels, origins, queues, rows, times):
    """Push level after level while there are few edges. By rank 0, while nobody else works."""
    while shared[_COUNT] > 0 and shared[_EDGES] < few_edges and shared[_EDGES] * pull_part <= shared[_LEFT]:
        depth, found, edges = shared[_DEPTH], np.uint64(0), np.uint64(0)
        queue, new_queue, level = queues[depth & 1], queues[(depth + 1) & 1], np.int32(depth + 1)
        for place in range(np.uint64(shared[_COUNT])):
            vertex = queue[place]
            origin = origins[vertex]
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = neighbors[edge]
                old = levels[neighbor]
                if old < 0:
                    levels[neighbor], origins[neighbor] = level, origin
                    new_queue[found] = neighbor
                    found += ONE
                    edges += offsets[neighbor + ONE] - offsets[neighbor]
                elif old == level and origin < origins[neighbor]:
                    origins[neighbor] = origin
        _end_level(shared, False, np.int64(found), np.int64(edges), rows, times)
        if shared[_HALT]:
            break


@njit(**JIT)
def _push(shared, slot, level, count, offsets, neighbors, levels, origins, queue, found):
    """Writes levels and origins of neighbours by atomic operations, and the queue. Returns the new vertices' edges."""
    new_queue, buffer = found
    held, new_edges, level = 0, np.uint64(0), np.int32(level)
    nobody, size = origins.dtype.type(NOBODY), max(1, min(MAX_CHUNK, count // 64))
    while True:
        chunk = fetch_add(shared, slot + _TAKE, size)
        if chunk >= count:
            break
        for place in range(np.uint64(chunk), np.uint64(min(chunk + size, count))):
            vertex = queue[place]
            origin = origins[vertex]
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                neighbor = neighbors[edge]
                old = levels[neighbor]
                if (old >= 0 and old < level) or origins[neighbor] <= origin:
                    continue
                if fetch_min(origins, neighbor, origin) == nobody:
                    levels[neighbor] = level
                    buffer[0, held] = neighbor
                    held += 1
                    new_edges += offsets[neighbor + ONE] - offsets[neighbor]
                    if held == BUFFER:
                        held = _flush(shared, slot, held, buffer[0], new_queue)
    _flush(shared, slot, held, buffer[0], new_queue)
    return np.int64(new_edges)


@njit(**JIT)
def _flush(shared, slot, held, buffer, new_queue):
    """Moves what a buffer holds to the end of the queue; returns what it then holds: nothing."""
    place = np.uint64(fetch_add(shared, slot + _FOUND, held))
    for i in range(np.uint64(held)):
        new_queue[place + i] = buffer[i]
    return 0


@njit(**JIT)
def _pull(shared, slot, level, smallest, offsets, in_offsets, in_neighbors, levels, origins, found):
    """Writes levels of vertices in its chunks, the queue, and beside it their origins. Returns the new vertices' edges.

    Origins themselves are written when nobody reads them any more.
    """
    new_queue, new_origins, buffer = found
    nobody, num_vertices = origins.dtype.type(NOBODY), np.int64(levels.size)
    held, new_edges = 0, np.uint64(0)
    while True:
        chunk = fetch_add(shared, slot + _TAKE, PULL_CHUNK)
        if chunk >= num_vertices:
            break
        for vertex in range(np.uint64(chunk), np.uint64(min(chunk + PULL_CHUNK, num_vertices))):
            if origins[vertex] != nobody:
                continue
            best = nobody
            for edge in range(in_offsets[vertex], in_offsets[vertex + ONE]):
                best = min(best, origins[in_neighbors[edge]])
                if best == smallest:
                    break
            if best != nobody:
                levels[vertex] = level
                buffer[0, held], buffer[1, held] = vertex, best
                held += 1
                new_edges += offsets[vertex + ONE] - offsets[vertex]
                if held == BUFFER:
                    held = _flush_both(shared, slot, held, buffer, new_queue, new_origins)
    _flush_both(shared, slot, held, buffer, new_queue, new_origins)
    return np.int64(new_edges)


@njit(**JIT)
def _flush_both(shared, slot, held, buffer, new_queue, new_origins):
    """As _flush, for vertices and their origins."""
    place = np.uint64(fetch_add(shared, slot + _FOUND, held))
    for i in range(np.uint64(held)):
        new_queue[place + i], new_origins[place + i] = buffer[0, i], buffer[1, i]
    return 0
