"""The engine for graphs whose edges do not fit into memory: vertex data near, edges in blocks from a file.

A sweeping program goes through all blocks of incoming edges in every iteration; a monotonic one through the blocks of
outgoing edges that have active vertices, or through those of all who may still receive. Blocks that stay near come
first, the others are read while those before them are computed on. Other programs, and those that cannot be compiled,
read the mapped file in place: the answer is the same, and memory for edges is the page cache's, which the system takes
back when it is short.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from tgraph.engine import in_memory
from tgraph.engine.device_runs import run_on_device
from tgraph.engine.far_delta import FarDelta, why_no_changes
from tgraph.engine.far_edges import FarEdges
from tgraph.engine.far_push import FarPush
from tgraph.engine.far_runs import FarSweep
from tgraph.engine.fields import edge_fields, initial_fields
from tgraph.errors import InterruptedRunError, InvalidArgumentError, InvalidProgramError, MemoryBudgetError
from tgraph.graph import Graph
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.memory import FarGraph, OffloadedGraph
from tgraph.program import Plan, Program, State, plan
from tgraph.results import Result, Trace
from tgraph.results.progress import Progress
from tgraph.run import Options
from tgraph.runtime import Array, Tensor


def run(program: Program, graph: Graph, options: Options) -> Result:
    """Run a program within the budget of a graph that was opened with one."""
    if isinstance(graph, OffloadedGraph):
        _refuse_checkpoint(program, options)
        return run_on_device(program, graph, options)
    if not isinstance(graph, FarGraph):
        raise InvalidArgumentError(
            "engine='out_of_memory' runs on a graph in a file; open it with tgraph.open(path, memory=...)"
        )
    started = time.perf_counter()
    fields, active = initial_fields(program, graph)
    planned, state = plan(program, tuple(fields), tuple(edge_fields(program, graph))), State(fields)
    if planned.has_compute and options.kernel != "plain":
        _refuse_checkpoint(program, options)
        per_vertex = sum(graph.runtime.dtype(tensor).itemsize for tensor in fields.values()) + program.compute_bytes
        del fields, active, state
        return _run_compute(program, graph, options, per_vertex * graph.num_vertices)
    trace = Trace("out_of_memory", "fused")
    mask = None if active is None else graph.runtime.to_numpy(active)
    try:
        engine = _find_engine(planned, graph, state, mask, options)
    except NotTranslatableError as error:
        if options.kernel == "fused":
            raise InvalidProgramError(f"kernel='fused' cannot run {type(program).__name__}: {error}") from error
        _refuse_checkpoint(program, options)
        del fields, active, mask, state
        return in_memory.run(program, graph, options, engine_name="out_of_memory")
    del fields, active, mask  # the engine has what it needs of them
    trace.seconds["init"] = time.perf_counter() - started
    converged, name = False, type(program).__name__
    with (
        Progress(name, options.progress, options.max_iterations) as progress,
        graph.open_file() as file,
    ):
        try:
            if options.checkpoint is not None:
                engine.resume(engine.make_checkpoint(options.checkpoint, options.schedule), trace)
            if not engine.gives_way:
                converged = engine.run(file, options.max_iterations, trace, progress)
            if engine.gives_way:
                checkpoint = engine.checkpoint
                del engine  # and with it its memory
                engine = _change_over(planned, graph, state, options)
                if checkpoint is not None:
                    engine.resume(checkpoint, trace)
                converged = engine.run(file, options.max_iterations, trace, progress)
            engine.forget()
        except KeyboardInterrupt as interrupt:
            partial = _result(program, graph, state, trace, converged=False)
            message = f"{name} was interrupted after {partial.iterations} iterations"
            raise InterruptedRunError(message, partial) from interrupt
    del engine  # and with it all buffers, before `finish` makes tensors
    return _result(program, graph, state, trace, converged)


def _refuse_checkpoint(program: Program, options: Options) -> None:
    if options.checkpoint is not None:
        raise InvalidArgumentError(
            f"checkpoint={os.fspath(options.checkpoint)!r} is for compiled sweeps and monotonic programs; "
            f"{type(program).__name__} is run in another way: leave it out"
        )


def _result(program: Program, graph: Graph, state: State, trace: Trace, converged: bool) -> Result:
    residual = state.residual if program.active == "all" and state.iteration else None
    fields = program.finish(graph, state.fields)
    return Result(type(program).__name__, graph, fields, trace, converged, residual, program.vertex_fields)


def _run_compute(program: Program, graph: FarGraph, options: Options, vertex_bytes: int) -> Result:
    """Run a program that overrides `compute`: its tensors are near, `edges.aggregate` streams the edges."""
    with graph.open_file() as file:

        def make_edges(_graph: Graph, direction: str, edge_data: Mapping[str, Tensor], _kernel: str) -> FarEdges:
            return FarEdges(graph, file, vertex_bytes, options.transfer, direction, edge_data)

        return in_memory.run(program, graph, options, make_edges, "out_of_memory")


def _change_over(planned: Plan, graph: FarGraph, state: State, options: Options) -> FarDelta | FarSweep:
    """Return the run by changes that goes on where sweeps are slow, or sweeps to the end where it has no room."""
    try:
        return FarDelta(planned, graph, state, options.transfer)
    except MemoryBudgetError:
        return FarSweep(planned, graph, state, options.transfer)


def _find_engine(
    planned: Plan, graph: FarGraph, state: State, active: Array | None, options: Options
) -> FarSweep | FarPush | FarDelta:
    """Return the streaming form of a program, or raise `NotTranslatableError` with what stands in the way."""
    program = planned.program
    is_sweep = program.active == "all"
    obstacles = {
        "kernel='plain' was asked for": options.kernel == "plain",
        f"direction={options.direction!r} was asked for": options.direction
        not in ("auto", "pull" if is_sweep else "push"),
        "it has edge data": bool(planned.edge_names),
        "there are no vertices": graph.num_vertices == 0,
        "messages go both ways": program.along == "both" and graph.directed,
        "it is not monotonic": not is_sweep and not planned.may_resend,
    }
    for obstacle, stands in obstacles.items():
        if stands:
            raise NotTranslatableError(obstacle)
    if not is_sweep:
        return FarPush(planned, graph, state, active, options.direction, options.transfer, options.cache)
    reason = why_no_changes(planned, graph)
    if options.schedule == "delta" and reason is not None:
        raise InvalidArgumentError(
            f"schedule='delta' cannot run {type(program).__name__}: {reason}; use schedule='auto'"
        )
    has_rows = graph.has_in_edges or program.along != "out"
    if reason is None and (options.schedule == "delta" or (options.schedule == "auto" and not has_rows)):
        try:
            return FarDelta(planned, graph, state, options.transfer)
        except NotTranslatableError as error:
            if options.schedule == "delta":
                name = type(program).__name__
                raise InvalidArgumentError(f"schedule='delta' cannot run {name}: {error}; use 'auto'") from error
            raise
    return FarSweep(planned, graph, state, options.transfer, reason is None and options.schedule == "auto")
