"""Weakly connected components of a graph divided among ranks, for `tgraph.wcc`.

Every rank links its own edges first, ghosts included, as if there were no others. Then only components that share
vertices with another rank have something to say: the smallest vertex that each knows of travels to the owners of its
ghosts, and back from there, until nobody learns of a smaller one. A round costs what the boundary does; there are about
as many as ranks that a component passes through one after the other.
"""

from __future__ import annotations

import time

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.graph import ShardedGraph
from tgraph.graph.boundary import Boundary, near_bytes
from tgraph.graph.local_rows import RowEnds
from tgraph.kernels.cpu.components import BlockLinks, smallest_connected
from tgraph.memory import Budget, EdgeStream, FarRows, agreed
from tgraph.results import Iteration, Result, Trace
from tgraph.results.sharded import ShardedResult
from tgraph.runtime import Array


def link_parts(graph: ShardedGraph) -> Result:
    """Return the components; all ranks call it."""
    trace, started = Trace("distributed", "fused"), time.perf_counter()
    links = _Links(graph)
    trace.add(Iteration("link", graph.num_vertices, graph.num_arcs, time.perf_counter() - started))
    changed = 1
    while changed:
        started, sent_before = time.perf_counter(), graph.group.sent_bytes
        learned = links.exchange()
        sent = graph.group.sent_bytes - sent_before
        changed, sent = graph.group.share(np.array([learned, sent])).sum(axis=0).tolist()
        trace.add(Iteration("exchange", changed, 0, time.perf_counter() - started, None, {"sent": sent}))
    labels = graph.runtime.asarray(links.labels[: graph.num_own])
    return ShardedResult("WCC", graph.by_parts(), {"labels": labels}, trace, True, None, ("labels",))


class _Links:
    """The components of one rank's edges, and the smallest vertex that each knows of."""

    def __init__(self, graph: ShardedGraph) -> None:
        rows, self._roots = _link_streamed(graph) if graph.stays_far else _link(graph)
        self._num_own, self._boundary = rows.num_own, Boundary(graph.group, rows)
        self._smallest = rows.vertex_numbers(graph.first).astype(index_dtype(graph.num_vertices))  # by root
        self._owners = self._smallest.copy()  # [N + G] the labels as owners know them
        self._last_sent = self._smallest[rows.lent]  # that those know who have own vertices as ghosts
        np.minimum.at(self._smallest, self._roots[rows.num_own :], self._owners[rows.num_own :])
        self.labels = self._smallest[self._roots]  # [N + G]

    def exchange(self) -> int:
        """Tell the owners of ghosts, and hear from them; return how many labels became smaller by what came."""
        num_own = self._num_own
        smaller = self.labels[num_own:] != self._owners[num_own:]
        own = self._boundary.collect(self.labels, smaller, "min")
        learned = self._learn(own)
        self._owners[:num_own] = self.labels[:num_own]
        self._boundary.spread(self._owners, self._last_sent)
        better = num_own + np.flatnonzero(self._owners[num_own:] < self.labels[num_own:])
        self.labels[better] = self._owners[better]
        return own.size + learned + better.size + self._learn(better)

    def _learn(self, vertices: Array) -> int:
        """Let components know the labels of some of their vertices; return how many labels that changed."""
        if not vertices.size:
            return 0
        np.minimum.at(self._smallest, self._roots[vertices], self.labels[vertices])
        before, self.labels = self.labels, self._smallest[self._roots]
        return int(np.count_nonzero(before != self.labels))


def _link(graph: ShardedGraph) -> tuple[RowEnds, Array]:
    """Return a rank's rows, and the smallest own vertex or ghost that each of these is linked with."""
    divided = graph.split_rows("out")
    rows, pieces = divided.rows, divided.pieces
    offsets = np.concatenate([rows.offsets, np.full(rows.ghosts.size, rows.offsets[-1])])
    roots = smallest_connected(offsets, rows.neighbors, is_symmetric=False)
    if pieces is None:
        return rows, roots
    links = BlockLinks(rows.num_local, roots.dtype, roots)
    _, firsts, lasts = pieces.parts.T
    links.add_parts(pieces.receivers, firsts, lasts, pieces.neighbors)
    return rows, links.finish()


def _link_streamed(graph: ShardedGraph) -> tuple[RowEnds, Array]:
    """Do the same with edges that pass by once."""
    rows = graph.far_rows("out", 0)
    assert isinstance(rows, FarRows)
    dtype = index_dtype(rows.num_local)

    def cut() -> EdgeStream:
        budget, label_bytes = Budget(rows.memory), index_dtype(graph.num_vertices).itemsize
        budget.take("labels", rows.num_local * (dtype.itemsize + 4 * label_bytes))  # and those before a round
        budget.take("exchange", near_bytes(rows, label_bytes))
        edges = rows.stream(False, budget)
        edges.cut()
        return edges

    edges, links = agreed(graph.group, cut), BlockLinks(rows.num_local, dtype)
    for loaded in edges.loader(rows.file).stream_all():
        links.add(rows.offsets, loaded.block, loaded.neighbors, is_symmetric=False)
    return rows, links.finish()
