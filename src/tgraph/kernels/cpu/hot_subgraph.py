"""The hot subgraph (Grapin): the rows of a changing graph that are read most often, near, while all others are far.

At first the shortest rows are loaded, as many as fit. Later a row is copied near when a program reads it to its
end, if there is room, so that nothing moves only to be copied. Where a batch may find too little room, rows with the
fewest reads in the last three batches are given up before it, long ones first, and the chunks in which that happened
are compacted. What a batch changes is changed in the copies too, from the batch itself.

Memory: 8 bytes per vertex and direction beside the pool, and in the pool two cells per row beside its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.kernels.cpu.gapped_rows import ArcChanges, GappedRows, grown
from tgraph.kernels.cpu.hot_places import (
    CHUNK,
    CHUNK_CELLS,
    HEAD,
    NUM_RANKS,
    POOL_SIZE,
    WANTED,
    add_far,
    add_near,
    change_rows,
    close_gaps,
    drop_rows,
    load_rows,
)
from tgraph.runtime.protocol import Array

CHUNK_BYTES = 32 << 20
FEWEST_CHUNKS = 8  # a smaller pool has smaller chunks
LEAST_FREE, MOST_FREE = 1 / 16, 1 / 2  # of the cells, for what a batch will read
SPARE = 1.25  # times what the last three batches needed at most is kept free; where room is made, as much more again
MOST_CELLS = 2**32 - 2**20  # that a slot can name
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
        self.loaded_bytes = 0  # that no program has counted yet
        self.counts = [np.zeros(side.num_vertices, np.uint32) for side in sides]
        self.set_limit(limit)

    @property
    def num_bytes(self) -> int:
        """The bytes of the pool, used or not."""
        return int(self.cells.nbytes + self.weights.nbytes)

    @property
    def num_rows(self) -> int:
        """The number of rows that are near."""
        return sum(int(np.count_nonzero(slots)) for slots in self.slots)

    def set_limit(self, limit: int) -> None:
        """Begin with an empty pool of at most so many bytes; `fill` loads it."""
        self.limit = limit
        cell, weight = self._sides[0].neighbors.dtype, self._sides[0].weights.dtype
        edge_bytes = self._sides[0].bytes_per_cell(self.weighted)
        most_cells = min(limit // edge_bytes, MOST_CELLS)
        self._chunk_cells = max(min(CHUNK_BYTES // edge_bytes, most_cells // FEWEST_CHUNKS), 1)
        num_chunks = most_cells // self._chunk_cells
        self.cells = np.empty(num_chunks * self._chunk_cells, cell)
        self.weights = np.empty(self.cells.size if self.weighted else 0, weight)
        self.chunk_ends, self._freed_cells = np.zeros(num_chunks, np.int64), np.zeros(num_chunks, np.int64)
        self.pool = np.zeros(POOL_SIZE, np.int64)
        self.pool[CHUNK_CELLS] = self._chunk_cells
        self.slots = [np.zeros(side.num_vertices, np.uint32) for side in self._sides]
        self._needed = [0] * 3  # cells, in the last three batches
        self._num_free = 0  # when the last batch began
        self._is_filled = False

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
        """Begin with the next batch, which has changed the rows of every direction: make room, and change copies."""
        for counts in self.counts:
            np.left_shift(counts, 8, out=counts)
        if self.chunk_ends.size:
            self._make_room()
            for number, arcs in enumerate(changed):
                change_rows(
                    *arcs.removed, *arcs.added, self.slots[number], self.pool, self.chunk_ends, self.cells,
                    self.weights, self._freed_cells,
                )  # fmt: skip
            self.fill()

    def fill(self) -> None:
        """Load the rows that are worth it most into a pool that began anew."""
        if self._is_filled or not self.chunk_ends.size:
            return
        self._is_filled = True
        add = [(add_far, (side.places,)) for side in self._sides]
        rank, left = self._border(add, self.cells.size - 2 * self._least_free())
        copied = sum(
            load_rows(
                counts, slots, side.places, side.neighbors, side.weights, rank, left, self.pool, self.chunk_ends,
                self.cells, self.weights,
            )
            for side, counts, slots in zip(self._sides, self.counts, self.slots, strict=True)
        )  # fmt: skip
        self.pool[WANTED] = 0
        self.loaded_bytes += int(copied) * self._sides[0].bytes_per_cell(self.weighted)

    def close(self) -> None:
        """Copy nothing until the next batch begins."""
        self.pool[CHUNK] = -1

    def _least_free(self) -> int:
        """Return how many cells should be free when a batch begins."""
        num_cells = self.cells.size
        return int(min(max(SPARE * max(self._needed), LEAST_FREE * num_cells), MOST_FREE * num_cells))

    def _make_room(self) -> None:
        """Give up the rows that are worth it least where there may be too little room.

        A row that found no room asked again whenever it was read, so no more than twice the room that there was counts.
        """
        self._needed = [*self._needed[1:], min(int(self.pool[WANTED]), 2 * self._num_free)]
        self.pool[WANTED] = 0
        num_cells, least_free = self.cells.size, self._least_free()
        if num_cells - int(self.chunk_ends.sum()) < least_free:
            most = num_cells - min(int(SPARE * least_free), int(MOST_FREE * num_cells))
            if int(self.chunk_ends.sum() - self._freed_cells.sum()) > most:
                self._drop(most)
            self._compact()
        has_room = self.chunk_ends < self._chunk_cells - self._chunk_cells // 16
        self.pool[CHUNK] = np.argmax(has_room) if has_room.any() else has_room.size
        self._num_free = num_cells - int(self.chunk_ends.sum())

    def _drop(self, most: int) -> None:
        """Give up all rows but those of the highest ranks that have at most so many cells."""
        rank, left = self._border([(add_near, (self.cells,))] * len(self._sides), most)
        for counts, slots in zip(self.counts, self.slots, strict=True):
            drop_rows(counts, slots, self.cells, self._chunk_cells, rank, left, self._freed_cells)

    def _border(self, adds: Sequence[tuple[Callable[..., None], tuple[Array, ...]]], most: int) -> tuple[int, Array]:
        """Return the rank above which all rows fit into so many cells, and how many cells are left for those of it."""
        ranks = np.zeros(NUM_RANKS, np.int64)
        for (add, arrays), counts, slots in zip(adds, self.counts, self.slots, strict=True):
            add(counts, slots, *arrays, ranks)
        summed = np.cumsum(ranks[::-1])  # from the highest down
        num_ranks = int(np.count_nonzero(summed <= most))
        left = most - (summed[num_ranks - 1] if num_ranks else 0)
        return NUM_RANKS - 1 - num_ranks, np.array([left], np.int64)

    def _compact(self) -> None:
        """Move rows together in the chunks where cells were given up."""
        is_affected = self._freed_cells > 0
        owners, places = [], []
        for slots in self.slots:
            near = np.flatnonzero(slots)
            begins = slots[near].astype(np.int64) - HEAD
            moves = is_affected[begins // self._chunk_cells]
            owners.append(near[moves])
            places.append(begins[moves])
        found = np.concatenate(places)
        order = np.argsort(found)
        found = found[order]
        self.chunk_ends[is_affected] = 0
        close_gaps(found, self.cells, self.weights, self._chunk_cells, self.chunk_ends)
        moved = np.empty_like(found)
        moved[order] = found
        for slots, near, begins in zip(self.slots, owners, np.split(moved, [owners[0].size]), strict=False):
            slots[near] = begins + HEAD
        self._freed_cells[:] = 0

    def check(self) -> None:
        """Raise an `AssertionError` unless every row that is near equals the graph's, in a place of its own."""
        assert self.num_bytes <= self.limit
        begins = np.sort(np.concatenate([slots[slots > 0] for slots in self.slots])).astype(np.int64) - HEAD
        assert (self.cells[begins] >= self.cells[begins + 1]).all()
        ends = begins + self.cells[begins].astype(np.int64) + HEAD
        assert (begins[1:] >= ends[:-1]).all()
        chunks = begins // self._chunk_cells
        assert (chunks == (ends - 1) // self._chunk_cells).all()
        assert (ends - chunks * self._chunk_cells <= self.chunk_ends[chunks]).all()
        used = np.bincount(chunks, ends - begins, self.chunk_ends.size)
        np.testing.assert_array_equal(used, self.chunk_ends - self._freed_cells)
        for side, slots in zip(self._sides, self.slots, strict=True):
            self._check_rows(side, np.flatnonzero(slots), slots[slots > 0].astype(np.int64))

    def _check_rows(self, side: GappedRows, vertices: Array, begins: Array) -> None:
        offsets, neighbors, weights = side.rows()
        columns: list[list[Any]] = [
            [offsets[vertices], np.diff(offsets)[vertices], neighbors.view(self.cells.dtype), weights],
            [begins, self.cells[begins - 1].astype(np.int64), self.cells, self.weights if self.weighted else None],
        ]
        found = []
        for firsts, sizes, cells, cell_weights in columns:
            places = np.repeat(firsts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            rows = [np.repeat(vertices, sizes), cells[places]]
            rows += [cell_weights[places]] if self.weighted else []
            found.append([row[np.lexsort(rows[::-1])] for row in rows])
        for expected, copied in zip(*found, strict=True):
            np.testing.assert_array_equal(copied, expected)
