"""Edges that join what was not joined before, in a given order (Kruskal 1956)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def spanning_forest(num_vertices: int, sources: Array, targets: Array) -> Array:
    """Return the positions of the edges that join two parts, ascending.

    >>> spanning_forest(3, np.array([0, 1, 0]), np.array([1, 0, 2])).tolist()
    [0, 2]
    """
    chosen = np.empty(min(num_vertices, sources.size), np.int64)
    return chosen[: _join(sources, targets, np.arange(num_vertices), chosen)]


@njit(**JIT)
def _root(roots, vertex):
    """Return the root above a vertex; halves the path to it."""
    while roots[vertex] != vertex:
        roots[vertex] = roots[roots[vertex]]
        vertex = roots[vertex]
    return vertex


@njit(**JIT)
def _join(sources, targets, roots, chosen):
    """Writes roots and chosen; returns how many edges were chosen."""
    count = 0
    for edge in range(sources.size):
        one, other = _root(roots, sources[edge]), _root(roots, targets[edge])
        if one != other:
            roots[max(one, other)], chosen[count] = min(one, other), edge
            count += 1
    return count
