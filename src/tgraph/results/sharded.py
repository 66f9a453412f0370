"""The result of a run on a graph that is divided among ranks: every rank has the values of its own vertices."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import DeclaredGapError
from tgraph.graph import Adjacency, Graph
from tgraph.graph.division import exchange_labels
from tgraph.graph.sharded import ShardedGraph
from tgraph.results.result import Result, ranking
from tgraph.runtime import Array


class ShardedResult(Result):
    """One rank's part of a result: each tensor of `fields` has one entry per own vertex.

    `gather()` gives all of it on every rank. All ranks call the methods here, in the same order: some ask the others.
    """

    graph: ShardedGraph

    def gather(self) -> Result:
        """Return the whole result, on every rank; its graph has all vertices and ids, and no edges."""
        graph = self.graph
        fields = {name: graph.join(tensor) for name, tensor in self.fields.items()}
        nothing = np.empty(0, np.int32)
        rows = Adjacency(runtimes.get("numpy"), np.zeros(graph.num_vertices + 1, np.int64), nothing, None)
        vertices = Graph(rows.to(graph.runtime), directed=graph.directed, num_edges=0, labels=_all_labels(graph))
        kept = (self.trace, self.converged, self.residual, self.vertex_fields)
        return Result(self.name, vertices, fields, *kept)

    def vertex_ids(self, vertices: Array | None = None) -> Array:
        """Return the user's ids of vertex numbers, of the own vertices by default."""
        first = self.graph.first
        return self.graph.labels_of(np.arange(first, first + self.graph.num_own) if vertices is None else vertices)

    def __getitem__(self, label: Any) -> Any:
        """Return the main value of the vertex with this id, on every rank."""
        name = next(iter(self.fields))
        place = self.graph.vertex_of(label) - self.graph.first
        has_it = 0 <= place < self.graph.num_own
        column = self.graph.runtime.to_numpy(self.fields[name])[[place] if has_it else []]
        counts = self.graph.group.share(np.array([column.size]))[:, 0]
        found = self.graph.group.join(column, counts)
        return (self.graph.labels_of(found) if name in self.vertex_fields else found).tolist()[0]

    def top(self, count: int = 10, field: str | None = None, smallest: bool = False) -> list[tuple[Any, Any]]:
        """Return the vertices with the largest (or smallest) values of all ranks as pairs (id, value)."""
        name, graph, group = self._field_to_rank(count, field), self.graph, self.graph.group
        values = graph.runtime.to_numpy(self.fields[name])
        own = ranking(values, smallest)[:count]
        counts = group.share(np.array([own.size]))[:, 0]
        numbers, values = group.join(own + graph.first, counts), group.join(values[own], counts)
        best = ranking(values, smallest)[:count]  # equal ones come in the order of ranks, so of vertices
        shown = graph.labels_of(values[best]) if name in self.vertex_fields else values[best]
        return list(zip(graph.labels_of(numbers[best]).tolist(), shown.tolist(), strict=True))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Raise: no rank has the graph that a report describes."""
        raise DeclaredGapError("a report describes a graph on one rank; use trace.to_json() for what the ranks did")

    def summary(self) -> str:
        """Return the outcome in one line."""
        return f"{super().summary()}, {self.graph.group.size} ranks"


def _all_labels(graph: ShardedGraph) -> Array | None:
    own = graph.vertex_labels
    if own is None:
        return None
    size = graph.group.size
    return exchange_labels(graph.group, np.tile(own, size), np.full(size, own.size))
