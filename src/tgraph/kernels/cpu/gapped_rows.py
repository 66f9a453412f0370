"""Rows of neighbours that can grow and shrink: a compressed graph with a gap at the end of every row.

A row is a block of cells: an ordered part (ascending neighbours), a shorter ordered tail of those that came later, and
a gap. A neighbour that was deleted keeps its cell, with the highest bit set, until the row is written anew: when its
tail has become long, when a quarter of it is deleted, or when the gap is used up and it moves to a larger block. So a
neighbour is found by two binary searches, and a row is still one stretch of memory.

Blocks are of a few sizes (four between a power of two and the next), so that one that was left can be used again.
Starts are multiples of `UNIT` cells. Memory: 20 bytes per vertex, and for every edge a cell of 4 bytes (8 with 2^31
vertices or more) and one of its weight; about an eighth of the cells is gap. Where batches have left many cells unused,
all rows are written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.dtypes import OFFSET_DTYPE
from tgraph.kernels.cpu.arc_changes import NUM_GONE, NUM_MOVERS, NUM_NEW, NUM_UNITS, change_rows
from tgraph.kernels.cpu.arc_order import order_arcs
from tgraph.kernels.cpu.gapped_layout import DEAD, NUM_SIZES, START, UNIT, USED, copy_rows, lay_out, spread_rows
from tgraph.kernels.cpu.row_writes import move_rows
from tgraph.kernels.cpu.team import as_unsigned, run_team, team_size
from tgraph.runtime.protocol import Array

RESERVE = 4  # one part in so many of the cells is kept for rows that will move
SPARSE = 1.3  # times the cells per arc and vertex of rows that were just written: with more, all are written anew
SHARED_SIZE = 48  # words that a team shares
WORK_PER_ARC = 10  # finding and changing an arc takes as long as going through so many edges


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
    return Mutations(*order_arcs(sources, targets, weights, kinds, num_vertices))


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
        size = team_size(mutations.sources.size * WORK_PER_ARC)
        return self._change(mutations, replace, False, places, size).outcomes

    def apply(self, mutations: Mutations, replace: bool, num_threads: int | None = None) -> ArcChanges:
        """Change rows: delete, change weights, then insert; with `replace`, inserting an arc that exists changes it.

        One thread per row, and the answer does not depend on the number of threads.
        """
        size = team_size(mutations.sources.size * WORK_PER_ARC, num_threads)
        changes = self._change(mutations, replace, True, self.places, size)
        self._num_arcs += changes.added[0].size - changes.removed[0].size
        if self.num_cells > SPARSE * self._cells_at_first * (self._num_arcs + self.num_vertices):
            self._refill(0)
        return changes

    def rows(self) -> tuple[Array, Array, Array | None]:
        """Return offsets, neighbours (ascending) and weights of compressed rows without gaps."""
        offsets = np.zeros(self.num_vertices + 1, OFFSET_DTYPE)
        np.cumsum(self.degrees(), out=offsets[1:])
        num_arcs = int(offsets[-1])
        neighbors = self._new_cells(num_arcs, self.neighbors.dtype)
        weights = self._new_cells(num_arcs if self.weighted else 0, self.weights.dtype)
        cells = self.places, self.neighbors, self.weights
        run_team(copy_rows, team_size(num_arcs), *cells, as_unsigned(offsets), neighbors, weights)
        signed = neighbors.view(f"i{neighbors.itemsize}")
        return offsets, signed, weights if self.weighted else None

    def _change(self, mutations: Mutations, replace: bool, writes: bool, places: Array, size: int) -> ArcChanges:
        """Find what mutations mean, or do them; return what they did."""
        count, num_rows = mutations.sources.size, mutations.rows.size - 1
        shared = np.zeros(SHARED_SIZE, np.int64)
        new_units, movers = np.zeros(num_rows, np.int64), np.empty(num_rows, np.int64)
        outcomes, gone, came = np.zeros((3, count), np.uint8)
        num_weights = count if self.weighted else 0
        old_weights, as_given = np.empty(num_weights, self.weights.dtype), np.empty(count, np.uint8)
        ends, weights = np.empty((4, count), mutations.sources.dtype), np.empty((2, num_weights), self.weights.dtype)
        arcs = mutations.sources, mutations.targets, mutations.weights, mutations.kinds, mutations.order, mutations.rows
        run_team(
            change_rows, size, shared, *arcs, self.multi_edges, replace, writes, outcomes, gone, came, old_weights,
            new_units, movers, places, places.reshape(-1), self.capacities, self.neighbors, self.weights, self._free,
            self._end, as_given, ends, weights,
        )  # fmt: skip
        num_gone, num_new, num_movers = shared[[NUM_GONE, NUM_NEW, NUM_MOVERS]].tolist()
        if num_movers:
            self._move_rows(mutations, came, movers[:num_movers], new_units, int(shared[NUM_UNITS]), size)
        removed = ends[0, :num_gone], ends[1, :num_gone], weights[0, :num_gone]
        return ArcChanges(removed, (ends[2, :num_new], ends[3, :num_new], weights[1, :num_new]), as_given)

    def _move_rows(
        self, mutations: Mutations, came: Array, movers: Array, new_units: Array, num_units: int, size: int
    ) -> None:
        """Write the rows that have no room for their new arcs into larger blocks."""
        if int(self._end[0]) + num_units > self.neighbors.size // UNIT:
            self._refill(num_units)
        moves, shared = np.empty((movers.size, 2), np.int64), np.zeros(SHARED_SIZE, np.int64)
        arcs = mutations.sources, mutations.targets, mutations.weights, mutations.rows
        cells = self.places, self.capacities, self.neighbors, self.weights
        run_team(move_rows, size, shared, *arcs, came, movers, new_units, moves, *cells, self._free, self._end)

    def _refill(self, num_units: int) -> None:
        """Write all rows anew, so that none is wasted and there is room for so many units that are coming."""
        offsets, neighbors, weights = self.rows()
        cells = as_unsigned(neighbors), self.weights if weights is None else weights
        self._fill(as_unsigned(offsets), *cells, num_units)

    def _fill(self, offsets: Array, neighbors: Array, weights: Array, num_coming: int = 0) -> None:
        """Lay out compressed rows with gaps between them, and room behind them also for units that are coming."""
        units = lay_out(offsets, self.places, self.capacities)
        num_cells = (units + units // RESERVE + num_coming) * UNIT
        self.neighbors = self._new_cells(num_cells, neighbors.dtype)
        self.weights = self._new_cells(num_cells if self.weighted else 0, weights.dtype)
        self._end = np.array([units], np.int64)  # in units: what is behind was never used
        self._free = np.zeros(NUM_SIZES, np.int64)  # 1 + the first free block of each size; each leads to the next
        self._num_arcs = neighbors.size
        self._cells_at_first = self.num_cells / max(neighbors.size + self.num_vertices, 1)  # per arc and vertex
        size = team_size(neighbors.size)
        run_team(spread_rows, size, offsets, neighbors, weights, self.places, self.neighbors, self.weights)
