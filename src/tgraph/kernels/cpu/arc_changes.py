"""Batches of changes on rows with gaps: every change is looked up, and done where the row has room for it.

A row is changed by one thread, from its first mutation to its last, while its cells are in the cache. A row that needs
a larger block gets it at once where there is one thread; several leave such rows to `move_rows`, when all others are
done. Then one thread lists what has changed, in the same call: for a small batch calls cost more than the work.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.arc_search import GROUP, look_up
from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.gapped_layout import DEAD, ORDERED, START, UNIT, USED, dead_bit, size_class, units_for
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.row_writes import NEW_CELL, move_row, write_row
from tgraph.kernels.cpu.team import BORROWING, JIT

CHUNK = 128  # rows that a thread takes at a time

DELETE, CHANGE, INSERT = 0, 1, 2  # in this order within a batch
DONE, EXISTS, MISSING = 0, 1, 2  # what became of a mutation
NOWHERE = np.int64(-1)
TAKEN, NUM_GONE, NUM_NEW, NUM_MOVERS, NUM_UNITS = 8, 16, 24, 32, 40  # in `shared`, whose first word is the barrier's


@njit(**JIT)
def change_rows(
    rank, size, shared, sources, targets, weights, kinds, order, rows, multi_edges, replace, writes, outcomes, gone,
    came, old_weights, new_units, movers, places, place_words, capacities, cells, cell_weights, free, end, as_given,
    new_ends, new_weights,
):  # fmt: skip
    """Find what each mutation means and, if it `writes`, do it: mark deleted neighbours, write weights and new arcs.

    `came` is 1 where an arc is new, and `NEW_CELL` where it needs a cell. `new_units[r]` is the size of the block that
    a row needs, whose new arcs are not written yet; 0 = the row is done. One thread per row; then rank 0 lists.
    """
    found, sizes = np.empty(2 * GROUP, np.uint64), np.empty(2 * GROUP, np.uint64)
    searching = np.empty(2 * GROUP, np.int64)
    _change_all(
        shared, sources, targets, weights, kinds, rows, multi_edges, replace, writes, size == 1, outcomes, gone, came,
        old_weights, new_units, places, place_words, capacities, cells, cell_weights, free, end, found, sizes,
        searching,
    )  # fmt: skip
    meet(shared, 1, size)
    if rank == 0:
        _list_changes(
            shared, sources, targets, weights, order, outcomes, gone, came, old_weights, as_given, new_ends, new_weights
        )
        _list_movers(shared, new_units, movers)


@njit(**BORROWING)
def _change_all(
    shared, sources, targets, weights, kinds, rows, multi_edges, replace, writes, is_alone, outcomes, gone, came,
    old_weights, new_units, places, place_words, capacities, cells, cell_weights, free, end_of_cells, found, sizes,
    searching,
):  # fmt: skip
    """Take rows until all are taken."""
    while True:
        first = fetch_add(shared, TAKEN, CHUNK)
        if first >= rows.size - 1:
            return
        last = min(first + CHUNK, rows.size - 1)
        begin = looked_up = rows[first]
        for r in range(first, last):
            i, count = rows[r], 0
            while i < rows[r + 1]:
                end = i + 1
                while end < rows[r + 1] and targets[end] == targets[i]:
                    end += 1
                if i >= looked_up:
                    begin, looked_up = i, min(i + GROUP, rows[last])
                    look_up(
                        begin, looked_up, sources, targets, places, place_words, cells, cell_weights, found, sizes,
                        searching,
                    )  # fmt: skip
                    if writes:
                        _ask_for_gaps(begin, looked_up, sources, kinds, places, capacities, cells, cell_weights)
                u = sources[i]
                in_order, in_tail = np.int64(found[2 * (i - begin)]), np.int64(found[2 * (i - begin) + 1])
                if multi_edges:
                    _change_parallel(
                        u, i, end, in_order, in_tail, targets, weights, kinds, writes, outcomes, gone, came,
                        old_weights, places, cells, cell_weights,
                    )  # fmt: skip
                else:
                    _change_single(
                        u, i, end, in_order, in_tail, targets, weights, kinds, replace, writes, outcomes, gone, came,
                        old_weights, places, cells, cell_weights,
                    )  # fmt: skip
                for k in range(i, end):
                    count += came[k] == NEW_CELL
                i = end
            if writes:
                units = _finish_row(
                    u, count, rows[r], rows[r + 1], targets, weights, came, places, capacities, cells, cell_weights
                )  # fmt: skip
                if units and not (is_alone and move_row(
                    u, units, count, rows[r], rows[r + 1], targets, weights, came, places, capacities, cells,
                    cell_weights, free, end_of_cells,
                )):  # fmt: skip
                    new_units[r] = units


@njit(**BORROWING)
def _ask_for_gaps(begin, end, sources, kinds, places, capacities, cells, cell_weights):
    """Ask for the cells behind rows in which something is inserted."""
    for k in range(begin, end):
        if kinds[k] == INSERT:
            u = np.uint64(sources[k])
            gap = np.uint64(places[u, START]) * np.uint64(UNIT) + np.uint64(places[u, USED])
            prefetch(capacities, u)
            prefetch(cells, gap)
            if cell_weights.size:
                prefetch(cell_weights, gap)


@njit(**BORROWING, forceinline=True)
def _finish_row(u, count, k, k_end, targets, weights, came, places, capacities, cells, cell_weights):
    """Write the new arcs of a row if there is room in its block; otherwise return how many units it needs."""
    used, deleted = np.int64(places[u, USED]), np.int64(places[u, DEAD])
    needed = used - deleted + count
    if count and needed > np.int64(capacities[u]) * UNIT:
        return size_class(units_for(needed))[1]
    if count or deleted > used // 4 + UNIT:
        write_row(u, NOWHERE, count, k, k_end, targets, weights, came, places, capacities, cells, cell_weights)
    return 0


@njit(**BORROWING, forceinline=True)
def _change_single(
    u, i, end, in_order, in_tail, targets, weights, kinds, replace, writes, outcomes, gone, came, old_weights, places,
    cells, cell_weights,
):  # fmt: skip
    """Do the mutations i to end of one arc, which exists once or not at all, in one of two places."""
    dead, target = dead_bit(cells), targets[i]
    start = np.int64(places[u, START]) * UNIT
    cell = NOWHERE  # of the arc, alive or deleted
    is_there = False
    for is_tail in range(2):
        last = start + np.int64(places[u, USED] if is_tail else places[u, ORDERED])
        found = in_tail if is_tail else in_order
        if found < last and (cells[found] & ~dead) == target:
            cell, is_there = found, not cells[found] & dead
            if is_there:
                break
    was_there, chosen = is_there, NOWHERE  # chosen: the mutation whose weight the arc has in the end
    for k in range(i, end):
        if kinds[k] == INSERT:
            if is_there:
                outcomes[k] = EXISTS
            if not is_there or replace:
                is_there, chosen = True, k
        elif not is_there:
            outcomes[k] = MISSING
        elif kinds[k] == DELETE:
            is_there, chosen = False, NOWHERE
        else:
            chosen = k
    weighted = weights.size > 0
    changes_weight = weighted and is_there and was_there and chosen >= 0 and cell_weights[cell] != weights[chosen]
    if was_there and (not is_there or changes_weight):
        gone[i] = 1
        if weighted:
            old_weights[i] = cell_weights[cell]
    if is_there and (not was_there or changes_weight):
        came[chosen] = 1 if cell >= 0 else NEW_CELL
    if not writes or cell < 0:
        return
    if was_there and not is_there:
        cells[cell] |= dead
        places[u, DEAD] += 1
    elif is_there and not was_there:
        cells[cell] &= ~dead
        places[u, DEAD] -= 1
    if weighted and is_there and chosen >= 0:
        cell_weights[cell] = weights[chosen]


@njit(**BORROWING, forceinline=True)
def _change_parallel(
    u, i, end, in_order, in_tail, targets, weights, kinds, writes, outcomes, gone, came, old_weights, places, cells,
    cell_weights,
):  # fmt: skip
    """Do the deletions and insertions i to end of one arc, which may exist several times: the lightest goes first."""
    dead, target = dead_bit(cells), targets[i]
    start = np.int64(places[u, START]) * UNIT
    middle, stop = start + np.int64(places[u, ORDERED]), start + np.int64(places[u, USED])
    deleted = 0
    for k in range(i, end):
        if kinds[k] == INSERT:
            came[k] = NEW_CELL
            continue
        lightest, num_alive = _lightest(cells, cell_weights, in_order, middle, target, dead, NOWHERE)
        lightest, more = _lightest(cells, cell_weights, in_tail, stop, target, dead, lightest)
        if num_alive + more - (0 if writes else deleted) <= 0:
            outcomes[k] = MISSING
            continue
        deleted += 1
        if writes:
            gone[k] = 1
            if weights.size:
                old_weights[k] = cell_weights[lightest]
            cells[lightest] |= dead
            places[u, DEAD] += 1


@njit(**BORROWING)
def _lightest(cells, cell_weights, e, last, target, dead, best):
    """Return the place of the lightest arc to a target, `best` among them, and how many there are from e on."""
    count = 0
    while e < last and (cells[e] & ~dead) == target:
        if not cells[e] & dead:
            count += 1
            if best < 0:
                best = e
            elif cell_weights.size:
                weight, least = cell_weights[e], cell_weights[best]
                if weight < least or (least != least and weight == weight):
                    best = e
        e += 1
    return best, count


@njit(**BORROWING)
def _list_changes(
    shared, sources, targets, weights, order, outcomes, gone, came, old_weights, as_given, new_ends, new_weights
):
    """Write outcomes as mutations were given, and arcs that are gone (rows 0, 1 of `new_ends`) and new (2, 3)."""
    num_gone = num_new = 0
    for k in range(gone.size):
        as_given[order[k]] = outcomes[k]
        if gone[k]:
            new_ends[0, num_gone], new_ends[1, num_gone] = sources[k], targets[k]
            if weights.size:
                new_weights[0, num_gone] = old_weights[k]
            num_gone += 1
        if came[k]:
            new_ends[2, num_new], new_ends[3, num_new] = sources[k], targets[k]
            if weights.size:
                new_weights[1, num_new] = weights[k]
            num_new += 1
    shared[NUM_GONE], shared[NUM_NEW] = num_gone, num_new


@njit(**BORROWING)
def _list_movers(shared, new_units, movers):
    """Write which rows need another block."""
    num_movers = num_units = 0
    for r in range(new_units.size):
        if new_units[r]:
            movers[num_movers] = r
            num_movers += 1
            num_units += new_units[r]
    shared[NUM_MOVERS], shared[NUM_UNITS] = num_movers, num_units


@njit(**JIT)
def count_outcomes(outcomes, kinds, first, last):
    """Return how many mutations before `first` were done, and of those to `last`: per kind, existing and missing."""
    counts = np.zeros(6, np.int64)
    for k in range(last):
        if k < first:
            counts[0] += outcomes[k] == DONE
        elif outcomes[k] == DONE:
            counts[1 + kinds[k]] += 1
        else:
            counts[3 + outcomes[k]] += 1
    return counts
