"""Kernels of the hot subgraph: copies of rows, and which of them are worth their place.

Rows are read from `places`, `cells` and `cell_weights` of `GappedRows` (far). A row that is near begins in `near_cells`
with two cells that say for how many neighbours there is room and how many it has; they follow, ascending, without gaps.
`slots` says for every vertex where its neighbours begin, 0 = the row is not near. `near_cells` is cut into chunks,
`chunk_ends` says how far each is used, `freed_cells` how many of these cells belong to no row any more, and no row lies
in two chunks.

`counts` holds for every vertex how often its row was read to its end, a byte per batch: the lowest one is that of the
batch that goes on, the others those of the last three. The rank of a row is how often it was read in these; among rows
that were read as often shorter ones come first, for who looks for a neighbour often needs no more than the first cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load, store
from tgraph.kernels.cpu.gapped_layout import DEAD, START, UNIT, USED, copy_row, dead_bit
from tgraph.kernels.cpu.team import JIT

SHORT, NUM_LENGTHS = 32, 64  # shorter rows than these cells are told apart, longer ones by powers of two
HEAD = 2  # cells of a row before its neighbours: room and size
NUM_RANKS = (3 * 255 + 1) * NUM_LENGTHS
CHUNK, CHUNK_CELLS, WANTED = 0, 8, 16  # words of `pool`: chunk in use (-1 = copy nothing), its size, cells asked for
POOL_SIZE = 24


# --- while a program reads -------------------------------------------------------------------------------------------


@njit(**JIT)
def note_read(counts, v):
    """Count a read of a row. Two threads at once may count one; a full byte stays as it is."""
    count = counts[v]
    if count & np.uint32(255) != np.uint32(255):
        counts[v] = count + np.uint32(1)


@njit(**JIT)
def _size_of(v, places):
    """Return how many neighbours a row has."""
    return np.int64(places[v, USED]) - np.int64(places[v, DEAD])


@njit(**JIT)
def open_row(v, copies, slots, places, cells, cell_weights, pool, chunk_ends, near_cells, near_weights):
    """Return whether a row is near, where it begins and ends there or far, and how many far cells were copied.

    With `copies`, a row that is not near is copied there first if there is room. A row whose cells are all deleted is
    not read. One thread per row between barriers.
    """
    copied = np.int64(0)
    if _size_of(v, places) == 0:
        return False, np.uint64(0), np.uint64(0), copied
    if slots[v] == 0 and copies:
        copied = keep_row(v, slots, places, cells, cell_weights, pool, chunk_ends, near_cells, near_weights)
    if slots[v] == 0:
        begin = np.uint64(places[v, START]) * np.uint64(UNIT)
        return False, begin, begin + np.uint64(places[v, USED]), copied
    begin = np.uint64(slots[v])
    return True, begin, begin + np.uint64(near_cells[begin - np.uint64(1)]), copied


@njit(**JIT)
def _room_for(size):
    """Return how many cells a row of so many neighbours gets; the few that are left over take new ones."""
    return size + ((size + 15) >> 5)


@njit(**JIT)
def _cells_of(v, slots, near_cells):
    """Return how many cells a row that is near takes."""
    return np.int64(near_cells[slots[v] - HEAD]) + HEAD


@njit(**JIT)
def keep_row(v, slots, places, cells, cell_weights, pool, chunk_ends, near_cells, near_weights):
    """Copy a row that is not near if there is room; returns how many far cells that took. Several threads at once.

    Writes slots, near_cells and near_weights of this row, and by atomics pool and chunk_ends.
    """
    size = _size_of(v, places)
    if size == 0:
        return np.int64(0)
    room = _room_for(size)
    place = _take_room(room + HEAD, pool, chunk_ends)
    if place < 0:
        return np.int64(0)
    near_cells[place], near_cells[place + 1] = room, size
    copy_row(v, places, cells, cell_weights, np.uint64(place + HEAD), near_cells, near_weights)
    slots[v] = place + HEAD
    return np.int64(places[v, USED])


@njit(**JIT)
def _take_room(room, pool, chunk_ends):
    """Return where so many cells are free, -1 = nowhere in the chunk in use and the next ones.

    What was added in vain is taken back; while it stands there, nobody else can find room in that chunk.
    """
    chunk_cells, first = pool[CHUNK_CELLS], load(pool, CHUNK)
    if first < 0:
        return np.int64(-1)
    fetch_add(pool, WANTED, room)
    if room > chunk_cells:
        return np.int64(-1)
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
def _rank(count, size):
    """Return what a row is worth: how often it was read in the last three batches, then how short it is."""
    num_reads = np.int64((count >> 8) & 255) + np.int64((count >> 16) & 255) + np.int64(count >> 24)
    length, rest = min(np.int64(size), SHORT), np.int64(size) // SHORT
    while rest > 1 and length < NUM_LENGTHS - 1:
        rest, length = rest >> 1, length + 1
    return num_reads * NUM_LENGTHS + NUM_LENGTHS - 1 - length


@njit(**JIT)
def add_near(counts, slots, near_cells, ranks):
    """Add the cells of rows that are near to those of their ranks. Writes ranks."""
    for v in range(slots.size):
        if slots[v]:
            ranks[_rank(counts[v], near_cells[slots[v] - 1])] += _cells_of(v, slots, near_cells)


@njit(**JIT)
def add_far(counts, slots, places, ranks):
    """Add the cells that rows which are not near would need to those of their ranks. Writes ranks."""
    for v in range(slots.size):
        size = _size_of(v, places)
        if size and not slots[v]:
            ranks[_rank(counts[v], size)] += _room_for(size) + HEAD


@njit(**JIT)
def drop_rows(counts, slots, near_cells, chunk_cells, rank, left, freed_cells):
    """Give up all rows below a rank, and those of it that do not fit into the cells that are `left`.

    Writes slots, left and freed_cells.
    """
    for v in range(slots.size):
        if not slots[v]:
            continue
        reached, num_cells = _rank(counts[v], near_cells[slots[v] - 1]), _cells_of(v, slots, near_cells)
        if reached == rank and num_cells <= left[0]:
            left[0] -= num_cells
        elif reached <= rank:
            give_up(v, slots, near_cells, chunk_cells, freed_cells)


@njit(**JIT)
def load_rows(counts, slots, places, cells, cell_weights, rank, left, pool, chunk_ends, near_cells, near_weights):
    """Copy all rows above a rank that are not near, and those of it that fit into the cells that are `left`.

    Returns how many far cells that took. Writes slots, left, pool, chunk_ends, near_cells and near_weights.
    """
    copied = np.int64(0)
    for v in range(slots.size):
        size = _size_of(v, places)
        if slots[v] or size == 0:
            continue
        reached, num_cells = _rank(counts[v], size), _room_for(size) + HEAD
        if reached > rank or (reached == rank and num_cells <= left[0]):
            if reached == rank:
                left[0] -= num_cells
            copied += keep_row(v, slots, places, cells, cell_weights, pool, chunk_ends, near_cells, near_weights)
    return copied


@njit(**JIT)
def give_up(v, slots, near_cells, chunk_cells, freed_cells):
    """Give up the copy of a row."""
    freed_cells[(np.int64(slots[v]) - HEAD) // chunk_cells] += _cells_of(v, slots, near_cells)
    slots[v] = 0


@njit(**JIT)
def close_gaps(found, near_cells, near_weights, chunk_cells, chunk_ends):
    """Move the rows of some chunks together. `found` is where each of theirs begins, ascending.

    `chunk_ends` of these chunks is 0 before. Writes found (where they begin then), near_cells, near_weights and
    chunk_ends.
    """
    for i in range(found.size):
        begin = found[i]
        size = np.int64(near_cells[begin + 1])
        chunk = begin // chunk_cells
        to = chunk * chunk_cells + chunk_ends[chunk]
        near_cells[begin] = min(np.int64(near_cells[begin]), _room_for(size))
        if to != begin:
            move_row(begin, to, size + HEAD, near_cells, near_weights)
        found[i] = to
        chunk_ends[chunk] += np.int64(near_cells[to]) + HEAD


@njit(**JIT)
def move_row(begin, to, room, near_cells, near_weights):
    """Copy so many cells to a place before them or far behind."""
    for k in range(room):
        near_cells[to + k] = near_cells[begin + k]
    if near_weights.size:
        for k in range(room):
            near_weights[to + k] = near_weights[begin + k]


# --- a batch ---------------------------------------------------------------------------------------------------------


@njit(**JIT)
def change_rows(
    gone_from, gone_to, gone_weights, new_from, new_to, new_weights, slots, pool, chunk_ends, near_cells,
    near_weights, freed_cells,
):  # fmt: skip
    """Do to the rows near what a batch did to those far: take arcs out and merge new ones in; both lists are ordered.

    A row that grows is moved to where there is room; without any, and where it is empty, it is given up. Reads nothing
    far. Writes slots, pool, chunk_ends, near_cells, near_weights and freed_cells.
    """
    chunk_cells = pool[CHUNK_CELLS]
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
            begin = np.int64(slots[u])
            room, size = np.int64(near_cells[begin - HEAD]), np.int64(near_cells[begin - 1])
            size = _take_out(begin, size, i, i_end, gone_to, gone_weights, near_cells, near_weights)
            after = size + k_end - k
            to = begin
            if size >= 0 and after > room:
                room = _room_for(after)
                to = _take_room(room + HEAD, pool, chunk_ends) + HEAD
            if to != begin or size < 0 or after == 0:
                give_up(u, slots, near_cells, chunk_cells, freed_cells)
            if to >= HEAD and size >= 0 and after > 0:
                if to != begin:
                    move_row(begin, to, size, near_cells, near_weights)
                _merge_in(to, size, k, k_end, new_to, new_weights, near_cells, near_weights)
                near_cells[to - HEAD], near_cells[to - 1] = room, after
                slots[u] = to
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
