"""The edges of a compressed graph: messages go through the layers of virtual vertices, made of primitives.

Pull goes up the layers of rows, and down those of turned rows, so that the value of a virtual vertex is there before
anyone reads it. A message is made once per vertex and shared by all who have a virtual vertex in their rows: it may
depend on its sender alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from tgraph.dtypes import check_reduction, identity, index_dtype
from tgraph.engine.edges import REDUCED_PARTS, InMemoryEdges, join
from tgraph.errors import InvalidProgramError
from tgraph.graph import Adjacency, CompressedGraph
from tgraph.kernels.cpu.fused.layers import LayeredSide
from tgraph.operators import aggregate, tensorize
from tgraph.program import Plan
from tgraph.runtime import Tensor, is_tensor

_SAME_ON_ALL_EDGES = ("source", "weight")


def check_shared(plan: Plan) -> None:
    """Raise unless the program's messages depend on their sender alone, as a compressed graph needs it."""
    allowed = {*plan.field_names, *_SAME_ON_ALL_EDGES}
    for name in plan.parameters["message"]:
        if name not in allowed:
            raise InvalidProgramError(
                f"{type(plan.program).__name__}.message asks for {name!r}, which differs from edge to edge, and "
                "vertices of a compressed graph share their messages; run it on graph.decompress()"
            )


class LayeredEdges(InMemoryEdges):
    """The edges of a compressed graph, as `Program.compute` and the plain path see them."""

    def __init__(
        self,
        graph: CompressedGraph,
        direction: str = "auto",
        edge_data: Mapping[str, Tensor] | None = None,
        kernel: str = "plain",
    ) -> None:
        super().__init__(graph, direction, edge_data, kernel)
        self._layered = graph
        self._wide: dict[str, Adjacency] = {}  # rows with 64-bit offsets, as primitives take them

    def side_names(self, along: str, direction: str) -> tuple[str, ...]:
        """Return which directions of the graph a message crosses; an undirected graph has only `out`."""
        return super().side_names(along, direction) if self.graph.directed else ("out",)

    def layered_sides(self, along: str, direction: str) -> list[LayeredSide]:
        """Return the rows that a message crosses, for kernels."""
        return [self._layered.side(name) for name in self.side_names(along, direction)]

    def degrees(self, along: str, direction: str) -> Tensor:
        """Return how many edges a vertex sends along (push) or gets messages from (pull), `[V] int64`."""
        counts = [self._layered.count_edges(name) for name in self.side_names(along, direction)]
        return counts[0] if len(counts) == 1 else counts[0] + counts[1]

    def count_edges(self, senders: Tensor | None, along: str) -> int:
        """Return the number of edges that messages of these vertices (None = all) cross, virtual ones written out."""
        if senders is None:
            return super().count_edges(None, along)
        runtime = self.graph.runtime
        return int(runtime.item(runtime.reduce(runtime.index_select(self.degrees(along, "push"), senders), "sum")))

    def message_dtype(self, plan: Plan, fields: dict[str, Tensor]) -> np.dtype[Any]:
        """Return the type of messages, found by making none."""
        none = {name: tensor[:0] for name, tensor in fields.items()}
        return self.graph.runtime.dtype(self.make_messages(plan, none, 0))

    def make_messages(self, plan: Plan, fields: dict[str, Tensor], count: int) -> Tensor:
        """Return the messages of the first `count` vertices, whose fields are given."""
        runtime = self.graph.runtime

        def value(name: str) -> Any:
            if name in fields:
                return fields[name]
            return runtime.arange(0, count, index_dtype(self.graph.num_vertices)) if name == "source" else 1

        made = plan.call("message", value)
        if is_tensor(made):
            return made
        dtype = "bool" if isinstance(made, bool) else "int64" if isinstance(made, int) else "float64"
        return runtime.full(count, made, dtype)

    def send(
        self,
        plan: Plan,
        fields: dict[str, Tensor],
        senders: Tensor | None,
        receivers: Tensor | None,
        direction: str,
    ) -> Tensor:
        """Return what reaches each receiver: `[V]`, or `[R]` where `receivers` are given."""
        check_shared(plan)
        runtime, reduce = self.graph.runtime, plan.program.reduce
        sent = self.make_messages(plan, fields, self.graph.num_vertices)
        check_reduction(reduce, runtime.dtype(sent))
        active = None
        if senders is not None and not plan.may_resend:
            active = runtime.index_put(self.graph.full(False, "bool"), senders, True)
        parts = {
            part: self._through_sides(plan.program.along, self._counted(sent, active, part), part)
            for part in REDUCED_PARTS.get(reduce, (reduce,))
        }
        incoming = parts.get(reduce)
        if incoming is None:
            counts = runtime.astype(parts["count"], runtime.dtype(parts["sum"]))
            incoming = parts["sum"] / runtime.maximum(counts, 1)
        return incoming if receivers is None else runtime.index_select(incoming, receivers)

    def send_sparse(self, plan: Plan, fields: dict[str, Tensor], frontier: Tensor) -> tuple[Tensor, Tensor]:
        """Send from few vertices; all vertices count as receivers."""
        everyone = self.graph.runtime.arange(0, self.graph.num_vertices, "int64")
        return everyone, self.send(plan, fields, frontier, None, "pull")

    def _counted(self, sent: Tensor, active: Tensor | None, part: str) -> Tensor:
        """Return what of the messages counts: nothing of senders that are not active; of a count, ones."""
        runtime = self.graph.runtime
        if part == "count":
            counted = runtime.full(self.graph.num_vertices, 1, "int64")
            return counted if active is None else runtime.astype(active, "int64")
        if active is None:
            return sent
        nothing = runtime.full(1, identity(part, runtime.dtype(sent)), runtime.dtype(sent))
        return runtime.where(active, sent, nothing)

    def _through_sides(self, along: str, sent: Tensor, part: str) -> Tensor:
        runtime, op = self.graph.runtime, "sum" if part == "count" else part
        gathered = None
        for name in self.side_names(along, "pull"):
            came = self._through_layers(name, sent, op)
            gathered = came if gathered is None else join(runtime, op, gathered, came)
        assert gathered is not None  # there is at least one side
        return gathered

    def _through_layers(self, name: str, sent: Tensor, op: str) -> Tensor:
        """Let every row of one side collect from its neighbours, virtual vertices first."""
        runtime, layers, rows = self.graph.runtime, self._layered.layers.tolist(), self._wide_rows(name)
        dtype = runtime.dtype(sent)
        values = runtime.concatenate([sent, runtime.full(self._layered.num_virtual, identity(op, dtype), dtype)])
        spans = [range(first, last) for first, last in pairwise(layers)]
        for span in spans if name == "out" else reversed(spans):
            subgraph = tensorize(rows, span)
            reduced = aggregate(subgraph, subgraph.at_neighbors(values), op)
            values = runtime.index_put(values, runtime.arange(span.start, span.stop, "int64"), reduced)
        subgraph = tensorize(rows, range(self.graph.num_vertices))
        return aggregate(subgraph, subgraph.at_neighbors(values), op)

    def _rows(self, name: str) -> Adjacency:
        return self._layered.rows if name == "out" else self._layered.turned_rows

    def _wide_rows(self, name: str) -> Adjacency:
        if name not in self._wide:
            rows, runtime = self._rows(name), self.graph.runtime
            self._wide[name] = Adjacency(runtime, runtime.astype(rows.offsets, np.int64), rows.neighbors, None)
        return self._wide[name]

    def _compile_gather(
        self, dtype: np.dtype[Any], reduce: str, along: str, message: Callable[..., Tensor]
    ) -> Callable[[Tensor], Tensor]:
        from tgraph.engine.compressed import LayeredGather

        return LayeredGather(self, dtype, reduce, along, message)
