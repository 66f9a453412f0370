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
