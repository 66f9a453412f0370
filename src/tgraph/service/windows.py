"""From changes in the order in which they happened to batches, which delete first and insert then.

Whatever the size of a batch, the graph after it is the one that the changes would have made one by one: what comes and
goes within a batch leaves its vertices only, and an edge that went and came again is deleted and inserted. Edges that
have left the window are deleted in the batch in which they do.

Changes are tables with the columns `source`, `target` and maybe `weight`, `time`, `is_deletion`. Their clock is the
time, or else the number of insertions so far; an edge is in the window while the clock is less than its length ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import polars as pl

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Batch
from tgraph.graph.build import as_weights
from tgraph.graph.growing_labels import GrowingLabels
from tgraph.graph.labels import as_column
from tgraph.runtime import Array
from tgraph.service.lengths import Length

KEY_BITS = 32  # of a vertex number in the key of an edge


class Netting(Protocol):
    """Makes batches of changes, one behind the other."""

    def batches(self, events: pl.DataFrame) -> Iterator[Batch]:
        """Yield batches that do what some changes do, and what expires until the last of them."""


def build_netting(window: Length | None, directed: bool, multi_edges: bool) -> Netting:
    """Return what makes batches for a kind of graph."""
    return ParallelEdges(window, directed) if multi_edges else SingleEdges(window, directed)


@dataclass(frozen=True)
class Changes:
    """Columns of changes, one entry each."""

    sources: Array
    targets: Array
    weights: Array | None
    times: Array | None
    is_deletion: Array

    @staticmethod
    def of(events: pl.DataFrame) -> Changes:
        """Return the columns of a table."""
        has = events.columns
        return Changes(
            as_column("source", events["source"]),
            as_column("target", events["target"]),
            as_weights(events["weight"].to_numpy()) if "weight" in has else None,
            events["time"].to_numpy() if "time" in has else None,
            events["is_deletion"].to_numpy() if "is_deletion" in has else np.zeros(events.height, np.bool_),
        )

    def __len__(self) -> int:
        return int(self.sources.size)

    def __getitem__(self, part: slice) -> Changes:
        weights = None if self.weights is None else self.weights[part]
        times = None if self.times is None else self.times[part]
        return Changes(self.sources[part], self.targets[part], weights, times, self.is_deletion[part])

    def clock(self, window: Length | None, count: int) -> Array:
        """Return the times, or the number of insertions after `count` others."""
        if window is not None and window.is_time and self.times is not None:
            return self.times
        return count + np.cumsum(~self.is_deletion, dtype=np.int64)

    def batch(self, lasts: Array, deleted: tuple[Array, Array], again: list[Array] | None = None) -> Batch:
        """Return the batch that deletes edges, and inserts others `again` and what lasts; all vertices stay."""
        inserted = [column[lasts] for column in (self.sources, self.targets, self.weights) if column is not None]
        if again is not None:
            inserted = [np.concatenate(columns) for columns in zip(again, inserted, strict=True)]
        dropped = ~lasts & ~self.is_deletion
        vertices = np.concatenate([self.sources[dropped], self.targets[dropped]])
        time = None if self.times is None else self.times[-1].item()
        return Batch(insert=inserted, delete=deleted, add_vertices=vertices, time=time)


class EdgeKeys:
    """One number per pair of ends, the same for both directions of an undirected edge."""

    def __init__(self, directed: bool) -> None:
        self._directed, self._labels = directed, GrowingLabels(None, 0)

    def of(self, changes: Changes) -> Array:
        """Return the keys of changes, `[N] int64`."""
        (sources, targets), new = self._labels.number([changes.sources, changes.targets])
        if new.size:
            self._labels.add(new)
        if not self._directed:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        return sources << KEY_BITS | targets

    def ends(self, keys: Array) -> tuple[Array, Array]:
        """Return the ids of sources and targets."""
        numbers, labels = (keys >> KEY_BITS, keys & ((1 << KEY_BITS) - 1)), self._labels.array
        sources, targets = numbers if labels is None else (labels[one] for one in numbers)
        return sources, targets


class Groups:
    """Changes in the order of their keys; those of one key stay in the order in which they happened."""

    def __init__(self, keys: Array) -> None:
        self.order = np.argsort(keys, kind="stable")
        ordered = keys[self.order]
        self.is_first = np.concatenate([np.ones(1, np.bool_), ordered[1:] != ordered[:-1]])
        self.starts = np.flatnonzero(self.is_first)
        self.keys = ordered[self.starts]  # one per group, ascending
        self.numbers = np.cumsum(self.is_first) - 1  # of the group of each change

    def last(self, values: Array) -> Array:
        """Return the last value of each group."""
        return values[np.append(self.starts[1:], values.size) - 1]

    def any(self, mask: Array) -> Array:
        """Say of each group whether the mask holds anywhere in it."""
        return np.logical_or.reduceat(mask, self.starts)


class SingleEdges:
    """Batches for a graph without parallel edges: an edge stays until its last insertion leaves the window."""

    def __init__(self, window: Length | None, directed: bool) -> None:
        self._window, self._keys = window, EdgeKeys(directed)
        self._count = 0  # insertions so far
        self._live, self._last = np.empty(0, np.int64), np.empty(0, np.int64)  # keys in the window, and their clocks

    def batches(self, events: pl.DataFrame) -> Iterator[Batch]:
        """Yield the batch that does what some changes do, and what expires until the last of them."""
        changes = Changes.of(events)
        clock = changes.clock(self._window, self._count)
        self._count += int(np.count_nonzero(~changes.is_deletion))
        if self._window is None and not changes.is_deletion.any():
            yield changes.batch(~changes.is_deletion, _nothing())
            return
        groups = Groups(self._keys.of(changes))
        lasts, deleted = self._settle(groups, clock[groups.order], changes.is_deletion[groups.order], clock[-1])
        in_order = np.empty_like(lasts)
        in_order[groups.order] = lasts
        yield changes.batch(in_order, self._keys.ends(deleted))

    def _settle(self, groups: Groups, clock: Array, is_deletion: Array, end: Any) -> tuple[Array, Array]:
        """Return which changes are insertions that last, in the order of groups, and the keys of edges to delete."""
        is_reset, has_expired = is_deletion, np.zeros(groups.keys.size, np.bool_)
        if self._window is not None:
            is_reset = is_deletion | (clock - self._before(groups, clock) >= self._window.amount)
            has_expired = end - groups.last(clock) >= self._window.amount
        places = np.arange(clock.size)
        last_reset = np.maximum.reduceat(np.where(is_reset, places, -1), groups.starts)
        lasts = ~is_deletion & (places >= last_reset[groups.numbers]) & ~has_expired[groups.numbers]
        deleted = groups.keys[groups.any(is_reset) | has_expired]
        if self._window is None:
            return lasts, deleted
        stays = groups.any(lasts)
        expired = self._renew(groups, groups.keys[stays], groups.last(clock)[stays], end)
        return lasts, np.concatenate([expired, deleted])

    def _before(self, groups: Groups, clock: Array) -> Array:
        """Return the clock of the change before of the same edge; where there is none, that of the change itself."""
        before = np.concatenate([clock[:1], clock[:-1]])
        before[groups.starts] = clock[groups.starts]
        places, is_live = self._find(groups.keys)
        before[groups.starts[is_live]] = self._last[places[is_live]]
        return before

    def _renew(self, groups: Groups, keys: Array, last: Array, end: Any) -> Array:
        """Note the edges in the window; return those that left it and were not touched."""
        assert self._window is not None
        places, is_live = self._find(groups.keys)
        stays = np.ones(self._live.size, np.bool_)
        stays[places[is_live]] = False
        has_expired = stays & (end - self._last >= self._window.amount)
        expired = self._live[has_expired]
        stays &= ~has_expired
        merged = np.concatenate([self._live[stays], keys])
        order = np.argsort(merged, kind="stable")  # two ascending parts: a merge
        self._live, self._last = merged[order], np.concatenate([self._last[stays], last])[order]
        return expired

    def _find(self, keys: Array) -> tuple[Array, Array]:
        """Return where keys are among those in the window, and whether they are."""
        places = np.searchsorted(self._live, keys)
        is_live = np.zeros(keys.size, np.bool_)
        inside = places < self._live.size
        is_live[inside] = self._live[places[inside]] == keys[inside]
        return places, is_live


class ParallelEdges:
    """Batches for a graph with parallel edges: each one leaves the window by itself.

    A graph deletes the lightest of parallel edges, which need not be the oldest. So where weighted ones expire, all
    that are in the window are deleted, and those that stay are inserted again. For the same reason a batch ends before
    it deletes an edge like one that it inserted.
    """

    def __init__(self, window: Length | None, directed: bool) -> None:
        self._window, self._keys = window, EdgeKeys(directed)
        self._count = 0  # insertions so far
        # Insertions in the window: keys, clocks and weights.
        self._live, self._clock, self._weights = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)

    def batches(self, events: pl.DataFrame) -> Iterator[Batch]:
        """Yield batches that do what some changes do, and what expires until the last of them."""
        changes = Changes.of(events)
        if self._window is not None:
            yield self._slide(changes)
            return
        if not changes.is_deletion.any():
            yield changes.batch(~changes.is_deletion, _nothing())
            return
        keys = self._keys.of(changes)
        for first, end in pairwise([0, *_cuts(keys.tolist(), changes.is_deletion.tolist()), len(changes)]):
            part = changes[first:end]
            yield part.batch(~part.is_deletion, self._keys.ends(keys[first:end][part.is_deletion]))

    def _slide(self, changes: Changes) -> Batch:
        """Return the batch that inserts edges and deletes those that leave the window."""
        assert self._window is not None
        if changes.is_deletion.any():
            raise InvalidArgumentError(
                "a window on parallel edges and operations that delete were given, and which of several edges is "
                "deleted is not known; use op=None, window=None or multi_edges=False"
            )
        clock, keys = changes.clock(self._window, self._count), self._keys.of(changes)
        self._count += len(changes)
        lasts = clock[-1] - clock < self._window.amount
        num_expired = int(np.count_nonzero(clock[-1] - self._clock >= self._window.amount))  # the first ones
        expired, live, weights = self._live[:num_expired], self._live[num_expired:], self._weights[num_expired:]
        deleted, again = expired, None
        if changes.weights is not None:
            is_again = _is_in(live, np.unique(expired))
            deleted = np.concatenate([expired, live[is_again]])
            again = [*self._keys.ends(live[is_again]), weights[is_again]] if is_again.any() else None
            self._weights = np.concatenate([weights, changes.weights[lasts]])
        self._live = np.concatenate([live, keys[lasts]])
        self._clock = np.concatenate([self._clock[num_expired:], clock[lasts]])
        return changes.batch(lasts, self._keys.ends(deleted), again)


def _cuts(keys: list[int], is_deletion: list[bool]) -> list[int]:
    """Return where changes are cut: before those that delete an edge of a key that was inserted since the last cut."""
    cuts: list[int] = []
    inserted: set[int] = set()
    for place, (key, deletes) in enumerate(zip(keys, is_deletion, strict=True)):
        if deletes and key in inserted:
            cuts.append(place)
            inserted.clear()
        elif not deletes:
            inserted.add(key)
    return cuts


def _is_in(keys: Array, ascending: Array) -> Array:
    """Say of each key whether it is among others."""
    if not ascending.size:
        return np.zeros(keys.size, np.bool_)
    places = np.minimum(np.searchsorted(ascending, keys), ascending.size - 1)
    return ascending[places] == keys


def _nothing() -> tuple[Array, Array]:
    return np.empty(0, np.int64), np.empty(0, np.int64)
