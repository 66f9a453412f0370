"""Edges among the neighbours of a vertex by binary search, serial: small and obviously right, to check kernels with."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def arcs_among_neighbors(rows: tuple[Array, Array], arcs: tuple[Array, Array]) -> Array:
    """Return, for every vertex, how many of `arcs` lead from one of its neighbours (by `rows`) to another, `[V] int64`.

    Both are offsets and neighbours, ascending and without repetition. Deterministic.

    >>> rows = np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1])
    >>> arcs_among_neighbors(rows, rows).tolist()
    [2, 2, 2]
    """
    counts = np.zeros(rows[0].size - 1, np.int64)
    _count_arcs(*rows, *arcs, counts)
    return counts


@njit(**JIT)
def _count_arcs(offsets, neighbors, arc_offsets, arc_targets, counts):
    """Writes counts. Serial."""
    for vertex in range(counts.size):
        around = neighbors[offsets[vertex] : offsets[vertex + 1]]
        for neighbor in around:
            counts[vertex] += _count_common(around, arc_targets[arc_offsets[neighbor] : arc_offsets[neighbor + 1]])


@njit(**JIT)
def _count_common(left, right):
    """How many elements two ascending arrays share: each of the shorter one is looked for in the longer one."""
    if left.size > right.size:
        left, right = right, left
    count = 0
    for element in left:
        place = np.searchsorted(right, element)
        if place < right.size and right[place] == element:
            count += 1
    return count
