"""Rows of neighbours that can grow and shrink: a compressed graph with a gap at the end of every row.

A row is a block of cells: an ordered part (ascending neighbours), a shorter ordered tail of those that came later, and
a gap. A neighbour that was deleted keeps its cell, with the highest bit set, until the row is written anew: when its
tail has become long, when a quarter of it is deleted, or when the gap is used up and it moves to a larger block. So a
neighbour is found by two binary searches, and a row is still one stretch of memory.

Blocks are of a few sizes (four between a power of two and the next), so that one that was left can be used again.
Starts are multiples of `UNIT` cells. Memory: 20 bytes per vertex, and for every edge a cell of 4 bytes (8 with 2^31
vertices or more) and one of its weight; about an eighth of the cells is gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numba import njit

from tgraph.dtypes import OFFSET_DTYPE
from tgraph.kernels.cpu.arc_order import arc_order
from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.runtime.protocol import Array

UNIT = 4  # cells
NUM_SIZES = 128  # of blocks
SHORT_TAIL = 16  # cells
RESERVE = 4  # one part in so many of the cells is kept for rows that will move
SPARSE = 4  # times the arcs and vertices: with more cells, rows are written anew
CHUNK = 32  # rows that a thread takes at a time
WORK_PER_ARC = 10  # finding and changing an arc takes as long as going through so many edges

AHEAD = 8  # mutations: what one reads is asked for before, twice as far ahead where it begins
NEAR = 8  # cells; the first step of a search

DELETE, CHANGE, INSERT = 0, 1, 2  # in this order within a batch
DONE, EXISTS, MISSING = 0, 1, 2  # what became of a mutation
START, USED, ORDERED, DEAD = 0, 1, 2, 3  # columns of `places`
NOWHERE = np.int64(-1)


@dataclass(frozen=True)
class Mutations:
    """Changes of arcs, in order of source and target; per arc deletions first, insertions last."""

    sources: Array  # [N]
    targets: Array  # [N]
    weights: Array  # [N], or empty
    kinds: Array  # [N] uint8
    order: Array  # [N] where each was before
    rows: Array  # [R + 1] where the mutations of each row begin


@dataclass(frozen=True)
class ArcChanges:
    """What a batch did: arcs that are gone and arcs that are new; a changed weight is both. Ordered."""

    removed: tuple[Array, Array, Array]  # sources, targets, weights (empty = unweighted)
    added: tuple[Array, Array, Array]
    outcomes: Array  # [N] uint8, per mutation as it was given


def order_mutations(sources: Array, targets: Array, weights: Array, kinds: Array, num_vertices: int) -> Mutations:
    """Put mutations, whose kinds ascend, in order."""
    order = arc_order(sources, targets, num_vertices)
    ordered = sources[order]
    first = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    rows = np.concatenate([np.zeros(1, np.int64), first, np.full(min(1, ordered.size), ordered.size, np.int64)])
    return Mutations(ordered, targets[order], weights[order] if weights.size else weights, kinds[order], order, rows)


def grown(array: Array, count: int) -> Array:
    """Return an array with `count` more entries of 0, with room behind it for as many as it has."""
    size = array.shape[0] + count
    base = array.base
    if base is None or base.shape[0] < size:
        base = np.zeros((2 * size, *array.shape[1:]), array.dtype)
        base[: array.shape[0]] = array
    return base[:size]


class GappedRows:
    """One direction of a graph that changes."""

    def __init__(
        self,
        offsets: Array,
        neighbors: Array,
        weights: Array | None,
        multi_edges: bool = False,
        new_cells: Callable[[int, np.dtype[Any]], Array] = np.empty,
    ) -> None:
        num_vertices = offsets.size - 1
        self._new_cells = new_cells  # where cells live
        self.multi_edges, self.weighted = multi_edges, weights is not None
        self.places = np.zeros((num_vertices, 4), np.uint32)
        self.capacities = np.zeros(num_vertices, np.uint32)  # in units
        cells = as_unsigned(neighbors)
        self._fill(as_unsigned(offsets), cells, np.empty(0) if weights is None else np.ascontiguousarray(weights))

    @property
    def num_vertices(self) -> int:
        """The number of rows."""
        return int(self.places.shape[0])

    @property
    def memory_bytes(self) -> int:
        """The bytes that are in use; the reserve of cells counts when it is written to."""
        return self.vertex_bytes + self.cell_bytes

    @property
    def vertex_bytes(self) -> int:
        """The bytes of what there is per vertex."""
        return self.places.nbytes + self.capacities.nbytes

    @property
    def cell_bytes(self) -> int:
        """The bytes of the cells in use, neighbours and weights."""
        return self.num_cells * self.bytes_per_cell(self.weighted)

    def bytes_per_cell(self, weighted: bool) -> int:
        """Return the bytes of a neighbour, or of one and its weight."""
        return int(self.neighbors.itemsize + (self.weights.itemsize if weighted else 0))

    @property
    def num_cells(self) -> int:
        """The number of cells in use, gaps included."""
        return int(self._end[0]) * UNIT

    def degrees(self) -> Array:
        """Return the number of neighbours of every vertex, `[V] int64`."""
        return self.places[:, USED].astype(np.int64) - self.places[:, DEAD]

    def add_vertices(self, count: int) -> None:
        """Add rows without neighbours."""
        self.places, self.capacities = grown(self.places, count), grown(self.capacities, count)

    def arcs_of(self, vertices: Array) -> tuple[Array, Array]:
        """Return the rows of some vertices: each as often as it has neighbours, and the neighbours. In any order."""
        counts = self.places[vertices, USED].astype(np.int64)
        sources, first = np.repeat(vertices, counts), np.cumsum(counts) - counts
        starts = self.places[vertices, START].astype(np.int64) * UNIT
        found = self.neighbors[np.arange(sources.size) + np.repeat(starts - first, counts)]
        alive = found.view(f"i{found.itemsize}") >= 0
        return sources[alive], found[alive].astype(np.int64)

    def find(self, mutations: Mutations, replace: bool) -> Array:
        """Return what `apply` would make of every mutation, in the order in which they were given.

        Mutations may name rows that are still to be added.
        """
        num_new = int(mutations.sources[-1]) + 1 - self.num_vertices if mutations.sources.size else 0
        places = grown(self.places, num_new) if num_new > 0 else self.places
        return self._search(mutations, replace, False, places)[0].outcomes

    def apply(self, mutations: Mutations, replace: bool) -> ArcChanges:
        """Change rows: delete, change weights, then insert; with `replace`, inserting an arc that exists changes it.

        One thread per row, and the answer does not depend on the number of threads.
        """
        self._make_room(mutations)
        changes, came, new_arcs = self._search(mutations, replace, True, self.places)
        moves = np.zeros((new_arcs.size, 2), np.int64)
        lists = self.neighbors, self._free
        _find_blocks(
            mutations.sources, mutations.rows, new_arcs, self.places, self.capacities, *lists, self._end, moves
        )
        self._team(_write_rows, mutations, came, new_arcs, moves, *self._cells)
        _leave_blocks(moves, *lists)
        self._num_arcs += changes.added[0].size - changes.removed[0].size
        if self.num_cells > SPARSE * (self._num_arcs + self.num_vertices):
            self._refill()
        return changes

    def rows(self) -> tuple[Array, Array, Array | None]:
        """Return offsets, neighbours (ascending) and weights of compressed rows without gaps."""
        offsets = np.zeros(self.num_vertices + 1, OFFSET_DTYPE)
        np.cumsum(self.degrees(), out=offsets[1:])
        num_arcs = int(offsets[-1])
        neighbors = self._new_cells(num_arcs, self.neighbors.dtype)
        weights = self._new_cells(num_arcs if self.weighted else 0, self.weights.dtype)
        cells = self.places, self.neighbors, self.weights
        run_team(_copy_rows, team_size(num_arcs), *cells, as_unsigned(offsets), neighbors, weights)
        signed = neighbors.view(f"i{neighbors.itemsize}")
        return offsets, signed, weights if self.weighted else None

    @property
    def _cells(self) -> tuple[Array, ...]:
        return self.places, self.capacities, self.neighbors, self.weights

    def _team(self, worker: Callable[..., None], mutations: Mutations, *args: Any) -> None:
        size = team_size(mutations.sources.size * WORK_PER_ARC)
        arcs = mutations.sources, mutations.targets, mutations.weights, mutations.kinds, mutations.rows
        run_team(worker, size, np.zeros(1, np.int64), *arcs, *args)

    def _search(
        self, mutations: Mutations, replace: bool, writes: bool, places: Array
    ) -> tuple[ArcChanges, Array, Array]:
        """Return what becomes of mutations, how each arc comes, and how many new cells every row needs."""
        count = mutations.sources.size
        new_arcs = np.zeros(mutations.rows.size, np.int64)
        outcomes, gone, came = (np.zeros(count, np.uint8) for _ in range(3))
        old_weights = np.zeros(count if self.weighted else 0, self.weights.dtype)
        how = self.multi_edges, replace, writes
        self._team(
            _search_rows, mutations, *how, outcomes, gone, came, old_weights, new_arcs, places, places.reshape(-1),
            self.neighbors, self.weights,
        )  # fmt: skip
        in_order = np.empty(count, np.uint8)
        in_order[mutations.order] = outcomes
        was, now = np.flatnonzero(gone), np.flatnonzero(came)
        removed = mutations.sources[was], mutations.targets[was], old_weights[was] if self.weighted else old_weights
        added = mutations.sources[now], mutations.targets[now], mutations.weights[now] if self.weighted else old_weights
        return ArcChanges(removed, added, in_order), came, new_arcs

    def _make_room(self, mutations: Mutations) -> None:
        """Write all rows anew if those that move might not fit behind the others."""
        if int(self._end[0]) + self._units_to_move(mutations) > self.neighbors.size // UNIT:
            self._refill(mutations)

    def _refill(self, coming: Mutations | None = None) -> None:
        """Write all rows anew, so that there is room for what is coming and none is wasted."""
        offsets, neighbors, weights = self.rows()
        cells = as_unsigned(neighbors), self.weights if weights is None else weights
        self._fill(as_unsigned(offsets), *cells, coming)

    def _units_to_move(self, mutations: Mutations) -> int:
        """Return how much room rows may need that have too small a gap."""
        kinds = mutations.rows, mutations.kinds
        return int(_units_to_move(mutations.sources, *kinds, self.places, self.capacities))

    def _fill(self, offsets: Array, neighbors: Array, weights: Array, coming: Mutations | None = None) -> None:
        """Lay out compressed rows with gaps between them, and room behind them also for what is coming."""
        units = _lay_out(offsets, self.places, self.capacities)
        needed = 0 if coming is None else self._units_to_move(coming)
        num_cells = (units + units // RESERVE + needed) * UNIT
        self.neighbors = self._new_cells(num_cells, neighbors.dtype)
        self.weights = self._new_cells(num_cells if self.weighted else 0, weights.dtype)
        self._end = np.array([units], np.int64)  # in units: what is behind was never used
        self._free = np.zeros(NUM_SIZES, np.int64)  # 1 + the first free block of each size; each leads to the next
        self._num_arcs = neighbors.size
        size = team_size(neighbors.size)
        run_team(_spread_rows, size, offsets, neighbors, weights, self.places, self.neighbors, self.weights)


# --- sizes of blocks -------------------------------------------------------------------------------------------------


@njit(**JIT)
def _size_class(units):
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


@njit(**JIT)
def _units_for(num_cells):
    """Return how many units a row of so many cells gets, its gap included."""
    return (num_cells + (num_cells >> 4) + UNIT - 1) // UNIT


@njit(**JIT)
def _lay_out(offsets, places, capacities):
    """Write the places of rows that begin anew, one behind the other; return how many units they take."""
    next_unit = 0
    for u in range(places.shape[0]):
        size = np.int64(offsets[u + 1] - offsets[u])
        units = 0
        if size:
            units = _size_class(_units_for(size))[1]
        places[u, START], places[u, USED], places[u, ORDERED], places[u, DEAD] = next_unit, size, size, 0
        capacities[u] = units
        next_unit += units
    return next_unit


@njit(**JIT)
def _spread_rows(rank, size, offsets, neighbors, weights, places, cells, cell_weights):
    """Copy compressed rows to their places."""
    first, last = part(rank, size, places.shape[0])
    for u in range(first, last):
        start = np.uint64(places[u, START]) * np.uint64(UNIT)
        for k in range(offsets[u + 1] - offsets[u]):
            cells[start + k] = neighbors[offsets[u] + k]
            if weights.size:
                cell_weights[start + k] = weights[offsets[u] + k]


@njit(**JIT)
def _copy_rows(rank, size, places, cells, cell_weights, offsets, neighbors, weights):
    """Write every row without gaps. One thread per row."""
    first, last = part(rank, size, places.shape[0])
    for u in range(first, last):
        copy_row(u, places, cells, cell_weights, offsets[u], neighbors, weights)


@njit(**JIT)
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


@njit(**JIT)
def dead_bit(cells):
    """Return the bit of a deleted neighbour, in the type of cells."""
    return cells.dtype.type(1) << cells.dtype.type(cells.itemsize * 8 - 1)


# --- a batch ---------------------------------------------------------------------------------------------------------


@njit(**JIT)
def _units_to_move(sources, rows, kinds, places, capacities):
    """Return how many units rows may need that have too small a gap for all that is inserted."""
    needed = 0
    for r in range(rows.size - 1):
        u, inserted = sources[rows[r]], 0
        for i in range(rows[r], rows[r + 1]):
            inserted += kinds[i] == INSERT
        cells = np.int64(places[u, USED]) + inserted
        if inserted and cells > np.int64(capacities[u]) * UNIT:
            needed += _size_class(_units_for(cells))[1]
    return needed


@njit(**JIT)
def _search_rows(
    rank, size, taken, sources, targets, weights, kinds, rows, multi_edges, replace, writes, outcomes, gone, came,
    old_weights, new_arcs, places, place_words, cells, cell_weights,
):  # fmt: skip
    """Find what each mutation means, mark deleted neighbours, write weights, and count the arcs that need a cell.

    `came` is 1 where an arc is new, and 3 where it is new and needs a cell. One thread per row.
    """
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= rows.size - 1:
            return
        for r in range(first, min(first + CHUNK, rows.size - 1)):
            i, count = rows[r], 0
            while i < rows[r + 1]:
                end = i + 1
                while end < rows[r + 1] and targets[end] == targets[i]:
                    end += 1
                u = sources[i]
                _fetch_soon(i, sources, targets, places, place_words, cells, cell_weights)
                if multi_edges:
                    _change_parallel(
                        u, i, end, targets, weights, kinds, writes, outcomes, gone, came, old_weights, places, cells,
                        cell_weights,
                    )  # fmt: skip
                else:
                    _change_single(
                        u, i, end, targets, weights, kinds, replace, writes, outcomes, gone, came, old_weights, places,
                        cells, cell_weights,
                    )  # fmt: skip
                for k in range(i, end):
                    count += came[k] == 3
                i = end
            new_arcs[r] = count


@njit(**JIT)
def _guess(target, size, num_vertices):
    """Return where a target would be among `size` that are spread evenly over all vertices."""
    return min(np.int64(target) * size // num_vertices, size - 1)


@njit(**JIT)
def _first_at_least(cells, first, last, target, dead, num_vertices):
    """Return the first place whose neighbour, deleted or not, is not below target.

    The search begins where the target would be if neighbours were spread evenly, and doubles its steps from there.
    """
    if first == last:
        return first
    low = high = first + _guess(target, last - first, num_vertices)
    step = NEAR
    if (cells[low] & ~dead) < target:
        high = low + step
        while high < last and (cells[high] & ~dead) < target:
            step *= 2
            low, high = high, high + step
        low, high = low + 1, min(high, last)
    else:
        low = high - step
        while low >= first and (cells[low] & ~dead) >= target:
            step *= 2
            high, low = low, low - step
        low = max(low + 1, first)
    while low < high:
        middle = (low + high) // 2
        if (cells[middle] & ~dead) < target:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**JIT)
def _fetch_soon(i, sources, targets, places, place_words, cells, cell_weights):
    """Ask for what the mutations that follow i will read."""
    soon = i + 2 * AHEAD
    if soon < sources.size:
        prefetch(place_words, np.uint64(sources[soon]) * np.uint64(4))
    soon = i + AHEAD
    if soon < sources.size:
        u = sources[soon]
        if u < places.shape[0] and places[u, USED]:
            start, ordered = np.int64(places[u, START]) * UNIT, np.int64(places[u, ORDERED])
            place = start + _guess(targets[soon], ordered, places.shape[0]) if ordered else start
            prefetch(cells, np.uint64(place))
            prefetch(cells, np.uint64(start + ordered))
            if cell_weights.size:
                prefetch(cell_weights, np.uint64(place))


@njit(**JIT)
def _change_single(
    u, i, end, targets, weights, kinds, replace, writes, outcomes, gone, came, old_weights, places, cells, cell_weights
):
    """Do the mutations i to end of one arc, which exists once or not at all."""
    dead, target = dead_bit(cells), targets[i]
    start = np.int64(places[u, START]) * UNIT
    cell = NOWHERE  # of the arc, alive or deleted
    is_there = False
    for is_tail in range(2):
        first = start + (np.int64(places[u, ORDERED]) if is_tail else 0)
        last = start + np.int64(places[u, USED] if is_tail else places[u, ORDERED])
        found = _first_at_least(cells, first, last, target, dead, places.shape[0])
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
    u, i, end, targets, weights, kinds, writes, outcomes, gone, came, old_weights, places, cells, cell_weights
):
    """Do the deletions and insertions i to end of one arc, which may exist several times: the lightest goes first."""
    dead, target = dead_bit(cells), targets[i]
    start = np.int64(places[u, START]) * UNIT
    middle, stop = start + np.int64(places[u, ORDERED]), start + np.int64(places[u, USED])
    first = _first_at_least(cells, start, middle, target, dead, places.shape[0])
    first_of_tail = _first_at_least(cells, middle, stop, target, dead, places.shape[0])
    deleted = 0
    for k in range(i, end):
        if kinds[k] == INSERT:
            came[k] = 3
            continue
        lightest, num_alive = _lightest(cells, cell_weights, first, middle, target, dead, NOWHERE)
        lightest, more = _lightest(cells, cell_weights, first_of_tail, stop, target, dead, lightest)
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
def _find_blocks(sources, rows, new_arcs, places, capacities, cells, free, end, moves):
    """Choose a block for every row that has no room for its new arcs; `moves` gets 1 + its old start and its units."""
    for r in range(rows.size - 1):
        u = sources[rows[r]]
        needed = np.int64(places[u, USED]) - np.int64(places[u, DEAD]) + new_arcs[r]
        if not new_arcs[r] or needed <= np.int64(capacities[u]) * UNIT:
            continue
        number, units = _size_class(_units_for(needed))
        moves[r, 0], moves[r, 1] = np.int64(places[u, START]) + 1, capacities[u]
        if free[number]:
            start = free[number] - 1
            free[number] = np.int64(cells[start * UNIT]) | (np.int64(cells[start * UNIT + 1]) << 32)
        else:
            start = end[0]
            end[0] += units
        places[u, START], capacities[u] = start, units


@njit(**JIT)
def _leave_blocks(moves, cells, free):
    """Put the blocks that rows have left into the lists of free ones."""
    for r in range(moves.shape[0]):
        if moves[r, 1]:
            start, number = moves[r, 0] - 1, _size_class(moves[r, 1])[0]
            cells[start * UNIT] = cells.dtype.type(free[number] & 0xFFFFFFFF)
            cells[start * UNIT + 1] = cells.dtype.type(free[number] >> 32)
            free[number] = start + 1


@njit(**JIT)
def _write_rows(
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
