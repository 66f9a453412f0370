"""Rows with gaps, written: new arcs into tails, whole rows anew, and rows that move to a larger block.

Free blocks of a size are a list: `free` has 1 + the start of the first, and the first cells of each lead to the next.
`end` is where the units begin that were never used.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.gapped_layout import DEAD, ORDERED, START, UNIT, USED, dead_bit, size_class
from tgraph.kernels.cpu.team import BORROWING, JIT

SHORT_TAIL = 16  # cells
CHUNK = 16  # rows that a thread takes at a time
NEW_CELL = 3  # how an arc comes that has no cell yet
TAKEN = 8  # in `shared`, whose first word is the barrier's


@njit(**BORROWING)
def move_rows(
    rank, size, shared, sources, targets, weights, rows, came, movers, new_units, moves, places, capacities, cells,
    cell_weights, free, end,
):  # fmt: skip
    """Write the rows that need another block, with their new arcs, into one.

    Rank 0 gives blocks out and, when all rows are written, takes back those that were left; one thread per row.
    """
    if rank == 0:
        _find_blocks(sources, rows, movers, new_units, places, capacities, cells, free, end, moves)
    meet(shared, 1, size)
    while True:
        first = fetch_add(shared, TAKEN, CHUNK)
        if first >= movers.size:
            break
        for m in range(first, min(first + CHUNK, movers.size)):
            k, k_end, count = rows[movers[m]], rows[movers[m] + 1], 0
            for one in range(k, k_end):
                count += came[one] == NEW_CELL
            write_row(
                sources[k], moves[m, 0] * UNIT, count, k, k_end, targets, weights, came, places, capacities, cells,
                cell_weights,
            )  # fmt: skip
    meet(shared, 2, size)
    if rank == 0:
        _leave_blocks(moves, cells, free)


@njit(**BORROWING)
def _find_blocks(sources, rows, movers, new_units, places, capacities, cells, free, end, moves):
    """Choose a block for every row that needs one; `moves` gets its old start and units."""
    for m in range(movers.size):
        u = sources[rows[movers[m]]]
        moves[m, 0], moves[m, 1] = places[u, START], capacities[u]
        _give_block(u, new_units[movers[m]], places, capacities, cells, free, end)


@njit(**BORROWING)
def _leave_blocks(moves, cells, free):
    """Put the blocks that rows have left into the lists of free ones."""
    for m in range(moves.shape[0]):
        _leave_block(moves[m, 0], moves[m, 1], cells, free)


@njit(**BORROWING, forceinline=True)
def _give_block(u, units, places, capacities, cells, free, end):
    """Give a row a block of so many units, which is the size of one; there must be one, or room behind all."""
    number = size_class(units)[0]
    if free[number]:
        start = free[number] - 1
        free[number] = np.int64(cells[start * UNIT]) | (np.int64(cells[start * UNIT + 1]) << 32)
    else:
        start = end[0]
        end[0] += units
    places[u, START], capacities[u] = start, units


@njit(**BORROWING, forceinline=True)
def _leave_block(start, units, cells, free):
    """Put a block into the list of free ones; one of 0 units is none."""
    if units:
        number = size_class(units)[0]
        cells[start * UNIT] = cells.dtype.type(free[number] & 0xFFFFFFFF)
        cells[start * UNIT + 1] = cells.dtype.type(free[number] >> 32)
        free[number] = start + 1


@njit(**BORROWING)
def move_row(u, units, count, k, k_end, targets, weights, came, places, capacities, cells, cell_weights, free, end):
    """Write a row with its new arcs into a larger block, and say whether there is one. One thread does all rows."""
    if not free[size_class(units)[0]] and (end[0] + units) * UNIT > cells.size:
        return False
    start, old_units = np.int64(places[u, START]), np.int64(capacities[u])
    _give_block(u, units, places, capacities, cells, free, end)
    write_row(u, start * UNIT, count, k, k_end, targets, weights, came, places, capacities, cells, cell_weights)
    _leave_block(start, old_units, cells, free)
    return True


@njit(**BORROWING, forceinline=True)
def write_row(u, old, count, k, k_end, targets, weights, came, places, capacities, cells, cell_weights):
    """Write the `count` new arcs among the mutations k to k_end into a row, which was at cell `old`; -1 = it stays."""
    start, used = np.int64(places[u, START]) * UNIT, np.int64(places[u, USED])
    ordered, deleted = np.int64(places[u, ORDERED]), np.int64(places[u, DEAD])
    if old < 0:
        longest = max(SHORT_TAIL, 8 * np.int64(sqrt(ordered)))
        fits = used + count <= np.int64(capacities[u]) * UNIT and used - ordered + count <= longest
        if fits and deleted <= used // 4 + UNIT:
            _merge_into_tail(
                start + ordered, start + used, count, k_end - 1, targets, weights, came, cells, cell_weights
            )  # fmt: skip
            places[u, USED] += count
            return
        _merge_in_place(start, ordered, used, k, k_end, targets, weights, came, cells, cell_weights)
    else:
        _merge_row(old, ordered, used, cells, cell_weights, k, k_end, targets, weights, came, start, cells,
                   cell_weights)  # fmt: skip
    total = used - deleted + count
    places[u, USED], places[u, ORDERED], places[u, DEAD] = total, total, 0


@njit(**BORROWING, forceinline=True)
def _merge_into_tail(first, last, count, k, targets, weights, came, cells, cell_weights):
    """Merge the new arcs among the mutations up to k into the ordered cells first to last, from the back."""
    dead = dead_bit(cells)
    e, to = last - 1, last + count - 1
    while count > 0:
        if came[k] != NEW_CELL:
            k -= 1
            continue
        if e >= first and (cells[e] & ~dead) > targets[k]:
            cells[to] = cells[e]
            if weights.size:
                cell_weights[to] = cell_weights[e]
            e -= 1
        else:
            cells[to] = targets[k]
            if weights.size:
                cell_weights[to] = weights[k]
            k -= 1
            count -= 1
        to -= 1


@njit(**JIT, _nrt=True)
def _merge_in_place(start, ordered, used, k, k_end, targets, weights, came, cells, cell_weights):
    """Write a row anew where it is, from a copy."""
    source = cells[start : start + used].copy()
    source_weights = cell_weights[start : start + used].copy() if weights.size else cell_weights
    _merge_row(
        0, ordered, used, source, source_weights, k, k_end, targets, weights, came, start, cells, cell_weights
    )  # fmt: skip


@njit(**BORROWING)
def _merge_row(
    old, ordered, used, source, source_weights, k, k_end, targets, weights, came, to, cells, cell_weights
):  # fmt: skip
    """Write the two parts of a row, without what is deleted, and its new arcs among the mutations k to k_end."""
    dead = dead_bit(cells)
    a, a_end, b, b_end = old, old + ordered, old + ordered, old + used
    while True:
        while a < a_end and source[a] & dead:
            a += 1
        while b < b_end and source[b] & dead:
            b += 1
        while k < k_end and came[k] != NEW_CELL:
            k += 1
        takes_a = a < a_end and (b == b_end or source[a] <= source[b])
        e = a if takes_a else b
        if k < k_end and (e == b_end or targets[k] < source[e]):
            cells[to] = targets[k]
            if weights.size:
                cell_weights[to] = weights[k]
            k += 1
        elif e < b_end:
            cells[to] = source[e]
            if weights.size:
                cell_weights[to] = source_weights[e]
            if takes_a:
                a += 1
            else:
                b += 1
        else:
            return
        to += 1
