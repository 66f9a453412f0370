"""Core numbers by peeling: vertices of the smallest degree go first, and take their edges with them.

At level k every vertex goes that has no more than k neighbours left; k is its core number. All threads look at the
vertices that are left, put those to go into a common queue, and take them from there in chunks; who falls to k
meanwhile is dealt with at once by the thread that made it fall (Kabir, Madduri 2017), unless too many do: they wait in
the queue for the next round. The degree left when a vertex goes is its core number, so that one array holds both.

Of two threads one peels alone, which is faster (`serial_peel`). What is called for every vertex is inlined: a call
that takes arrays costs tens of nanoseconds.

Memory: 3 ids per vertex, and new rows, as large as the graph's, where those are not ascending. Core numbers do not
depend on the order of peeling, so the answer does not depend on the threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.csr import transpose
from tgraph.kernels.cpu.serial_peel import peel_serially
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array]  # offsets [V+1], neighbours [E]

FEW_THREADS = 2  # up to here one thread peels, where there are no reverse rows
CHUNK = 64  # vertices
STACK = 1 << 12  # vertices that a thread deals with at once
NOTHING, STOPPED = np.iinfo(np.int64).max, -1
TAKEN, PUSHED = COUNTERS, COUNTERS + 24  # three of each, used in turn by one phase after the other


def core_numbers(rows: Rows, reverse: Rows | None, is_sorted: bool, watch: Watch | None = None) -> Array:
    """Return the core number of every vertex, `[V] int32`.

    Edges have no direction; self-loops and repeated edges do not count. A directed graph gives its reverse rows too,
    ascending; without them, `rows` must hold both directions of every edge.

    >>> core_numbers((np.array([0, 2, 4, 7, 8]), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.int32)), None, True).tolist()
    [2, 2, 2, 1]
    """
    num_vertices = rows[0].size - 1
    if not is_sorted:  # a symmetric graph is its own reverse, and transposed rows ascend
        rows = transpose(*(rows if reverse is None else reverse), None, num_vertices)[:2]
    size = team_size(rows[1].size + num_vertices)
    degrees = np.empty(num_vertices, rows[1].dtype)
    graph = as_unsigned(rows[0]), as_unsigned(rows[1])
    in_rows = None if reverse is None else (as_unsigned(reverse[0]), as_unsigned(reverse[1]))
    watch = watch or Watch()
    if size <= FEW_THREADS and in_rows is None:
        run_team(_count_degrees, size, graph, degrees)
        peel_serially(graph, degrees, watch)
    else:
        left, queue = np.empty(num_vertices, graph[1].dtype), np.empty(num_vertices, graph[1].dtype)
        watch.run(_peel, size, graph, in_rows, degrees, left, queue, np.empty((3, size), np.int64))
    return degrees.astype(np.int32, copy=False)


@njit(**JIT)
def _count_degrees(rank, size, rows, degrees):
    """Writes degrees of its part of the vertices."""
    first, last = part(rank, size, np.int64(degrees.size))
    for vertex in range(np.uint64(first), np.uint64(last)):
        degrees[vertex] = _count_distinct(vertex, rows, None)


@njit(**JIT)
def _peel(rank, size, shared, rows, in_rows, degrees, left, queue, lowest):
    """Writes degrees, which become core numbers, by atomic additions; left: its part; queue: at places taken."""
    first, last = part(rank, size, np.int64(degrees.size))
    for vertex in range(np.uint64(first), np.uint64(last)):
        degrees[vertex] = _count_distinct(vertex, rows, in_rows)
        left[vertex] = vertex
    stack = np.empty(STACK, left.dtype)
    meeting = meet(shared, 1, size)
    phase, level, end = 0, 0, 0
    while True:
        last, low = _look_for_level(rank, shared, first, last, level, degrees, left, queue, end, phase, stack)
        lowest[phase % 3, rank] = STOPPED if rank == 0 and is_stopped(shared) else low
        meeting = meet(shared, meeting, size)
        start, end = end, end + load(shared, PUSHED + 8 * (phase % 3))
        low = lowest[phase % 3].min()
        phase += 1
        if low == STOPPED or (low == NOTHING and start == end):
            break
        level = low if start == end else level
        while start < end:
            _take(rank, shared, start, end, level, rows, in_rows, degrees, queue, phase, stack)
            meeting = meet(shared, meeting, size)
            start, end = end, end + load(shared, PUSHED + 8 * (phase % 3))
            phase += 1
            if start == end:
                level += 1


@njit(inline="always", **JIT)
def _count_distinct(vertex, rows, in_rows):
    """The number of neighbours, without the vertex itself and each once."""
    offsets, neighbors = rows
    one, count = np.uint64(1), 0
    first, last = offsets[vertex], offsets[vertex + one]
    for i in range(first, last):
        count += neighbors[i] != vertex and (i == first or neighbors[i] != neighbors[i - one])
    if in_rows is not None:
        in_offsets, in_neighbors = in_rows
        in_first = in_offsets[vertex]
        for i in range(in_first, in_offsets[vertex + one]):
            other = in_neighbors[i]
            while first < last and neighbors[first] < other:
                first += one
            is_new = first == last or neighbors[first] != other
            count += is_new and other != vertex and (i == in_first or other != in_neighbors[i - one])
    return count


@njit(**JIT)
def _look_for_level(rank, shared, first, last, level, degrees, left, queue, end, phase, stack):
    """Queues the vertices of left[first:last] to go, keeps the others; returns where they end and their lowest degree.

    A vertex that has gone already has a degree below the level.
    """
    _begin(rank, shared, phase)
    count, kept, low = 0, first, NOTHING
    for i in range(first, last):
        vertex = left[i]
        degree = np.int64(degrees[vertex])
        if degree == level:
            if count == STACK:
                count = _flush(shared, stack, count, queue, end, phase)
            stack[count] = vertex
            count += 1
        elif degree > level:
            left[kept] = vertex
            kept += 1
            low = min(low, degree)
    _flush(shared, stack, count, queue, end, phase)
    return kept, low


@njit(**JIT)
def _take(rank, shared, start, end, level, rows, in_rows, degrees, queue, phase, stack):
    """Remove queue[start:end], chunk by chunk, and whoever falls to the level by that."""
    offsets, neighbors = rows
    _begin(rank, shared, phase)
    waiting = shared, queue, end, phase
    while True:
        chunk = start + fetch_add(shared, TAKEN + 8 * (phase % 3), CHUNK)
        if chunk >= end or is_stopped(shared):
            break
        done = 0
        for i in range(chunk, min(chunk + CHUNK, end)):
            stack[0], count = queue[i], 1
            while count > 0:
                count, done = count - 1, done + 1
                vertex = np.uint64(stack[count])
                row = offsets[vertex], offsets[vertex + np.uint64(1)]
                count = _lower(row, neighbors, (row[1], row[1]), neighbors, level, degrees, stack, count, waiting)
                if in_rows is not None:
                    in_offsets, in_neighbors = in_rows
                    in_row = in_offsets[vertex], in_offsets[vertex + np.uint64(1)]
                    count = _lower(in_row, in_neighbors, row, neighbors, level, degrees, stack, count, waiting)
        fetch_add(shared, DONE, done)


@njit(inline="always", **JIT)
def _lower(row, neighbors, known, known_neighbors, level, degrees, stack, count, waiting):
    """Take one from the degrees of a row's neighbours that are not in the known row; stack those that fall to level.

    A degree at or below the level stays: its vertex is going or gone. Returns the size of the stack.
    """
    one, first = np.uint64(1), row[0]
    seen, seen_end = known
    for i in range(first, row[1]):
        other = neighbors[i]
        if degrees[other] <= level or (i > first and other == neighbors[i - one]):
            continue
        while seen < seen_end and known_neighbors[seen] < other:
            seen += one
        if seen < seen_end and known_neighbors[seen] == other:
            continue
        before = np.int64(fetch_add(degrees, other, -1))
        if before == level + 1:
            if count == STACK:
                shared, queue, end, phase = waiting
                count = _flush(shared, stack, count, queue, end, phase)
            stack[count] = other
            count += 1
        elif before <= level:  # another thread was faster
            fetch_add(degrees, other, 1)
    return count


@njit(inline="always", **JIT)
def _flush(shared, stack, count, queue, end, phase):
    """Move the stack to the queue, behind what the other threads have put there in this phase; return its size, 0."""
    place = end + fetch_add(shared, PUSHED + 8 * (phase % 3), count)
    for i in range(count):
        queue[place + i] = stack[i]
    return 0


@njit(**JIT)
def _begin(rank, shared, phase):
    """Clear the counters of the next phase, which nobody has looked at since the meeting before the last."""
    if rank == 0:
        shared[TAKEN + 8 * ((phase + 1) % 3)] = 0
        shared[PUSHED + 8 * ((phase + 1) % 3)] = 0
