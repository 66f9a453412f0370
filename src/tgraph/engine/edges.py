"""Sending messages along the edges of a graph in memory, by push or by pull.

In push, the rows of a subgraph are the senders and its neighbours the receivers; in pull it is the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tgraph.dtypes import check_reduction, identity
from tgraph.engine.frequent import most_frequent
from tgraph.engine.messages import Messages
from tgraph.graph import Adjacency, Graph
from tgraph.kernels.cpu.csr import transpose
from tgraph.kernels.registry import kernels_for
from tgraph.operators import Accumulator, Subgraph, aggregate, split_by_edges, tensorize
from tgraph.program import Plan, Program, plan
from tgraph.runtime import Array, Runtime, Tensor

_PUSH_SIDES = {"out": ("out",), "in": ("in",), "both": ("out", "in")}
_PULL_SIDES = {"out": ("in",), "in": ("out",), "both": ("in", "out")}
REDUCED_PARTS = {"mean": ("sum", "count")}  # what a reduction is made of while blocks and sides are still to be joined


class InMemoryEdges:
    """The edges of a graph in memory, as `Program.compute` sees them."""

    def __init__(
        self,
        graph: Graph,
        direction: str = "auto",
        edge_data: Mapping[str, Tensor] | None = None,
        kernel: str = "plain",
    ) -> None:
        self.graph = graph
        self._direction = "push" if direction == "push" else "pull"
        self._may_compile = kernel != "plain" and direction != "push" and kernels_for(graph.runtime) is not None
        self._gathers: dict[tuple[Any, ...], Callable[[Tensor], Tensor] | None] = {}
        self._edge_data = {("out", name): tensor for name, tensor in (edge_data or {}).items()}
        self._whole: dict[str, list[Subgraph]] = {}  # the blocks of all edges, by side

    def aggregate(
        self, values: Tensor, reduce: str, *, along: str = "out", message: Callable[..., Tensor] | None = None
    ) -> Tensor:
        """Send `values [V]` along every edge and return what reaches each vertex, `[V]`."""
        compiled = self._find_gather(values, reduce, along, _unchanged if message is None else message)
        if compiled is not None:
            return compiled(values)
        adhoc = Program()
        adhoc.reduce, adhoc.along = reduce, along
        adhoc.message = _unchanged if message is None else message
        adhoc.update = _unchanged
        return self.send(plan(adhoc, ("value",)), {"value": values}, None, None, self._direction)

    def most_frequent(self, labels: Tensor) -> Tensor:
        """Return the label that most neighbours of each vertex have, along both directions, `[V]`."""
        return most_frequent(self.graph, labels)

    def _find_gather(
        self, values: Tensor, reduce: str, along: str, message: Callable[..., Tensor]
    ) -> Callable[[Tensor], Tensor] | None:
        """Return the compiled sweep for such a call, made once; None where primitives serve."""
        dtype = self.graph.runtime.dtype(values)
        along = along if self.graph.directed else "out"
        key = (reduce, along, message, dtype)
        if not self._may_compile or not self.graph.num_vertices:
            return None
        if key not in self._gathers:
            from tgraph.kernels.cpu.fused.translate import NotTranslatableError

            try:
                self._gathers[key] = self._compile_gather(dtype, reduce, along, message)
            except NotTranslatableError:
                self._gathers[key] = None
        return self._gathers[key]

    def _compile_gather(
        self, dtype: np.dtype[Any], reduce: str, along: str, message: Callable[..., Tensor]
    ) -> Callable[[Tensor], Tensor]:
        from tgraph.engine.gather import FusedGather

        return FusedGather(self, dtype, reduce, along, message)

    def take_moved(self) -> dict[str, int] | None:
        """Return the bytes moved from far memory since the last call, by way of transfer; None: nothing is far."""
        return None

    def side_names(self, along: str, direction: str) -> tuple[str, ...]:
        """Return which directions of the graph a message crosses; both ways are one in an undirected graph."""
        names = (_PUSH_SIDES if direction == "push" else _PULL_SIDES)[along]
        return names if self.graph.directed else names[:1]

    def sides(self, along: str, direction: str) -> list[tuple[str, Adjacency]]:
        """Return the adjacencies that a message crosses, by name."""
        return [(name, self.graph.adjacency(name)) for name in self.side_names(along, direction)]

    def split(self, side: str, vertices: Tensor | None) -> Iterable[Subgraph]:
        """Return the blocks of these vertices' edges; those of all vertices (None) are cut once in a run."""
        adjacency = self.graph.adjacency(side)
        if vertices is not None:
            return split_by_edges(adjacency, vertices, _count_arcs(adjacency, vertices))
        if side not in self._whole:
            self._whole[side] = list(split_by_edges(adjacency, None, adjacency.num_arcs))
        return self._whole[side]

    def send(
        self,
        plan: Plan,
        fields: dict[str, Tensor],
        senders: Tensor | None,
        receivers: Tensor | None,
        direction: str,
    ) -> Tensor:
        """Return what reaches each receiver: `[V]`, or `[R]` where `receivers` are given (pull only)."""
        messages = Messages(plan, self, fields)
        if direction == "push":
            return _push(messages, senders)
        return _pull(messages, senders, receivers)

    def count_edges(self, senders: Tensor | None, along: str) -> int:
        """Return the number of edges that messages of these vertices (None = all) cross."""
        sides = 2 if along == "both" and self.graph.directed else 1
        if senders is None:
            return self.graph.num_arcs * sides
        return sum(_count_arcs(adjacency, senders) for _, adjacency in self.sides(along, "push"))

    def edge_values(self, name: str, side: str) -> Tensor:
        """Return the program's edge data in the order of one adjacency; the other order is made once."""
        if (side, name) not in self._edge_data:
            runtime = self.graph.runtime
            positions = runtime.asarray(_turned_positions(self.graph))
            self._edge_data[side, name] = runtime.index_select(self._edge_data["out", name], positions)
        return self._edge_data[side, name]

    def send_sparse(self, plan: Plan, fields: dict[str, Tensor], frontier: Tensor) -> tuple[Tensor, Tensor]:
        """Push from few vertices; return the receivers `[R]` and what reached them, with no tensor of length V."""
        runtime = self.graph.runtime
        messages_of = Messages(plan, self, fields)
        all_targets, all_messages = [], []
        for side, adjacency in self.sides(plan.program.along, "push"):
            subgraph = tensorize(adjacency, frontier)
            all_targets.append(subgraph.neighbors)
            all_messages.append(messages_of.push(side, subgraph))
        targets, messages = runtime.concatenate(all_targets), runtime.concatenate(all_messages)
        receivers = runtime.unique(targets)
        reduced = Accumulator(runtime, int(receivers.shape[0]), plan.program.reduce, runtime.dtype(messages))
        reduced.add(runtime.searchsorted(receivers, targets), messages)
        return receivers, reduced.finish()


def _push(messages: Messages, senders: Tensor | None) -> Tensor:
    program, edges = messages.plan.program, messages.edges
    runtime, count = edges.graph.runtime, edges.graph.num_vertices
    reduced = None
    for side in edges.side_names(program.along, "push"):
        for subgraph in edges.split(side, senders):
            sent = messages.push(side, subgraph)
            if reduced is None:
                reduced = Accumulator(runtime, count, program.reduce, runtime.dtype(sent))
            reduced.add(subgraph.neighbors, sent)
    assert reduced is not None  # there is at least one side with at least one block
    return reduced.finish()


def _pull(messages: Messages, senders: Tensor | None, receivers: Tensor | None) -> Tensor:
    reduce, edges = messages.plan.program.reduce, messages.edges
    runtime = edges.graph.runtime
    mask = None
    if senders is not None and not messages.plan.may_resend:
        mask = runtime.index_put(edges.graph.full(False, "bool"), senders, True)
    parts = REDUCED_PARTS.get(reduce, (reduce,))
    joined: dict[str, Tensor] = {}
    for side in edges.side_names(messages.plan.program.along, "pull"):
        blocks: dict[str, list[Tensor]] = {part: [] for part in parts}
        for subgraph in edges.split(side, receivers):
            sent = messages.pull(side, subgraph)
            check_reduction(reduce, runtime.dtype(sent))
            active = None if mask is None else subgraph.at_neighbors(mask)
            for part in parts:
                blocks[part].append(reduce_rows(subgraph, sent, active, part))
        for part in parts:
            reduced = runtime.concatenate(blocks[part])
            joined[part] = join(runtime, part, joined[part], reduced) if part in joined else reduced
    if reduce != "mean":
        return joined[reduce]
    counts = runtime.astype(joined["count"], runtime.dtype(joined["sum"]))
    return joined["sum"] / runtime.maximum(counts, 1)


def reduce_rows(subgraph: Subgraph, sent: Tensor, active: Tensor | None, op: str) -> Tensor:
    """Aggregate a block; of senders that are not active nothing counts."""
    runtime = subgraph.runtime
    if active is None:
        return aggregate(subgraph, sent, op)
    if op == "count":
        return aggregate(subgraph, runtime.astype(active, np.int64), "sum")
    nothing = identity(op, runtime.dtype(sent))
    return aggregate(subgraph, runtime.where(active, sent, runtime.full(1, nothing, runtime.dtype(sent))), op)


def join(runtime: Runtime, op: str, left: Tensor, right: Tensor) -> Tensor:
    """Meet what came along the two sides of a directed graph."""
    if op == "min":
        return runtime.minimum(left, right)
    if op == "max":
        return runtime.maximum(left, right)
    return left | right if op == "any" else left + right


def _turned_positions(graph: Graph) -> Array:
    """Return for every entry of `in_sources` the position of the same edge in `out_targets`.

    Transposing sorts each row by neighbour, but the incoming rows may be in another order (an undirected graph or a
    reversed one keeps the user's): so they are sorted the same way, by transposing twice, and matched.
    """
    count = graph.num_vertices
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    in_offsets, in_sources, _ = graph.adjacency("in").to_numpy()
    numbers = np.arange(targets.size)
    sorted_out_positions = np.asarray(transpose(offsets, targets, numbers, count)[2])
    sorted_in_positions = transpose(*transpose(in_offsets, in_sources, numbers, count), count)[2]
    positions = np.empty_like(numbers)
    positions[sorted_in_positions] = sorted_out_positions
    return positions


def _count_arcs(adjacency: Adjacency, vertices: Tensor) -> int:
    runtime = adjacency.runtime
    ends = runtime.index_select(adjacency.offsets[1:], vertices)
    sizes = ends - runtime.index_select(adjacency.offsets, vertices)
    return int(runtime.item(runtime.reduce(sizes, "sum")))


def _unchanged(value: Tensor) -> Tensor:
    return value
