"""The engine for graphs that are divided among the ranks of a group.

Sweeps and monotonic programs that can be compiled run on each rank's rows, with vertex data divided like the edges
(`shard_runs`, `shard_searches`). So does a program that overrides `compute` and treats every vertex by itself
(`divided_edges`). Every other program runs with its vertex data on every rank and only the edges divided
(`replicated_edges`): the answer is that of one machine, the memory for vertex data too.
"""

from __future__ import annotations

import time
from typing import Any

from tgraph.engine import in_memory
from tgraph.engine.divided_edges import DividedEdges
from tgraph.engine.fields import initial_fields
from tgraph.engine.replicated_edges import ReplicatedEdges
from tgraph.engine.shard_runs import ShardSweep
from tgraph.engine.shard_searches import ShardSearch
from tgraph.errors import DeclaredGapError, InterruptedRunError, InvalidArgumentError, InvalidProgramError
from tgraph.graph import Graph
from tgraph.graph.sharded import ShardedGraph, shard
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.program import Plan, Program, State, plan
from tgraph.results import Result, Trace
from tgraph.results.progress import Progress
from tgraph.results.sharded import ShardedResult
from tgraph.run import Options
from tgraph.runtime import Array, Tensor


def run(program: Program, graph: Graph, options: Options) -> Result:
    """Run a program on all ranks; every rank calls it and gets its part of the result."""
    part = graph.whole() if isinstance(graph, ShardedGraph) else shard(graph)
    if type(program).edge_data is not Program.edge_data:
        raise DeclaredGapError(
            f"{type(program).__name__} has edge data, which is not divided among ranks; use weights, or one machine"
        )
    started = time.perf_counter()
    fields, active = _own_fields(program, part)
    planned, state = plan(program, tuple(fields)), State(fields)
    try:
        engine = _find_engine(planned, part, state, active, options)
    except NotTranslatableError as error:
        if options.kernel == "fused":
            raise InvalidProgramError(f"kernel='fused' cannot run {type(program).__name__}: {error}") from error
        if part.stays_far:
            raise DeclaredGapError(
                f"{type(program).__name__} does not run on a graph that ranks have opened with memory=: {error}; only "
                "compiled sweeps, searches to the end and wcc stream edges there: read the graph with tgraph.read"
            ) from error
        if options.checkpoint is not None:
            raise InvalidArgumentError(
                f"checkpoint= is for compiled sweeps and monotonic programs; {type(program).__name__} is run in "
                f"another way ({error}): leave it out"
            ) from error
        del fields, active, state
        return (_run_divided if planned.has_compute and program.by_parts else _run_replicated)(program, part, options)
    trace = Trace("distributed", "fused")
    trace.seconds["init"] = time.perf_counter() - started
    name, converged = type(program).__name__, False
    with Progress(name, options.progress if part.group.rank == 0 else "off", options.max_iterations) as progress:
        try:
            if options.checkpoint is not None:
                engine.resume(options.checkpoint, trace)
            converged = engine.run(options.max_iterations, trace, progress)
        except KeyboardInterrupt as interrupt:
            raise InterruptedRunError(f"{name} was interrupted after {len(trace)} iterations", None) from interrupt
    engine.forget()
    engine.put_back()
    del engine
    residual = state.residual if program.active == "all" and state.iteration else None
    finished = _own_results(program, part, state.fields)
    return ShardedResult(name, part.by_parts(), finished, trace, converged, residual, program.vertex_fields)


def _find_engine(
    planned: Plan, graph: ShardedGraph, state: State, active: Array | None, options: Options
) -> ShardSweep | ShardSearch:
    """Return the compiled form of a program on parts, or raise `NotTranslatableError` with what stands in the way."""
    program, is_sweep = planned.program, planned.program.active == "all"
    has_messages = "message" in planned.parameters and "update" in planned.parameters
    obstacles = {
        "kernel='plain' was asked for": options.kernel == "plain",
        "it overrides compute": planned.has_compute and (not has_messages or is_sweep),
        f"direction={options.direction!r} was asked for": is_sweep and options.direction == "push",
        "there are no vertices": graph.num_vertices == 0,
        "it is not monotonic": not is_sweep and not planned.may_resend,
        "iterations are counted": not is_sweep and options.max_iterations is not None,
        "a total over all vertices is not compiled for changing ones": not is_sweep and program.total is not None,
        "it has a field called source": "source" in planned.field_names,
        "streamed edges are only pushed along": not is_sweep and graph.stays_far and options.direction == "pull",
        "a file without a name is not mapped, so that transfer='zero_copy' has nothing to read from": graph.stays_far
        and options.transfer == "zero_copy",
    }
    for obstacle, stands in obstacles.items():
        if stands:
            raise NotTranslatableError(obstacle)
    if is_sweep:
        return ShardSweep(planned, graph, state)
    return ShardSearch(planned, graph, state, active, options.direction, options.transfer)


def _own_fields(program: Program, graph: ShardedGraph) -> tuple[dict[str, Tensor], Array | None]:
    """Return the first values of the own vertices, and which of them are active (None = all)."""
    if program.by_parts:
        fields, active = initial_fields(program, graph.by_parts())
        return fields, None if active is None else graph.runtime.to_numpy(active)
    fields, active = initial_fields(program, graph)
    own = {name: graph.runtime.copy(graph.part_of(tensor)) for name, tensor in fields.items()}
    return own, None if active is None else graph.runtime.to_numpy(graph.part_of(active)).copy()


def _own_results(program: Program, graph: ShardedGraph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
    """Let the program finish, and return the results of the own vertices."""
    if program.by_parts or type(program).finish is Program.finish:
        return program.finish(graph.by_parts(), fields)
    whole = program.finish(graph, {name: graph.join(tensor) for name, tensor in fields.items()})
    return {name: graph.runtime.copy(graph.part_of(tensor)) for name, tensor in whole.items()}


def _run_divided(program: Program, graph: ShardedGraph, options: Options) -> Result:
    """Run a program that computes with tensors of the own vertices."""
    view = graph.by_parts()
    own = in_memory.run(program, view, options, DividedEdges, "distributed", find_kernel=_no_kernel)
    if options.kernel != "plain":
        own.trace.kernel = "fused"
    return ShardedResult(own.name, view, own.fields, own.trace, own.converged, own.residual, own.vertex_fields)


def _run_replicated(program: Program, graph: ShardedGraph, options: Options) -> Result:
    """Run a program with its vertex data on every rank."""
    whole = in_memory.run(program, graph, options, ReplicatedEdges, "distributed", find_kernel=_no_kernel)
    own = {name: graph.runtime.copy(graph.part_of(tensor)) for name, tensor in whole.fields.items()}
    return ShardedResult(
        whole.name, graph.by_parts(), own, whole.trace, whole.converged, whole.residual, whole.vertex_fields
    )


def _no_kernel(*_: Any) -> None:
    return None
