"""Label propagation in turns: every vertex takes the most frequent label around it, until all have one of those."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def propagate(rows: tuple[Array, Array], turns: Array) -> Array:
    """Return a label per vertex `[V]`; at first it is the vertex. `turns` is the order in which vertices look around.

    A vertex keeps its label if it is among the most frequent, else it takes the largest of these.

    >>> propagate((np.array([0, 1, 2, 2]), np.array([1, 0], np.int32)), np.arange(3)).tolist()
    [1, 1, 2]
    """
    num_vertices = rows[0].size - 1
    labels = np.arange(num_vertices)
    _propagate(*rows, turns, np.zeros(num_vertices, np.int64), labels)
    return labels


@njit(**JIT)
def _best(offsets, neighbors, vertex, counts, labels):
    """Return the label that a vertex takes; counts are zero before and after."""
    most = 0
    for edge in range(offsets[vertex], offsets[vertex + 1]):
        label = labels[neighbors[edge]]
        counts[label] += 1
        most = max(most, counts[label])
    best = labels[vertex]
    if counts[best] < most:
        best = -1
    for edge in range(offsets[vertex], offsets[vertex + 1]):
        label = labels[neighbors[edge]]
        if counts[label] == most and (best < 0 or counts[labels[vertex]] < most):
            best = max(best, label)
    for edge in range(offsets[vertex], offsets[vertex + 1]):
        counts[labels[neighbors[edge]]] = 0
    return best


@njit(**JIT)
def _propagate(offsets, neighbors, turns, counts, labels):
    """Writes counts and labels."""
    while True:
        is_done = True
        for vertex in range(offsets.size - 1):
            if offsets[vertex] < offsets[vertex + 1]:
                is_done = is_done and _best(offsets, neighbors, vertex, counts, labels) == labels[vertex]
        if is_done:
            return
        for vertex in turns:
            if offsets[vertex] < offsets[vertex + 1]:
                labels[vertex] = _best(offsets, neighbors, vertex, counts, labels)
