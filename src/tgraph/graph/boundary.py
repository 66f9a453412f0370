"""What travels between ranks: values of ghosts, from their owners to who has them, or the other way.

A rank sends to each other rank either the values of all ghosts between them, in the order that both know, or positions
and values of those that changed, whichever takes fewer bytes. `exchange_bytes` is the model of that: `tgraph` compares
it with what was sent, and predicts larger groups with it.
"""

from __future__ import annotations

import numpy as np

from tgraph.graph.local_rows import LocalRows
from tgraph.group import Group
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


class Boundary:
    """The ghosts of one rank's rows."""

    def __init__(self, group: Group, rows: LocalRows) -> None:
        self._group, self._rows = group, rows
        self._ghost_ends, self._lent_ends = _ends(rows.ghost_counts), _ends(rows.lent_counts)
        self._others = [rank for rank in range(group.size) if rank != group.rank]
        self.modelled_bytes = 0  # that this rank should have sent so far

    def spread(self, values: Array, last: Array | None) -> None:
        """Let the owners' values `[N + G]` become those of the ghosts.

        `last [L]` is what this rank sent the time before, and is overwritten; None: all are sent.
        """
        rows = self._rows
        sent = values[rows.lent]
        changed = np.arange(0) if last is None else np.flatnonzero(sent != last)
        if last is not None:
            last[:] = sent
        ghosts = values[rows.num_own :]
        for rank, positions, new in self._send(sent, changed, self._lent_ends, self._ghost_ends, last is None):
            part = ghosts[self._ghost_ends[rank] : self._ghost_ends[rank + 1]]
            part[slice(None) if positions is None else positions] = new

    def collect(self, values: Array, changed_ghosts: Array, reduce: str) -> Array:
        """Let the ghosts' values, where they changed, be reduced into those of their owners, `[N + G]`.

        Returns the own vertices that became others. What is for one owner is reduced rank by rank, in their order.
        """
        rows = self._rows
        meet = np.minimum if reduce == "min" else np.maximum
        changed_own = []
        ghosts = values[rows.num_own :]
        for rank, positions, new in self._send(ghosts, changed_ghosts, self._ghost_ends, self._lent_ends, False):
            lent = rows.lent[self._lent_ends[rank] : self._lent_ends[rank + 1]]
            own = lent if positions is None else lent[positions]
            before = values[own]
            after = meet(before, new)
            is_other = (after != before) & ~((after != after) & (before != before))
            values[own[is_other]] = after[is_other]
            changed_own.append(own[is_other])
        return np.concatenate(changed_own) if changed_own else rows.lent[:0]

    def _send(
        self, values: Array, changed: Array, ends: Array, new_ends: Array, sends_all: bool
    ) -> list[tuple[int, Array | None, Array]]:
        """Send to every rank r the values between `ends[r]` and `ends[r + 1]`: all, or the changed ones.

        Returns what came: from which rank, the positions (None = all) and the values.
        """
        group, sizes, item = self._group, np.diff(ends), values.dtype.itemsize
        if sends_all:
            self.modelled_bytes += int(sizes.sum()) * item
            came = group.exchange(values, sizes, np.diff(new_ends))
            return [(r, None, came[new_ends[r] : new_ends[r + 1]]) for r in self._others]
        counts = np.diff(np.searchsorted(changed, ends))
        self.modelled_bytes += int(exchange_bytes(sizes, counts, item).sum()) - HEADER_BYTES  # none to itself
        is_all = counts * (POSITION.itemsize + item) >= sizes * item
        ones = np.ones(group.size, np.int64)
        headers = group.exchange(np.where(is_all, ALL, counts), ones, ones)
        is_few = np.repeat(~is_all, counts)
        positions = (changed - np.repeat(ends[:-1], counts))[is_few].astype(POSITION)
        new_counts = np.where(headers == ALL, 0, headers)
        came_positions = group.exchange(positions, np.where(is_all, 0, counts), new_counts)
        new_sizes = np.where(headers == ALL, np.diff(new_ends), headers)
        chosen = _chosen(values, changed, ends, is_all)
        came = group.exchange(chosen, np.where(is_all, sizes, counts), new_sizes)
        few, some = _ends(new_counts), _ends(new_sizes)
        return [
            (r, None if headers[r] == ALL else came_positions[few[r] : few[r + 1]], came[some[r] : some[r + 1]])
            for r in self._others
        ]


def _chosen(values: Array, changed: Array, ends: Array, is_all: Array) -> Array:
    """Return the values for every rank, one behind the other: all between its `ends`, or the changed ones of them."""
    places = np.searchsorted(changed, ends)
    pieces = [
        values[ends[r] : ends[r + 1]] if sends_all else values[changed[places[r] : places[r + 1]]]
        for r, sends_all in enumerate(is_all.tolist())
    ]
    return np.concatenate(pieces)


def _ends(counts: Array) -> Array:
    """Return where parts of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)])
