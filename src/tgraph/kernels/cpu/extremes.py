"""The smallest and the largest element of an array, and how many are NaN, in one pass on all threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array


def extremes(values: Array) -> tuple[Any, Any, int]:
    """Return the smallest and the largest element that is not NaN, and the number of NaN.

    Needs at least one element. Where all are NaN, both are NaN.

    >>> extremes(np.array([3.0, np.nan, -1.0]))
    (-1.0, 3.0, 1)
    """
    values = np.ascontiguousarray(values)
    size = team_size(values.size)
    found = np.full((size, 2), values[0], values.dtype)
    num_nan = np.zeros(size, np.int64)
    run_team(_find_extremes, size, values, found, num_nan)
    lows, highs = found[:, 0], found[:, 1]
    if values.dtype.kind == "f":
        return np.fmin.reduce(lows).item(), np.fmax.reduce(highs).item(), int(num_nan.sum())
    return lows.min().item(), highs.max().item(), 0


@njit(**JIT)
def _find_extremes(rank, size, values, found, num_nan):
    """Writes found[rank] and num_nan[rank]."""
    first, last = part(rank, size, values.size)
    low, high, bad = values[first], values[first], 0
    for i in range(first, last):
        value = values[i]
        low = value if value < low or low != low else low
        high = value if value > high or high != high else high
        bad += value != value
    found[rank, 0], found[rank, 1], num_nan[rank] = low, high, bad
