"""The hot subgraph (Grapin): the rows of a changing graph that are read most often, near, while all others are far.

A row is copied near when a program reads it, if there is room, so that nothing moves only to be copied. Before every
batch the rows with the fewest reads in the last three are given up where room is short, and the chunks in which that
happened are compacted. What a batch changes is changed in the copies too, from the batch itself. A copy is ascending,
without gaps.

Memory: 8 bytes per vertex and direction beside the pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.kernels.cpu.gapped_rows import ArcChanges, GappedRows, grown
from tgraph.kernels.cpu.hot_places import (
    BEGIN,
    CHUNK,
    CHUNK_CELLS,
    NUM_LEVELS,
    POOL_SIZE,
    ROOM,
    ROW_BYTES,
    USED_ENTRIES,
    add_levels,
    change_rows,
    close_gaps,
    drop_rows,
)
from tgraph.runtime.protocol import Array

CHUNK_BYTES = 32 << 20
FEWEST_CHUNKS = 8  # a smaller pool has smaller chunks
ENTRY_PART = 5  # one part in so many of the bytes is for entries of rows
KEPT_PART = 0.5  # of rows and cells, when a batch begins; most rows that are read again are so in the same batch
MOST_CELLS = 2**32 - 2**20  # that an entry can name
BYTES_PER_VERTEX = 8  # and direction


@dataclass
class RowReads:
    """What programs have read of rows."""

    far_bytes: int = 0
    near_bytes: int = 0
    far_rows: int = 0
    near_rows: int = 0

    def add(self, more: RowReads) -> None:
        """Count what else was read."""
        self.far_bytes += more.far_bytes
        self.near_bytes += more.near_bytes
        self.far_rows += more.far_rows
        self.near_rows += more.near_rows


class HotSubgraph:
    """At most `limit` bytes of rows of some directions of a graph; 0 = none, reads are counted all the same."""

    def __init__(self, sides: list[GappedRows], limit: int, weighted: bool = False) -> None:
        self._sides, self.weighted = sides, weighted
        self.reads = RowReads()  # since the beginning
        self.counts = [np.zeros(side.num_vertices, np.uint32) for side in sides]
        self.set_limit(limit)

    @property
    def num_bytes(self) -> int:
        """The bytes of the pool and its entries, used or not."""
        arrays = self.near_places, self.is_taken, self.cells, self.weights
        return sum(int(array.nbytes) for array in arrays)

    @property
    def num_rows(self) -> int:
        """The number of rows that are near."""
        return int(np.count_nonzero(self.is_taken))

    def set_limit(self, limit: int) -> None:
        """Begin with an empty pool of at most so many bytes."""
        self.limit = limit
        cell, weight = self._sides[0].neighbors.dtype, self._sides[0].weights.dtype
        edge_bytes = self._sides[0].bytes_per_cell(self.weighted)
        num_entries = limit // ENTRY_PART // ROW_BYTES
        most_cells = min((limit - num_entries * ROW_BYTES) // edge_bytes, MOST_CELLS)
        self._chunk_cells = max(min(CHUNK_BYTES // edge_bytes, most_cells // FEWEST_CHUNKS), 1)
        num_chunks = most_cells // self._chunk_cells
        self.cells = np.empty(num_chunks * self._chunk_cells, cell)
        self.weights = np.empty(self.cells.size if self.weighted else 0, weight)
        self.near_places = np.zeros((num_entries, 3), np.uint32)
        self.is_taken, self.free_entries = np.zeros(num_entries, np.bool_), np.arange(num_entries, dtype=np.uint32)
        self.chunk_ends, self._freed_cells = np.zeros(num_chunks, np.int64), np.zeros(num_chunks, np.int64)
        self.pool = np.zeros(POOL_SIZE, np.int64)
        self.pool[CHUNK_CELLS] = self._chunk_cells
        self.slots = [np.zeros(side.num_vertices, np.uint32) for side in self._sides]

    def hold_weights(self) -> None:
        """Let rows have their weights near too."""
        if not self.weighted:
            self.weighted = True
            self.set_limit(self.limit)

    def number_of(self, side: GappedRows) -> int:
        """Return which of the directions these rows are."""
        return next(number for number, one in enumerate(self._sides) if one is side)

    def add_vertices(self, count: int) -> None:
        """Add vertices without neighbours."""
        self.counts = [grown(counts, count) for counts in self.counts]
        self.slots = [grown(slots, count) for slots in self.slots]

    def follow(self, changed: list[ArcChanges]) -> None:
        """Do to the rows that are near what a batch did to those of every direction."""
        for number, arcs in enumerate(changed):
            change_rows(
                *arcs.removed, *arcs.added, self.slots[number], self.near_places, self.cells, self.weights,
                self.is_taken, self._chunk_cells, self._freed_cells,
            )  # fmt: skip

    def renew(self) -> None:
        """Begin with the next batch: make room for what it will read."""
        for counts in self.counts:
            np.left_shift(counts, 8, out=counts)
        if self.chunk_ends.size:
            self._drop()
            self._compact()
            self.free_entries = np.flatnonzero(~self.is_taken).astype(np.uint32)
            self.pool[[USED_ENTRIES, CHUNK]] = 0

    def _drop(self) -> None:
        """Give up the rows that were read least, so that there is room for those of this batch."""
        most = (np.array([self.is_taken.size, self.cells.size]) * KEPT_PART).astype(np.int64)
        levels = np.zeros((NUM_LEVELS, 2), np.int64)
        for counts, slots in zip(self.counts, self.slots, strict=True):
            add_levels(counts, slots, self.near_places, levels)
        summed = np.cumsum(levels[::-1], axis=0)  # from the hottest down
        num_levels = int(np.count_nonzero((summed <= most).all(axis=1)))
        left = most - (summed[num_levels - 1] if num_levels else 0)
        level = NUM_LEVELS - 1 - num_levels
        for counts, slots in zip(self.counts, self.slots, strict=True):
            drop_rows(counts, slots, self.near_places, self.is_taken, self._chunk_cells, level, left, self._freed_cells)

    def _compact(self) -> None:
        """Move rows together in the chunks where some were given up."""
        chunks = self.near_places[:, BEGIN] // np.uint32(self._chunk_cells)
        entries = np.flatnonzero(self.is_taken & (self._freed_cells[chunks] > 0))
        entries = entries[np.argsort(self.near_places[entries, BEGIN])]
        self.chunk_ends[self._freed_cells > 0] = 0
        close_gaps(entries, self.near_places, self.cells, self.weights, self._chunk_cells, self.chunk_ends)
        self._freed_cells[:] = 0

    def check(self) -> None:
        """Raise an `AssertionError` unless every row that is near equals the graph's, in a place of its own."""
        assert self.num_bytes <= self.limit
        entries = np.flatnonzero(self.is_taken)
        order = entries[np.argsort(self.near_places[entries, BEGIN])]
        begins, rooms = (self.near_places[order, column].astype(np.int64) for column in (BEGIN, ROOM))
        assert (begins[1:] >= (begins + rooms)[:-1]).all()
        assert (begins // self._chunk_cells == (begins + rooms - 1) // self._chunk_cells).all()
        owned = np.concatenate([slots[slots > 0] for slots in self.slots])
        np.testing.assert_array_equal(np.sort(owned), entries + 1)
        for side, slots in zip(self._sides, self.slots, strict=True):
            vertices = np.flatnonzero(slots)
            self._check_rows(side, vertices, slots[vertices].astype(np.int64) - 1)

    def _check_rows(self, side: GappedRows, vertices: Array, entries: Array) -> None:
        offsets, neighbors, weights = side.rows()
        columns: list[list[Any]] = [
            [offsets[vertices], np.diff(offsets)[vertices], neighbors.view(self.cells.dtype), weights],
            [*self.near_places[entries, :2].T.astype(np.int64), self.cells, self.weights if self.weighted else None],
        ]
        found = []
        for begins, sizes, cells, cell_weights in columns:
            places = np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            rows = [np.repeat(vertices, sizes), cells[places]]
            rows += [cell_weights[places]] if self.weighted else []
            found.append([row[np.lexsort(rows[::-1])] for row in rows])
        for expected, copied in zip(*found, strict=True):
            np.testing.assert_array_equal(copied, expected)
