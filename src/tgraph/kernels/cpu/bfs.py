"""Breadth-first search: levels and parents in one go, by push and pull.

Push goes through the frontier in queues, one per thread: who reaches a neighbour first, by compare-and-swap on its
level, puts it into its own queue, where it stays. Small levels are divided among the threads as they lie there, so that
a thread goes on with what it has in its cache; one thread follows tiny ones alone, without atomic operations and
meetings. Pull goes through the vertices that are not reached, and ends at the first neighbour in the frontier; in
ascending rows that is the smallest (Beamer, Asanovic, Patterson 2012; `direction` says when). Most find one at their
first neighbour; these are asked for ahead and looked at without a branch.

A parent is the smallest neighbour one level closer. Pull finds it by the way; in large levels everybody who pushes
offers itself, and the smallest stays; vertices of small levels look for theirs when the search is over, unless they
have many more edges than those that found them, who then push once more.

Levels and parents are the same for any number of threads. Memory: levels, parents, queues, in which every vertex stands
at most once, and three bitmaps, 12.4 bytes per vertex with 32-bit ids, and 32 bytes per iteration. A thread writes how
it ended a level into its row of `segments`; two sets of rows take turns, and three sets of counters, each of which is
cleared one iteration before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add, fetch_min, fetch_or, load, store, trailing_zeros
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.direction import prefers_pull
from tgraph.kernels.cpu.prefetch import ask_for_rows
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

BETA = 18  # pull ends when the frontier has fewer than this part of the vertices
TINY_LEVEL, SMALL_LEVEL = 1 << 9, 1 << 14  # edges below which one thread follows alone, and threads have fixed parts
ADOPTING = 4  # times the edges of a level that the next may have for its vertices to look for parents themselves
WORDS = 16  # of 64 vertices that a thread takes at a time in pull
HUB_EDGES = 1 << 14  # if vertices have so many on average, their edges are shared by all threads
TAKE, HALT, SLOT = 0, 8, 16
FOLLOWED = COUNTERS + 3 * SLOT  # what the thread that followed levels alone tells the others
COUNT, EDGES, IN_EDGES, BEGIN, END = 0, 1, 2, 3, 4  # of a thread's row: what it reached; where that lies in its queue


@dataclass(frozen=True)
class Search:
    """What a search found, and what each iteration did."""

    levels: Array  # [V] int32, -1 = not reached
    parents: Array  # [V], a source is its own, -1 = not reached; empty if they were not wanted
    rows: Array  # [I, 3]: pulled, vertices, edges
    ticks: Array  # [I]


def search(
    outgoing: tuple[Array, Array],
    incoming: tuple[Array, Array] | None,
    sources: Array,
    *,
    ascending: bool,
    wants_parents: bool = True,
    watch: Watch | None = None,
) -> Search:
    """Search from all sources at once, each given once; `incoming` None = push only.

    `ascending` says that incoming neighbours ascend.

    >>> rows = np.array([0, 1, 2, 2]), np.array([1, 2], np.int32)
    >>> found = search(rows, None, np.array([0]), ascending=True)
    >>> found.levels.tolist(), found.parents.tolist()
    ([0, 1, 2], [0, 0, 1])
    """
    num_vertices, ids = outgoing[0].size - 1, outgoing[1].dtype
    levels, parents = np.empty(num_vertices, np.int32), np.empty(num_vertices if wants_parents else 0, ids)
    rows, times = np.empty((num_vertices, 3), np.int64), np.empty(num_vertices + 1, np.int64)  # touched as needed
    bitmaps = np.empty((3, (num_vertices + 63) // 64), np.uint64)
    sides = [as_unsigned(array) for array in (*outgoing, *(incoming or outgoing))]
    watch = watch or Watch()
    size = team_size(outgoing[1].size + num_vertices)
    queues = np.empty((size, num_vertices), as_unsigned(parents).dtype)  # touched as needed
    segments = np.zeros((2, size, 8), np.int64)
    how = (as_unsigned(sources.astype(ids)), incoming is not None, ascending or not wants_parents, wants_parents)
    watch.run(_search, size, *sides, *how, levels, as_unsigned(parents), queues, segments, bitmaps, rows, times)
    done = int(watch.shared[DONE])
    return Search(levels, parents, rows[:done].copy(), np.diff(times[: done + 1]))


@njit(**JIT)
def _frontier(segments):
    """Return how many vertices the frontier has, their edges, and their incoming edges."""
    count, edges, in_edges = np.int64(0), np.int64(0), np.int64(0)
    for rank in range(segments.shape[0]):
        count += segments[rank, COUNT]
        edges += segments[rank, EDGES]
        in_edges += segments[rank, IN_EDGES]
    return count, edges, in_edges


@njit(**JIT)
def _end_level(segment, offsets, in_offsets, queue, begin, tail):
    """Writes a thread's row: the new vertices in its queue from `begin` to `tail`, and their edges."""
    one, edges, in_edges = np.uint64(1), np.int64(0), np.int64(0)
    for q in range(begin, tail):
        vertex = np.uint64(queue[q])
        edges += np.int64(offsets[vertex + one] - offsets[vertex])
        in_edges += np.int64(in_offsets[vertex + one] - in_offsets[vertex])
    segment[COUNT], segment[EDGES], segment[IN_EDGES] = np.int64(tail - begin), edges, in_edges
    segment[BEGIN], segment[END] = np.int64(begin), np.int64(tail)


@njit(**JIT)
def _push(
    segments, first, last, share, shares, alone, offers, level, offsets, neighbors, levels, parents, queues, rank, tail
):
    """Writes levels of neighbours, and those that it reached first to its queue from `tail` on; returns the new tail.

    It goes through vertices `first` to `last` of the frontier, of each row through the `share`-th of `shares` parts.
    If it `offers`, it writes parents too. Atomic operations, unless it is `alone`.
    """
    one, before = np.uint64(1), np.int64(0)
    for owner in range(segments.shape[0]):
        begin, count = segments[owner, BEGIN], segments[owner, END] - segments[owner, BEGIN]
        for q in range(np.uint64(begin + max(first - before, 0)), np.uint64(begin + max(min(last - before, count), 0))):
            vertex = queues[owner, q]
            start, end = offsets[vertex], offsets[np.uint64(vertex) + one]
            if shares > 1:
                degree = end - start
                end = start + degree * np.uint64(share + 1) // np.uint64(shares)
                start += degree * np.uint64(share) // np.uint64(shares)
            for edge in range(start, end):
                neighbor = neighbors[edge]
                reached_at = levels[neighbor]
                if reached_at < 0 and (alone or compare_swap(levels, neighbor, np.int32(-1), level)):
                    levels[neighbor], queues[rank, tail] = level, neighbor
                    tail += one
                if offers and (reached_at < 0 or reached_at == level) and vertex < parents[neighbor]:
                    fetch_min(parents, neighbor, vertex)
        before += count
    return tail


@njit(**JIT)
def _push_large(rank, size, shared, slot, segments, offers, level, offsets, neighbors, levels, parents, queues, tail):
    """Writes levels of neighbours, and parents if it offers; threads take chunks. Returns the new tail."""
    count, edges, _ = _frontier(segments)
    rest = (level, offsets, neighbors, levels, parents, queues, rank)
    if size > 1 and edges >= HUB_EDGES * count:
        return _push(segments, np.int64(0), count, rank, size, False, offers, *rest, tail)
    chunk = max(np.int64(1), min(np.int64(256), count // (4 * size)))
    while True:
        taken = fetch_add(shared, slot + TAKE, chunk)
        if taken >= count:
            return tail
        tail = _push(segments, taken, min(taken + chunk, count), 0, 1, size == 1, offers, *rest, tail)


@njit(**JIT)
def _follow(
    shared,
    may_pull,
    wants_parents,
    offsets,
    neighbors,
    in_offsets,
    levels,
    parents,
    queues,
    segments,
    state,
    tail,
    rows,
    times,
):
    """Writes, as the only thread, levels, queue, segments and FOLLOWED, level after level while they are tiny."""
    iteration, unexplored, owed = state
    num_vertices, halted = np.int64(levels.size), np.int64(0)
    count, edges, _ = _frontier(segments[iteration % 2])
    while count > 0 and edges < 2 * TINY_LEVEL and halted == 0:
        if may_pull and prefers_pull(edges, unexplored, num_vertices, neighbors.size):
            break
        rows[iteration, 0], rows[iteration, 1], rows[iteration, 2] = 0, count, edges
        old, new, begin = segments[iteration % 2], segments[(iteration + 1) % 2], tail
        rest = (np.int32(iteration + 1), offsets, neighbors, levels, parents, queues, 0)
        tail = _push(old, np.int64(0), count, 0, 1, True, wants_parents and not may_pull, *rest, tail)
        new[:] = 0
        _end_level(new[0], offsets, in_offsets, queues[0], begin, tail)
        if wants_parents and may_pull and new[0, IN_EDGES] > ADOPTING * edges:
            _push(old, np.int64(0), count, 0, 1, True, True, *rest, tail)
        unexplored, count, edges = max(unexplored - edges, 0), np.int64(tail - begin), new[0, EDGES]
        owed, iteration = owed + count, iteration + 1
        times[iteration] = ticks()
        store(shared, DONE, iteration)
        halted = load(shared, STOP)
    told = (iteration, unexplored, owed, halted)
    for i in range(4):
        shared[FOLLOWED + i] = told[i]
    for word in range(SLOT):
        shared[COUNTERS + SLOT * (iteration % 3) + word] = 0
    return tail


@njit(**JIT)
def _adopt(rank, size, offsets, neighbors, ascending, levels, parents, queue, tail, owed):
    """Writes parents of the reached vertices in its queue that have none, from their incoming neighbours.

    If many are owed one, it looks at its part of all vertices instead: rows side by side are read faster.
    """
    nobody, are_many = ~parents.dtype.type(0), owed * 16 > levels.size
    first, last = part(rank, size, np.int64(levels.size)) if are_many else (np.int64(0), np.int64(tail))
    for i in range(first, last):
        vertex = np.uint64(i) if are_many else np.uint64(queue[i])
        if parents[vertex] == nobody and levels[vertex] > 0:
            smallest, before = nobody, levels[vertex] - np.int32(1)
            for edge in range(offsets[vertex], offsets[vertex + np.uint64(1)]):
                neighbor = neighbors[edge]
                if levels[neighbor] == before:
                    smallest = min(smallest, neighbor)
                    if ascending:
                        break
            parents[vertex] = smallest


@njit(**JIT)
def _to_bitmap(rank, size, shared, meeting, queue, segment, front):
    """Writes front: the frontier, of which every thread has a segment in its queue."""
    first, last = part(rank, size, np.int64(front.size))
    for word in range(first, last):
        front[word] = 0
    meeting = meet(shared, meeting, size)
    for q in range(segment[BEGIN], segment[END]):
        vertex = np.uint64(queue[q])
        fetch_or(front, vertex >> np.uint64(6), np.uint64(1) << (vertex & np.uint64(63)))
    return meet(shared, meeting, size)


@njit(**JIT)
def _to_queue(rank, size, front, queue, segment, tail):
    """Writes the vertices of its words of the bitmap to its queue from `tail` on; returns the new tail."""
    first, last = part(rank, size, np.int64(front.size))
    segment[BEGIN] = np.int64(tail)
    for word in range(first, last):
        bits = front[word]
        while bits != np.uint64(0):
            queue[tail] = (np.uint64(word) << np.uint64(6)) + trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            tail += np.uint64(1)
    segment[END] = np.int64(tail)
    return tail


@njit(**JIT)
def _pull(shared, slot, level, offsets, neighbors, out_offsets, ascending, levels, parents, front, new_front, reached):
    """Writes levels, parents and bits of vertices in its words. Returns how many it reached, and their edges."""
    one = np.uint64(1)
    num_words, found, new_edges = np.int64(front.size), np.int64(0), np.int64(0)
    while True:
        taken = fetch_add(shared, slot + TAKE, WORDS)
        if taken >= num_words:
            break
        for word in range(np.uint64(taken), np.uint64(min(taken + WORDS, num_words))):
            if word + one < reached.size:
                ask_for_rows(~reached[word + one], (word + one) << np.uint64(6), offsets, neighbors)
            new_bits = _look_at_first(word, level, offsets, neighbors, levels, parents, front, reached)
            rest = ~reached[word] & ~new_bits if ascending else ~reached[word]
            new_bits |= _look_at_others(word, rest, level, offsets, neighbors, ascending, levels, parents, front)
            new_front[word] = new_bits
            reached[word] |= new_bits
            base = word << np.uint64(6)
            while new_bits != np.uint64(0):
                vertex = base + trailing_zeros(new_bits)
                new_bits &= new_bits - one
                found += 1
                new_edges += np.int64(out_offsets[vertex + one] - out_offsets[vertex])
    return found, new_edges


@njit(**JIT)
def _look_at_first(word, level, offsets, neighbors, levels, parents, front, reached):
    """Writes levels and parents of a word's vertices whose first neighbour is in the frontier; returns their bits.

    There is no branch in it that could be guessed wrongly, so that many rows are on their way at a time.
    """
    one, six, low, wants_parents = np.uint64(1), np.uint64(6), np.uint64(63), parents.size > 0
    open_bits, new_bits, base = ~reached[word], np.uint64(0), word << six
    while open_bits != np.uint64(0):
        place = trailing_zeros(open_bits)
        open_bits &= open_bits - one
        vertex = base + place
        neighbor = neighbors[offsets[vertex]]
        bit = (front[np.uint64(neighbor) >> six] >> (np.uint64(neighbor) & low)) & one
        levels[vertex] = level if bit else levels[vertex]
        if wants_parents:
            parents[vertex] = neighbor if bit else parents[vertex]
        new_bits |= bit << place
    return new_bits


@njit(**JIT)
def _look_at_others(word, rest, level, offsets, neighbors, ascending, levels, parents, front):
    """Writes levels and parents of a word's vertices in `rest` with a neighbour in the frontier; returns their bits."""
    one, six, low, wants_parents = np.uint64(1), np.uint64(6), np.uint64(63), parents.size > 0
    new_bits, base = np.uint64(0), word << six
    while rest != np.uint64(0):
        place = trailing_zeros(rest)
        rest &= rest - one
        vertex = base + place
        for edge in range(offsets[vertex] + one, offsets[vertex + one]):
            neighbor = neighbors[edge]
            if (front[np.uint64(neighbor) >> six] >> (np.uint64(neighbor) & low)) & one:
                levels[vertex] = level
                if wants_parents:
                    parents[vertex] = min(parents[vertex], neighbor)
                new_bits |= one << place
                if ascending:
                    break
    return new_bits


@njit(**JIT)
def _mark_reached(rank, size, offsets, levels, reached):
    """Writes reached: the vertices that have a level or no row, and the places behind the last vertex."""
    first, last = part(rank, size, np.int64(reached.size))
    for word in range(np.uint64(first), np.uint64(last)):
        base = word << np.uint64(6)
        end = min(base + np.uint64(64), np.uint64(levels.size))
        bits = np.uint64(0) if end == base + np.uint64(64) else ~np.uint64(0) << (end - base)
        for vertex in range(base, end):
            is_reached = (levels[vertex] >= 0) | (offsets[vertex] == offsets[vertex + np.uint64(1)])
            bits |= np.uint64(is_reached) << (vertex - base)
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
    sources,
    may_pull,
    ascending,
    wants_parents,
    levels,
    parents,
    queues,
    segments,
    bitmaps,
    rows,
    times,
):
    """Writes everything behind wants_parents."""
    num_vertices = np.int64(levels.size)
    first, last = part(rank, size, num_vertices)
    for vertex in range(first, last):
        levels[vertex] = -1
        if wants_parents:
            parents[vertex] = ~parents.dtype.type(0)
    meeting = meet(shared, 1, size)
    front, new_front, queue, tail = bitmaps[0], bitmaps[1], queues[rank], np.uint64(0)
    if rank == 0:
        for source in sources:
            levels[source], queue[tail] = 0, source
            tail += np.uint64(1)
            if wants_parents:
                parents[source] = source
        _end_level(segments[0, 0], offsets, in_offsets, queue, np.uint64(0), tail)
        times[0] = ticks()
    meeting = meet(shared, meeting, size)
    dense, iteration, owed, earlier, unexplored = False, np.int64(0), np.int64(0), np.int64(0), np.int64(neighbors.size)
    count, edges, _ = _frontier(segments[0])
    while count > 0:
        if not dense and edges < TINY_LEVEL:
            meeting = meet(shared, meeting, size)  # all have read the segments and counters of the last level
            if rank == 0:
                state = (np.int64(iteration), unexplored, owed)
                sides = (offsets, neighbors, in_offsets)
                found = (levels, parents, queues, segments)
                tail = _follow(shared, may_pull, wants_parents, *sides, *found, state, tail, rows, times)
            meeting = meet(shared, meeting, size)
            iteration, unexplored, owed = shared[FOLLOWED], shared[FOLLOWED + 1], shared[FOLLOWED + 2]
            count, edges, _ = _frontier(segments[iteration % 2])
            if count == 0 or shared[FOLLOWED + 3] != 0:
                break
        slot, old, new = COUNTERS + SLOT * (iteration % 3), segments[iteration % 2], segments[(iteration + 1) % 2]
        if rank == 0:
            for word in range(SLOT):
                shared[COUNTERS + SLOT * ((iteration + 1) % 3) + word] = 0
        if dense:
            pulls = count >= earlier or count > num_vertices // BETA
        else:
            pulls = may_pull and prefers_pull(edges, unexplored, num_vertices, neighbors.size)
        if pulls and not dense:
            _mark_reached(rank, size, in_offsets, levels, bitmaps[2])
            meeting = _to_bitmap(rank, size, shared, meeting, queue, old[rank], front)
        elif dense and not pulls:
            tail = _to_queue(rank, size, front, queue, old[rank], tail)
            meeting = meet(shared, meeting, size)
        dense, small = pulls, edges < SMALL_LEVEL
        if rank == 0:
            rows[iteration, 0], rows[iteration, 1], rows[iteration, 2] = pulls, count, edges
        level, begin = np.int32(iteration + 1), tail
        first, last = part(rank, size, count)
        rest = (level, offsets, neighbors, levels, parents, queues, rank)
        if dense:
            pulled = (in_offsets, in_neighbors, offsets, ascending)
            num_found, new_edges = _pull(shared, slot, level, *pulled, levels, parents, front, new_front, bitmaps[2])
            new[rank, COUNT], new[rank, EDGES], new[rank, IN_EDGES] = num_found, new_edges, 0
            front, new_front = new_front, front
        elif small:
            tail = _push(old, first, last, 0, 1, size == 1, wants_parents and not may_pull, *rest, tail)
            _end_level(new[rank], offsets, in_offsets, queue, begin, tail)
        else:
            tail = _push_large(rank, size, shared, slot, old, wants_parents, *rest[:-1], tail)
            _end_level(new[rank], offsets, in_offsets, queue, begin, tail)
        if rank == 0:
            shared[slot + HALT] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        new_count, new_edges, in_edges = _frontier(new)
        if small and not dense:
            owed += new_count
            if wants_parents and may_pull and in_edges > ADOPTING * edges:
                _push(old, first, last, 0, 1, size == 1, True, *rest, tail)
                meeting = meet(shared, meeting, size)
        earlier, count, unexplored, edges = count, new_count, max(unexplored - edges, 0), new_edges
        iteration += 1
        if rank == 0:
            times[iteration] = ticks()
            store(shared, DONE, iteration)
        if shared[slot + HALT] != 0:
            break
    if wants_parents and may_pull and owed > 0:
        _adopt(rank, size, in_offsets, in_neighbors, ascending, levels, parents, queue, tail, owed)
