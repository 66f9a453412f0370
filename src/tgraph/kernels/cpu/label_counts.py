"""How often labels occur among neighbours, for rows that are counted in pieces."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array


class LabelCounts:
    """Counts labels below a limit. Needs 4 bytes for every label that there may be.

    >>> counts = LabelCounts(10)
    >>> [found.tolist() for found in counts.of(np.array([0, 2, 1]), np.array([7, 3, 7]))]
    [[7, 3], [2, 1]]
    """

    def __init__(self, num_labels: int) -> None:
        self._counts = np.zeros(num_labels, np.uint32)

    def of(self, neighbors: Array, labels: Array) -> tuple[Array, Array]:
        """Return the labels of these neighbours, each once, and how often each occurs. Deterministic."""
        found, times = np.empty(neighbors.size, labels.dtype), np.empty(neighbors.size, np.uint32)
        count = _count(as_unsigned(neighbors), as_unsigned(labels), self._counts, as_unsigned(found), times)
        return found[:count], times[:count]


@njit(**JIT)
def _count(neighbors, labels, counts, found, times):
    """Writes found and times, in the order in which labels occur; counts are all 0 before and after."""
    for neighbor in neighbors:
        counts[labels[neighbor]] += np.uint32(1)
    place = 0
    for neighbor in neighbors:
        label = labels[neighbor]
        if counts[label]:
            found[place], times[place] = label, counts[label]
            counts[label] = np.uint32(0)
            place += 1
    return place
