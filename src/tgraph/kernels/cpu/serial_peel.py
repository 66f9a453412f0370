"""Core numbers by one thread that peels, and asks early for what it will read.

Vertices go level by level, and in a level round by round: all that fell to the level in one round go in the next. What
takes most of the time is waiting for rows at random places. Which come next is known, so they are asked for some
vertices before they are read. Without atomic operations, and without a jump for every neighbour that has gone, one
thread is then faster than two, whether they share the degrees or each lowers those of its own half of the vertices.

Memory: 2 ids per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT
from tgraph.kernels.cpu.watch import DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

OFFSETS_AHEAD, ROWS_AHEAD = np.uint64(24), np.uint64(16)  # vertices
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
    left, gone = np.arange(degrees.size, dtype=rows[1].dtype), np.empty(degrees.size + 1, rows[1].dtype)
    watch.run(_peel, 1, *rows, degrees, left, gone)


@njit(**JIT)
def _peel(rank, size, shared, offsets, neighbors, degrees, left, gone):
    """Writes degrees, which become core numbers, left and gone: all vertices in the order in which they go."""
    level, num_left, head, tail = degrees.dtype.type(0), np.uint64(degrees.size), np.uint64(0), np.uint64(0)
    while num_left > np.uint64(0) and not is_stopped(shared):
        num_left, tail, lowest = _split_left(level, num_left, tail, degrees, left, gone)
        next_level = lowest if head == tail else degrees.dtype.type(level + 1)
        while head < tail:
            new_tail = _lower(level, offsets, neighbors, degrees, gone, head, tail)
            head, tail = tail, new_tail
        level, shared[DONE] = next_level, np.int64(tail)


@njit(**JIT)
def _split_left(level, num_left, tail, degrees, left, gone):
    """Puts vertices of left[:num_left] that go behind gone[:tail], keeps the others; returns both ends, lowest degree.

    Both are written and counted or not, without a jump: `gone` needs one place more than there are vertices.
    """
    kept, lowest = np.uint64(0), degrees.dtype.type(np.iinfo(degrees.dtype).max)
    for i in range(num_left):
        vertex = left[i]
        degree = degrees[vertex]
        left[kept], gone[tail] = vertex, vertex
        kept += np.uint64(degree > level)
        tail += np.uint64(degree == level)
        if degree > level:
            lowest = min(lowest, degree)
    return kept, tail, lowest


@njit(**JIT)
def _lower(level, offsets, neighbors, degrees, gone, head, tail):
    """Takes one from the degrees of all neighbours of gone[head:tail]; puts who falls to the level behind them.

    A degree at or below the level stays: its vertex goes or is gone. Returns where those that go end now.
    """
    end, next_level = tail, degrees.dtype.type(level + 1)
    for place in range(head, tail):
        if place + OFFSETS_AHEAD < tail:
            prefetch(offsets, gone[place + OFFSETS_AHEAD])
            prefetch(neighbors, offsets[gone[place + ROWS_AHEAD]])
        vertex, before = np.uint64(gone[place]), ~gone.dtype.type(0)
        for edge in range(offsets[vertex], offsets[vertex + ONE]):
            other = neighbors[edge]
            degree, is_new = degrees[other], other != before
            degrees[other] = degree - degrees.dtype.type(is_new & (degree > level))
            before = other
            if is_new & (degree == next_level):
                gone[end] = other
                end += ONE
    return end
