"""Union-find over the edges of a graph, serial: small, obviously right, and fast enough to check other kernels with."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def smallest_in_component(offsets: Array, targets: Array) -> Array:
    """Return, for every vertex, the smallest vertex that edges join it to in either direction. Deterministic.

    >>> smallest_in_component(np.array([0, 0, 1, 1]), np.array([0])).tolist()
    [0, 0, 2]
    """
    roots = np.arange(offsets.size - 1, dtype=np.int64)
    _unite(offsets, targets, roots)
    return roots


@njit(**JIT)
def _find(roots, vertex):
    """Return the root above a vertex; halves the path to it. Needs roots[v] <= v."""
    while roots[vertex] != vertex:
        roots[vertex] = roots[roots[vertex]]
        vertex = roots[vertex]
    return vertex


@njit(**JIT)
def _unite(offsets, targets, roots):
    """Writes roots: the larger root hangs on the smaller one, so that a root is the smallest of its tree. Serial."""
    for source in range(roots.size):
        for position in range(offsets[source], offsets[source + 1]):
            left, right = _find(roots, source), _find(roots, targets[position])
            if left < right:
                roots[right] = left
            elif right < left:
                roots[left] = right
    for vertex in range(roots.size):  # what a vertex hangs on is smaller, so that it is already a root
        roots[vertex] = roots[roots[vertex]]
