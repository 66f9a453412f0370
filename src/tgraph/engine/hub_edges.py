"""Hubs in programs that override `compute`: what their vertices receive along rows that are divided among ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.graph.hubs import HubPieces
from tgraph.graph.sharded import ShardedGraph
from tgraph.group import part_ends
from tgraph.kernels.cpu.label_counts import LabelCounts
from tgraph.runtime import Array, Tensor


class HubEdges:
    """A rank's pieces of the rows of all hubs, by which it helps their owners."""

    def __init__(self, graph: ShardedGraph, pieces: HubPieces, edges: InMemoryEdges) -> None:
        """`edges` are those of the pieces, in a graph of own vertices and ghosts."""
        self._graph, self._group, self._pieces, self._edges = graph, graph.group, pieces, edges
        self._counts: LabelCounts | None = None
        self.modelled_bytes = 0  # that this rank should have sent so far

    def aggregate(self, spread: Tensor, reduce: str, message: Callable[..., Tensor] | None) -> Array:
        """Return what reaches every own hub, from the values of own vertices and ghosts."""
        pieces, degrees = self._pieces, self._pieces.degrees[self._pieces.own]
        if reduce == "count":
            return degrees
        part = "sum" if reduce == "mean" else reduce
        gathered = self._graph.runtime.to_numpy(self._edges.aggregate(spread, part, message=message))
        found = gathered[pieces.local]
        self.modelled_bytes += pieces.bytes_to_owners(found.itemsize)
        total = pieces.to_owners(self._group, found, part)
        return total / degrees if reduce == "mean" else total

    def most_frequent(self, spread: Array) -> Array:
        """Return the label that most neighbours of every own hub have; of several, the smallest.

        Ranks count the labels of their pieces and send each once, with its number, to the owner.
        """
        pieces, group = self._pieces, self._group
        if self._counts is None:
            self._counts = LabelCounts(self._graph.num_vertices)
        edges = np.split(pieces.neighbors, pieces.offsets[1:-1])
        found = [self._counts.of(some, spread) for some in edges]
        lengths = np.array([labels.size for labels, _ in found], np.int64)
        num_own = int(pieces.counts[group.rank])
        all_lengths = group.exchange(lengths, pieces.counts, np.full(group.size, num_own))
        sent = np.diff(part_ends(lengths)[part_ends(pieces.counts)])
        came = all_lengths.reshape(group.size, num_own).sum(axis=1)
        labels, times = (
            group.exchange(np.concatenate([pair[column] for pair in found]), sent, came) for column in (0, 1)
        )
        num_sent = int(sent.sum() - sent[group.rank])
        self.modelled_bytes += pieces.bytes_to_owners(8) + num_sent * (labels.itemsize + times.itemsize)
        hubs = np.repeat(np.tile(np.arange(num_own), group.size), all_lengths)
        return _most_frequent(hubs, labels, times)


def _most_frequent(hubs: Array, labels: Array, times: Array) -> Array:
    """Return the label that occurs most often at each hub `[H]`, of several the smallest, from triples.

    >>> _most_frequent(np.array([0, 0, 0, 1, 1]), np.array([5, 2, 5, 8, 3]), np.array([1, 2, 2, 1, 1])).tolist()
    [5, 3]
    """
    order = np.lexsort((labels, hubs))
    hubs, labels, times = hubs[order], labels[order], times[order].astype(np.int64)
    firsts = np.flatnonzero(np.diff(hubs, prepend=-1) | (np.diff(labels, prepend=-1) != 0))
    hubs, labels, sums = hubs[firsts], labels[firsts], np.add.reduceat(times, firsts) if firsts.size else times
    best = np.lexsort((labels, -sums, hubs))
    return np.asarray(labels[best][np.diff(hubs[best], prepend=-1) != 0])
