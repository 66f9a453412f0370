"""Making the messages of a block of edges: the program's `message` on whole tensors.

In push, the rows of a subgraph are the senders and its neighbours the receivers; in pull it is the other way round.
A message that depends on its sender alone is made once per vertex and then spread over the edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tgraph.dtypes import index_dtype
from tgraph.operators import Subgraph
from tgraph.program import Plan
from tgraph.runtime import Tensor, is_tensor

if TYPE_CHECKING:
    from tgraph.engine.edges import InMemoryEdges


class Messages:
    """The messages of one iteration: the fields do not change while they are made."""

    def __init__(self, plan: Plan, edges: InMemoryEdges, fields: dict[str, Tensor]) -> None:
        self.plan, self.edges, self.fields = plan, edges, fields
        self._vertex_messages: Tensor | None = None

    def push(self, side: str, subgraph: Subgraph) -> Tensor:
        """Return one message per edge of the subgraph, whose rows send."""
        if self.plan.is_message_per_vertex:
            made = self._call(subgraph.at_rows, subgraph.row_ids)
            return subgraph.expand(self._as_tensor(made, int(subgraph.offsets.shape[0]) - 1))

        def value(name: str) -> Any:
            if name in self.fields:
                return subgraph.expand(subgraph.at_rows(self.fields[name]))
            if name == "source":
                return subgraph.expand(subgraph.row_ids())
            if name == "target":
                return subgraph.neighbors
            if self._is_target_field(name):
                return subgraph.at_neighbors(self.fields[name[7:]])
            return self._edge_value(name, side, subgraph)

        return self._as_tensor(self.plan.call("message", value), subgraph.num_arcs)

    def pull(self, side: str, subgraph: Subgraph) -> Tensor:
        """Return one message per edge of the subgraph, whose rows receive."""
        if self.plan.is_message_per_vertex:
            if self._vertex_messages is None:
                graph = self.edges.graph
                dtype = index_dtype(graph.num_vertices)
                made = self._call(lambda field: field, lambda: graph.runtime.arange(0, graph.num_vertices, dtype))
                self._vertex_messages = self._as_tensor(made, graph.num_vertices)
            return subgraph.at_neighbors(self._vertex_messages)
        return self._pull_edges(side, subgraph)

    def _pull_edges(self, side: str, subgraph: Subgraph) -> Tensor:
        """Make one message per edge from what the edge and its ends have."""

        def value(name: str) -> Any:
            if name in self.fields:
                return subgraph.at_neighbors(self.fields[name])
            if name == "source":
                return subgraph.neighbors
            if name == "target":
                return subgraph.expand(subgraph.row_ids())
            if self._is_target_field(name):
                return subgraph.expand(subgraph.at_rows(self.fields[name[7:]]))
            return self._edge_value(name, side, subgraph)

        return self._as_tensor(self.plan.call("message", value), subgraph.num_arcs)

    def _call(self, at: Any, ids: Any) -> Any:
        return self.plan.call("message", lambda name: ids() if name == "source" else at(self.fields[name]))

    def _is_target_field(self, name: str) -> bool:
        return name.startswith("target_") and name[7:] in self.fields

    def _edge_value(self, name: str, side: str, subgraph: Subgraph) -> Any:
        if name != "weight":
            return subgraph.at_edges(self.edges.edge_values(name, side))
        weights = self.edges.graph.adjacency(side).weights
        return 1 if weights is None else subgraph.at_edges(weights)

    def _as_tensor(self, made: Any, size: int) -> Tensor:
        """Spread a message that is the same for all."""
        if is_tensor(made):
            return made
        dtype = "bool" if isinstance(made, bool) else "int64" if isinstance(made, int) else "float64"
        return self.edges.graph.runtime.full(size, made, dtype)
