"""Sums over the neighbours of every vertex, each in the order of the row: power iterations with NetworkX's rounding."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

EDGES_PER_WORK = 4  # adding one value is a quarter of what a team counts as work


def add_neighbors(offsets: Array, neighbors: Array, weights: Array | None, values: Array, sums: Array) -> None:
    """Add to `sums` `[V]` the values of the neighbours, times the weights of the edges. Deterministic.

    >>> sums = np.zeros(2)
    >>> add_neighbors(np.array([0, 2, 2]), np.array([0, 1], np.int32), np.array([1.0, 3.0]), np.array([2.0, 5.0]), sums)
    >>> sums.tolist()
    [17.0, 0.0]
    """
    size = team_size(neighbors.size // EDGES_PER_WORK)
    if weights is None:
        run_team(_add, size, offsets, neighbors, values, sums)
    else:
        run_team(_add_weighted, size, offsets, neighbors, weights, values, sums)


@njit(**JIT)
def _add(rank, size, offsets, neighbors, values, sums):
    """Writes sums, the own part of the vertices; parts have about as many edges."""
    first = np.searchsorted(offsets, part(rank, size, offsets[-1])[0]) if rank else 0
    last = np.searchsorted(offsets, part(rank, size, offsets[-1])[1]) if rank + 1 < size else offsets.size - 1
    for vertex in range(first, last):
        total = sums[vertex]
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            total += values[neighbors[edge]]
        sums[vertex] = total


@njit(**JIT)
def _add_weighted(rank, size, offsets, neighbors, weights, values, sums):
    """Writes sums, the own part of the vertices; parts have about as many edges."""
    first = np.searchsorted(offsets, part(rank, size, offsets[-1])[0]) if rank else 0
    last = np.searchsorted(offsets, part(rank, size, offsets[-1])[1]) if rank + 1 < size else offsets.size - 1
    for vertex in range(first, last):
        total = sums[vertex]
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            total += values[neighbors[edge]] * weights[edge]
        sums[vertex] = total
