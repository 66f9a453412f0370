"""An order of vertices in which neighbours are near each other (Cuthill, McKee 1969; reversed: George 1971).

One breadth-first search per component, from a vertex of its smallest degree, that takes the new neighbours of a vertex
by ascending degree; the whole order is then reversed. By one thread. Memory: the order and 16 bytes per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def cuthill_mckee_order(offsets: Array, neighbors: Array) -> Array:
    """Return the vertices `[V]` of symmetric rows in that order. Deterministic.

    >>> cuthill_mckee_order(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)).tolist()
    [2, 1, 0]
    """
    degrees = np.diff(offsets)
    starts = np.argsort(degrees, kind="stable")
    return _search(offsets, neighbors, degrees, starts)[::-1].copy()


@njit(**JIT)
def _search(offsets, neighbors, degrees, starts):
    order, is_seen = np.empty(degrees.size, np.int64), np.zeros(degrees.size, np.bool_)
    count, head = 0, 0
    for start in starts:
        if is_seen[start]:
            continue
        is_seen[start] = True
        order[count] = start
        count += 1
        while head < count:
            first = count
            for edge in range(offsets[order[head]], offsets[order[head] + 1]):
                neighbor = np.int64(neighbors[edge])
                if not is_seen[neighbor]:
                    is_seen[neighbor] = True
                    order[count] = neighbor
                    count += 1
            found = order[first:count]
            order[first:count] = found[np.argsort(degrees[found], kind="mergesort")]
            head += 1
    return order
