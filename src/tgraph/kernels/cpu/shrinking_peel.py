"""Core numbers by one thread that peels, on rows that get shorter.

Without atomic operations, and without a jump for every neighbour that has gone, one thread is faster than two. What it
does most is to lower the degrees of neighbours, at random places. So when few vertices are left, all threads write the
rows of those anew, with the neighbours that are left, under numbers from 0 on: gone neighbours are not looked at any
more, and the degrees lie close together, in the end in the cache.

Memory: 3 ids per vertex, and the shortened rows, at most as large as the graph's.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.team import JIT, as_unsigned, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array]  # offsets [V+1], neighbours [E], unsigned

SHRINK_PART = 8  # rows are written anew when one vertex in so many is left
FEW_VERTICES = 1 << 15  # whose degrees are in the cache as they are
CHUNK = 64  # vertices


def peel_shrinking(rows: Rows, degrees: Array, watch: Watch, num_gone: int = 0) -> None:
    """Write core numbers over `degrees [V]`, the numbers of neighbours without the vertex itself and each once.

    Rows hold both directions of every edge, and ascend. `num_gone` vertices were peeled before, for the progress.

    >>> rows = np.array([0, 2, 4, 7, 8], np.uint64), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.uint32)
    >>> degrees = np.array([2, 2, 3, 1], np.int32)
    >>> peel_shrinking(rows, degrees, Watch())
    >>> degrees.tolist()
    [2, 2, 2, 1]
    """
    left = np.arange(degrees.size, dtype=rows[1].dtype)
    scratch_stack = np.empty(degrees.size + 1, rows[1].dtype)
    few = degrees.size // SHRINK_PART if degrees.size > FEW_VERTICES else 0
    shared = watch.run(_peel, 1, *rows, degrees, left, scratch_stack, few, num_gone)
    kept = left[: int(shared[COUNTERS])]
    if kept.size and not is_stopped(shared):
        new_degrees = degrees[kept]
        new_rows = _shrink(rows, kept, new_degrees, scratch_stack[:-1])
        peel_shrinking(new_rows, new_degrees, watch, num_gone + degrees.size - kept.size)
        degrees[kept] = new_degrees


def _shrink(rows: Rows, kept: Array, degrees: Array, scratch_numbers: Array) -> Rows:
    """Return the rows of the vertices `kept`, with the neighbours that are kept, all numbered from 0 on."""
    gone = scratch_numbers.dtype.type(~scratch_numbers.dtype.type(0))
    scratch_numbers.fill(gone)
    scratch_numbers[kept] = np.arange(kept.size, dtype=scratch_numbers.dtype)
    offsets = np.zeros(kept.size + 1, np.int64)
    np.cumsum(degrees, out=offsets[1:])
    neighbors = np.empty(int(offsets[-1]), rows[1].dtype)
    size = team_size(neighbors.size)
    Watch().run(_write_rows, size, *rows, kept, scratch_numbers, as_unsigned(offsets), neighbors)
    return as_unsigned(offsets), neighbors


@njit(**JIT)
def _write_rows(rank, size, shared, offsets, neighbors, kept, numbers, new_offsets, new_neighbors):
    """Writes new_neighbors, rows of its chunks: neighbours that have a number, each once and without the vertex."""
    gone, one = ~numbers.dtype.type(0), np.uint64(1)
    while True:
        chunk = fetch_add(shared, COUNTERS, CHUNK)
        if chunk >= kept.size:
            break
        for i in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, kept.size))):
            vertex, place, before = np.uint64(kept[i]), new_offsets[i], gone
            for edge in range(offsets[vertex], offsets[vertex + one]):
                number = numbers[neighbors[edge]]
                if number != gone and number != before and number != i:
                    new_neighbors[place] = number
                    place += one
                    before = number


@njit(**JIT)
def _peel(rank, size, shared, offsets, neighbors, degrees, left, stack, few, num_gone):
    """Writes degrees, which become core numbers, left and stack, until at most `few` vertices are left.

    The first counter says how many those are; they are left[:n].
    """
    level, num_left, one = degrees.dtype.type(0), np.uint64(degrees.size), np.uint64(1)
    while num_left > np.uint64(few) and not is_stopped(shared):
        num_left, count, lowest = _split_left(level, num_left, degrees, left, stack)
        next_level = lowest if count == 0 else degrees.dtype.type(level + 1)
        while count > 0:
            count -= one
            vertex, before = stack[count], ~left.dtype.type(0)
            for i in range(offsets[vertex], offsets[vertex + one]):
                other = neighbors[i]
                degree, is_new = degrees[other], other != before
                degrees[other] = degree - degrees.dtype.type(is_new & (degree > level))
                before = other
                if is_new & (degree == next_level):
                    stack[count] = other
                    count += one
        level, shared[DONE] = next_level, num_gone + degrees.size - np.int64(num_left)
    for i in range(num_left):
        left[shared[COUNTERS]] = left[i]
        shared[COUNTERS] += np.int64(degrees[left[i]] >= level)


@njit(**JIT)
def _split_left(level, num_left, degrees, left, stack):
    """Stacks the vertices of left[:num_left] to go, keeps the others; returns both numbers and the lowest degree kept.

    Both are written and counted or not, without a jump: the stack needs one place more than there are vertices.
    """
    kept, count, lowest = np.uint64(0), np.uint64(0), degrees.dtype.type(np.iinfo(degrees.dtype).max)
    for i in range(num_left):
        vertex = left[i]
        degree = degrees[vertex]
        left[kept], stack[count] = vertex, vertex
        kept += np.uint64(degree > level)
        count += np.uint64(degree == level)
        if degree > level:
            lowest = min(lowest, degree)
    return kept, count, lowest
