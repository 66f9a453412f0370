"""Breadth-first search: levels and parents in one go, by push and pull.

Push takes vertices from a queue; who reaches a neighbour first, by compare-and-swap on its parent, puts it into the new
queue, and everybody of that level offers itself as parent: the smallest stays. Pull goes through the vertices that are
not reached, and ends at the first neighbour in the frontier; in ascending rows that is the smallest. Vertices without
incoming edges are taken for reached after the first pull. When to switch: Beamer, Asanovic, Patterson 2012. Levels with
few edges are followed by one thread, without atomic operations and meetings. Levels and parents are the same for any
number of threads. Memory: levels, parents, two queues and three bitmaps, 16.4 bytes per
vertex with 32-bit ids, and 32 bytes per iteration. Counters of three iterations take turns; each set is cleared one
iteration before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add, fetch_min, fetch_or, load, store, trailing_zeros
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

ALPHA, BETA = 24, 18
BUFFER = 1024
FEW_EDGES = 1 << 14  # a level with fewer is followed by one thread
WORDS = 16  # of 64 vertices that a thread takes at a time in pull
HUB_EDGES = 1 << 14  # if vertices have so many on average, their edges are shared by all threads
TAKE, FOUND, EDGES, HALT, QUEUED, SLOT = 0, 8, 16, 24, 32, 40
FOLLOWED = COUNTERS + 3 * SLOT  # what the thread that followed levels alone tells the others


@dataclass(frozen=True)
class Search:
    """What a search found, and what each iteration did."""

    levels: Array  # [V] int32, -1 = not reached
    parents: Array  # [V], the source is its own, -1 = not reached
    rows: Array  # [I, 3]: pulled, vertices, edges
    ticks: Array  # [I]


def search(
    outgoing: tuple[Array, Array],
    incoming: tuple[Array, Array] | None,
    source: int,
    *,
    ascending: bool,
    watch: Watch | None = None,
) -> Search:
    """Search from one vertex; `incoming` None = push only. `ascending` says that incoming neighbours ascend.

    >>> found = search((np.array([0, 1, 2, 2]), np.array([1, 2], np.int32)), None, 0, ascending=True)
    >>> found.levels.tolist(), found.parents.tolist()
    ([0, 1, 2], [0, 0, 1])
    """
    num_vertices, ids = outgoing[0].size - 1, outgoing[1].dtype
    levels, parents = np.empty(num_vertices, np.int32), np.empty(num_vertices, ids)
    rows, times = np.empty((num_vertices, 3), np.int64), np.empty(num_vertices + 1, np.int64)  # touched as needed
    queues = np.empty((2, num_vertices), as_unsigned(parents).dtype)
    bitmaps = np.empty((3, (num_vertices + 63) // 64), np.uint64)
    sides = [as_unsigned(array) for array in (*outgoing, *(incoming or outgoing))]
    watch = watch or Watch()
    size = team_size(outgoing[1].size + num_vertices)
    how = (np.uint64(source), incoming is not None, ascending)
    watch.run(_search, size, *sides, *how, levels, as_unsigned(parents), queues, bitmaps, rows, times)
    done = int(watch.shared[DONE])
    return Search(levels, parents, rows[:done].copy(), np.diff(times[: done + 1]))


@njit(**JIT)
def _empty(buffer, held, queue, shared, counter):
    """Moves what a buffer holds to the end of a queue."""
    place = fetch_add(shared, counter, held)
    for i in range(held):
        queue[place + i] = buffer[i]
    return 0


@njit(**JIT)
def _to_bitmap(rank, size, shared, meeting, queue, count, front):
    """Writes front: the vertices of the queue."""
    first, last = part(rank, size, np.int64(front.size))
    for word in range(first, last):
        front[word] = 0
    meeting = meet(shared, meeting, size)
    first, last = part(rank, size, count)
    for q in range(first, last):
        vertex = np.uint64(queue[q])
        fetch_or(front, vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63)))
    return meet(shared, meeting, size)


@njit(**JIT)
def _to_queue(rank, size, shared, meeting, front, queue, buffer, counter):
    """Writes queue: the vertices of the bitmap, in any order."""
    first, last = part(rank, size, np.int64(front.size))
    held = 0
    for word in range(first, last):
        bits = front[word]
        while bits != np.uint64(0):
            buffer[held] = (np.uint64(word) << np.uint64(6)) + trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            held += 1
            if held == BUFFER:
                held = _empty(buffer, held, queue, shared, counter)
    _empty(buffer, held, queue, shared, counter)
    return meet(shared, meeting, size)


@njit(**JIT)
def _push(rank, size, shared, slot, level, offsets, neighbors, levels, parents, queue, count, edges, new_queue, buffer):
    """Writes levels and parents of neighbours by atomic operations, and new_queue. Returns the new vertices' edges."""
    one, held, new_edges, nobody = np.uint64(1), 0, np.int64(0), ~parents.dtype.type(0)
    shares = size > 1 and edges >= HUB_EDGES * count
    chunk = count if shares else max(1, min(256, count // (4 * size)))
    while True:
        taken = np.int64(0) if shares else fetch_add(shared, slot + TAKE, chunk)
        if taken >= count:
            break
        for q in range(taken, min(taken + chunk, count)):
            vertex = queue[q]
            first, last = offsets[vertex], offsets[np.uint64(vertex) + one]
            if shares:
                degree = last - first
                last = first + degree * np.uint64(rank + 1) // np.uint64(size)
                first += degree * np.uint64(rank) // np.uint64(size)
            for edge in range(first, last):
                neighbor = neighbors[edge]
                old = parents[neighbor]
                if old == nobody and compare_swap(parents, neighbor, nobody, vertex):
                    levels[neighbor], buffer[held] = level, neighbor
                    held += 1
                    new_edges += np.int64(offsets[np.uint64(neighbor) + one] - offsets[neighbor])
                    if held == BUFFER:
                        held = _empty(buffer, held, new_queue, shared, slot + FOUND)
                elif vertex < old and (levels[neighbor] == level or levels[neighbor] < 0):  # not written yet
                    fetch_min(parents, neighbor, vertex)
        if shares:
            break
    _empty(buffer, held, new_queue, shared, slot + FOUND)
    return new_edges


@njit(**JIT)
def _prefers_pull(edges, unexplored, num_vertices):
    """Say whether pull is worth the search through all vertices."""
    return edges > (unexplored + num_vertices) // ALPHA


@njit(**JIT)
def _follow(shared, may_pull, offsets, neighbors, levels, parents, queues, now, state, rows, times):
    """Writes levels, parents, queues and FOLLOWED, level after level while they are small, from queues[now]."""
    iteration, count, edges, unexplored = state
    num_vertices, one, halted, nobody = np.int64(levels.size), np.uint64(1), np.int64(0), ~parents.dtype.type(0)
    while count > 0 and edges < FEW_EDGES and halted == 0:
        if may_pull and _prefers_pull(edges, unexplored, num_vertices):
            break
        rows[iteration, 0], rows[iteration, 1], rows[iteration, 2] = 0, count, edges
        unexplored = max(unexplored - edges, 0)
        level, found, edges = np.int32(iteration + 1), np.int64(0), np.int64(0)
        for q in range(np.uint64(count)):
            vertex = queues[now, q]
            for edge in range(offsets[vertex], offsets[np.uint64(vertex) + one]):
                neighbor = neighbors[edge]
                old = parents[neighbor]
                if old == nobody:
                    levels[neighbor], parents[neighbor], queues[1 - now, found] = level, vertex, neighbor
                    found += 1
                    edges += np.int64(offsets[np.uint64(neighbor) + one] - offsets[neighbor])
                elif vertex < old and levels[neighbor] == level:
                    parents[neighbor] = vertex
        now, count, iteration = 1 - now, found, iteration + 1
        times[iteration] = ticks()
        store(shared, DONE, iteration)
        halted = load(shared, STOP)
    told = (iteration, count, edges, unexplored, np.int64(now), halted)
    for i in range(6):
        shared[FOLLOWED + i] = told[i]
    for word in range(SLOT):
        shared[COUNTERS + SLOT * (iteration % 3) + word] = 0


@njit(**JIT)
def _pull(shared, slot, level, offsets, neighbors, out_offsets, ascending, levels, parents, front, new_front, reached):
    """Writes levels, parents and bits of vertices in its words. Returns how many it reached, and their edges."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    num_vertices, num_words = np.uint64(levels.size), np.int64(front.size)
    found, new_edges = np.int64(0), np.int64(0)
    while True:
        taken = fetch_add(shared, slot + TAKE, WORDS)
        if taken >= num_words:
            break
        for word in range(np.uint64(taken), np.uint64(min(taken + WORDS, num_words))):
            open_bits, new_bits, empty_bits = ~reached[word], np.uint64(0), np.uint64(0)
            while open_bits != np.uint64(0):
                bit = open_bits & (~open_bits + one)
                vertex = (word << six) + trailing_zeros(open_bits)
                open_bits ^= bit
                if vertex >= num_vertices:
                    break
                first, last = offsets[vertex], offsets[vertex + one]
                if first == last:
                    empty_bits |= bit
                for edge in range(first, last):
                    neighbor = neighbors[edge]
                    if (front[np.uint64(neighbor) >> six] >> (np.uint64(neighbor) & low)) & one:
                        parents[vertex] = min(parents[vertex], neighbor)
                        new_bits |= bit
                        if ascending:
                            break
                if new_bits & bit:
                    levels[vertex] = level
                    found += 1
                    new_edges += np.int64(out_offsets[vertex + one] - out_offsets[vertex])
            new_front[word] = new_bits
            reached[word] |= new_bits | empty_bits
    return found, new_edges


@njit(**JIT)
def _mark_reached(rank, size, levels, reached):
    """Writes reached: the vertices that have a level."""
    first, last = part(rank, size, np.int64(reached.size))
    for word in range(np.uint64(first), np.uint64(last)):
        bits = np.uint64(0)
        base = word << np.uint64(6)
        for vertex in range(base, min(base + np.uint64(64), np.uint64(levels.size))):
            if levels[vertex] >= 0:
                bits |= np.uint64(1) << (vertex - base)
        reached[word] = bits


@njit(**JIT)
def _search(
    rank,
    size,
    shared,
    offsets,
    neighbors,
    in_offsets,
    in_neighbors,
    source,
    may_pull,
    ascending,
    levels,
    parents,
    queues,
    bitmaps,
    rows,
    times,
):
    """Writes everything behind ascending."""
    num_vertices = np.int64(levels.size)
    first, last = part(rank, size, num_vertices)
    for vertex in range(first, last):
        levels[vertex], parents[vertex] = -1, ~parents.dtype.type(0)
    meeting = meet(shared, 1, size)
    now, front, new_front = np.int64(0), bitmaps[0], bitmaps[1]
    buffer = np.empty(BUFFER, queues.dtype)
    if rank == 0:
        levels[source], parents[source], queues[0, 0] = 0, source, source
        times[0] = ticks()
    meeting = meet(shared, meeting, size)
    count, earlier, unexplored = np.int64(1), np.int64(0), np.int64(neighbors.size)
    edges = np.int64(offsets[source + np.uint64(1)] - offsets[source])
    dense, iteration = False, np.int64(0)
    while count > 0:
        if not dense and edges < FEW_EDGES:
            meeting = meet(shared, meeting, size)  # all have read the counters of the last level, which may be cleared
            if rank == 0:
                state = (np.int64(iteration), count, edges, unexplored)
                _follow(shared, may_pull, offsets, neighbors, levels, parents, queues, now, state, rows, times)
            meeting = meet(shared, meeting, size)
            iteration, count, edges, unexplored = (
                shared[FOLLOWED],
                shared[FOLLOWED + 1],
                shared[FOLLOWED + 2],
                shared[FOLLOWED + 3],
            )
            now = shared[FOLLOWED + 4]
            if count == 0 or shared[FOLLOWED + 5] != 0:
                break
        slot = COUNTERS + SLOT * (iteration % 3)
        if rank == 0:
            for word in range(SLOT):
                shared[COUNTERS + SLOT * ((iteration + 1) % 3) + word] = 0
        if dense:
            pulls = count >= earlier or count > num_vertices // BETA
        else:
            pulls = may_pull and _prefers_pull(edges, unexplored, num_vertices)
        if pulls and not dense:
            _mark_reached(rank, size, levels, bitmaps[2])
            meeting = _to_bitmap(rank, size, shared, meeting, queues[now], count, front)
        elif dense and not pulls:
            meeting = _to_queue(rank, size, shared, meeting, front, queues[now], buffer, slot + QUEUED)
        dense = pulls
        if rank == 0:
            rows[iteration, 0], rows[iteration, 1], rows[iteration, 2] = pulls, count, edges
        level = np.int32(iteration + 1)
        if dense:
            found, new_edges = _pull(
                shared,
                slot,
                level,
                in_offsets,
                in_neighbors,
                offsets,
                ascending,
                levels,
                parents,
                front,
                new_front,
                bitmaps[2],
            )
            fetch_add(shared, slot + FOUND, found)
            front, new_front = new_front, front
        else:
            new_edges = _push(
                rank,
                size,
                shared,
                slot,
                level,
                offsets,
                neighbors,
                levels,
                parents,
                queues[now],
                count,
                edges,
                queues[1 - now],
                buffer,
            )
            now = 1 - now
        fetch_add(shared, slot + EDGES, new_edges)
        if rank == 0:
            shared[slot + HALT] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        earlier, count = count, shared[slot + FOUND]
        unexplored, edges = max(unexplored - edges, 0), shared[slot + EDGES]
        iteration += 1
        if rank == 0:
            times[iteration] = ticks()
            store(shared, DONE, iteration)
        if shared[slot + HALT] != 0:
            break
