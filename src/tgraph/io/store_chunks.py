"""The edges of a native file, some at a time, from the mapped file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Adjacency
from tgraph.io.edge_chunks import NUMBER, EdgeChunk, EdgeChunks, Room
from tgraph.io.rows import check_neighbors
from tgraph.io.store import map_rows
from tgraph.runtime import Array

MAX_CHUNK_EDGES = 1 << 22
MAX_CHUNK_VERTICES = 1 << 20
BYTES_PER_EDGE = 160  # of a chunk and of what is made of it
BYTES_PER_VERTEX = 40
FEWEST_EDGES = 1000  # that there must be room for


@contextmanager
def open_chunks(
    path: str | PathLike[str], room: Room, folder: Path, *, weights: str | None = "auto"
) -> Iterator[EdgeChunks]:
    """Open a native file; `weights=None` leaves its weights out. Needs no temporary files in `folder`."""
    if weights not in ("auto", None):
        raise InvalidArgumentError(f"weights={weights!r} is no column of a native file; use 'auto' or None")
    rows, directed, labels = map_rows(path)
    dtype = None if rows.weights is None or weights is None else rows.weights.dtype
    chunks = _chunks(path, rows, room, dtype is not None)
    yield EdgeChunks(chunks, NUMBER, dtype, is_mirrored=not directed, num_vertices=rows.num_vertices, labels=labels)


def _chunks(path: str | PathLike[str], rows: Adjacency, room: Room, has_weights: bool) -> Iterator[EdgeChunk]:
    for first_row in range(0, rows.num_vertices, MAX_CHUNK_VERTICES):
        offsets = np.array(rows.offsets[first_row : first_row + MAX_CHUNK_VERTICES + 1])
        first, end = int(offsets[0]), int(offsets[-1])
        while first < end:
            least = FEWEST_EDGES * BYTES_PER_EDGE + offsets.size * BYTES_PER_VERTEX
            free = room("a chunk of edges", least) - offsets.size * BYTES_PER_VERTEX
            last = min(first + min(free // BYTES_PER_EDGE, MAX_CHUNK_EDGES), end)
            sources = first_row + _rows_of(offsets, first, last)
            targets = np.array(rows.neighbors[first:last])
            check_neighbors(path, "targets", targets, rows.num_vertices)
            weights = None if rows.weights is None or not has_weights else np.array(rows.weights[first:last])
            yield EdgeChunk(sources, targets, weights, str(path), last / rows.num_arcs)
            first = last


def _rows_of(offsets: Array, first: int, last: int) -> Array:
    """Return the row of every edge from `first` to `last` (not included)."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(np.clip(offsets, first, last)))
