"""Kernels of the hot subgraph: copies of rows, and which of them are worth their place.

Rows are read from `places`, `cells` and `cell_weights` of `GappedRows` (far). A row that is near has an entry of
`near_places`: where it begins in `near_cells`, how many neighbours it has, and for how many there is room. `slots` says
for every vertex 1 + its entry, 0 = the row is not near; `is_taken` says which entries are in use. `near_cells` is cut
into chunks, `chunk_ends` says how far each is used, and no row lies in two.

`counts` holds for every vertex how often its row was read, a byte per batch: the lowest one is that of the batch that
goes on, the others those of the last three.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load, store
from tgraph.kernels.cpu.gapped_layout import DEAD, START, UNIT, USED, copy_row, dead_bit
from tgraph.kernels.cpu.team import JIT

BEGIN, SIZE, ROOM = 0, 1, 2  # columns of `near_places`
ROW_BYTES = 13  # what a row needs beside its cells: an entry, and whether it is in use
NUM_LEVELS = 3 * 255 + 2
USED_ENTRIES, CHUNK, CHUNK_CELLS = 0, 8, 16  # words of `pool`
POOL_SIZE = 24


# --- while a program reads -------------------------------------------------------------------------------------------


@njit(**JIT)
def note_read(counts, v):
    """Count a read of a row. Two threads at once may count one; a full byte stays as it is."""
    count = counts[v]
    if count & np.uint32(255) != np.uint32(255):
        counts[v] = count + np.uint32(1)


@njit(**JIT)
def open_row(
    v, copies, slots, places, cells, cell_weights, pool, free_entries, is_taken, chunk_ends, near_places, near_cells,
    near_weights,
):  # fmt: skip
    """Return whether a row is near, where it begins and ends there or far, and how many far cells were copied.

    With `copies`, a row that is not near is copied there first if there is room. One thread per row between barriers.
    """
    copied = np.int64(0)
    if slots[v] == 0 and copies:
        copied = keep_row(v, slots, places, cells, cell_weights, pool, free_entries, is_taken, chunk_ends, near_places,
                          near_cells, near_weights)  # fmt: skip
    if slots[v] == 0:
        begin = np.uint64(places[v, START]) * np.uint64(UNIT)
        return False, begin, begin + np.uint64(places[v, USED]), copied
    entry = slots[v] - 1
    begin = np.uint64(near_places[entry, BEGIN])
    return True, begin, begin + np.uint64(near_places[entry, SIZE]), copied


@njit(**JIT)
def keep_row(
    v, slots, places, cells, cell_weights, pool, free_entries, is_taken, chunk_ends, near_places, near_cells,
    near_weights,
):  # fmt: skip
    """Copy a row that is not near if there is room; returns how many far cells that took. Several threads at once.

    Writes slots, is_taken, near_places, near_cells and near_weights of this row, and by atomics pool and chunk_ends.
    """
    size = np.int64(places[v, USED]) - np.int64(places[v, DEAD])
    room = room_for(size)
    if size <= 0 or room > pool[CHUNK_CELLS] or load(pool, CHUNK) >= chunk_ends.size:
        return np.int64(0)
    place = fetch_add(pool, USED_ENTRIES, 1)
    if place >= free_entries.size:
        return np.int64(0)
    begin = _take_room(room, pool, chunk_ends)
    if begin < 0:
        return np.int64(0)
    entry = free_entries[place]
    copy_row(v, places, cells, cell_weights, np.uint64(begin), near_cells, near_weights)
    near_places[entry, BEGIN], near_places[entry, SIZE], near_places[entry, ROOM] = begin, size, room
    is_taken[entry], slots[v] = True, entry + 1
    return np.int64(places[v, USED])


@njit(**JIT)
def _take_room(room, pool, chunk_ends):
    """Return where so many cells are free, -1 = nowhere in the chunk in use and the next ones.

    What was added in vain is taken back; while it stands there, nobody else can find room in that chunk.
    """
    chunk_cells, first = pool[CHUNK_CELLS], load(pool, CHUNK)
    for chunk in range(first, min(first + 4, chunk_ends.size)):
        end = fetch_add(chunk_ends, chunk, room)
        if end + room <= chunk_cells:
            return chunk * chunk_cells + end
        fetch_add(chunk_ends, chunk, -room)
        if chunk == first and end >= chunk_cells - (chunk_cells >> 4):
            store(pool, CHUNK, first + 1)
    return np.int64(-1)


# --- which rows are worth it -----------------------------------------------------------------------------------------


@njit(**JIT)
def room_for(size):
    """Return how many cells a row of so many neighbours gets; the few that are left over take new ones."""
    return size + ((size + 15) >> 5)


@njit(**JIT)
def _level(count):
    """Return 1 + how often a row was read in the last three batches."""
    return 1 + np.int64((count >> 8) & 255) + np.int64((count >> 16) & 255) + np.int64(count >> 24)


@njit(**JIT)
def add_levels(counts, slots, near_places, levels):
    """Add rows that are near, and their cells, to those of their levels. Writes levels (rows and cells)."""
    for v in range(slots.size):
        if slots[v]:
            level = _level(counts[v])
            levels[level, 0] += 1
            levels[level, 1] += near_places[slots[v] - 1, ROOM]


@njit(**JIT)
def drop_rows(counts, slots, near_places, is_taken, chunk_cells, level, left, freed_cells):
    """Give up all rows below a level, and those of it that do not fit into the rows and cells that are `left`.

    Writes slots, is_taken, left and freed_cells (per chunk).
    """
    for v in range(slots.size):
        if not slots[v]:
            continue
        reached = _level(counts[v])
        room = np.int64(near_places[slots[v] - 1, ROOM])
        if reached == level and left[0] > 0 and room <= left[1]:
            left[0] -= 1
            left[1] -= room
        elif reached <= level:
            give_up(v, slots, near_places, is_taken, chunk_cells, freed_cells)


@njit(**JIT)
def give_up(v, slots, near_places, is_taken, chunk_cells, freed_cells):
    """Give up the copy of a row."""
    entry = slots[v] - 1
    freed_cells[near_places[entry, BEGIN] // chunk_cells] += near_places[entry, ROOM]
    is_taken[entry] = False
    slots[v] = 0


@njit(**JIT)
def close_gaps(entries, near_places, near_cells, near_weights, chunk_cells, chunk_ends):
    """Move the rows of some chunks together. `entries` are all of theirs in the order in which they lie.

    `chunk_ends` of these chunks is 0 before. Writes near_places, near_cells, near_weights and chunk_ends.
    """
    for i in range(entries.size):
        entry = entries[i]
        begin, size = np.int64(near_places[entry, BEGIN]), np.int64(near_places[entry, SIZE])
        chunk = begin // chunk_cells
        to = chunk * chunk_cells + chunk_ends[chunk]
        if to != begin:
            for k in range(size):
                near_cells[to + k] = near_cells[begin + k]
            if near_weights.size:
                for k in range(size):
                    near_weights[to + k] = near_weights[begin + k]
        room = min(np.int64(near_places[entry, ROOM]), room_for(size))
        near_places[entry, BEGIN], near_places[entry, ROOM] = to, room
        chunk_ends[chunk] += room


# --- a batch ---------------------------------------------------------------------------------------------------------


@njit(**JIT)
def change_rows(
    gone_from, gone_to, gone_weights, new_from, new_to, new_weights, slots, near_places, near_cells,
    near_weights, is_taken, chunk_cells, freed_cells,
):  # fmt: skip
    """Do to the rows near what a batch did to those far: take arcs out and merge new ones in; both lists are ordered.

    A row that is empty or has too little room is given up. Reads nothing far. Writes near_places, near_cells,
    near_weights, slots, is_taken and freed_cells.
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
            size = _take_out(begin, size, i, i_end, gone_to, gone_weights, near_cells, near_weights)
            if size < 0 or size + k_end - k == 0 or size + k_end - k > room:
                give_up(u, slots, near_places, is_taken, chunk_cells, freed_cells)
            else:
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
