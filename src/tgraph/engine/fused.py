"""Running a program with a kernel that has its functions compiled in, where there is one for it.

A program qualifies if there are kernels for its device (`kernels.registry`) and its functions can be translated; which
vertices are active, and whether it has a priority, says which kernel serves. The answer is that of the plain path; sums
of floats may differ in the last digits, and an asynchronous sweep by as much as the tolerance allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fields import put_back, take_arrays
from tgraph.engine.messages import Messages
from tgraph.errors import InvalidProgramError
from tgraph.graph import Graph
from tgraph.kernels.cpu.fused.accumulate import start_accumulating
from tgraph.kernels.cpu.fused.ordered import OrderedRun, is_ordered
from tgraph.kernels.cpu.fused.pieces import KernelProgram, Side
from tgraph.kernels.cpu.fused.pull import PullRun
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.fused.wave import is_wave, start_wave
from tgraph.kernels.registry import kernels_for
from tgraph.operators import tensorize
from tgraph.program import Plan, Program, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.run import Options
from tgraph.runtime import Array, Tensor

ITERATIONS_PER_CALL = 1000  # a kernel returns after so many, and is called again
FRONTIERS_PER_CALL = 1 << 14


class FusedSweep:
    """The iterations of a program whose vertices are all active, as sweeps of a compiled kernel."""

    def __init__(self, plan: Plan, edges: InMemoryEdges, state: State) -> None:
        self._program, self._state, self._edges = plan.program, state, edges
        self._run, self._fields = _start_sweep(plan, edges, state)

    def run(self, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until the program is done (True) or the limit is reached (False)."""
        per_call = ITERATIONS_PER_CALL if type(self._program).is_done is Program.is_done else 1
        while max_iterations is None or self._state.iteration < max_iterations:
            limit = per_call if max_iterations is None else min(per_call, max_iterations - self._state.iteration)
            interrupted = self._call(limit, trace, progress)
            if interrupted:
                raise KeyboardInterrupt
            if self._program.is_done(self._state.iteration, self._state.residual):
                return True
        return False

    def _call(self, limit: int, trace: Trace, progress: Progress) -> bool:
        """Call the kernel once, show and record its iterations, and return whether the user interrupted it."""
        before, started = len(trace), time.perf_counter()
        vertices, arcs = self._edges.graph.num_vertices, self._edges.count_edges(None, self._program.along)

        def look(done: int) -> None:
            progress.show(Iteration("pull", vertices, arcs, 0.0), before + done)

        residuals, ticks, interrupted = self._run.advance(limit, self._program.tolerance, look)
        put_back(self._edges.graph.runtime, self._state.fields, self._fields)
        seconds = ticks / max(ticks.sum(), 1) * (time.perf_counter() - started)
        for residual, share in zip(residuals.tolist(), seconds.tolist(), strict=True):
            trace.add(Iteration("pull", vertices, arcs, share, residual))
        self._state.iteration = len(trace)
        if residuals.size:
            self._state.residual = float(residuals[-1])
            progress.show(trace[-1], len(trace))
        return interrupted


class FusedFrontier:
    """The iterations of a program in which the vertices that changed are active, in a compiled kernel."""

    def __init__(self, plan: Plan, edges: InMemoryEdges, state: State, front: Tensor | None, direction: str) -> None:
        self._state, self._edges = state, edges
        graph, along = edges.graph, plan.program.along
        self._direction = direction
        if direction == "auto" and graph.directed and not _has_reverse(graph, along):
            self._direction = "push"
        push = sides_of(plan, edges, "push")
        pull = push if self._direction == "push" else sides_of(plan, edges, "pull")
        self._run, self._fields = _start_frontier(describe(plan, edges, state), (push, pull), graph, state, front)

    def run(self, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until nobody is active (True) or the limit is reached (False)."""
        while not self._run.is_done and (max_iterations is None or self._state.iteration < max_iterations):
            limit = FRONTIERS_PER_CALL
            if max_iterations is not None:
                limit = min(limit, max_iterations - self._state.iteration)
            if self._call(limit, trace, progress):
                raise KeyboardInterrupt
        return self._run.is_done

    def _call(self, limit: int, trace: Trace, progress: Progress) -> bool:
        """Call the kernel once, show and record its iterations, and return whether the user interrupted it."""
        graph, before, started = self._edges.graph, len(trace), time.perf_counter()

        def look(done: int) -> None:
            progress.show(Iteration("push", graph.num_vertices, graph.num_arcs, 0.0), before + done)

        rows, ticks, interrupted = self._run.advance(limit, self._direction, look)
        put_back(graph.runtime, self._state.fields, self._fields)
        trace.add_all(rows, ticks / max(ticks.sum(), 1) * (time.perf_counter() - started))
        self._state.iteration = len(trace)
        if rows.size:
            pulled, vertices, arcs = rows[-1].tolist()
            progress.show(Iteration("pull" if pulled else "push", vertices, arcs, 0.0), len(trace))
        return interrupted


def _start_sweep(plan: Plan, edges: InMemoryEdges, state: State) -> tuple[Any, dict[str, Array]]:
    """Return the run of the kernels for the graph's device, and the arrays that it writes into instead of tensors."""
    program, sides = describe(plan, edges, state), sides_of(plan, edges, "pull")
    if kernels_for(edges.graph.runtime) == "gpu":
        from tgraph.kernels.gpu.fused.sweep import SweepRun

        return SweepRun(program, sides, state.fields), {}
    fields = take_arrays(edges.graph.runtime, state.fields)
    return PullRun(program, sides, fields), fields


def _start_frontier(
    program: KernelProgram, sides: tuple[list[Side], list[Side]], graph: Graph, state: State, front: Tensor | None
) -> tuple[Any, dict[str, Array]]:
    """Return the same for a run from the active vertices `front` (None = all)."""
    if kernels_for(graph.runtime) == "gpu":
        from tgraph.kernels.gpu.fused.frontier import FrontierRun

        everyone = graph.runtime.arange(0, graph.num_vertices, "int64") if front is None else front
        return FrontierRun(program, sides, state.fields, everyone), {}
    ids, fields = _ids(graph, front), take_arrays(graph.runtime, state.fields)
    start = start_wave if is_wave(program, fields, ids) else start_accumulating
    return start(program, sides, fields, ids), fields


class FusedOrdered:
    """A program with a priority, in a compiled kernel that takes the most urgent vertices first."""

    def __init__(self, plan: Plan, edges: InMemoryEdges, state: State, front: Tensor | None) -> None:
        graph = edges.graph
        self._make_frontier: Callable[[], FusedFrontier] = lambda: FusedFrontier(plan, edges, state, None, "auto")
        self._state, self._graph = state, graph
        width = float(plan.program.bucket_width(graph))
        if not width > 0:
            raise InvalidProgramError(f"{type(plan.program).__name__}.bucket_width gave {width}; it must be above 0")
        self._fields = take_arrays(graph.runtime, state.fields)
        self._run = OrderedRun(
            describe(plan, edges, state), sides_of(plan, edges, "push"), self._fields, _ids(graph, front), width
        )

    def run(self, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Run to the fixed point; where the kernel gives up, another one goes on with all vertices."""
        started = time.perf_counter()

        def look(done: int) -> None:
            progress.show(Iteration("push", self._graph.num_vertices, self._graph.num_arcs, 0.0), done)

        rows, ticks, interrupted, gave_up = self._run.run(look)
        put_back(self._graph.runtime, self._state.fields, self._fields)
        trace.add_all(rows, ticks / max(ticks.sum(), 1) * (time.perf_counter() - started))
        self._state.iteration = len(trace)
        if interrupted:
            raise KeyboardInterrupt
        return self._make_frontier().run(max_iterations, trace, progress) if gave_up else True


def _ids(graph: Graph, front: Tensor | None) -> Array:
    return np.arange(graph.num_vertices) if front is None else graph.runtime.to_numpy(front)


def _has_reverse(graph: Graph, along: str) -> bool:
    """Whether pull can run without building the incoming edges first, which takes longer than most runs."""
    return along == "in" or graph.has_in_edges


def sides_of(plan: Plan, edges: InMemoryEdges, direction: str) -> list[Side]:
    """Return the ways that messages take, as the kernels take them: arrays on the CPU, tensors elsewhere."""
    runtime = edges.graph.runtime
    is_cpu = kernels_for(runtime) == "cpu"
    found = []
    for side, adjacency in edges.sides(plan.program.along, direction):
        rows = (adjacency.offsets, adjacency.neighbors, adjacency.weights)
        data = {name: edges.edge_values(name, side) for name in plan.edge_names}
        if is_cpu:
            rows, data = adjacency.to_numpy(), {name: runtime.to_numpy(tensor) for name, tensor in data.items()}
        found.append(Side(rows, data))
    return found


def find_fused(
    plan: Plan, edges: InMemoryEdges, state: State, front: Tensor | None, options: Options
) -> FusedSweep | FusedFrontier | FusedOrdered | None:
    """Return the compiled form of a run from the active vertices `front` (None = all), or None for the plain path."""
    reason = _why_plain(plan, edges, options)
    if reason is None:
        try:
            if plan.program.active == "all":
                return FusedSweep(plan, edges, state)
            if _is_free(plan.program, options, edges.graph) and is_ordered(describe(plan, edges, state)):
                return FusedOrdered(plan, edges, state, front)
            return FusedFrontier(plan, edges, state, front, options.direction)
        except NotTranslatableError as error:
            reason = str(error)
    if options.kernel == "fused":
        raise InvalidProgramError(
            f"kernel='fused' cannot run {type(plan.program).__name__}: {reason}; use kernel='auto'"
        )
    return None


def _is_free(program: Program, options: Options, graph: Graph) -> bool:
    """Whether the order of messages is free: nobody counts iterations or asks for a direction. GPUs have no buckets."""
    has_priority = program.priority is not None and program.monotonic and kernels_for(graph.runtime) == "cpu"
    return has_priority and options.max_iterations is None and options.direction == "auto"


def _why_plain(plan: Plan, edges: InMemoryEdges, options: Options) -> str | None:
    """Return what stands in the way of a compiled kernel, None if nothing does."""
    graph, program = edges.graph, plan.program
    is_sweep = program.active == "all"
    checks = {
        "kernel='plain' was asked for": options.kernel == "plain",
        "it overrides compute": plan.has_compute,
        "the kernel pulls, and direction='push' was asked for": is_sweep and options.direction == "push",
        "a total over all vertices is not compiled for changing ones": not is_sweep and program.total is not None,
        f"the tensors are on {graph.runtime.device}, for which there are no kernels": kernels_for(graph.runtime)
        is None,
        "its edges are far from the device": graph.is_far and kernels_for(graph.runtime) != "cpu",
        "there are no vertices": graph.num_vertices == 0,
    }
    return next((reason for reason, stands in checks.items() if stands), None)


def describe(plan: Plan, edges: InMemoryEdges, state: State) -> KernelProgram:
    """Collect what a kernel is made from; the type of a message is found by making none."""
    graph = edges.graph
    none = tensorize(graph.adjacency("out").without_edges(), range(0))
    message = Messages(plan, edges, state.fields).push("out", none)
    return describe_sending(plan, graph, state, graph.runtime.dtype(message))


def describe_sending(plan: Plan, graph: Graph, state: State, message_dtype: np.dtype[Any]) -> KernelProgram:
    """Collect what a kernel is made from, for messages of a type."""
    program = plan.program
    used = [name for name in ("message", "update", "total", "change", "settled", "priority") if name in plan.parameters]
    if not plan.needs_total:
        used = [name for name in used if name != "total"]
    return KernelProgram(
        functions={name: getattr(program, name) for name in used},
        parameters=plan.parameters,
        field_dtypes={name: graph.runtime.dtype(tensor) for name, tensor in state.fields.items()},
        edge_names=plan.edge_names,
        weighted=graph.weighted,
        message_dtype=message_dtype,
        reduce=program.reduce,
        is_message_per_vertex=plan.is_message_per_vertex,
        main_field=plan.main_field,
        asynchronous=program.asynchronous,
        symmetric=program.linear and not graph.directed,
    )
