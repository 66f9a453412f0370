"""Core numbers by buckets, serial: vertices stay sorted by degree while one after the other is taken from the front.

Small and well known (Batagelj, Zaversnik 2003), to check other kernels with.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def peel_by_buckets(offsets: Array, neighbors: Array) -> Array:
    """Return the core number of every vertex, `[V] int64`.

    Needs both directions of every edge, no self-loops and no repeated edges. Deterministic.

    >>> peel_by_buckets(np.array([0, 2, 4, 7, 8]), np.array([1, 2, 0, 2, 0, 1, 3, 2])).tolist()
    [2, 2, 2, 1]
    """
    degrees = np.diff(offsets)
    order = np.argsort(degrees, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    starts = np.searchsorted(degrees[order], np.arange(degrees.max(initial=0) + 1))
    _peel(offsets, neighbors, degrees, order, places, starts)
    return degrees


@njit(**JIT)
def _peel(offsets, neighbors, degrees, order, places, starts):
    """Writes degrees, which become core numbers; order holds the vertices by degree, from starts[d] on those of d."""
    for i in range(order.size):
        vertex = order[i]
        for position in range(offsets[vertex], offsets[vertex + 1]):
            other = neighbors[position]
            degree = degrees[other]
            if degree <= degrees[vertex]:
                continue
            front = max(starts[degree], i + 1)  # swap with the first of its bucket, which then begins one later
            moved = order[front]
            order[places[other]], order[front] = moved, other
            places[moved], places[other] = places[other], front
            starts[degree] = front + 1
            degrees[other] = degree - 1
