"""Kernels of the hot subgraph: which rows are worth a place near, and rows in their places.

Rows are read from `places`, `cells` and `cell_weights` of `GappedRows` (far). A row that has a place near has an entry of
`near_places`: where it begins in `near_cells`, how many neighbours are there (`UNFILLED` until they are copied), and for
how many there is room. `slots` says for every vertex 1 + its entry, 0 = it has no place; `owners` says whose an entry is.

`counts` holds for every vertex how often its row was read, a byte per batch: the lowest one is that of the batch that
goes on, the others those of the last three.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.gapped_rows import DEAD, START, UNIT, USED, copy_row, dead_bit
from tgraph.kernels.cpu.team import JIT

BEGIN, SIZE, ROOM = 0, 1, 2  # columns of `near_places`
UNFILLED = 0xFFFFFFFF
ROW_BYTES = 20  # what a row with a place needs beside its cells: an entry and its owner
NUM_LEVELS = 2 * 3 * 255 + 2
FREE = np.int64(-1)  # an entry without owner


# --- while a program reads -------------------------------------------------------------------------------------------


@njit(**JIT)
def note_read(counts, v):
    """Count a read of a row. Two threads at once may count one; a full byte stays as it is."""
    count = counts[v]
    if count & np.uint32(255) != np.uint32(255):
        counts[v] = count + np.uint32(1)


@njit(**JIT)
def open_row(v, fills, slots, places, cells, cell_weights, near_places, near_cells, near_weights):
    """Return whether a row is near, where it begins and ends there or far, and how many cells were copied for that.

    With `fills`, a row that has a place and was not copied yet is copied. One thread per row between two barriers.
    """
    begin, used = np.uint64(places[v, START]) * np.uint64(UNIT), np.uint64(places[v, USED])
    slot = slots[v]
    if slot == 0:
        return False, begin, begin + used, np.int64(0)
    entry, copied = slot - 1, np.int64(0)
    to = np.uint64(near_places[entry, BEGIN])
    if near_places[entry, SIZE] == UNFILLED:
        size = places[v, USED] - places[v, DEAD]
        if not fills or size > near_places[entry, ROOM]:
            return False, begin, begin + used, np.int64(0)
        copy_row(v, places, cells, cell_weights, to, near_cells, near_weights)
        near_places[entry, SIZE] = size
        copied = np.int64(used)
    return True, to, to + np.uint64(near_places[entry, SIZE]), copied


# --- which rows are worth it -----------------------------------------------------------------------------------------


@njit(**JIT)
def room_for(size):
    """Return how many cells a row of so many neighbours gets; the few that are left over take new ones."""
    return size + ((size + 15) >> 5)


@njit(**JIT)
def _level_and_room(v, counts, slots, places, near_places, most_cells):
    """Return how much a row is worth a place, 0 = not at all, and the cells it takes.

    What counts is how often it was read in the last three batches; among equals, whether it is near already.
    """
    size = np.int64(places[v, USED]) - np.int64(places[v, DEAD])
    room = room_for(size)
    is_filled = False
    if slots[v]:
        entry = slots[v] - 1
        room = np.int64(near_places[entry, ROOM])
        is_filled = near_places[entry, SIZE] != UNFILLED
    count = counts[v]
    hotness = (count >> 8) & 255
    hotness += (count >> 16) & 255
    hotness += count >> 24
    level = 2 * np.int64(hotness) + is_filled
    return (0 if size == 0 or room > most_cells else level), room


@njit(**JIT)
def add_levels(counts, slots, places, near_places, most_cells, edge_bytes, level_bytes):
    """Add the bytes of rows to those of their levels. Writes level_bytes."""
    for v in range(counts.size):
        if counts[v] == 0 and slots[v] == 0:
            continue
        level, room = _level_and_room(v, counts, slots, places, near_places, most_cells)
        level_bytes[level] += room * edge_bytes + ROW_BYTES


@njit(**JIT)
def choose_rows(
    side, counts, slots, places, near_places, owners, most_cells, edge_bytes, level, left, freed_cells, wanted
):
    """Take their places from rows that are not worth it, and list those that are and have none.

    Worth it are the rows above `level`, and those of it that fit into the bytes `left`, those with a place first.
    Returns how many are wanted and what is left. Writes slots, owners, freed_cells (per chunk) and wanted.
    """
    num_wanted = 0
    for has_place in (True, False):
        for v in range(counts.size):
            if (slots[v] != 0) != has_place or (counts[v] == 0 and not has_place):
                continue
            reached, room = _level_and_room(v, counts, slots, places, near_places, most_cells)
            is_worth_it = reached > level
            if reached == level and level > 0 and room * edge_bytes + ROW_BYTES <= left:
                left -= room * edge_bytes + ROW_BYTES
                is_worth_it = True
            if has_place and not is_worth_it:
                give_up(v, slots, near_places, owners, most_cells, freed_cells)
            elif is_worth_it and not has_place:
                wanted[num_wanted] = v
                num_wanted += 1
    return num_wanted, left


@njit(**JIT)
def give_up(v, slots, near_places, owners, chunk_cells, freed_cells):
    """Take its place from a row."""
    entry = slots[v] - 1
    freed_cells[near_places[entry, BEGIN] // chunk_cells] += near_places[entry, ROOM]
    owners[entry] = FREE
    slots[v] = 0


# --- places ----------------------------------------------------------------------------------------------------------


@njit(**JIT)
def close_gaps(entries, near_places, near_cells, near_weights, chunk_cells, chunk_ends):
    """Move the rows of some chunks together. `entries` are all of theirs in the order in which they lie.

    `chunk_ends` of these chunks is 0 before. Writes near_places, near_cells, near_weights and chunk_ends.
    """
    for i in range(entries.size):
        entry = entries[i]
        begin, size = np.int64(near_places[entry, BEGIN]), np.int64(near_places[entry, SIZE])
        chunk = begin // chunk_cells
        to, room = chunk * chunk_cells + chunk_ends[chunk], np.int64(near_places[entry, ROOM])
        if size != UNFILLED:
            room = min(room, room_for(size))
            if to != begin:
                for k in range(size):
                    near_cells[to + k] = near_cells[begin + k]
                if near_weights.size:
                    for k in range(size):
                        near_weights[to + k] = near_weights[begin + k]
        near_places[entry, BEGIN], near_places[entry, ROOM] = to, room
        chunk_ends[chunk] += room


@njit(**JIT)
def give_places(side, wanted, slots, places, near_places, owners, free_entries, chunk_cells, chunk_ends):
    """Give wanted rows a place in the first chunk with room for them, beginning with the last one that had it.

    Returns how many of the free entries were used. Writes slots, near_places, owners and chunk_ends.
    """
    used, chunk = 0, 0
    for i in range(wanted.size):
        if used == free_entries.size:
            break
        v = wanted[i]
        room = room_for(np.int64(places[v, USED]) - np.int64(places[v, DEAD]))
        for _ in range(chunk_ends.size):
            if chunk_ends[chunk] + room <= chunk_cells:
                break
            chunk = (chunk + 1) % chunk_ends.size
        if chunk_ends[chunk] + room > chunk_cells:
            continue
        entry = free_entries[used]
        used += 1
        near_places[entry, BEGIN] = chunk * chunk_cells + chunk_ends[chunk]
        near_places[entry, SIZE], near_places[entry, ROOM] = UNFILLED, room
        owners[entry], slots[v] = 2 * v + side, entry + 1
        chunk_ends[chunk] += room
    return used


# --- a batch ---------------------------------------------------------------------------------------------------------


@njit(**JIT)
def change_rows(
    gone_from, gone_to, gone_weights, new_from, new_to, new_weights, slots, places, near_places, near_cells,
    near_weights, owners, chunk_cells, freed_cells,
):  # fmt: skip
    """Do to the rows near what a batch did to those far: take arcs out and merge new ones in; both lists are ordered.

    A row with too little room loses its place. Reads nothing far. Writes near_places, near_cells, near_weights, slots,
    owners and freed_cells.
    """
    i, k = 0, 0
    while i < gone_from.size or k < new_from.size:
        takes_gone = k == new_from.size or (i < gone_from.size and gone_from[i] <= new_from[k])
        u = gone_from[i] if takes_gone else new_from[k]
        i_end, k_end = i, k
        while i_end < gone_from.size and gone_from[i_end] == u:
            i_end += 1
        while k_end < new_from.size and new_from[k_end] == u:
            k_end += 1
        if slots[u]:
            entry = slots[u] - 1
            begin, room = np.int64(near_places[entry, BEGIN]), np.int64(near_places[entry, ROOM])
            size = np.int64(near_places[entry, SIZE])
            is_filled = size != UNFILLED
            if is_filled:
                size = _take_out(begin, size, i, i_end, gone_to, gone_weights, near_cells, near_weights)
            else:
                size = np.int64(places[u, USED]) - np.int64(places[u, DEAD]) - (k_end - k)
            if size < 0 or size + k_end - k > room:
                give_up(u, slots, near_places, owners, chunk_cells, freed_cells)
            elif is_filled:
                _merge_in(begin, size, k, k_end, new_to, new_weights, near_cells, near_weights)
                near_places[entry, SIZE] = size + k_end - k
        i, k = i_end, k_end


@njit(**JIT)
def _take_out(begin, size, i, i_end, gone_to, gone_weights, near_cells, near_weights):
    """Take arcs out of a row; returns its size then, -1 if one of them is not there."""
    dead = dead_bit(near_cells)
    for g in range(i, i_end):
        low, high = begin, begin + size
        while low < high:
            middle = (low + high) // 2
            if (near_cells[middle] & ~dead) < gone_to[g]:
                low = middle + 1
            else:
                high = middle
        while low < begin + size and (near_cells[low] & ~dead) == gone_to[g]:
            is_it = not near_cells[low] & dead
            if is_it and near_weights.size:
                weight, gone = near_weights[low], gone_weights[g]
                is_it = weight == gone or (weight != weight and gone != gone)
            if is_it:
                break
            low += 1
        if low == begin + size or (near_cells[low] & ~dead) != gone_to[g]:
            return np.int64(-1)
        near_cells[low] |= dead
    if i == i_end:
        return size
    to = begin
    for e in range(begin, begin + size):
        if not near_cells[e] & dead:
            near_cells[to] = near_cells[e]
            if near_weights.size:
                near_weights[to] = near_weights[e]
            to += 1
    return to - begin


@njit(**JIT)
def _merge_in(begin, size, k, k_end, new_to, new_weights, near_cells, near_weights):
    """Merge new arcs into a row that has room for them, from the back."""
    e, to = begin + size - 1, begin + size + (k_end - k) - 1
    k_end -= 1
    while k_end >= k:
        if e >= begin and near_cells[e] > new_to[k_end]:
            near_cells[to] = near_cells[e]
            if near_weights.size:
                near_weights[to] = near_weights[e]
            e -= 1
        else:
            near_cells[to] = new_to[k_end]
            if near_weights.size:
                near_weights[to] = new_weights[k_end]
            k_end -= 1
        to -= 1
