"""From changes in the order in which they happened to batches, which delete first and insert then.

Whatever the size of a batch, the graph after it is the one that the changes would have made one by one: what comes and
goes within a batch leaves its vertices only, and an edge that went and came again is deleted and inserted. Edges that
have left the window are deleted in the batch in which they do.

Changes are tables with the columns `source`, `target` and maybe `weight`, `time`, `is_deletion`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import polars as pl

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Batch
from tgraph.service.lengths import Length

KEYS = ("from", "to")  # the ends of an edge, the smaller one first where edges have no direction


class Netting(Protocol):
    """Makes batches of changes, one behind the other."""

    def batch(self, events: pl.DataFrame) -> Batch:
        """Return the batch that does what some changes do, and what expires until the last of them."""


def build_netting(window: Length | None, directed: bool, multi_edges: bool) -> Netting:
    """Return what makes batches for a kind of graph."""
    return ParallelEdges(window, directed) if multi_edges else SingleEdges(window, directed)


class SingleEdges:
    """Batches for a graph without parallel edges: an edge stays until its last insertion leaves the window."""

    def __init__(self, window: Length | None, directed: bool) -> None:
        self._window, self._directed = window, directed
        self._count = 0  # insertions so far
        self._live: pl.DataFrame | None = None  # edges in the window: ends, and the clock of the last insertion

    def batch(self, events: pl.DataFrame) -> Batch:
        """Return the batch that does what some changes do, and what expires until the last of them."""
        events, self._count = _prepared(events, self._window, self._directed, self._count)
        end = events["clock"][-1]
        events = self._with_fates(events, end)
        deleted = events.filter(pl.col("is_gone")).unique(KEYS, maintain_order=True).select(KEYS)
        if self._window is not None:
            deleted = pl.concat([self._expire(events, end), deleted])
        return _batch(events, deleted)

    def _with_fates(self, events: pl.DataFrame, end: Any) -> pl.DataFrame:
        """Say of every change whether it is an insertion that lasts, and whether its edge was away at any time."""
        is_reset, has_expired = pl.col("is_deletion"), pl.lit(False)
        if self._window is not None:
            if self._live is not None:
                events = events.join(self._live, on=KEYS, how="left", maintain_order="left")
            else:
                events = events.with_columns(last=pl.lit(None, events.schema["clock"]))
            before = pl.coalesce(pl.col("clock").shift(1).over(KEYS), pl.col("last"))
            is_reset |= (pl.col("clock") - before >= self._window.amount).fill_null(False)
            has_expired = end - pl.col("clock").max().over(KEYS) >= self._window.amount
        events = events.with_columns(is_reset=is_reset, has_expired=has_expired, place=pl.int_range(pl.len()))
        last_reset = pl.col("place").filter(pl.col("is_reset")).max().over(KEYS).fill_null(-1)
        return events.with_columns(
            lasts=~pl.col("is_deletion") & ~pl.col("has_expired") & (pl.col("place") >= last_reset),
            is_gone=(pl.col("is_reset") | pl.col("has_expired")).any().over(KEYS),
        )

    def _expire(self, events: pl.DataFrame, end: Any) -> pl.DataFrame:
        """Note what is in the window now; return the edges that left it and were not touched."""
        assert self._window is not None
        latest = events.filter("lasts").group_by(KEYS, maintain_order=True).agg(last=pl.col("clock").max())
        if self._live is None:
            self._live = latest
            return latest.clear().select(KEYS)
        untouched = self._live.join(events, on=KEYS, how="anti", maintain_order="left")
        has_expired = end - pl.col("last") >= self._window.amount
        self._live = pl.concat([untouched.filter(~has_expired), latest], how="vertical_relaxed")
        return untouched.filter(has_expired).select(KEYS)


class ParallelEdges:
    """Batches for a graph with parallel edges: each one leaves the window by itself.

    A graph deletes the lightest of parallel edges, which need not be the oldest. So where weighted ones expire, all
    that are in the window are deleted, and those that stay are inserted again.
    """

    def __init__(self, window: Length | None, directed: bool) -> None:
        self._window, self._directed = window, directed
        self._count = 0  # insertions so far
        self._live: pl.DataFrame | None = None  # insertions in the window

    def batch(self, events: pl.DataFrame) -> Batch:
        """Return the batch that does what some changes do, and what expires until the last of them."""
        events, self._count = _prepared(events, self._window, self._directed, self._count)
        if self._window is None:
            deleted = events.filter("is_deletion").select(KEYS)
            return _batch(events.with_columns(lasts=~pl.col("is_deletion")), deleted)
        if events["is_deletion"].any():
            raise InvalidArgumentError(
                "a window on parallel edges and operations that delete were given, and which of several edges is "
                "deleted is not known; use op=None, window=None or multi_edges=False"
            )
        has_expired = events["clock"][-1] - pl.col("clock") >= self._window.amount
        events = events.with_columns(lasts=~has_expired)
        live = events.clear() if self._live is None else self._live
        expired, stays = live.filter(has_expired), live.filter(~has_expired)
        again = stays.clear()
        if "weight" in events.columns:
            again = stays.join(expired, on=KEYS, how="semi", maintain_order="left")
        self._live = pl.concat([stays, events.filter("lasts")], how="vertical_relaxed")
        deleted = pl.concat([expired, again]).select(KEYS)
        return _batch(pl.concat([again, events], how="vertical_relaxed"), deleted)


def cut_at_deletions(events: pl.DataFrame, directed: bool) -> Iterator[pl.DataFrame]:
    """Cut changes before those that delete one of several parallel edges after another was inserted.

    Which one is deleted depends on the graph then, so that a batch, which deletes first, must end before.
    """
    while "is_deletion" in events.columns:
        keyed = _with_keys(events, directed)
        was_inserted = (~pl.col("is_deletion")).cum_sum().over(KEYS) > 0
        is_conflict = keyed.select(pl.col("is_deletion") & was_inserted).to_series()
        if not is_conflict.any():
            break
        place = int(is_conflict.arg_max() or 0)
        yield events.head(place)
        events = events.slice(place)
    yield events


def _prepared(events: pl.DataFrame, window: Length | None, directed: bool, count: int) -> tuple[pl.DataFrame, int]:
    """Add the ends by which edges are compared, and the clock: the time, or else the number of insertions so far."""
    if "is_deletion" not in events.columns:
        events = events.with_columns(is_deletion=pl.lit(False))
    insertions = (~pl.col("is_deletion")).cast(pl.Int64).cum_sum() + count
    clock = pl.col("time") if window is not None and window.is_time else insertions
    events = _with_keys(events, directed).with_columns(clock=clock, number=insertions)
    return events.drop("number"), events["number"][-1]


def _with_keys(events: pl.DataFrame, directed: bool) -> pl.DataFrame:
    source, target = pl.col("source"), pl.col("target")
    is_ordered = pl.lit(True) if directed else source <= target
    low, high = (pl.when(is_ordered).then(one).otherwise(other) for one, other in ((source, target), (target, source)))
    return events.with_columns(low.alias(KEYS[0]), high.alias(KEYS[1]))


def _batch(events: pl.DataFrame, deleted: pl.DataFrame) -> Batch:
    """Return the batch that deletes some edges and inserts what lasts; all vertices are there afterwards."""
    inserted, dropped = events.filter("lasts"), events.filter(~pl.col("lasts") & ~pl.col("is_deletion"))
    columns = [inserted[name] for name in ("source", "target", "weight") if name in inserted.columns]
    vertices = pl.concat([dropped["source"], dropped["target"].alias("source")]).unique(maintain_order=True)
    return Batch(
        insert=columns,
        delete=(deleted[KEYS[0]], deleted[KEYS[1]]),
        add_vertices=vertices,
        time=events["time"][-1] if "time" in events.columns else None,
    )
