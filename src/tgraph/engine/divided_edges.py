"""`aggregate` and `most_frequent` on a graph divided among ranks, with vertex data divided like the edges.

For programs that override `compute` and say `by_parts`: their tensors have one entry per own vertex. Owners spread the
values of vertices that others have as ghosts; then every rank reduces the rows of its own vertices with the kernels of
one machine, on a graph whose vertices are its own ones and the ghosts, which have no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.frequent import most_frequent
from tgraph.graph import Adjacency, Graph
from tgraph.graph.boundary import Boundary
from tgraph.graph.local_rows import LocalRows
from tgraph.graph.sharded import PULLED, ShardedGraph
from tgraph.kernels.cpu.cdlp import Propagation
from tgraph.runtime import Array, Tensor


@dataclass
class _Side:
    """The rows by which own vertices receive along some edges."""

    rows: LocalRows
    boundary: Boundary
    edges: InMemoryEdges
    spread: dict[str, Array]  # [N + G] by element type
    last_sent: dict[str, Array]  # [L]


class DividedEdges(InMemoryEdges):
    """The edges of all ranks, as `Program.compute` sees them that treats every vertex by itself."""

    def __init__(self, graph: ShardedGraph, direction: str, edge_data: Mapping[str, Tensor], kernel: str) -> None:
        super().__init__(graph, "pull", edge_data, "plain")
        self._shard, self._kernel = graph, kernel
        self._sides: dict[str, _Side] = {}
        self._propagation: Propagation | None = None
        self._sent_before = graph.group.sent_bytes

    def aggregate(
        self, values: Tensor, reduce: str, *, along: str = "out", message: Callable[..., Tensor] | None = None
    ) -> Tensor:
        """Send `values [N]` along every edge and return what reaches each own vertex, `[N]`."""
        side = self._side(PULLED[along])
        spread = self._spread(side, values)
        return side.edges.aggregate(spread, reduce, message=message)[: side.rows.num_own]

    def most_frequent(self, labels: Tensor) -> Tensor:
        """Return the label that most neighbours of each own vertex have, along both directions, `[N]`."""
        side = self._side("both")
        spread = self._spread(side, labels)
        if self._kernel == "plain":
            found = most_frequent(side.edges.graph, spread, self._shard.num_vertices)
            return found[: side.rows.num_own]
        runtime = self.graph.runtime
        if self._propagation is None:
            offsets, neighbors, _ = side.edges.graph.adjacency("out").to_numpy()
            first_labels = runtime.to_numpy(spread).copy()
            self._propagation = Propagation((offsets, neighbors), None, first_labels, self._shard.num_vertices)
        self._propagation.begin(runtime.to_numpy(spread))
        self._propagation.sweep()
        return runtime.asarray(self._propagation.labels[: side.rows.num_own].copy())

    def take_moved(self) -> dict[str, int]:
        """Return the bytes that all ranks have sent since the last call, and those that the model says."""
        group = self._shard.group
        sent, self._sent_before = group.sent_bytes - self._sent_before, group.sent_bytes
        modelled = 0
        for side in self._sides.values():
            modelled, side.boundary.modelled_bytes = modelled + side.boundary.modelled_bytes, 0
        sums = group.share(np.array([sent, modelled])).sum(axis=0).tolist()
        return {"sent": sums[0], "modelled": sums[1]}

    def _spread(self, side: _Side, values: Tensor) -> Tensor:
        """Return the values of own vertices and ghosts, `[N + G]`, until the next call with such values."""
        runtime, rows = self.graph.runtime, side.rows
        own = runtime.to_numpy(values)
        kind = own.dtype.str
        spread = side.spread.setdefault(kind, np.empty(rows.num_local, own.dtype))
        spread[: rows.num_own] = own
        side.boundary.spread(spread, side.last_sent.get(kind))
        if kind not in side.last_sent:
            side.last_sent[kind] = spread[rows.lent]
        return runtime.asarray(spread)

    def _side(self, direction: str) -> _Side:
        direction = direction if self._shard.directed else "out"
        if direction not in self._sides:
            rows = self._shard.rows(direction)
            boundary = Boundary(self._shard.group, rows)
            edges = InMemoryEdges(_local_graph(self._shard, rows), "pull", {}, self._kernel)
            self._sides[direction] = _Side(rows, boundary, edges, {}, {})
        return self._sides[direction]


def _local_graph(graph: ShardedGraph, rows: LocalRows) -> Graph:
    """Return a graph of the own vertices and ghosts with these rows, which are those of every direction."""
    runtime = graph.runtime
    offsets = np.concatenate([rows.offsets, np.full(rows.ghosts.size, rows.offsets[-1])])
    weights = None if rows.weights is None else runtime.asarray(rows.weights)
    adjacency = Adjacency(runtime, runtime.asarray(offsets), runtime.asarray(rows.neighbors), weights)
    return Graph(adjacency, directed=False, num_edges=rows.num_arcs)
