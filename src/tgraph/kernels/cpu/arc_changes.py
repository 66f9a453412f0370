"""Batches of changes on rows with gaps: first every change is looked up, then rows that get new cells are written."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.gapped_layout import DEAD, ORDERED, START, UNIT, USED, dead_bit, size_class, units_for
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT

SHORT_TAIL = 16  # cells
CHUNK = 128  # rows that a thread takes at a time
GROUP = 16  # mutations that are looked up together

DELETE, CHANGE, INSERT = 0, 1, 2  # in this order within a batch
DONE, EXISTS, MISSING = 0, 1, 2  # what became of a mutation
NOWHERE = np.int64(-1)


@njit(**JIT)
def units_to_move(sources, rows, kinds, places, capacities):
    """Return how many units rows may need that have too small a gap for all that is inserted."""
    needed = 0
    for r in range(rows.size - 1):
        u, inserted = sources[rows[r]], 0
        for i in range(rows[r], rows[r + 1]):
            inserted += kinds[i] == INSERT
        cells = np.int64(places[u, USED]) + inserted
        if inserted and cells > np.int64(capacities[u]) * UNIT:
            needed += size_class(units_for(cells))[1]
    return needed


@njit(**JIT)
def search_rows(
    rank, size, taken, sources, targets, weights, kinds, rows, multi_edges, replace, writes, outcomes, gone, came,
    old_weights, new_arcs, places, place_words, cells, cell_weights,
):  # fmt: skip
    """Find what each mutation means, mark deleted neighbours, write weights, and count the arcs that need a cell.

    `came` is 1 where an arc is new, and 3 where it is new and needs a cell. One thread per row.
    """
    found, sizes = np.empty(2 * GROUP, np.int64), np.empty(2 * GROUP, np.int64)
    while True:
        first = fetch_add(taken, 0, CHUNK)
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
                    _look_up(
                        begin, looked_up, sources, targets, places, place_words, cells, cell_weights, found, sizes
                    )  # fmt: skip
                u, in_order, in_tail = sources[i], found[2 * (i - begin)], found[2 * (i - begin) + 1]
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
                    count += came[k] == 3
                i = end
            new_arcs[r] = count


@njit(**JIT)
def _look_up(begin, end, sources, targets, places, place_words, cells, cell_weights, found, sizes):
    """Find where the targets of mutations are, or would be, in both parts of their rows.

    All searches take a step together, and each asks for the cell of its next one: nobody waits for memory alone.
    `found [2 * GROUP]` has two places per mutation, `sizes` is scratch.
    """
    dead, longest = dead_bit(cells), 0
    for k in range(end, min(end + GROUP, sources.size)):
        prefetch(place_words, np.uint64(sources[k]) * np.uint64(4))
    for k in range(begin, end):
        u, lane = sources[k], 2 * (k - begin)
        start, ordered = np.int64(places[u, START]) * UNIT, np.int64(places[u, ORDERED])
        found[lane], found[lane + 1] = start, start + ordered
        sizes[lane], sizes[lane + 1] = ordered, np.int64(places[u, USED]) - ordered
        for one in range(lane, lane + 2):
            longest = max(longest, sizes[one])
            prefetch(cells, np.uint64(found[one] + max(sizes[one] // 2 - 1, 0)))
    while longest > 0:
        for lane in range(2 * (end - begin)):
            size = sizes[lane]
            if size > 0:
                half = (size + 1) // 2
                is_below = (cells[found[lane] + half - 1] & ~dead) < targets[begin + lane // 2]
                found[lane] += half if is_below else 0
                sizes[lane] = size - half if is_below else half - 1
                prefetch(cells, np.uint64(found[lane] + max((sizes[lane] + 1) // 2 - 1, 0)))
        longest //= 2
    if cell_weights.size:
        for lane in range(0, 2 * (end - begin), 2):
            prefetch(cell_weights, np.uint64(found[lane]))


@njit(**JIT)
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
        came[chosen] = 1 if cell >= 0 else 3
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


@njit(**JIT)
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
            came[k] = 3
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


@njit(**JIT)
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


@njit(**JIT)
def find_blocks(sources, rows, new_arcs, places, capacities, cells, free, end, moves):
    """Choose a block for every row that has no room for its new arcs; `moves` gets 1 + its old start and its units."""
    for r in range(rows.size - 1):
        u = sources[rows[r]]
        needed = np.int64(places[u, USED]) - np.int64(places[u, DEAD]) + new_arcs[r]
        if not new_arcs[r] or needed <= np.int64(capacities[u]) * UNIT:
            continue
        number, units = size_class(units_for(needed))
        moves[r, 0], moves[r, 1] = np.int64(places[u, START]) + 1, capacities[u]
        if free[number]:
            start = free[number] - 1
            free[number] = np.int64(cells[start * UNIT]) | (np.int64(cells[start * UNIT + 1]) << 32)
        else:
            start = end[0]
            end[0] += units
        places[u, START], capacities[u] = start, units


@njit(**JIT)
def leave_blocks(moves, cells, free):
    """Put the blocks that rows have left into the lists of free ones."""
    for r in range(moves.shape[0]):
        if moves[r, 1]:
            start, number = moves[r, 0] - 1, size_class(moves[r, 1])[0]
            cells[start * UNIT] = cells.dtype.type(free[number] & 0xFFFFFFFF)
            cells[start * UNIT + 1] = cells.dtype.type(free[number] >> 32)
            free[number] = start + 1


@njit(**JIT)
def write_rows(
    rank, size, taken, sources, targets, weights, kinds, rows, came, new_arcs, moves, places, capacities, cells,
    cell_weights,
):  # fmt: skip
    """Write new arcs into the tails of their rows, and rows anew that move or need it. One thread per row."""
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= rows.size - 1:
            return
        for r in range(first, min(first + CHUNK, rows.size - 1)):
            u, count = sources[rows[r]], new_arcs[r]
            start, used = np.int64(places[u, START]) * UNIT, np.int64(places[u, USED])
            ordered, deleted = np.int64(places[u, ORDERED]), np.int64(places[u, DEAD])
            longest = max(SHORT_TAIL, 8 * np.int64(sqrt(ordered)))
            fits = used + count <= np.int64(capacities[u]) * UNIT and used - ordered + count <= longest
            if not moves[r, 0] and fits and deleted <= used // 4 + UNIT:
                if count:
                    _merge_into_tail(start + ordered, start + used, count, rows[r + 1] - 1, targets, weights, came,
                                     cells, cell_weights)  # fmt: skip
                    places[u, USED] += count
                continue
            if moves[r, 0]:
                old, source, source_weights = (moves[r, 0] - 1) * UNIT, cells, cell_weights
            else:
                old, source = 0, cells[start : start + used].copy()
                source_weights = cell_weights[start : start + used].copy() if weights.size else cell_weights
            _merge_row(old, ordered, used, source, source_weights, rows[r], rows[r + 1], targets, weights, came, start,
                       cells, cell_weights)  # fmt: skip
            total = used - deleted + count
            places[u, USED], places[u, ORDERED], places[u, DEAD] = total, total, 0


@njit(**JIT)
def _merge_into_tail(first, last, count, k, targets, weights, came, cells, cell_weights):
    """Merge the new arcs among the mutations up to k into the ordered cells first to last, from the back."""
    dead = dead_bit(cells)
    e, to = last - 1, last + count - 1
    while count > 0:
        if came[k] != 3:
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


@njit(**JIT)
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
        while k < k_end and came[k] != 3:
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
