"""`aggregate` and `most_frequent` on a graph divided among ranks, with vertex data divided like the edges.

For programs that override `compute` and say `by_parts`: their tensors have one entry per own vertex. Owners spread the
values of vertices that others have as ghosts; then every rank reduces the rows of its own vertices with the kernels of
one machine, on a graph whose vertices are its own ones and the ghosts, which have no rows. Rows of hubs are divided;
owners hear what the others found for these (`hub_edges`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.frequent import most_frequent
from tgraph.engine.hub_edges import HubEdges
from tgraph.graph import Adjacency, Graph
from tgraph.graph.boundary import Boundary
from tgraph.graph.hubs import HubPieces
from tgraph.graph.local_rows import LocalRows
from tgraph.graph.sharded import PULLED, ShardedGraph
from tgraph.group import part_ends
from tgraph.kernels.cpu.cdlp import Propagation
from tgraph.runtime import Array, Tensor


@dataclass
class _Side:
    """The rows by which own vertices receive along some edges."""

    rows: LocalRows
    boundary: Boundary
    edges: InMemoryEdges
    hubs: HubEdges | None
    hub_rows: Array  # of own hubs
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
        gathered = side.edges.aggregate(spread, reduce, message=message)[: side.rows.num_own]
        return (
            gathered if side.hubs is None else self._put(side, gathered, side.hubs.aggregate(spread, reduce, message))
        )

    def most_frequent(self, labels: Tensor) -> Tensor:
        """Return the label that most neighbours of each own vertex have, along both directions, `[N]`."""
        side = self._side("both")
        spread = self._spread(side, labels)
        found = self._most_frequent(side, spread)
        if side.hubs is None:
            return found
        return self._put(side, found, side.hubs.most_frequent(self.graph.runtime.to_numpy(spread)))

    def _put(self, side: _Side, values: Tensor, of_hubs: Array) -> Tensor:
        """Return the values of own vertices, with those of own hubs in their places."""
        runtime = self.graph.runtime
        new = runtime.asarray(of_hubs.astype(runtime.dtype(values), copy=False))
        return runtime.index_put(values, runtime.asarray(side.hub_rows), new)

    def _most_frequent(self, side: _Side, spread: Tensor) -> Tensor:
        """Return the most frequent labels of own vertices along whole rows."""
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
            if side.hubs is not None:
                modelled, side.hubs.modelled_bytes = modelled + side.hubs.modelled_bytes, 0
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
            divided = self._shard.split_rows(direction)
            rows, pieces = divided.rows, divided.pieces
            boundary = Boundary(self._shard.group, rows)
            offsets = np.concatenate([rows.offsets, np.full(rows.ghosts.size, rows.offsets[-1])])
            edges = self._local_edges(offsets, rows.neighbors, rows.weights)
            hubs = None if pieces is None else HubEdges(self._shard, pieces, self._hub_edges(rows.num_local, pieces))
            own = np.empty(0, np.int64) if pieces is None else pieces.own_rows.astype(np.int64)
            self._sides[direction] = _Side(rows, boundary, edges, hubs, own, {}, {})
        return self._sides[direction]

    def _hub_edges(self, num_local: int, pieces: HubPieces) -> InMemoryEdges:
        """Return the pieces as rows of own vertices and ghosts, those of all others are empty."""
        lengths = np.zeros(num_local, np.int64)
        lengths[pieces.local] = np.diff(pieces.offsets)
        owners = np.repeat(pieces.local, np.diff(pieces.offsets))
        order = np.argsort(owners, kind="stable")
        weights = None if pieces.weights is None else pieces.weights[order]
        return self._local_edges(part_ends(lengths), pieces.neighbors[order], weights)

    def _local_edges(self, offsets: Array, neighbors: Array, weights: Array | None) -> InMemoryEdges:
        """Return the edges of a graph of own vertices and ghosts with these rows, those of every direction."""
        runtime = self.graph.runtime
        given = None if weights is None else runtime.asarray(weights)
        adjacency = Adjacency(runtime, runtime.asarray(offsets), runtime.asarray(neighbors), given)
        return InMemoryEdges(Graph(adjacency, directed=False, num_edges=neighbors.size), "pull", {}, self._kernel)
