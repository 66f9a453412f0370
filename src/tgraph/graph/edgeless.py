"""What a program may ask a graph for that changes: its vertices, and their numbers of edges, but no edge."""

from __future__ import annotations

from typing import Any

from tgraph.errors import TGraphError
from tgraph.graph.dynamic import DynamicGraph
from tgraph.graph.graph import Graph
from tgraph.runtime import Tensor

OF_EDGES = frozenset(name for name in dir(Graph) if not name.startswith("_")) - {
    *("directed", "weighted", "runtime", "num_vertices", "vertex_labels", "vertex_of", "vertices_of", "labels_of"),
    *("num_values", "numbers", "full", "total", "sum_of", "out_degrees", "in_degrees"),
    *("is_far", "is_sharded", "memory_bytes", "is_sorted"),
}


class NeedsEdgesError(TGraphError):
    """A program asked for edges, which would have to be followed in every batch."""


class EdgelessGraph(Graph):
    """The places of a graph that changes, as of now. Asking for edges is an error; so are degrees unless allowed."""

    __slots__ = ("_dynamic", "_has_degrees")

    _dynamic: DynamicGraph
    _has_degrees: bool

    def __init__(self, graph: DynamicGraph, has_degrees: bool) -> None:
        vertices = graph.vertices()
        kinds: dict[str, Any] = {"directed": graph.directed, "num_edges": graph.num_edges, "labels": graph.labels}
        super().__init__(vertices.adjacency("out"), **kinds)
        object.__setattr__(self, "_dynamic", graph)
        object.__setattr__(self, "_has_degrees", has_degrees)

    def __getattribute__(self, name: str) -> Any:
        if name in OF_EDGES:
            raise NeedsEdgesError(f"init asks for {name}, which changes with the edges")
        return super().__getattribute__(name)

    @property
    def num_vertices(self) -> int:
        """The number of places."""
        return self._dynamic.num_places

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._dynamic.weighted

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing edges of every vertex, `[V] int64`."""
        return self._degrees("out")

    def in_degrees(self) -> Tensor:
        """Return the number of incoming edges of every vertex, `[V] int64`."""
        return self._degrees("in")

    def _degrees(self, direction: str) -> Tensor:
        if not self._has_degrees:
            raise NeedsEdgesError("init asks for degrees, which change with the edges")
        return self._dynamic.gapped(direction).degrees()
