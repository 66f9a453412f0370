"""The onion decomposition: vertices peeled layer by layer (Hebert-Dufresne, Grochow, Allard 2016)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def onion(rows: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return all vertices in the order in which they go, by degree inside a layer, and their layers, `[V]` each.

    Needs both directions of every edge and no self-loops.

    >>> [part.tolist() for part in onion((np.array([0, 1, 3, 4, 4]), np.array([1, 0, 2, 1], np.int32)))]
    [[3, 0, 2, 1], [1, 2, 2, 3]]
    """
    degrees = np.diff(rows[0])
    order, layers = np.flatnonzero(degrees == 0), np.ones(int((degrees == 0).sum()), np.int64)
    left = np.flatnonzero(degrees > 0)
    core, parts, numbers = 1, [order], [layers]
    layer = 2 if order.size else 1
    while left.size:
        core = max(core, int(degrees[left].min()))
        goes = left[degrees[left] <= core]
        goes = goes[np.argsort(degrees[goes], kind="stable")]
        left = left[degrees[left] > core]
        _take(*rows, goes, degrees)
        parts.append(goes)
        numbers.append(np.full(goes.size, layer))
        layer += 1
    return np.concatenate(parts), np.concatenate(numbers)


@njit(**JIT)
def _take(offsets, neighbors, goes, degrees):
    """Writes degrees of the neighbours."""
    for vertex in goes:
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            degrees[neighbors[edge]] -= 1
