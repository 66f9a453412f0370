"""Pairs of vertices that occur several times: where each occurs first."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def first_occurrences(ends: Array, others: Array, num_vertices: int) -> Array:
    """Return for every pair the place of the first pair like it, `[N] int64`; (1, 2) and (2, 1) are different.

    >>> first_occurrences(np.array([1, 2, 1, 1]), np.array([2, 1, 2, 0]), 3).tolist()
    [0, 1, 0, 3]
    """
    offsets, places, _ = rows_from_edges(ends, np.arange(ends.size), None, num_vertices)
    found = np.empty(ends.size, np.int64)
    _find(offsets, places, others, np.full(num_vertices, -1, np.int64), found)
    return found


@njit(**JIT)
def _find(offsets, places, others, first_at, found):
    """Writes found. first_at: where a vertex was met first in the row at hand; places before the row's own are old.

    Places ascend inside a row, so the first of a row is the least.
    """
    for row in range(offsets.size - 1):
        for position in range(offsets[row], offsets[row + 1]):
            first_at[others[places[position]]] = -1
        for position in range(offsets[row], offsets[row + 1]):
            place = places[position]
            other = others[place]
            if first_at[other] < 0:
                first_at[other] = place
            found[place] = first_at[other]
