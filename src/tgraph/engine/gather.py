"""`edges.aggregate` in a compiled kernel: one sweep over all edges for programs that override `compute`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.engine.fused import describe, sides_of
from tgraph.kernels.cpu.fused.pull import PullRun
from tgraph.program import Program, State, plan
from tgraph.runtime import Tensor

if TYPE_CHECKING:
    from tgraph.engine.edges import InMemoryEdges


class _Gather(Program):
    """One iteration: what reaches a vertex is its new value."""

    active = "all"

    def __init__(self, reduce: str, along: str, message: Callable[..., Any]) -> None:
        self.reduce, self.along, self.message = reduce, along, message

    def update(self, incoming: Tensor) -> Tensor:
        return incoming


class FusedGather:
    """A compiled sweep for one message function and one type of values, used again in every iteration."""

    def __init__(self, edges: InMemoryEdges, dtype: Any, reduce: str, along: str, message: Callable[..., Any]) -> None:
        self._runtime, count = edges.graph.runtime, edges.graph.num_vertices
        self._values = np.empty(count, dtype)
        runtime = self._runtime
        probe = State({"gathered": runtime.full(count, 0, dtype), "value": runtime.asarray(self._values)})
        program = _Gather(reduce, along, message)
        sent = describe(plan(program, ("gathered", "value")), edges, probe).message_dtype
        self._gathered = np.zeros(count, reduced_dtype(reduce, sent))
        fields = {"gathered": self._gathered, "value": self._values}
        state = State({name: runtime.asarray(array) for name, array in fields.items()})
        gather_plan = plan(program, ("gathered", "value"))
        self._run = PullRun(describe(gather_plan, edges, state), sides_of(gather_plan, edges, "pull"), fields)

    def __call__(self, values: Tensor) -> Tensor:
        """Send the values along every edge and return what reaches each vertex, a tensor of its own."""
        self._values[:] = self._runtime.to_numpy(values)
        *_, interrupted = self._run.advance(1, -1.0)
        if interrupted:
            raise KeyboardInterrupt
        return self._runtime.asarray(self._gathered.copy())
