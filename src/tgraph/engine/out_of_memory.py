"""The engine for graphs whose edges do not fit into memory: vertex data near, edges in blocks from a file.

A sweeping program goes through all blocks of incoming edges in every iteration; a monotonic one through the blocks of
outgoing edges that have active vertices. Blocks that stay near come first, the others are read while those before them
are computed on. Other programs, and those that cannot be compiled, read the mapped file in place: the answer is the
same, and memory for edges is the page cache's, which the system takes back when it is short.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tgraph.engine import in_memory
from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.far_edges import FarEdges
from tgraph.engine.fields import edge_fields, initial_fields
from tgraph.engine.fused import describe
from tgraph.errors import InterruptedRunError, InvalidArgumentError, InvalidProgramError
from tgraph.graph import Graph
from tgraph.kernels.cpu.fused.block_push import ActiveRows, BlockPush, can_push_blocks
from tgraph.kernels.cpu.fused.block_sweep import BlockSweep
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.memory import Budget, EdgeStream, FarFile, FarGraph, Link, link_for
from tgraph.memory.transfer import TRANSFERS, choose_transfers
from tgraph.memory.transfer.compact import JOINED_BYTES
from tgraph.program import Plan, Program, State, plan
from tgraph.results import Iteration, Result, Trace
from tgraph.results.progress import Progress
from tgraph.run import Options
from tgraph.runtime import Array, Tensor

TEMPORARY_BYTES = 24  # per vertex, of tensors that `compute` makes and drops


def run(program: Program, graph: Graph, options: Options) -> Result:
    """Run a program within the budget of a graph that was opened with one."""
    if not isinstance(graph, FarGraph):
        raise InvalidArgumentError(
            "engine='out_of_memory' runs on a graph in a file; open it with tgraph.open(path, memory=...)"
        )
    started = time.perf_counter()
    fields, active = initial_fields(program, graph)
    planned, state = plan(program, tuple(fields), tuple(edge_fields(program, graph))), State(fields)
    if planned.has_compute and options.kernel != "plain":
        field_bytes = sum(graph.runtime.dtype(tensor).itemsize for tensor in fields.values()) * graph.num_vertices
        del fields, active, state
        return _run_compute(program, graph, options, field_bytes + TEMPORARY_BYTES * graph.num_vertices)
    trace = Trace("out_of_memory", "fused")
    mask = None if active is None else graph.runtime.to_numpy(active)
    try:
        engine = _find_engine(planned, graph, state, mask, options)
    except NotTranslatableError as error:
        if options.kernel == "fused":
            raise InvalidProgramError(f"kernel='fused' cannot run {type(program).__name__}: {error}") from error
        del fields, active, mask, state
        return in_memory.run(program, graph, options, engine_name="out_of_memory")
    trace.seconds["init"] = time.perf_counter() - started
    converged, name = False, type(program).__name__
    with Progress(name, options.progress, options.max_iterations) as progress, FarFile(graph.path) as file:
        try:
            converged = engine.run(file, options.max_iterations, trace, progress)
        except KeyboardInterrupt as interrupt:
            partial = _result(program, graph, state, trace, converged=False)
            message = f"{name} was interrupted after {partial.iterations} iterations"
            raise InterruptedRunError(message, partial) from interrupt
    return _result(program, graph, state, trace, converged)


def _result(program: Program, graph: Graph, state: State, trace: Trace, converged: bool) -> Result:
    residual = state.residual if program.active == "all" and state.iteration else None
    fields = program.finish(graph, state.fields)
    return Result(type(program).__name__, graph, fields, trace, converged, residual, program.vertex_fields)


def _run_compute(program: Program, graph: FarGraph, options: Options, vertex_bytes: int) -> Result:
    """Run a program that overrides `compute`: its tensors are near, `edges.aggregate` streams the edges."""
    with FarFile(graph.path) as file:

        def make_edges(_graph: Graph, direction: str, edge_data: Mapping[str, Tensor], _kernel: str) -> FarEdges:
            return FarEdges(graph, file, vertex_bytes, direction, edge_data)

        return in_memory.run(program, graph, options, make_edges, "out_of_memory")


def _find_engine(
    planned: Plan, graph: FarGraph, state: State, active: Array | None, options: Options
) -> _FarSweep | _FarPush:
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
        "it decides itself when it is done": is_sweep and type(program).is_done is not Program.is_done,
    }
    for obstacle, stands in obstacles.items():
        if stands:
            raise NotTranslatableError(obstacle)
    return _FarSweep(planned, graph, state) if is_sweep else _FarPush(planned, graph, state, active, options.transfer)


class _Streaming:
    """What both engines share: the budget, and the edges in blocks."""

    def __init__(self, planned: Plan, graph: FarGraph, state: State, direction: str) -> None:
        self._graph, self._state, self._program = graph, state, planned.program
        uses_weights = graph.weighted and "weight" in planned.parameters["message"]
        self._kernel_program = replace(describe(planned, InMemoryEdges(graph), state), weighted=uses_weights)
        self._fields = {name: graph.runtime.to_numpy(tensor) for name, tensor in state.fields.items()}
        self.budget = Budget(graph.memory)
        self.budget.take("fields", sum(array.nbytes for array in self._fields.values()))
        self._edges = EdgeStream(graph, direction if graph.directed else "out", uses_weights, self.budget)

    def _record(self, trace: Trace, progress: Progress, done: Iteration) -> None:
        trace.add(done)
        self._state.iteration += 1
        progress.show(done)


class _FarSweep(_Streaming):
    """All vertices are active: every iteration goes through all blocks of the edges that messages come along."""

    def __init__(self, planned: Plan, graph: FarGraph, state: State) -> None:
        super().__init__(planned, graph, state, "in" if planned.program.along == "out" else "out")
        self.budget.take("messages", BlockSweep.scratch_bytes(self._kernel_program, graph.num_vertices, graph.num_arcs))
        rows = self._edges.offsets, self._edges.no_edges
        self._kernel = BlockSweep(self._kernel_program, *rows, self._fields)
        self._edges.cut()

    def run(self, file: FarFile, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until the program is done (True) or the limit is reached (False)."""
        loader, graph = self._edges.loader(file), self._graph
        everything = range(len(self._edges.blocks))
        self._kernel.prepare()
        while max_iterations is None or self._state.iteration < max_iterations:
            started = time.perf_counter()
            for loaded in loader.stream(everything):
                self._kernel.sweep(loaded.block, loaded.neighbors, loaded.weights)
            self._state.residual = self._kernel.end()
            seconds = time.perf_counter() - started
            moved = {"filter": loader.take_moved().num_bytes["filter"]}
            done = Iteration("pull", graph.num_vertices, graph.num_arcs, seconds, self._state.residual, moved)
            self._record(trace, progress, done)
            if self._program.is_done(self._state.iteration, self._state.residual):
                return True
        return False


class _FarPush(_Streaming):
    """Vertices that changed are active: an iteration goes through the blocks that have some."""

    def __init__(self, planned: Plan, graph: FarGraph, state: State, active: Array | None, transfer: str) -> None:
        super().__init__(planned, graph, state, "out" if planned.program.along == "out" else "in")
        if not can_push_blocks(self._kernel_program):
            raise NotTranslatableError("update does more than the reduction, or a message asks for its receiver")
        self.budget.take("activity", BlockPush.scratch_bytes(graph.num_vertices))
        mask = np.ones(graph.num_vertices, np.bool_) if active is None else active.copy()
        rows = self._edges.offsets, self._edges.no_edges
        self._kernel = BlockPush(self._kernel_program, *rows, self._fields, mask)
        self._edges.cut()
        self._transfer = transfer
        self._per_neighbor_byte = self._edges.edge_bytes / self._edges.arrays[0].dtype.itemsize

    def run(self, file: FarFile, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until nobody is active (True) or the limit is reached (False)."""
        loader, link = self._edges.loader(file), link_for(file.path)
        neighbors = self._edges.arrays[0]
        while True:
            place = (neighbors.position, neighbors.dtype.itemsize, JOINED_BYTES)
            counts = self._kernel.count_active(self._edges.blocks, *place)
            if not counts.vertices.any():
                return True
            if max_iterations is not None and self._state.iteration >= max_iterations:
                return False
            started = time.perf_counter()
            numbers = np.flatnonzero(counts.edges)
            ways = self._ways(link, counts, numbers)
            for loaded in loader.stream(numbers.tolist(), ways, self._kernel.active):
                if loaded.rows is None:
                    self._kernel.push(loaded.block, loaded.neighbors, loaded.weights)
                else:
                    self._kernel.push_rows(loaded.rows, loaded.neighbors, loaded.weights)
            self._kernel.end()
            moved = dict(loader.take_moved().num_bytes)
            if "zero_copy" in ways:
                touched = [counts.page_bytes[n] for n, way in zip(numbers, ways, strict=True) if way == "zero_copy"]
                moved["zero_copy"] = int(sum(touched) * self._per_neighbor_byte)
            seconds = time.perf_counter() - started
            self._record(
                trace, progress, Iteration("push", _sum(counts.vertices), _sum(counts.edges), seconds, None, moved)
            )

    def _ways(self, link: Link, counts: ActiveRows, numbers: Array) -> list[str]:
        """Choose how each block is moved; weights are moved like their neighbours."""
        if self._transfer != "hybrid":
            return [self._transfer] * numbers.size
        block_bytes = np.array([self._edges.blocks[n].num_edges for n in numbers]) * self._edges.edge_bytes
        requests = counts.requests[numbers] * (2 if self._edges.has_weights else 1)
        page_bytes = counts.page_bytes[numbers] * self._per_neighbor_byte
        return [TRANSFERS[way] for way in choose_transfers(link, block_bytes, requests, page_bytes)]


def _sum(counts: Array) -> int:
    return int(counts.sum())
