"""Programs on a device whose graph is in host memory: vertex data near, edges in blocks, tensor primitives.

An iteration is that of memory. Vertices are updated part by part, in place, so that tensors which an update makes are
as long as a part and not as V. The host learns who is active next from one copy of a mask per iteration, and knows
from then on how many edges everything has: that, the sum that ends a sweep, and who is not settled where the program
asks, are all that it waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tgraph.dtypes import index_dtype, reduced_dtype
from tgraph.engine import in_memory
from tgraph.engine.device_edges import REHEARSED, DeviceEdges
from tgraph.engine.in_memory import Run
from tgraph.errors import InvalidProgramError
from tgraph.graph import Graph
from tgraph.memory import Budget, OffloadedGraph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.run import Options
from tgraph.runtime import Array, Tensor

COMPUTE_BYTES = 64  # per vertex, of tensors that `compute` makes and drops


def run_on_device(program: Program, graph: OffloadedGraph, options: Options) -> Result:
    """Run a program within the budget of an offloaded graph."""
    if dict(program.edge_data(graph)):
        raise InvalidProgramError(
            f"{type(program).__name__}.edge_data is not there for graphs in host memory beside a device; use weights, "
            "or a graph from tgraph.read"
        )
    budget = Budget(graph.memory)
    used_bytes = graph.host_edges.device.used_bytes() or 0
    budget.take("other tensors on the device", max(used_bytes - graph.baseline_bytes, 0))

    def make_edges(_graph: Graph, direction: str, _data: Mapping[str, Tensor], _kernel: str) -> DeviceEdges:
        return DeviceEdges(graph, direction, options.transfer, budget)

    return in_memory.run(program, graph, options, make_edges, "out_of_memory", DeviceRun)


class DeviceRun(Run):
    """One run; `frontier` is an array in host memory."""

    edges: DeviceEdges
    frontier: Array | None

    def __init__(
        self,
        program: Program,
        graph: Graph,
        options: Options,
        make_edges: Callable[..., DeviceEdges],
        engine_name: str,
    ) -> None:
        super().__init__(program, graph, options, make_edges, engine_name)
        budget, count = self.edges.budget, graph.num_vertices
        field_bytes = sum(self.runtime.dtype(tensor).itemsize for tensor in self.state.fields.values())
        budget.take("fields", field_bytes * count)
        if self.plan.has_compute:
            budget.take("tensors of compute", COMPUTE_BYTES * count)
        elif not self.is_dense:
            budget.take("active vertices", 2 * count)  # who sends, and who is not settled
        if count and not self.is_dense:  # a sweep moves whole blocks
            self.edges.measure_link()
        if count and not self.plan.has_compute:
            self.edges.vertex_cost = self._measure_update()

    def result(self, converged: bool) -> Result:
        """Return what has been computed; buffers are gone before `finish` makes tensors."""
        self.edges.release()
        return super().result(converged)

    # --- all vertices active -----------------------------------------------------------------------------------------
    def _sweep(self, direction: str) -> Tensor:
        """Let every vertex receive, then update them in place; return the residual."""
        self.edges.prepare(self.plan, self.state.fields, direction)
        total = self._total(self.state.fields)
        incoming = self.edges.send(self.plan, self.state.fields, None, None, direction)
        residual = self.runtime.full(1, 0.0, "float64")
        for part in self._parts():
            residual = residual + self._sweep_part(self._at(part), incoming[part], total)
        return residual

    def _sweep_part(self, old: dict[str, Tensor], incoming: Tensor, total: Tensor | None) -> Tensor:
        new = self._updated(old, incoming, total)
        residual = self._residual(old, new, total)
        for name, tensor in new.items():
            old[name][:] = tensor
        return residual

    def _total(self, fields: dict[str, Tensor]) -> Tensor | None:
        if not self.plan.needs_total:
            return None
        total = None
        for part in self._parts():
            share = super()._total({name: tensor[part] for name, tensor in fields.items()})
            total = share if total is None else total + share
        return total

    # --- changed vertices active -------------------------------------------------------------------------------------
    def _find_frontier(self, active: Tensor) -> Array:
        self.edges.sender_mask = self.runtime.copy(active)
        return self._ids(active)

    def _iterate_frontier(self, frontier_edges: int) -> str:
        direction, fields = self._choose_direction(frontier_edges), self.state.fields
        self.edges.prepare(self.plan, fields, direction)
        has_settled = direction == "pull" and self.program.settled is not None
        receivers = self._unsettled() if has_settled else None
        total = self._total(fields)
        incoming = self.edges.send(self.plan, fields, self.frontier, receivers, direction)
        if self.edges.sender_mask is None:
            self.edges.sender_mask = self.graph.full(False, "bool")
        changed = self.edges.sender_mask
        for part in self._parts():
            changed[part] = self._update_part(self._at(part), incoming[part], total)
        self.frontier = self._ids(changed)
        return direction

    def _update_part(self, old: dict[str, Tensor], incoming: Tensor, total: Tensor | None) -> Tensor:
        """Update some vertices in place and return which of them changed."""
        new, changed = self._received(old, incoming, total)
        for name, tensor in new.items():
            old[name][:] = self.runtime.where(changed, tensor, old[name])
        return changed

    def _unsettled(self) -> Array:
        mask = self.graph.full(False, "bool")
        for part in self._parts():
            mask[part] = ~self.plan.call("settled", self._at(part).__getitem__)
        return self._ids(mask)

    def _ids(self, mask: Tensor) -> Array:
        """Return the vertices where a mask holds. One copy to the host, which waits for it."""
        found: Array = np.flatnonzero(self.runtime.to_numpy(mask)).astype(index_dtype(self.graph.num_vertices))
        return found

    # --- parts -------------------------------------------------------------------------------------------------------
    def _parts(self) -> Iterator[slice]:
        """Yield the vertices in parts whose tensors fit into what is there for them."""
        size = max(int(self.edges.temporary_bytes / self.edges.vertex_cost), 1)
        for first in range(0, self.graph.num_vertices, size):
            yield slice(first, min(first + size, self.graph.num_vertices))

    def _at(self, part: slice) -> dict[str, Tensor]:
        """Return the fields of some vertices: views, which may be written into."""
        return {name: tensor[part] for name, tensor in self.state.fields.items()}

    def _measure_update(self) -> float:
        """Return the bytes per vertex that an update takes at its worst; blocks are rehearsed on the way."""
        runtime, edges, wanted = self.runtime, self.edges, self.options.direction
        for direction in (wanted,) if wanted != "auto" else ("pull",) if self.is_dense else ("push", "pull"):
            message_dtype = edges.rehearse(self.plan, self.state.fields, direction)
        dtype = reduced_dtype(self.program.reduce, message_dtype)
        types = {name: runtime.dtype(tensor) for name, tensor in self.state.fields.items()}
        old = {name: runtime.full(REHEARSED, 0, field_dtype) for name, field_dtype in types.items()}
        incoming = runtime.full(REHEARSED, 0, dtype)

        def update() -> None:
            total = Run._total(self, old)
            (self._sweep_part if self.is_dense else self._update_part)(old, incoming, total)
            if self.program.settled is not None:
                self.plan.call("settled", old.__getitem__)

        return edges.measure(update)
