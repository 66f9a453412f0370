"""All the vertices before each vertex on shortest paths, in the order in which a search finds them."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def all_parents(rows: tuple[Array, Array], order: Array, levels: Array) -> tuple[Array, Array]:
    """Return offsets `[F+1]` and parents: row i has those of `order[i]`, a search's order with its levels `[V]`.

    >>> rows = np.array([0, 2, 3, 4, 4]), np.array([1, 2, 3, 3], np.int32)
    >>> [part.tolist() for part in all_parents(rows, np.arange(4), np.array([0, 1, 1, 2]))]
    [[0, 0, 1, 2, 4], [0, 0, 1, 2]]
    """
    places = np.empty(levels.size, np.int64)
    places[order] = np.arange(order.size)
    counts = np.zeros(order.size + 1, np.int64)
    _count(*rows, order, levels, places, counts)
    offsets = np.cumsum(counts)
    parents = np.empty(int(offsets[-1]), np.int64)
    _fill(*rows, order, levels, places, offsets[:-1].copy(), parents)
    return offsets, parents


@njit(**JIT)
def _count(offsets, neighbors, order, levels, places, counts):
    """Writes counts[i + 1], the number of parents of order[i]."""
    for vertex in order:
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[edge]
            if levels[neighbor] == levels[vertex] + 1:
                counts[places[neighbor] + 1] += 1


@njit(**JIT)
def _fill(offsets, neighbors, order, levels, places, nexts, parents):
    """Writes parents, and moves nexts."""
    for vertex in order:
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[edge]
            if levels[neighbor] == levels[vertex] + 1:
                place = places[neighbor]
                parents[nexts[place]] = vertex
                nexts[place] += 1
