"""`send` and `aggregate` on a graph divided among ranks, with all vertex data on every rank.

Each rank reduces the messages of its own vertices' edges; the parts are joined, so that all ranks have what one would
have, bit by bit, and do the rest alike. It serves every program, at the price of vertex data on every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tgraph.dtypes import identity, index_dtype
from tgraph.engine.edges import InMemoryEdges
from tgraph.graph import Adjacency, Graph
from tgraph.graph.sharded import ShardedGraph
from tgraph.program import Plan
from tgraph.runtime import Tensor


class ReplicatedEdges(InMemoryEdges):
    """The edges of all ranks, as `Program.compute` and the plain path see them."""

    def __init__(self, graph: ShardedGraph, direction: str, edge_data: Mapping[str, Tensor], kernel: str) -> None:
        super().__init__(graph, "pull", edge_data, "plain")
        self._shard, self._kernel = graph, kernel
        self._parts: dict[tuple[str, ...], InMemoryEdges] = {}
        self._degrees: dict[str, Tensor] = {}
        self._sent_before = graph.group.sent_bytes

    def aggregate(
        self, values: Tensor, reduce: str, *, along: str = "out", message: Callable[..., Tensor] | None = None
    ) -> Tensor:
        """Send `values [V]` along every edge and return what reaches each vertex, `[V]`."""
        return self._join(self._part(along).aggregate(values, reduce, along=along, message=message))

    def most_frequent(self, labels: Tensor) -> Tensor:
        """Return the label that most neighbours of each vertex have, `[V]`."""
        return self._join(self._part("both").most_frequent(labels))

    def send(
        self,
        plan: Plan,
        fields: dict[str, Tensor],
        senders: Tensor | None,
        receivers: Tensor | None,
        direction: str,
    ) -> Tensor:
        """Return what reaches each receiver; vertices always collect."""
        part = self._part(plan.program.along)
        incoming = self._join(part.send(plan, fields, senders, None, "pull"))
        return incoming if receivers is None else self.graph.runtime.index_select(incoming, receivers)

    def send_sparse(self, plan: Plan, fields: dict[str, Tensor], frontier: Tensor) -> tuple[Tensor, Tensor]:
        """Return the receivers of few vertices, and what reached them."""
        runtime = self.graph.runtime
        incoming = self.send(plan, fields, frontier, None, "pull")
        received = incoming != identity(plan.program.reduce, runtime.dtype(incoming))
        return runtime.nonzero(received), runtime.mask_select(incoming, received)

    def count_edges(self, senders: Tensor | None, along: str) -> int:
        """Return the number of edges that messages of these vertices (None = all) cross."""
        names = self.side_names(along, "push")
        if senders is None:
            return self.graph.num_arcs * len(names)
        runtime, count = self.graph.runtime, 0
        for name in names:
            if name not in self._degrees:
                self._degrees[name] = self.graph.out_degrees() if name == "out" else self.graph.in_degrees()
            degrees = runtime.index_select(self._degrees[name], senders)
            count += int(runtime.item(runtime.reduce(degrees, "sum")))
        return count

    def take_moved(self) -> dict[str, int]:
        """Return the bytes that all ranks have sent since the last call."""
        group = self._shard.group
        sent, self._sent_before = group.sent_bytes - self._sent_before, group.sent_bytes
        return {"sent": int(group.share(np.array([sent]))[:, 0].sum())}

    def _part(self, along: str) -> InMemoryEdges:
        """Return the edges by which own vertices receive, as a graph of all vertices in which others have none."""
        sides = self.side_names(along, "pull")
        if sides not in self._parts:
            none = self._rows_of_all(None)
            rows = {side: self._rows_of_all(side) for side in sides}
            kinds: dict[str, Any] = {"directed": self.graph.directed, "num_edges": self.graph.num_edges}
            out = rows.get("out", none) if self.graph.directed else rows[sides[0]]
            part = Graph(out, reverse=rows.get("in", none), labels=None, **kinds)
            self._parts[sides] = InMemoryEdges(part, "pull", {}, self._kernel)
        return self._parts[sides]

    def _rows_of_all(self, side: str | None) -> Adjacency:
        """Return rows `[V]` with vertex numbers, of which those of other ranks are empty, and all are for None."""
        graph, runtime = self._shard, self.graph.runtime
        rows = graph.rows("out" if side is None else side)
        offsets = np.zeros(graph.num_vertices + 1, np.int64)
        neighbors, weights = rows.neighbors, rows.weights
        if side is None:
            neighbors, weights = neighbors[:0], None if weights is None else weights[:0]
        else:
            last = graph.first + graph.num_own
            offsets[graph.first : last + 1] = rows.offsets
            offsets[last + 1 :] = rows.offsets[-1]
            numbers = rows.vertex_numbers(graph.first).astype(index_dtype(graph.num_vertices))
            neighbors = numbers[neighbors]
        given = None if weights is None else runtime.asarray(weights)
        return Adjacency(runtime, runtime.asarray(offsets), runtime.asarray(neighbors), given)

    def _join(self, incoming: Tensor) -> Tensor:
        return self._shard.join(self._shard.part_of(incoming))
