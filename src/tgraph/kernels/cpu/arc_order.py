"""The order of a batch of arcs by source, then target: a radix sort, since a batch is small against the vertices."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array

DIGIT_BITS = 11
NUM_DIGITS = 1 << DIGIT_BITS


def arc_order(sources: Array, targets: Array, num_vertices: int) -> Array:
    """Return the positions of arcs in ascending order of source and target, `[N] int64`. Stable, deterministic.

    >>> arc_order(np.array([2, 0, 2, 0]), np.array([1, 5, 0, 5]), 6).tolist()
    [1, 3, 2, 0]
    """
    num_bits = max(num_vertices - 1, 1).bit_length()
    return _radix_order(as_unsigned(sources), as_unsigned(targets), -(-num_bits // DIGIT_BITS))


@njit(**JIT)
def _radix_order(sources, targets, num_digits):
    order, moved = np.arange(sources.size), np.empty(sources.size, np.int64)
    for keys in (targets, sources):
        for digit in range(num_digits):
            shift = np.uint64(digit * DIGIT_BITS)
            places = np.zeros(NUM_DIGITS + 1, np.int64)
            for key in keys:
                places[((np.uint64(key) >> shift) & np.uint64(NUM_DIGITS - 1)) + np.uint64(1)] += 1
            for value in range(NUM_DIGITS):
                places[value + 1] += places[value]
            for position in order:
                value = (np.uint64(keys[position]) >> shift) & np.uint64(NUM_DIGITS - 1)
                moved[places[value]] = position
                places[value] += 1
            order, moved = moved, order
    return order
