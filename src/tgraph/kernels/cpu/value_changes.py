"""How much values differ, in one pass and without arrays in between. One thread."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT


@njit(**JIT)
def add_up(values):
    """Return the sum of the absolute values."""
    total = 0.0
    for i in range(values.size):
        total += abs(values[i])
    return total


@njit(**JIT)
def list_changed(vertices, old, values):
    """Return the vertices whose value is not what it was, as `[N] int64`, with old and new value. NaN equals NaN."""
    found = np.empty(vertices.size, np.int64)
    before, now = np.empty_like(old), np.empty_like(old)
    count = 0
    for i in range(vertices.size):
        new = values[vertices[i]]
        if old[i] != new and (old[i] == old[i] or new == new):
            found[count], before[count], now[count] = vertices[i], old[i], new
            count += 1
    return found[:count], before[:count], now[:count]


@njit(**JIT)
def find_changed(before, now, threshold):
    """Return the places at which values differ by more than the threshold, ascending."""
    count = 0
    for i in range(now.size):
        count += abs(now[i] - before[i]) > threshold
    places = np.empty(count, np.int64)
    count = 0
    for i in range(now.size):
        if abs(now[i] - before[i]) > threshold:
            places[count] = i
            count += 1
    return places
