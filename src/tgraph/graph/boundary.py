"""What travels between ranks: values of ghosts, from their owners to who has them, or the other way.

A rank sends to each other rank either the values of all ghosts between them, in the order that both know, or positions
and values of those that changed, whichever takes fewer bytes. Where all know the value, a mark is enough: a bit of each
ghost, or positions of those that are marked. `exchange_bytes` and `mark_bytes` are the model of that: `tgraph` compares
it with what was sent, and predicts larger groups with it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tgraph.graph.local_rows import RowEnds
from tgraph.group import Group, part_ends
from tgraph.runtime import Array

POSITION = np.dtype(np.int32)  # of a ghost among those between two ranks
HEADER_BYTES = 8  # to every other rank: how many changed, or that all are sent
ALL = -1


def exchange_bytes(num_ghosts: Array, num_changed: Array, value_bytes: int) -> Array:
    """Return the bytes between pairs of ranks that have so many ghosts, of which so many changed.

    >>> exchange_bytes(np.array([100, 100, 0]), np.array([100, 10, 0]), 8).tolist()
    [808, 128, 8]
    """
    changed_bytes = num_changed * (POSITION.itemsize + value_bytes)
    return HEADER_BYTES + np.minimum(num_ghosts * value_bytes, changed_bytes)


def mark_bytes(num_ghosts: Array, num_marked: Array) -> Array:
    """Return the bytes between pairs of ranks that have so many ghosts, of which so many are marked.

    >>> mark_bytes(np.array([100, 100, 0]), np.array([100, 1, 0])).tolist()
    [21, 12, 8]
    """
    return HEADER_BYTES + np.minimum(-(-num_ghosts // 8), num_marked * POSITION.itemsize)


def near_bytes(rows: RowEnds, value_bytes: int) -> int:
    """Return the bytes that a rank holds at most while values travel: what went before, what goes and what comes."""
    return rows.lent.size * (4 * value_bytes + 2) + rows.ghosts.size * value_bytes


class Boundary:
    """The ghosts of one rank's rows."""

    def __init__(self, group: Group, rows: RowEnds) -> None:
        self._group, self._rows = group, rows
        self._ghost_ends, self._lent_ends = part_ends(rows.ghost_counts), part_ends(rows.lent_counts)
        self._others = [rank for rank in range(group.size) if rank != group.rank]
        self.modelled_bytes = 0  # that this rank should have sent so far

    def spread(self, values: Array, last: Array | None) -> None:
        """Let the owners' values `[N + G]` become those of the ghosts.

        `last [L]` is what this rank sent the time before, and is overwritten; None: all are sent.
        """
        rows = self._rows
        sent = values[rows.lent]
        has_changed = None if last is None else sent != last
        if last is not None:
            last[:] = sent
            sent = last
        ghosts = values[rows.num_own :]
        for rank, positions, new in self._send(sent, has_changed, self._lent_ends, self._ghost_ends):
            part = ghosts[self._ghost_ends[rank] : self._ghost_ends[rank + 1]]
            part[slice(None) if positions is None else positions] = new

    def collect(self, values: Array, has_changed: Array, reduce: str) -> Array:
        """Let the values of ghosts that have changed (`[G] bool`) be reduced into those of their owners, `[N + G]`.

        Returns the own vertices that became others. What is for one owner is reduced rank by rank, in their order.
        """
        rows = self._rows
        changed_own = []
        ghosts = values[rows.num_own :]
        for rank, positions, new in self._send(ghosts, has_changed, self._ghost_ends, self._lent_ends):
            lent = rows.lent[self._lent_ends[rank] : self._lent_ends[rank + 1]]
            own = lent if positions is None else lent[positions]
            changed_own.append(improve(values, own, new, reduce))
        return np.concatenate(changed_own) if changed_own else rows.lent[:0]

    def spread_marks(self, marks: Array) -> None:
        """Let the owners' marks `[N + G] bool` become those of the ghosts: a bit of each, for many are marked."""
        rows, sizes, new_sizes = self._rows, -(-np.diff(self._lent_ends) // 8), -(-np.diff(self._ghost_ends) // 8)
        sent = marks[rows.lent]
        packed = [np.packbits(sent[first:last]) for first, last in pairwise(self._lent_ends.tolist())]
        self.modelled_bytes += int(sizes.sum())
        came = self._group.exchange(np.concatenate(packed), sizes, new_sizes)
        ghosts, places = marks[rows.num_own :], part_ends(new_sizes)
        for rank in self._others:
            part = ghosts[self._ghost_ends[rank] : self._ghost_ends[rank + 1]]
            part[:] = np.unpackbits(came[places[rank] : places[rank + 1]], count=part.size)

    def collect_marks(self, marks: Array) -> Array:
        """Send marks of ghosts `[G] bool` to their owners; return the own vertices that others have marked."""
        group, rows, ends, new_ends = self._group, self._rows, self._ghost_ends, self._lent_ends
        sizes, new_sizes = np.diff(ends), np.diff(new_ends)
        parts = [marks[first:last] for first, last in pairwise(ends.tolist())]
        counts = np.array([np.count_nonzero(part) for part in parts])
        self.modelled_bytes += int(mark_bytes(sizes, counts).sum()) - HEADER_BYTES  # none to itself
        is_bits = counts * POSITION.itemsize >= -(-sizes // 8)
        ones = np.ones(group.size, np.int64)
        headers = group.exchange(np.where(is_bits, ALL, counts), ones, ones)
        packed = [
            np.packbits(part) if bits else np.flatnonzero(part).astype(POSITION).view(np.uint8)
            for part, bits in zip(parts, is_bits.tolist(), strict=True)
        ]
        new_counts = np.where(headers == ALL, -(-new_sizes // 8), headers * POSITION.itemsize)
        came = group.exchange(np.concatenate(packed), np.array([part.size for part in packed]), new_counts)
        places, found = part_ends(new_counts), [rows.lent[:0]]
        for rank in self._others:
            content = came[places[rank] : places[rank + 1]]
            if headers[rank] == ALL:
                positions = np.flatnonzero(np.unpackbits(content, count=int(new_sizes[rank])))
            else:
                positions = np.frombuffer(content.tobytes(), POSITION)
            found.append(rows.lent[new_ends[rank] + positions])
        return np.concatenate(found)

    def _send(
        self, values: Array, has_changed: Array | None, ends: Array, new_ends: Array
    ) -> list[tuple[int, Array | None, Array]]:
        """Send to every rank r the values between `ends[r]` and `ends[r + 1]`: the changed ones, or all (None).

        Returns what came: from which rank, the positions (None = all) and the values.
        """
        group, sizes, item = self._group, np.diff(ends), values.dtype.itemsize
        if has_changed is None:
            self.modelled_bytes += int(sizes.sum()) * item
            came = group.exchange(values, sizes, np.diff(new_ends))
            return [(r, None, came[new_ends[r] : new_ends[r + 1]]) for r in self._others]
        parts = [slice(first, last) for first, last in pairwise(ends.tolist())]
        counts = np.array([np.count_nonzero(has_changed[part]) for part in parts])
        self.modelled_bytes += int(exchange_bytes(sizes, counts, item).sum()) - HEADER_BYTES  # none to itself
        is_all = counts * (POSITION.itemsize + item) >= sizes * item
        ones = np.ones(group.size, np.int64)
        headers = group.exchange(np.where(is_all, ALL, counts), ones, ones)
        positions = [
            np.flatnonzero(has_changed[part]).astype(POSITION) if few else np.empty(0, POSITION)
            for part, few in zip(parts, (~is_all).tolist(), strict=True)
        ]
        new_counts = np.where(headers == ALL, 0, headers)
        came_positions = group.exchange(np.concatenate(positions), np.where(is_all, 0, counts), new_counts)
        new_sizes = np.where(headers == ALL, np.diff(new_ends), headers)
        if not is_all.all():
            chosen = [values[p] if a else values[p][few] for p, few, a in zip(parts, positions, is_all, strict=True)]
            values = np.concatenate(chosen)
        came = group.exchange(values, np.where(is_all, sizes, counts), new_sizes)
        few, some = part_ends(new_counts), part_ends(new_sizes)
        return [
            (r, None if headers[r] == ALL else came_positions[few[r] : few[r + 1]], came[some[r] : some[r + 1]])
            for r in self._others
        ]


def improve(values: Array, places: Array, new: Array, reduce: str) -> Array:
    """Reduce new values (min or max) into those at some places; return the places where there are others now.

    >>> values = np.array([5, 6, 7])
    >>> improve(values, np.array([0, 2]), np.array([9, 1]), "min").tolist(), values.tolist()
    ([2], [5, 6, 1])
    """
    before = values[places]
    after = (np.minimum if reduce == "min" else np.maximum)(before, new)
    is_other = (after != before) & ~((after != after) & (before != before))
    values[places[is_other]] = after[is_other]
    return np.asarray(places[is_other])
