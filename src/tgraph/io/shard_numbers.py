"""A dictionary of ids that is divided among ranks: ids become vertex numbers, in ascending order of the ids.

Every rank finds the distinct ids of its edges. A sample of all of them says which range of ids each rank looks after;
the ids go there, are sorted and numbered behind those of the ranks before, and the numbers come back. So no rank has
more than its part of the dictionary, and the numbers are those of one machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tgraph.graph.division import exchange_labels
from tgraph.graph.labels import STRING_DTYPE
from tgraph.group import Group
from tgraph.kernels.cpu import vertex_ids
from tgraph.runtime import Array

SAMPLES = 256  # of the ids of each rank


@dataclass(frozen=True)
class Numbered:
    """Edges by vertex numbers, and this rank's part of the ids."""

    sources: Array
    targets: Array
    num_vertices: int
    labels: Array | None  # of consecutive vertices, `label_counts[r]` on rank r; None: ids are the numbers
    label_counts: Array


def number_ids(group: Group, sources: Array, targets: Array) -> Numbered:
    """Number integer ids. All ranks call it."""
    columns, distinct = vertex_ids.number_ids([sources, targets])
    if distinct is None:
        distinct = np.arange(max(sources.max(initial=-1), targets.max(initial=-1)) + 1)
    numbers, labels, counts = _look_up(group, distinct.astype(np.int64))
    num_vertices, first = int(counts.sum()), int(counts[: group.rank].sum())
    is_plain = bool((labels == np.arange(first, first + labels.size)).all())
    all_plain = bool(group.share(np.array([is_plain]))[:, 0].all())
    kept = None if all_plain else labels
    return Numbered(numbers[columns[0]], numbers[columns[1]], num_vertices, kept, counts)


def number_strings(group: Group, sources: pl.Series, targets: pl.Series) -> Numbered:
    """Number ids that are strings. All ranks call it."""
    distinct = pl.concat([sources, targets]).unique().sort()
    kind = pl.Enum(distinct)
    columns = [column.cast(kind).to_physical().to_numpy() for column in (sources, targets)]
    numbers, labels, counts = _look_up(group, np.array(distinct.to_list(), STRING_DTYPE))
    return Numbered(numbers[columns[0]], numbers[columns[1]], int(counts.sum()), labels, counts)


def _look_up(group: Group, distinct: Array) -> tuple[Array, Array, Array]:
    """Return the numbers of ascending distinct ids, the ids that this rank looks after, and how many each rank does."""
    splitters = _splitters(group, distinct)
    cuts = np.searchsorted(distinct, splitters) if splitters.size else np.zeros(group.size - 1, np.int64)
    counts = np.diff(np.concatenate([[0], cuts, [distinct.size]]))
    ones = np.ones(group.size, np.int64)
    new_counts = group.exchange(counts, ones, ones)
    asked = exchange_labels(group, distinct, counts)
    labels, places = np.unique(asked, return_inverse=True) if asked.size else (asked, np.zeros(0, np.int64))
    label_counts = group.share(np.array([labels.size]))[:, 0]
    first = int(label_counts[: group.rank].sum())
    numbers = group.exchange(places.astype(np.int64) + first, new_counts, counts)
    return numbers, labels, label_counts


def _splitters(group: Group, distinct: Array) -> Array:
    """Return the ids at which ranks 1, 2, ... begin, from a sample of the ids of all ranks; none without ids."""
    places = np.linspace(0, distinct.size - 1, min(SAMPLES, distinct.size)).astype(np.int64)
    sample = distinct[places]
    everywhere = np.full(group.size, sample.size)
    samples = np.sort(exchange_labels(group, np.tile(sample, group.size), everywhere))
    return samples[samples.size * np.arange(1, group.size) // group.size] if samples.size else samples[:0]
