"""Edges, in a given order, whose ends are both free."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def matched(num_vertices: int, sources: Array, targets: Array) -> Array:
    """Return for every edge whether it is in the matching, `[E] bool`.

    >>> matched(3, np.array([0, 1]), np.array([1, 2])).tolist()
    [True, False]
    """
    chosen = np.zeros(sources.size, np.bool_)
    _match(sources, targets, np.zeros(num_vertices, np.bool_), chosen)
    return chosen


@njit(**JIT)
def _match(sources, targets, taken, chosen):
    """Writes taken and chosen."""
    for edge in range(sources.size):
        source, target = sources[edge], targets[edge]
        if source != target and not taken[source] and not taken[target]:
            chosen[edge] = taken[source] = taken[target] = True
