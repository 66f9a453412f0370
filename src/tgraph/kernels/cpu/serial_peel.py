"""Core numbers by one thread that peels, and asks early for what it will read.

Those that go wait on a stack. What takes most of the time is waiting for rows at random places, so several vertices are
taken from the stack at once, and the rows of all are asked for before the first is read. Who falls last goes first:
where neighbours lie near each other that is still in the cache. Without atomic operations, and without a jump for every
neighbour that has gone, one thread is then faster than two, whether they share the degrees or each lowers those of its
own half of the vertices.

Memory: 2 ids per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT
from tgraph.kernels.cpu.watch import DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

AT_ONCE = np.uint64(32)  # vertices that are taken from the stack
ONE = np.uint64(1)


def peel_serially(rows: tuple[Array, Array], degrees: Array, watch: Watch) -> None:
    """Write core numbers over `degrees [V]`, the numbers of neighbours without the vertex itself and each once.

    Rows are unsigned, hold both directions of every edge, and ascend.

    >>> rows = np.array([0, 2, 4, 7, 8], np.uint64), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.uint32)
    >>> degrees = np.array([2, 2, 3, 1], np.int32)
    >>> peel_serially(rows, degrees, Watch())
    >>> degrees.tolist()
    [2, 2, 2, 1]
    """
    left, stack = np.arange(degrees.size, dtype=rows[1].dtype), np.empty(degrees.size + 1, rows[1].dtype)
    watch.run(_peel, 1, *rows, degrees, left, stack)


@njit(**JIT)
def _peel(rank, size, shared, offsets, neighbors, degrees, left, stack):
    """Writes degrees, which become core numbers, left and stack."""
    level, num_left = degrees.dtype.type(0), np.uint64(degrees.size)
    while num_left > np.uint64(0) and not is_stopped(shared):
        num_left, count, lowest = _split_left(level, num_left, degrees, left, stack)
        next_level = lowest if count == 0 else degrees.dtype.type(level + 1)
        _lower(level, offsets, neighbors, degrees, stack, count)
        level, shared[DONE] = next_level, degrees.size - np.int64(num_left)


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


@njit(**JIT)
def _lower(level, offsets, neighbors, degrees, stack, count):
    """Takes one from the degrees of all neighbours of stack[:count], and of those that fall to the level by that.

    A degree at or below the level stays: its vertex goes or is gone.
    """
    next_level, taken = degrees.dtype.type(level + 1), np.empty(AT_ONCE, stack.dtype)
    while count > np.uint64(0):
        num_taken = min(count, AT_ONCE)
        count -= num_taken
        for i in range(num_taken):
            taken[i] = stack[count + i]
            prefetch(offsets, taken[i])
        for i in range(num_taken):
            prefetch(neighbors, offsets[taken[i]])
        for i in range(num_taken):
            vertex, before = np.uint64(taken[i]), ~stack.dtype.type(0)
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                other = neighbors[edge]
                degree, is_new = degrees[other], other != before
                degrees[other] = degree - degrees.dtype.type(is_new & (degree > level))
                before = other
                if is_new & (degree == next_level):
                    stack[count] = other
                    count += ONE
