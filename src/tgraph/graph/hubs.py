"""Hubs: vertices with so many edges that the rank that owns them would be the slowest. Their rows are divided by edge.

A hub has more than a quarter of a rank's share of the edges. Every rank holds a piece of its row, equally long on each,
and reduces it; the owner reduces what the ranks found, in their order. Hubs are ghosts on every other rank, so that all
know what they send and what they have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.graph.local_rows import LocalRows, StoredRows, make_local
from tgraph.group import Group, part_ends
from tgraph.runtime import Array

HUB_SHARE = 0.25  # of the edges that a rank has on average
FEWEST_EDGES = 1 << 14  # of a hub: dividing shorter rows costs more than it saves
PIECE_EDGES = 1 << 14  # at most, that one thread reduces at a time

REDUCE = {"sum": np.add, "mean": np.add, "min": np.minimum, "max": np.maximum, "any": np.logical_or}
"""What joins reductions of pieces; those of a mean are sums, and a count is the number of edges."""


def hub_edges(num_arcs: int, size: int) -> int:
    """Return how many edges a row has at most that is not divided.

    >>> hub_edges(10**9, 16), hub_edges(10**9, 1) > 10**9
    (15625000, True)
    """
    return max(int(HUB_SHARE * num_arcs / size), FEWEST_EDGES) if size > 1 else num_arcs + 1


def find_hubs(offsets: Array, size: int) -> Array:
    """Return the rows `[H]` to be divided among so many ranks; few of the offsets are looked at.

    >>> find_hubs(np.array([0, 1, 100_001, 100_002]), 4).tolist()
    [1]
    """
    most = hub_edges(int(offsets[-1]), size)
    passed = np.arange(0, int(offsets[-1]), most)  # a longer row passes at least one of them
    rows = np.unique(np.searchsorted(offsets, passed, "right") - 1)
    return np.asarray(rows[offsets[rows + 1] - offsets[rows] > most])


@dataclass(frozen=True)
class HubPieces:
    """A rank's pieces of the rows of all hubs. What one thread reduces of a piece is a *part*."""

    hubs: Array  # [H] vertex numbers, ascending
    counts: Array  # [P] hubs of every rank
    local: Array  # [H] local ids: own vertices or ghosts
    degrees: Array  # [H] edges on all ranks
    offsets: Array  # [H+1] into neighbors and weights
    neighbors: Array  # local ids
    weights: Array | None
    parts: Array  # [S, 3]: hub, first and last edge; every hub has one at least
    own: slice  # the hubs that this rank owns

    @property
    def num_bytes(self) -> int:
        """The bytes of neighbours and weights."""
        return self.neighbors.nbytes + (0 if self.weights is None else self.weights.nbytes)

    @property
    def own_rows(self) -> Array:
        """The rows of this rank's own hubs, which are empty."""
        return np.asarray(self.local[self.own])

    @property
    def receivers(self) -> Array:
        """The local id of the hub of every part, `[S]`."""
        return np.asarray(self.local[self.parts[:, 0]])

    def reduced(self, partials: Array, reduce: str) -> Array:
        """Return the reduction of every hub's piece, `[H]`, from those of the parts, `[S]`."""
        firsts = np.searchsorted(self.parts[:, 0], np.arange(self.hubs.size))
        return np.asarray(REDUCE[reduce].reduceat(partials, firsts)).astype(partials.dtype, copy=False)

    def to_owners(self, group: Group, found: Array, reduce: str) -> Array:
        """Send what was found for every hub `[H]` to its owner; return the reduction of own hubs over all ranks."""
        num_own = int(self.counts[group.rank])
        came = group.exchange(found, self.counts, np.full(group.size, num_own)).reshape(group.size, num_own)
        total = came[0]
        for other in came[1:]:
            total = REDUCE[reduce](total, other)
        return np.asarray(total).astype(found.dtype, copy=False)

    def bytes_to_owners(self, itemsize: int) -> int:
        """Return the bytes that this rank sends in `to_owners`."""
        return (self.hubs.size - (self.own.stop - self.own.start)) * itemsize


@dataclass(frozen=True)
class SplitRows:
    """One rank's rows without those of hubs, which are empty, and its pieces of these (None = there are no hubs)."""

    rows: LocalRows
    pieces: HubPieces | None

    @property
    def degrees(self) -> Array:
        """The number of edges of every own vertex, hubs too, `[N] int64`."""
        degrees = np.diff(self.rows.offsets)
        if self.pieces is not None:
            degrees[self.pieces.own_rows] = self.pieces.degrees[self.pieces.own]
        return degrees

    def as_stored(self, group: Group, bounds: Array) -> StoredRows:
        """Return whole rows that are put together again when something needs them."""

        def offsets() -> Array:
            return part_ends(self.degrees)

        return StoredRows(offsets, partial(join, group, bounds, self), int(self.degrees.sum()), self.rows.no_edges)


def split(group: Group, bounds: Array, rows: LocalRows, num_arcs: int) -> SplitRows:
    """Divide the rows of hubs among all ranks, which call it together; `num_arcs` are those of all."""
    most, first = hub_edges(num_arcs, group.size), int(bounds[group.rank])
    degrees = np.diff(rows.offsets)
    own = np.flatnonzero(degrees > most)
    counts = group.share(np.array([own.size]))[:, 0]
    if not counts.sum():
        return SplitRows(rows, None)
    hubs, lengths = group.join(own + first, counts), group.join(degrees[own], counts)
    is_piece = np.repeat(degrees > most, degrees)
    numbers = rows.vertex_numbers(first).astype(index_dtype(int(bounds[-1])))
    kept, sent = numbers[rows.neighbors[~is_piece]], numbers[rows.neighbors[is_piece]]
    moved = _send_pieces(group, counts, lengths, [sent, *_chosen(rows.weights, is_piece)])
    num_kept, num_moved = kept.size, moved[0].size
    local = make_local(group, bounds, rows.offsets, np.concatenate([kept, moved[0], hubs.astype(kept.dtype)]), None)
    weights = None if rows.weights is None else rows.weights[~is_piece]
    rest = part_ends(np.where(degrees > most, 0, degrees))
    offsets = part_ends(_piece_lengths(lengths, group.rank, group.size))
    begin = int(counts[: group.rank].sum())
    pieces = HubPieces(
        hubs=hubs,
        counts=counts,
        local=local.neighbors[num_kept + num_moved :],
        degrees=lengths,
        offsets=offsets,
        neighbors=local.neighbors[num_kept : num_kept + num_moved],
        weights=moved[1] if len(moved) > 1 else None,
        parts=_cut_parts(offsets),
        own=slice(begin, begin + int(counts[group.rank])),
    )
    return SplitRows(replace(local, offsets=rest, neighbors=local.neighbors[:num_kept], weights=weights), pieces)


def join(group: Group, bounds: Array, divided: SplitRows) -> LocalRows:
    """Return rows with those of hubs whole again. All ranks call it."""
    rows, pieces, first = divided.rows, divided.pieces, int(bounds[group.rank])
    assert pieces is not None
    numbers = rows.vertex_numbers(first).astype(index_dtype(int(bounds[-1])))
    ends = part_ends(pieces.counts)
    counts = np.diff(pieces.offsets[ends])
    lengths = np.stack([_piece_lengths(pieces.degrees[pieces.own], rank, group.size) for rank in range(group.size)])
    degrees = divided.degrees
    offsets = part_ends(degrees)
    is_hub = np.zeros(degrees.size, np.bool_)
    is_hub[pieces.own_rows] = True
    is_piece = np.repeat(is_hub, degrees)
    order = np.argsort(np.repeat(np.tile(np.arange(lengths.shape[1]), group.size), lengths.ravel()), kind="stable")

    def whole(kept: Array, sent: Array) -> Array:
        new = np.empty(is_piece.size, kept.dtype)
        new[~is_piece] = kept
        new[is_piece] = group.exchange(sent, counts, lengths.sum(axis=1))[order]
        return new

    neighbors = whole(numbers[rows.neighbors], numbers[pieces.neighbors])
    weights = None
    if rows.weights is not None and pieces.weights is not None:
        weights = whole(rows.weights, pieces.weights)
    return make_local(group, bounds, offsets, neighbors, weights)


def _piece_lengths(lengths: Array, rank: int, size: int) -> Array:
    """Return how many edges of rows with so many a rank has: its share, by position in the row."""
    return np.asarray(lengths * (rank + 1) // size - lengths * rank // size)


def _send_pieces(group: Group, counts: Array, lengths: Array, columns: list[Array]) -> list[Array]:
    """Send the rows of own hubs, one behind the other, in pieces to all ranks; return what came, hub by hub."""
    begin = int(counts[: group.rank].sum())
    own = lengths[begin : begin + int(counts[group.rank])]
    sent = np.stack([_piece_lengths(own, rank, group.size) for rank in range(group.size)])  # [P, own hubs]
    ranks = np.repeat(np.tile(np.arange(group.size), own.size), sent.T.ravel())
    order = np.argsort(ranks, kind="stable")
    ends = part_ends(counts)
    mine = part_ends(_piece_lengths(lengths, group.rank, group.size))
    return [group.exchange(column[order], sent.sum(axis=1), np.diff(mine[ends])) for column in columns]


def _chosen(weights: Array | None, mask: Array) -> list[Array]:
    return [] if weights is None else [weights[mask]]


def _cut_parts(offsets: Array) -> Array:
    """Return the parts of pieces with these offsets, `[S, 3]`."""
    parts = [
        (hub, begin, min(begin + PIECE_EDGES, int(offsets[hub + 1])))
        for hub in range(offsets.size - 1)
        for begin in range(int(offsets[hub]), max(int(offsets[hub + 1]), int(offsets[hub]) + 1), PIECE_EDGES)
    ]
    return np.array(parts, np.int64).reshape(-1, 3)
