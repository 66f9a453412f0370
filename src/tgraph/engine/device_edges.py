"""Sending messages along edges that come from host memory to a device, block by block, with tensor primitives.

Push and pull are those of memory. How many bytes the tensors of a block take is measured with a small block on the
device itself, whatever the program's functions make of it; blocks are cut so that buffers and these tensors fit into
the budget, and what is left keeps blocks near.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tgraph.dtypes import check_reduction, identity, reduced_dtype
from tgraph.engine.edges import REDUCED_PARTS, InMemoryEdges, join, reduce_rows
from tgraph.engine.messages import Messages
from tgraph.memory import (
    BUFFERS,
    Budget,
    Buffer,
    Device,
    DeviceLink,
    DeviceLoader,
    NearBlock,
    NearRows,
    OffloadedGraph,
    buffer_bytes,
    bytes_per_edge,
    some_rows,
)
from tgraph.operators import Accumulator, Subgraph
from tgraph.program import Plan
from tgraph.runtime import Array, Runtime, Tensor

LARGEST_BLOCK = 1 << 22  # edges
SMALLEST_BLOCK = 64
REHEARSED = 256  # edges of the small block
ASSUMED_BYTES = 192  # per edge and per vertex, on devices that do not say what is allocated
SLACK = 64  # one part in so many stays free, for scalars
MEAN_BYTES = 40  # per vertex, of a mean while it is made from a sum and a count


class BlockMessages(Messages):
    """Messages of edges that have come near; they are made per edge, so that nothing as long as V is made for them."""

    def pull(self, side: str, subgraph: Subgraph) -> Tensor:
        """Return one message per edge of the subgraph, whose rows receive."""
        return self._pull_edges(side, subgraph)

    def _edge_value(self, name: str, side: str, subgraph: Subgraph) -> Any:
        assert isinstance(subgraph, NearRows)
        return 1 if subgraph.weights is None else subgraph.weights


class PushCollector:
    """What reaches every vertex, where rows send."""

    def __init__(self, messages: BlockMessages, num_vertices: int, dtype: np.dtype[Any]) -> None:
        self._messages = messages
        self._reduced = Accumulator(messages.edges.graph.runtime, num_vertices, messages.plan.program.reduce, dtype)

    def add(self, side: str, rows: NearRows) -> None:
        """Send along the edges of these rows."""
        self._reduced.add(rows.neighbors, self._messages.push(side, rows))

    def finish(self) -> Tensor:
        """Return what reached every vertex, `[V]`."""
        return self._reduced.finish()


class PullCollector:
    """What reaches every vertex, where rows receive. The pieces of a row may come one by one."""

    def __init__(
        self, messages: BlockMessages, num_vertices: int, dtype: np.dtype[Any], sender_mask: Tensor | None
    ) -> None:
        self._messages, self._mask = messages, sender_mask
        self._runtime: Runtime = messages.edges.graph.runtime
        self._op = messages.plan.program.reduce
        check_reduction(self._op, dtype)
        self._joined = {
            part: self._runtime.full(num_vertices, identity(part, dtype), reduced_dtype(part, dtype))
            for part in REDUCED_PARTS.get(self._op, (self._op,))
        }

    def add(self, side: str, rows: NearRows) -> None:
        """Let these rows receive along their edges."""
        sent = self._messages.pull(side, rows)
        active = None if self._mask is None else rows.at_neighbors(self._mask)
        for part, joined in self._joined.items():
            reduced = reduce_rows(rows, sent, active, part)
            met = join(self._runtime, part, rows.at_rows(joined), reduced)
            if isinstance(rows.vertices, range):
                joined[rows.vertices.start : rows.vertices.stop] = met
            else:
                self._joined[part] = self._runtime.index_put(joined, rows.vertices, met)

    def finish(self) -> Tensor:
        """Return what reached every vertex, `[V]`; the identity where nothing did."""
        if self._op != "mean":
            return self._joined[self._op]
        counts = self._runtime.astype(self._joined["count"], self._runtime.dtype(self._joined["sum"]))
        return self._joined["sum"] / self._runtime.maximum(counts, 1)


class DeviceEdges(InMemoryEdges):
    """The edges of an offloaded graph. Vertices that send or receive are named by arrays in host memory, ascending."""

    def __init__(self, graph: OffloadedGraph, direction: str, transfer: str, budget: Budget) -> None:
        super().__init__(graph, direction)
        self.budget, self._transfer = budget, transfer
        self._host_edges = graph.host_edges
        self._device: Device = graph.host_edges.device
        self._link: DeviceLink | None = None
        self._buffers: list[Buffer] = []
        self._loaders: dict[str, DeviceLoader] = {}
        self._rehearsed: dict[tuple[Any, ...], np.dtype[Any]] = {}  # type of messages
        self._edge_cost = 1.0  # bytes per edge of tensors that are made for a block
        self._columns, self._block_edges, self._kept_bytes = 1, 0, 0
        self._moved: Counter[str] = Counter()
        self.temporary_bytes = 0  # that tensors may take which are made and dropped between two blocks
        self.vertex_cost = 1.0  # bytes per vertex of tensors that are made where vertices are updated
        self.sender_mask: Tensor | None = None  # [V] who sends, for pull; None = all

    # --- what memory it takes ----------------------------------------------------------------------------------------
    def measure(self, function: Callable[[], Any]) -> float:
        """Return the bytes per element that a call takes at its worst, found by calling it for `REHEARSED` elements."""
        self.budget.take("a rehearsal", REHEARSED * ASSUMED_BYTES)
        before = self._device.used_bytes()
        self._device.reset_peak()
        function()
        peak = self._device.peak_bytes()
        self.budget.release("a rehearsal")
        return ASSUMED_BYTES if peak is None or before is None else max((peak - before) / REHEARSED, 1.0)

    def measure_link(self) -> None:
        """Find out what moving costs, where that decides; with memory that buffers are going to take."""
        if self._transfer == "hybrid":
            self._link = self._host_edges.link(self.budget.free // 2)

    def rehearse(self, plan: Plan, fields: dict[str, Tensor], direction: str) -> np.dtype[Any]:
        """Find out, once, what a small block takes; return the type of the messages."""
        key = self._key(plan, fields, direction)
        if key not in self._rehearsed:
            self.release()
            self._columns = max(self._columns, self._num_columns(plan))
            runtime, messages = self.graph.runtime, BlockMessages(plan, self, fields)
            columns = self._moved_columns()
            near_columns = tuple(runtime.full(REHEARSED, 0, column.dtype) for column in columns)
            block = NearBlock(0, runtime.full(REHEARSED, 1, np.int32), near_columns)
            positions = runtime.full(REHEARSED, 0, columns[0].dtype)  # all edges lead from vertex 0 to vertex 0
            rows = some_rows(runtime, block, positions, REHEARSED)
            dtype = runtime.dtype(messages.push("out", rows))
            del rows
            mask = None if plan.may_resend else runtime.full(1, True, "bool")
            collector = _make_collector(messages, 1, dtype, direction, mask)
            cost = self.measure(lambda: collector.add("out", some_rows(runtime, block, positions, REHEARSED)))
            self._edge_cost = max(self._edge_cost, cost)
            self._take_messages(plan.program.reduce, dtype)
            self._rehearsed[key] = dtype
        return self._rehearsed[key]

    def prepare(self, plan: Plan, fields: dict[str, Tensor], direction: str) -> np.dtype[Any]:
        """Make room for the blocks of such a call of `send`; return the type of its messages."""
        dtype = self.rehearse(plan, fields, direction)
        if not self._buffers:
            self._cut()
        return dtype

    def release(self) -> None:
        """Give back all memory of the device that edges took."""
        self._collect_moved()
        self._loaders.clear()
        self._buffers.clear()
        for purpose in ("buffers", "temporaries", "kept blocks"):
            self.budget.release(purpose)

    def _key(self, plan: Plan, fields: dict[str, Tensor], direction: str) -> tuple[Any, ...]:
        """Return what tells calls with other tensors apart; a function that is made anew for each call is the same."""
        types = [self.graph.runtime.dtype(tensor) for tensor in fields.values()]
        message = plan.program.message
        return getattr(message, "__code__", message), plan.program.reduce, direction, *types

    def _take_messages(self, reduce: str, dtype: np.dtype[Any]) -> None:
        """Make room for what reaches the vertices: as much as the largest such tensor of all calls so far."""
        per_vertex = MEAN_BYTES if reduce == "mean" else reduced_dtype(reduce, dtype).itemsize
        taken = self.budget.parts.get("messages", 0)
        self.budget.take("messages", max(per_vertex * self.graph.num_vertices - taken, 0))

    def _num_columns(self, plan: Plan) -> int:
        return 2 if self.graph.weighted and "weight" in plan.parameters["message"] else 1

    def _moved_columns(self) -> tuple[Array, ...]:
        return self._host_edges.rows("out").columns[: self._columns]

    def _cut(self) -> None:
        """Divide what is left of the budget among buffers, the tensors of a block, and blocks that stay near."""
        cost, columns, slack = self._edge_cost, self._moved_columns(), self.budget.limit // SLACK
        free = self.budget.free - slack - BUFFERS * buffer_bytes(columns, 0)
        affordable = int(free / 2 / (cost + BUFFERS * bytes_per_edge(columns)))
        useful = max(self.graph.num_arcs, self.graph.num_vertices)
        size = max(min(affordable, useful, LARGEST_BLOCK), SMALLEST_BLOCK)
        self.temporary_bytes = math.ceil(max(size * cost, SMALLEST_BLOCK * self.vertex_cost))
        self.budget.take("temporaries", self.temporary_bytes)
        self.budget.take("buffers", BUFFERS * buffer_bytes(columns, size))
        self._block_edges, self._kept_bytes = size, max(self.budget.free - slack, 0)
        self.budget.take("kept blocks", self._kept_bytes)
        self._buffers += [Buffer(self._device, buffer_bytes(columns, size)) for _ in range(BUFFERS)]

    # --- sending -----------------------------------------------------------------------------------------------------
    def send(
        self,
        plan: Plan,
        fields: dict[str, Tensor],
        senders: Array | None,
        receivers: Array | None,
        direction: str,
    ) -> Tensor:
        """Return what reaches each vertex, `[V]`; those that are not among the receivers get the identity."""
        dtype = self.prepare(plan, fields, direction)
        has_mask = senders is not None and not plan.may_resend
        messages, mask = BlockMessages(plan, self, fields), self.sender_mask if has_mask else None
        collector = _make_collector(messages, self.graph.num_vertices, dtype, direction, mask)
        rows = senders if direction == "push" else receivers
        for side in self.side_names(plan.program.along, direction):
            for near_rows in self._loader(side).stream(rows, self._transfer, self._link):
                collector.add(side, near_rows)
                del near_rows  # before the next ones are made
        return collector.finish()

    def count_edges(self, senders: Array | None, along: str) -> int:
        """Return the number of edges that messages of these vertices (None = all) cross."""
        if senders is None:
            return super().count_edges(None, along)
        total = 0
        for side in self.side_names(along, "push"):
            offsets = self._host_edges.rows(side).offsets
            total += int((offsets[senders + 1] - offsets[senders]).sum())
        return total

    def take_moved(self) -> dict[str, int] | None:
        """Return the bytes that went to the device since the last call, by way of transfer."""
        self._collect_moved()
        moved, self._moved = self._moved, Counter()
        return dict(moved)

    def _collect_moved(self) -> None:
        for loader in self._loaders.values():
            self._moved += loader.take_moved()

    def _loader(self, side: str) -> DeviceLoader:
        side = side if self.graph.directed else "out"
        if side not in self._loaders:
            share = self._kept_bytes // (2 if self.graph.directed else 1)
            rows = self._host_edges.rows(side)
            self._loaders[side] = DeviceLoader(rows, self._columns, self._buffers, self._block_edges, share)
        return self._loaders[side]


def _make_collector(
    messages: BlockMessages, num_vertices: int, dtype: np.dtype[Any], direction: str, mask: Tensor | None
) -> PushCollector | PullCollector:
    if direction == "push":
        return PushCollector(messages, num_vertices, dtype)
    return PullCollector(messages, num_vertices, dtype, mask)
