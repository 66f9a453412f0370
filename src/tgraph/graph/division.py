"""How vertices are divided among ranks: where to cut, and their ids on the way to other ranks."""

from __future__ import annotations

import numpy as np

from tgraph.errors import DeclaredGapError
from tgraph.graph.hubs import hub_edges
from tgraph.graph.labels import STRING_DTYPE
from tgraph.group import Group
from tgraph.runtime import Array


def bounds_by_degrees(degrees: list[Array], size: int) -> Array:
    """Return the first vertex of every rank and their number, `[size + 1]`: about equally many edges for each.

    The edges of hubs are not counted: all ranks have as many of them (`tgraph.graph.hubs`).

    >>> bounds_by_degrees([np.array([8, 1, 1, 1, 1])], 2).tolist()
    [0, 1, 5]
    >>> bounds_by_degrees([np.array([80_000, 1, 1, 1, 1])], 2).tolist()
    [0, 3, 5]
    """
    work = np.ones(degrees[0].size, np.int64)
    for side in degrees:
        work += np.where(side > hub_edges(int(side.sum()), size), 0, side)
    return bounds_by_work(work, size)


def bounds_by_work(work: Array, size: int) -> Array:
    """Return where to cut so that all parts have about the same work, `[size + 1]`.

    >>> bounds_by_work(np.array([4, 1, 1, 1, 1]), 2).tolist()
    [0, 1, 5]
    """
    ends = np.concatenate([[0], np.cumsum(work)])
    middles = (ends[:-1] + ends[1:]) / 2  # what lies in the middle of a part belongs to it
    inner = np.searchsorted(middles, ends[-1] * np.arange(1, size) / size)
    return np.concatenate([[0], inner, [work.size]]).astype(np.int64)


def exchange_labels(group: Group, labels: Array, counts: Array) -> Array:
    """Send ids, integers or strings, to ranks; return those that came."""
    ones = np.ones(group.size, np.int64)
    new_counts = group.exchange(counts.astype(np.int64), ones, ones)
    if labels.dtype.kind == "i":
        return group.exchange(labels, counts, new_counts)
    if labels.dtype.kind != "T":
        raise DeclaredGapError("ids in a group are integers or strings; convert others to strings")
    encoded = [label.encode() for label in labels.tolist()]
    lengths = np.array([len(label) for label in encoded], np.int64)
    new_lengths = group.exchange(lengths, counts, new_counts)
    sizes, new_sizes = _sum_parts(lengths, counts), _sum_parts(new_lengths, new_counts)
    content = group.exchange(np.frombuffer(b"".join(encoded), np.uint8), sizes, new_sizes).tobytes()
    ends = np.cumsum(new_lengths).tolist()
    starts = [0, *ends[:-1]]
    return np.array([content[a:b].decode() for a, b in zip(starts, ends, strict=False)], STRING_DTYPE)


def _sum_parts(values: Array, counts: Array) -> Array:
    """Return the sums of the next `counts[r]` values, for every r."""
    sums = np.concatenate([[0], np.cumsum(values)])
    return np.diff(sums[np.concatenate([[0], np.cumsum(counts)])])
