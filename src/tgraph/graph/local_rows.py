"""One rank's rows of a graph that is divided among several: its own vertices, and the others that their edges name.

Own vertices are numbered from 0 to N - 1. The vertices of other ranks that occur in the rows are *ghosts*, numbered
from N on in the order of their vertex numbers, so that those of one rank lie together. Who owns a ghost knows it: its
own vertices that others have as ghosts are *lent*, in the same order. Values of ghosts then travel without ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.group import Group, exchange_uneven
from tgraph.kernels.cpu.csr import rows_from_edges, transpose
from tgraph.kernels.cpu.id_bits import IdBits
from tgraph.runtime import Array

BITS_PER_EDGE = 16  # there may be this many vertices for every edge of a rank, for a bit each to take less than lists
EDGES_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class RowEnds:
    """Where rows `[N]` with local neighbours begin, and whom they name; the edges themselves may be anywhere."""

    offsets: Array  # [N+1] int64
    ghosts: Array  # [G] vertex numbers, ascending
    ghost_counts: Array  # [P] of every rank
    lent: Array  # [L] local ids of own vertices, for rank 0, for rank 1, ...
    lent_counts: Array  # [P]

    @property
    def num_own(self) -> int:
        """The number of rows."""
        return self.offsets.size - 1

    @property
    def num_local(self) -> int:
        """The number of own vertices and ghosts."""
        return self.num_own + self.ghosts.size

    @property
    def num_arcs(self) -> int:
        """The number of edges."""
        return int(self.offsets[-1])

    @property
    def num_bytes(self) -> int:
        """The bytes of all arrays."""
        return self.offsets.nbytes + self.ghosts.nbytes + self.lent.nbytes

    def vertex_numbers(self, first: int) -> Array:
        """Return the vertex number of every own vertex and ghost, `[N + G] int64`; own ones begin at `first`."""
        return np.concatenate([np.arange(first, first + self.num_own), self.ghosts], dtype=np.int64)


@dataclass(frozen=True)
class LocalRows(RowEnds):
    """Rows `[N]` in memory."""

    neighbors: Array  # [E] local ids: below N own vertices, from N on ghosts
    weights: Array | None  # [E]

    @property
    def no_edges(self) -> tuple[Array, Array | None]:
        """Neighbours and weights of no edge, for their types."""
        return self.neighbors[:0], None if self.weights is None else self.weights[:0]

    @property
    def num_bytes(self) -> int:
        """The bytes of all arrays."""
        return super().num_bytes + self.neighbors.nbytes + (0 if self.weights is None else self.weights.nbytes)


@dataclass(frozen=True)
class StoredRows:
    """Rows that are still in a file: something that needs no neighbours asks for their offsets alone.

    Where edges stay in files, `load` raises, and `find_far` gives the rows that can be streamed, which all ranks make
    together at its first call; it is told how many bytes of vertex data are near already.
    """

    read_offsets: Callable[[], Array]  # [N+1] int64
    load: Callable[[], LocalRows]  # all ranks call it
    num_arcs: int
    no_edges: tuple[Array, Array | None]  # neighbours and weights of no edge, for their types
    find_far: Callable[[int], RowEnds] | None = None

    @property
    def offsets(self) -> Array:
        """`[N+1] int64`, read anew."""
        return self.read_offsets()

    @property
    def num_bytes(self) -> int:
        """The bytes in memory: none."""
        return 0


def make_local(group: Group, bounds: Array, offsets: Array, neighbors: Array, weights: Array | None) -> LocalRows:
    """Return the rows of this rank, given with vertex numbers for neighbours, which are overwritten. All ranks call it.

    `bounds [P+1]` are the first vertices of all ranks, and their number.
    """
    first, num_own = int(bounds[group.rank]), int(bounds[group.rank + 1] - bounds[group.rank])
    ghosts, local = _renumber(neighbors, first, num_own, int(bounds[-1]))
    return LocalRows(offsets, *find_lent(group, bounds, ghosts), local, weights)


def find_lent(group: Group, bounds: Array, ghosts: Array) -> tuple[Array, Array, Array, Array]:
    """Return ghosts and their counts, and own vertices that others have as ghosts and theirs. All ranks call it."""
    first, num_own = int(bounds[group.rank]), int(bounds[group.rank + 1] - bounds[group.rank])
    ghost_counts = np.diff(np.searchsorted(ghosts, bounds))
    asked, lent_counts = exchange_uneven(group, ghosts, ghost_counts)
    return ghosts, ghost_counts, (asked - first).astype(index_dtype(num_own + ghosts.size), copy=False), lent_counts


def turn(group: Group, bounds: Array, rows: LocalRows) -> LocalRows:
    """Return the rows of the other direction: every edge goes to the rank that owns its other end. All ranks call it.

    Inside a row the neighbours ascend, as in the reverse of a graph on one rank.
    """
    first, num_own = int(bounds[group.rank]), rows.num_own
    offsets, sources, weights = transpose(rows.offsets, rows.neighbors, rows.weights, rows.num_local)
    sources = (sources.astype(np.int64) + first).astype(index_dtype(int(bounds[-1])), copy=False)
    degrees, start = np.diff(offsets), int(offsets[num_own])
    ghost_ends = np.concatenate([[0], np.cumsum(rows.ghost_counts)])
    counts = np.diff(offsets[num_own + ghost_ends])
    new_degrees = group.exchange(degrees[num_own:], rows.ghost_counts, rows.lent_counts)
    new_sources, new_counts = exchange_uneven(group, sources[start:], counts)
    new_weights = None if weights is None else group.exchange(weights[start:], counts, new_counts)
    keys = np.repeat(rows.lent, new_degrees)
    place = int(new_counts[: group.rank].sum())  # of the own edges, between those of the ranks before and after
    own_keys = np.repeat(np.arange(num_own, dtype=keys.dtype), degrees[:num_own])
    keys = np.concatenate([keys[:place], own_keys, keys[place:]])
    found = np.concatenate([new_sources[:place], sources[:start], new_sources[place:]])
    if weights is not None and new_weights is not None:
        weights = np.concatenate([new_weights[:place], weights[:start], new_weights[place:]])
    return make_local(group, bounds, *rows_from_edges(keys, found, weights, num_own))


def side_by_side(group: Group, bounds: Array, left: LocalRows, right: LocalRows) -> LocalRows:
    """Return rows that hold those of `left` and behind them those of `right`. All ranks call it."""
    first = int(bounds[group.rank])
    sides = left, right
    dtype = index_dtype(int(bounds[-1]))
    degrees = [np.diff(side.offsets) for side in sides]
    offsets = left.offsets + right.offsets
    starts = offsets[:-1], offsets[:-1] + degrees[0]
    places = [
        np.repeat(start - side.offsets[:-1], degree) + np.arange(side.neighbors.size)
        for side, start, degree in zip(sides, starts, degrees, strict=True)
    ]
    neighbors = np.empty(int(offsets[-1]), dtype)
    weights = None if left.weights is None else np.empty(neighbors.size, left.weights.dtype)
    for side, place in zip(sides, places, strict=True):
        neighbors[place] = side.vertex_numbers(first).astype(dtype)[side.neighbors]
        if weights is not None:
            weights[place] = side.weights
    return make_local(group, bounds, offsets, neighbors, weights)


def _renumber(neighbors: Array, first: int, num_own: int, num_vertices: int) -> tuple[Array, Array]:
    """Return the neighbours of other ranks, ascending, and local ids, in the same memory where types are the same."""
    if num_vertices > BITS_PER_EDGE * neighbors.size + 1024:
        return _renumber_by_search(neighbors, first, num_own, num_vertices)
    bits = IdBits(num_vertices)
    bits.add(neighbors)
    bits.remove_range(first, first + num_own)
    ghosts = bits.listed(index_dtype(num_vertices))
    local = _room_for(neighbors, num_own + ghosts.size)
    bits.renumber(neighbors, first, num_own, local)
    return ghosts, local


def _renumber_by_search(neighbors: Array, first: int, num_own: int, num_vertices: int) -> tuple[Array, Array]:
    """Do it for few edges, in time and memory that do not depend on the number of vertices."""
    distinct = np.unique(neighbors).astype(index_dtype(num_vertices))
    ghosts = distinct[(distinct < first) | (distinct >= first + num_own)]
    local = _room_for(neighbors, num_own + ghosts.size)
    for begin in range(0, neighbors.size, EDGES_AT_A_TIME):
        some = neighbors[begin : begin + EDGES_AT_A_TIME]
        is_own = (some >= first) & (some < first + num_own)
        places = np.searchsorted(ghosts, some) + num_own
        local[begin : begin + EDGES_AT_A_TIME] = np.where(is_own, some - first, places)
    return ghosts, local


def _room_for(neighbors: Array, num_local: int) -> Array:
    """Return an array for as many local ids: the memory of the neighbours where these have the same type."""
    dtype = index_dtype(num_local)
    return neighbors if neighbors.dtype == dtype else np.empty(neighbors.size, dtype)
