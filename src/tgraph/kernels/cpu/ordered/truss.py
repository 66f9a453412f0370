"""Trusses: edges that are in enough triangles of edges like them."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def edges_of_truss(rows: tuple[Array, Array], k: int) -> Array:
    """Return for every entry of the rows whether its edge is in the k-truss, `[E] bool`.

    Needs both directions of every edge, ascending neighbours, no self-loops.

    >>> rows = np.array([0, 2, 4, 7, 8]), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.int32)
    >>> edges_of_truss(rows, 3).tolist()
    [True, True, True, True, True, True, False, False]
    """
    offsets, neighbors = rows
    sources = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    mates = np.lexsort((sources, neighbors))  # rows ascend, so the transposed order leads to the other direction
    stays = np.ones(neighbors.size, np.bool_)
    _peel(offsets, neighbors, sources, mates, k - 2, stays, np.zeros(neighbors.size, np.int64))
    return stays


@njit(**JIT)
def _peel(offsets, neighbors, sources, mates, least, stays, supports):
    """Writes stays and supports, the number of triangles of every edge."""
    queue, last = np.empty(neighbors.size, np.int64), 0
    for edge in range(neighbors.size):
        if sources[edge] >= neighbors[edge]:
            continue
        i, j = offsets[sources[edge]], offsets[neighbors[edge]]
        while i < offsets[sources[edge] + 1] and j < offsets[neighbors[edge] + 1]:
            if neighbors[i] == neighbors[j]:
                supports[edge] += 1
                i, j = i + 1, j + 1
            elif neighbors[i] < neighbors[j]:
                i += 1
            else:
                j += 1
        if supports[edge] < least:
            stays[edge], queue[last] = False, edge
            last += 1
    first = 0
    while first < last:
        edge = queue[first]
        first += 1
        stays[mates[edge]] = False
        i, j = offsets[sources[edge]], offsets[neighbors[edge]]
        while i < offsets[sources[edge] + 1] and j < offsets[neighbors[edge] + 1]:
            if neighbors[i] < neighbors[j]:
                i += 1
                continue
            if neighbors[i] > neighbors[j]:
                j += 1
                continue
            one = i if sources[i] < neighbors[i] else mates[i]
            other = j if sources[j] < neighbors[j] else mates[j]
            is_whole = supports[one] >= 0 and supports[other] >= 0
            for side in (one, other):
                if is_whole:
                    supports[side] -= 1
                    if supports[side] < least and stays[side]:
                        stays[side], queue[last] = False, side
                        last += 1
            i, j = i + 1, j + 1
        supports[edge] = -1  # its triangles are gone
