"""The rows that are read most often, near: HyTGraph's vertex-centric cache.

Hotness is a byte per vertex. Of the hottest rows, as many as fit are wanted; they are copied when a block with them
passes by. Which rows are wanted is seen to again after a part of the vertices was read, and changed if that replaces a
good part of the cache. Rows that were read once are never wanted: where nobody is read twice, nothing is cached.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.block_push import NO_ROWS, ListedRows
from tgraph.kernels.cpu.hot_rows import (
    CACHED,
    ELSEWHERE,
    ROW_BYTES,
    choose_hotness,
    drop_rows,
    keep_rows,
    mark_rows,
    note_reads,
)
from tgraph.memory.loader import LoadedBlock
from tgraph.runtime import Array

READS_BETWEEN = 0.25  # of all vertices, from one look at what is hot to the next
NEW_PART = 0.3  # of the bytes worth keeping that must be new, or the cache stays as it is
COLDEST = 2  # reads that make a row worth keeping
BYTES_PER_VERTEX = 2


class VertexCache:
    """At most `limit` bytes of rows, and two bytes per vertex beside them."""

    def __init__(self, offsets: Array, dtypes: list[np.dtype[Any]], limit: int) -> None:
        self._offsets, self._limit = offsets, limit
        self._edge_bytes = sum(dtype.itemsize for dtype in dtypes)
        num_vertices = offsets.size - 1
        self._hotness, self._state = np.zeros(num_vertices, np.uint8), np.zeros(num_vertices, np.uint8)
        mean_row = self._edge_bytes * int(offsets[-1]) // max(num_vertices, 1) + ROW_BYTES
        most_rows = min(num_vertices, limit // mean_row)
        self._rows, self._starts = np.empty(most_rows, np.int64), np.empty(most_rows, np.int64)
        num_edges = (limit - ROW_BYTES * most_rows) // self._edge_bytes
        self._neighbors = np.empty(num_edges, dtypes[0])
        self._weights = np.empty(num_edges if len(dtypes) > 1 else 0, dtypes[-1])
        self._num_rows = self._num_edges = self._reads = 0

    @property
    def num_bytes(self) -> int:
        """The bytes of the rows that are cached."""
        return self._num_edges * self._edge_bytes + self._num_rows * ROW_BYTES

    def leave_out(self, first_row: int, last_row: int) -> None:
        """Never cache these rows: they are near anyway."""
        self._state[first_row:last_row] = ELSEWHERE

    def holds(self, vertices: Array) -> Array:
        """Say which of some rows are cached."""
        return self._state[vertices] == CACHED

    def take(self, active: Array) -> tuple[ListedRows, Array, Array | None]:
        """Note that the `active [V]` rows are read; return those that are cached, and clear them in `active`.

        Returns the rows, and the neighbours and weights among which theirs are.
        """
        self._reads += note_reads(active, self._state, self._offsets, self._hotness)
        rows, starts = self._rows[: self._num_rows], self._starts[: self._num_rows]
        is_read = active[rows]
        rows, starts = rows[is_read], starts[is_read]
        active[rows] = False
        counts = self._offsets[rows + 1] - self._offsets[rows]
        weights = self._weights if self._weights.size else None
        return ListedRows(rows, counts, starts, starts), self._neighbors, weights

    def offer(self, loaded: LoadedBlock) -> None:
        """Copy the rows that are wanted from what was read; pieces of a row, and mapped memory, pass by."""
        is_empty = loaded.rows is not None and not loaded.rows.rows.size
        if is_empty or not loaded.block.is_whole or not loaded.ids.flags.writeable:
            return
        rows = NO_ROWS if loaded.rows is None else loaded.rows
        bounds = loaded.block.first_row, loaded.block.last_row
        weights = self._weights[:0] if loaded.weights is None else loaded.weights
        there = self._rows, self._starts, self._num_rows, self._num_edges, self._neighbors, self._weights
        source = rows.counts, rows.starts, rows.weight_starts, loaded.ids, weights
        self._num_rows, self._num_edges = keep_rows(self._state, self._offsets, rows.rows, *bounds, *source, *there)

    def refresh(self) -> None:
        """See to what is hot now, if enough was read since the last time."""
        if self._reads < READS_BETWEEN * self._hotness.size:
            return
        self._reads = 0
        costs = self._offsets, self._edge_bytes, COLDEST
        level, left = choose_hotness(self._hotness, *costs, self._limit)
        new, total = mark_rows(self._hotness, self._state, *costs, level, left, False)
        if new <= NEW_PART * total:
            return
        mark_rows(self._hotness, self._state, *costs, level, left, True)
        there = self._rows, self._starts, self._num_rows, self._offsets, self._neighbors, self._weights
        self._num_rows, self._num_edges = drop_rows(self._state, *there)
