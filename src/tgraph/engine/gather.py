"""`edges.aggregate` in a compiled kernel: one sweep over all edges for programs that override `compute`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.engine.fused import describe, sides_of
from tgraph.kernels.cpu.fused.pull import PullRun
from tgraph.kernels.registry import kernels_for
from tgraph.program import Program, State, plan
from tgraph.runtime import Tensor

if TYPE_CHECKING:
    from tgraph.engine.edges import InMemoryEdges


class Gather(Program):
    """One iteration: what reaches a vertex is its new value."""

    active = "all"

    def __init__(self, reduce: str, along: str, message: Callable[..., Any]) -> None:
        self.reduce, self.along, self.message = reduce, along, message

    def update(self, incoming: Tensor) -> Tensor:
        return incoming

    def change(self) -> float:
        return 0.0


class FusedGather:
    """A compiled sweep for one message function and one type of values, used again in every iteration."""

    def __init__(self, edges: InMemoryEdges, dtype: Any, reduce: str, along: str, message: Callable[..., Any]) -> None:
        self._runtime, self._count = edges.graph.runtime, edges.graph.num_vertices
        gather = plan(Gather(reduce, along, message), ("gathered", "value"))
        sent = describe(gather, edges, self._make_state(dtype, dtype)).message_dtype
        self._dtype = reduced_dtype(reduce, sent)
        state = self._make_state(self._dtype, dtype)
        program, sides = describe(gather, edges, state), sides_of(gather, edges, "pull")
        self._on_gpu: Callable[..., Tensor] | None = None
        if kernels_for(self._runtime) == "gpu":
            from tgraph.kernels.gpu.fused.gather import GatherRun

            self._on_gpu = GatherRun(program, sides)
            return
        self._fields = {
            "gathered": np.empty(self._count, self._dtype),
            "value": self._runtime.to_numpy(state.fields["value"]),
        }
        self._run = PullRun(program, sides, self._fields)

    def _make_state(self, gathered: Any, value: Any) -> State:
        """Return fields of these types; nobody reads them."""
        dtypes = {"gathered": gathered, "value": value}
        return State({name: self._runtime.full(self._count, 0, dtype) for name, dtype in dtypes.items()})

    def __call__(self, values: Tensor) -> Tensor:
        """Send the values along every edge and return what reaches each vertex, a tensor of its own."""
        if self._on_gpu is not None:
            return self._on_gpu({"gathered": values, "value": values})
        gathered = self._fields["gathered"] = np.empty(self._count, self._dtype)
        self._fields["value"] = np.ascontiguousarray(self._runtime.to_numpy(values))
        *_, interrupted = self._run.advance(1, -1.0)
        if interrupted:
            raise KeyboardInterrupt
        return self._runtime.asarray(gathered)
