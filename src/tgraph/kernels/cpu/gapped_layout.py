"""How rows with gaps lie in memory: blocks of cells of a few sizes.

There are four sizes between a power of two and the next, so that a block that was left can be used again. Starts are
multiples of `UNIT` cells. A deleted neighbour has the highest bit of its cell set.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import BORROWING, part

UNIT = 4  # cells
NUM_SIZES = 128  # of blocks
START, USED, ORDERED, DEAD = 0, 1, 2, 3  # columns of `places`


@njit(**BORROWING)
def size_class(units):
    """Return the number and the size of the smallest kind of block that has `units` (1 or more)."""
    if units <= 8:
        return units - 1, units
    step, number = 2, 8
    size = 10
    while size < units:
        number += 1
        if size == step * 8:
            step *= 2
        size += step
    return number, size


@njit(**BORROWING)
def units_for(num_cells):
    """Return how many units a row of so many cells gets, its gap included."""
    return (num_cells + (num_cells >> 4) + UNIT - 1) // UNIT


@njit(**BORROWING)
def lay_out(offsets, places, capacities):
    """Write the places of rows that begin anew, one behind the other; return how many units they take."""
    next_unit = 0
    for u in range(places.shape[0]):
        size = np.int64(offsets[u + 1] - offsets[u])
        units = 0
        if size:
            units = size_class(units_for(size))[1]
        places[u, START], places[u, USED], places[u, ORDERED], places[u, DEAD] = next_unit, size, size, 0
        capacities[u] = units
        next_unit += units
    return next_unit


@njit(**BORROWING)
def spread_rows(rank, size, offsets, neighbors, weights, places, cells, cell_weights):
    """Copy compressed rows to their places."""
    first, last = part(rank, size, places.shape[0])
    for u in range(first, last):
        start = np.uint64(places[u, START]) * np.uint64(UNIT)
        for k in range(offsets[u + 1] - offsets[u]):
            cells[start + k] = neighbors[offsets[u] + k]
            if weights.size:
                cell_weights[start + k] = weights[offsets[u] + k]


@njit(**BORROWING)
def copy_rows(rank, size, places, cells, cell_weights, offsets, neighbors, weights):
    """Write every row without gaps. One thread per row."""
    first, last = part(rank, size, places.shape[0])
    for u in range(first, last):
        copy_row(u, places, cells, cell_weights, offsets[u], neighbors, weights)


@njit(**BORROWING)
def copy_row(u, places, cells, cell_weights, to, neighbors, weights):
    """Write a row without deleted ones from `to` on, its two parts merged; `weights` may be empty."""
    dead = dead_bit(cells)
    start = np.uint64(places[u, START]) * np.uint64(UNIT)
    a, a_end = start, start + np.uint64(places[u, ORDERED])
    b, b_end = a_end, start + np.uint64(places[u, USED])
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and (cells[a] & ~dead) <= (cells[b] & ~dead)):
            e, a = a, a + np.uint64(1)
        else:
            e, b = b, b + np.uint64(1)
        if not cells[e] & dead:
            neighbors[to] = cells[e]
            if weights.size:
                weights[to] = cell_weights[e]
            to += np.uint64(1)


@njit(**BORROWING)
def dead_bit(cells):
    """Return the bit of a deleted neighbour, in the type of cells."""
    return cells.dtype.type(1) << cells.dtype.type(cells.itemsize * 8 - 1)
