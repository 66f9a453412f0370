"""The engine for compressed graphs: the same programs, on rows that share virtual vertices.

Where all vertices are active, virtual vertices are reduced layer by layer before the vertices (`LayeredSweep`). Where
those that changed are, they push down through virtual vertices, or all pull (`LayeredFrontier`). What cannot be
compiled goes through the layers with primitives (`LayeredEdges`). A message that reads its target, its edge or edge
data cannot be shared, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.engine import in_memory
from tgraph.engine.fields import take_arrays
from tgraph.engine.fused import FusedFrontier, FusedSweep, describe_sending
from tgraph.engine.gather import Gather
from tgraph.engine.layered_edges import LayeredEdges, check_shared
from tgraph.errors import InvalidArgumentError, InvalidProgramError
from tgraph.graph import CompressedGraph, Graph
from tgraph.kernels.cpu.fused.layered_frontier import LayeredFrontier
from tgraph.kernels.cpu.fused.layered_sweep import LayeredSweep
from tgraph.kernels.cpu.fused.pieces import KernelProgram
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.registry import kernels_for
from tgraph.program import Plan, Program, State, plan
from tgraph.results import Result
from tgraph.run import Options
from tgraph.runtime import Tensor


def run(program: Program, graph: Graph, options: Options) -> Result:
    """Run a program on a compressed graph."""
    if not isinstance(graph, CompressedGraph):
        raise InvalidArgumentError("engine='compressed' runs on a compressed graph; make one with tgraph.compress")
    return in_memory.run(program, graph, options, LayeredEdges, "compressed", find_kernel=find_layered)


def find_layered(
    planned: Plan, edges: LayeredEdges, state: State, front: Tensor | None, options: Options
) -> FusedSweep | FusedFrontier | None:
    """Return the compiled form of a run from the active vertices `front` (None = all), or None for the plain path."""
    if planned.has_compute:
        return None
    check_shared(planned)
    reason = _why_plain(planned, edges, options)
    if reason is None:
        try:
            if planned.program.active == "all":
                return _Sweep(planned, edges, state)
            return _Frontier(planned, edges, state, front, options.direction)
        except NotTranslatableError as error:
            reason = str(error)
    if options.kernel == "fused":
        name = type(planned.program).__name__
        raise InvalidProgramError(f"kernel='fused' cannot run {name}: {reason}; use kernel='auto'")
    return None


def _why_plain(planned: Plan, edges: LayeredEdges, options: Options) -> str | None:
    """Return what stands in the way of a compiled kernel, None if nothing does."""
    program, is_sweep = planned.program, planned.program.active == "all"
    checks = {
        "kernel='plain' was asked for": options.kernel == "plain",
        "the kernel pulls, and direction='push' was asked for": options.direction == "push"
        and (is_sweep or not planned.may_resend),
        "a total over all vertices is not compiled for changing ones": not is_sweep and program.total is not None,
        "a mean of changing vertices is not compiled": not is_sweep and program.reduce == "mean",
        "there are no CPU kernels for its tensors": kernels_for(edges.graph.runtime) != "cpu",
        "there are no vertices": edges.graph.num_vertices == 0,
    }
    return next((reason for reason, stands in checks.items() if stands), None)


def _describe(planned: Plan, edges: LayeredEdges, state: State) -> KernelProgram:
    dtype = edges.message_dtype(planned, state.fields)
    return replace(describe_sending(planned, edges.graph, state, dtype), is_message_per_vertex=True)


class _Sweep(FusedSweep):
    """The iterations of a program whose vertices are all active, as sweeps through the layers."""

    def __init__(self, planned: Plan, edges: LayeredEdges, state: State) -> None:
        self._program, self._state, self._edges = planned.program, state, edges
        self._fields = take_arrays(edges.graph.runtime, state.fields)
        self._run = _start_sweep(planned, edges, state, self._fields)


def _start_sweep(planned: Plan, edges: LayeredEdges, state: State, fields: dict[str, Any]) -> LayeredSweep:
    program, along = _describe(planned, edges, state), planned.program.along
    degrees = np.zeros(0, np.int64)
    if program.reduce in ("count", "mean"):
        degrees = edges.graph.runtime.to_numpy(edges.degrees(along, "pull"))
    return LayeredSweep(program, edges.layered_sides(along, "pull"), fields, degrees)


class _Frontier(FusedFrontier):
    """The iterations of a program in which the vertices that changed are active, through the layers."""

    def __init__(self, planned: Plan, edges: LayeredEdges, state: State, front: Tensor | None, direction: str) -> None:
        self._state, self._edges = state, edges
        graph, along = edges.graph, planned.program.along
        has_rows = along == "in" or graph.has_in_edges
        if not planned.may_resend:
            direction = "pull"
        elif direction == "auto" and not has_rows:
            direction = "push"
        self._direction = direction
        self._fields = take_arrays(graph.runtime, state.fields)
        push = edges.layered_sides(along, "push") if planned.may_resend else None
        pull = edges.layered_sides(along, "pull") if direction != "push" else None
        ids = np.arange(graph.num_vertices) if front is None else graph.runtime.to_numpy(front)
        degrees = graph.runtime.to_numpy(edges.degrees(along, "push"))
        self._run = LayeredFrontier(_describe(planned, edges, state), push, pull, self._fields, ids, degrees)


class LayeredGather:
    """A compiled sweep for one message function and one type of values, used again in every iteration."""

    def __init__(self, edges: LayeredEdges, dtype: Any, reduce: str, along: str, message: Callable[..., Any]) -> None:
        self._runtime, self._count = edges.graph.runtime, edges.graph.num_vertices
        gather = plan(Gather(reduce, along, message), ("gathered", "value"))
        check_shared(gather)
        state = State({name: self._runtime.full(self._count, 0, dtype) for name in ("gathered", "value")})
        self._dtype = reduced_dtype(reduce, edges.message_dtype(gather, state.fields))
        state.fields["gathered"] = self._runtime.full(self._count, 0, self._dtype)
        self._fields = {
            "gathered": np.empty(self._count, self._dtype),
            "value": self._runtime.to_numpy(state.fields["value"]),
        }
        self._run = _start_sweep(gather, edges, state, self._fields)

    def __call__(self, values: Tensor) -> Tensor:
        """Send the values along every edge and return what reaches each vertex, a tensor of its own."""
        gathered = self._fields["gathered"] = np.empty(self._count, self._dtype)
        self._fields["value"] = np.ascontiguousarray(self._runtime.to_numpy(values))
        *_, interrupted = self._run.advance(1, -1.0)
        if interrupted:
            raise KeyboardInterrupt
        return self._runtime.asarray(gathered)
