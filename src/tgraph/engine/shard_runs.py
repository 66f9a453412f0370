"""Programs on one rank's rows: what all share, and sweeps over all vertices; `shard_searches` has the others.

The kernels are those for edges in blocks. Values of own vertices lie first, those of ghosts behind them. In a sweep,
owners spread what they send before every iteration, and a vertex reduces all its incoming edges where it is: sums are
those of one rank, in the same order. Rows of hubs are divided: every rank reduces a piece, and the owner the pieces.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fused import describe
from tgraph.engine.shard_edges import NearEdges, StreamedEdges
from tgraph.graph import Adjacency, Graph
from tgraph.graph.boundary import Boundary, near_bytes
from tgraph.graph.hubs import HubPieces
from tgraph.graph.local_rows import RowEnds
from tgraph.graph.sharded import PULLED, ShardedGraph
from tgraph.group import Group
from tgraph.kernels.cpu.fused.block_sweep import BlockSweep, makes_messages
from tgraph.kernels.cpu.fused.pieces import KernelProgram
from tgraph.memory import FarRows, agreed
from tgraph.memory.checkpoint import fingerprint
from tgraph.memory.group_checkpoint import GroupCheckpoint, divided_fingerprint
from tgraph.program import Plan, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array

VERTEX_NUMBERS = "source"  # a field here, because rows have local ones
MOVED = "sent", "modelled", "read"  # bytes of an iteration; the last where edges are streamed
ASYNCHRONOUS_BLOCKS = 64  # of an asynchronous sweep: each sees the new values of those before it


class ShardRun:
    """What they share: fields with room for ghosts, the boundary, and the checkpoint."""

    _kernel: Any

    def __init__(self, planned: Plan, graph: ShardedGraph, state: State, side: str, transfer: str) -> None:
        self._graph, self._state, self._program = graph, state, planned.program
        self._group: Group = graph.group
        self._kernel_program = describe_local(planned, graph, state)
        self._pieces: HubPieces | None = None
        self._edges = self._find_edges(side, transfer)
        self._rows, self._pieces = self._edges.rows, self._edges.pieces
        self._boundary = Boundary(self._group, self._rows)
        self._boundaries = [self._boundary]
        self._names = tuple(state.fields)
        self._fields = {name: self._take_field(name) for name in self._kernel_program.field_dtypes}
        self._sent_before = self._group.sent_bytes
        self._checkpoint: GroupCheckpoint | None = None

    def _find_edges(self, side: str, transfer: str) -> NearEdges | StreamedEdges:
        """Return the edges of one side, in memory or streamed; all ranks have them in the same way."""
        weighted = self._kernel_program.weighted
        if not self._graph.stays_far:
            return NearEdges(self._graph.split_rows(side), weighted)
        own_bytes = sum(self._graph.runtime.to_numpy(field).nbytes for field in self._state.fields.values())
        rows = self._graph.far_rows(side, own_bytes)
        assert isinstance(rows, FarRows)
        return agreed(self._group, lambda: StreamedEdges(rows, weighted, self._near_bytes(rows), transfer))

    def _near_bytes(self, rows: RowEnds) -> dict[str, int]:
        """Return how many bytes of vertex data a run holds, and for what."""
        dtypes, asked = self._kernel_program.field_dtypes, {VERTEX_NUMBERS, *self._read_of_ghosts()}
        fields = sum((rows.num_local if name in asked else rows.num_own) * dtypes[name].itemsize for name in dtypes)
        widest = max(dtype.itemsize for dtype in (*dtypes.values(), self._kernel_program.message_dtype))
        return {"fields": fields, "exchange": near_bytes(rows, widest), "computing": self._scratch_bytes(rows)}

    def _scratch_bytes(self, rows: RowEnds) -> int:
        """Return how many bytes beside the fields the kernel holds."""
        raise NotImplementedError

    def _take_field(self, name: str) -> Array:
        """Return a field's values, with room for those of ghosts where these are read; they leave the state."""
        if name == VERTEX_NUMBERS:
            return self._rows.vertex_numbers(self._graph.first)
        own = self._graph.runtime.to_numpy(self._state.fields.pop(name))
        if name in self._read_of_ghosts():
            return with_room(own, self._rows)
        return own if own.flags.writeable else own.copy()

    def _read_of_ghosts(self) -> Collection[str]:
        """Return the fields whose values at other ranks' vertices this rank reads."""
        return self._kernel_program.field_dtypes

    def resume(self, folder: str | os.PathLike[str], trace: Trace) -> None:
        """Note from now on how far the run is; go on from there if the same run was ended before."""
        graph, own = self._graph, self._own_arrays()
        degrees = {"degrees": graph.runtime.to_numpy(graph.own_degrees("out"))}
        data = divided_fingerprint(self._group, {**own, **degrees}, graph.first)
        constants = sorted(self._kernel_program.constants.items())
        identity = fingerprint(self._kernel.text, constants, graph.num_vertices, graph.num_arcs, data)
        name = type(self._program).__name__
        self._checkpoint = GroupCheckpoint(folder, name, identity, self._group, graph.first, graph.num_own)
        noted = self._checkpoint.load(own)
        if noted is None:
            return
        for iteration in noted["trace"]:
            trace.add(Iteration(**iteration))
        self._state.iteration, self._state.residual = len(trace), noted["residual"]
        self._take_up(noted)

    def forget(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        if self._checkpoint is not None:
            self._checkpoint.remove()

    def _own_arrays(self) -> dict[str, Array]:
        """Return all that a checkpoint must hold: views of the own vertices' values."""
        num_own = self._rows.num_own
        return {name: self._fields[name][:num_own] for name in self._names}

    def _numbers(self) -> dict[str, float]:
        """Return further numbers that a checkpoint must hold."""
        return {}

    def _take_up(self, noted: dict[str, Any]) -> None:
        """Take the numbers of a checkpoint over."""

    @property
    def _wants_to_save(self) -> bool:
        return self._checkpoint is not None and self._checkpoint.is_due

    def put_back(self) -> None:
        """Make what was computed the values of the own vertices."""
        runtime, num_own = self._graph.runtime, self._rows.num_own
        for name in self._names:
            self._state.fields[name] = runtime.asarray(self._fields[name][:num_own])

    def _to_owners(self, pieces: HubPieces, found: Array, reduce: str) -> Array:
        """Return the reduction of what all ranks found for this rank's own hubs."""
        self._boundary.modelled_bytes += pieces.bytes_to_owners(found.itemsize)
        return pieces.to_owners(self._group, found, reduce)

    def _share(self, numbers: Array) -> Array:
        """Return the numbers of all ranks, `[P, K]`."""
        self._boundary.modelled_bytes += numbers.nbytes * (self._group.size - 1)
        return self._group.share(numbers)

    def _take_moved(self) -> tuple[int, ...]:
        """Return the bytes that this rank has sent since the last call, those that the model says, and those read."""
        sent, self._sent_before = self._group.sent_bytes - self._sent_before, self._group.sent_bytes
        modelled = 0
        for boundary in self._boundaries:
            modelled, boundary.modelled_bytes = modelled + boundary.modelled_bytes, 0
        return (sent, modelled, *([self._edges.take_read()] if isinstance(self._edges, StreamedEdges) else []))

    def _record(self, trace: Trace, progress: Progress, done: Iteration, saves: bool) -> None:
        """End an iteration; save it if rank 0 wanted to."""
        trace.add(done)
        self._state.iteration += 1
        progress.show(done)
        if saves and self._checkpoint is not None:
            noted = {"trace": [asdict(one) for one in trace], "residual": self._state.residual, **self._numbers()}
            self._checkpoint.save(self._own_arrays(), noted, self._state.iteration)


class ShardSweep(ShardRun):
    """All vertices are active: every iteration goes through all rows of the edges that messages come along."""

    def __init__(self, planned: Plan, graph: ShardedGraph, state: State) -> None:
        super().__init__(planned, graph, state, PULLED[planned.program.along], "filter")
        rows, no_edges = self._rows, self._edges.no_edges
        self._kernel = BlockSweep(self._kernel_program, rows.offsets, no_edges, self._fields, rows.num_local)
        if isinstance(self._edges, NearEdges) and planned.program.asynchronous:
            self._edges.cut(ASYNCHRONOUS_BLOCKS)
        self._last_sent: dict[str, Array] = {}
        self._total: float | None = None  # that a checkpoint says

    def _read_of_ghosts(self) -> Collection[str]:
        program = self._kernel_program
        if makes_messages(program):
            return ()
        names = {name.removeprefix("target_") for name in program.parameters["message"]}
        asked = program.sent_fields if self._pieces is None else names  # who has a piece needs what its hub has
        return [name for name in program.field_dtypes if name in asked]

    def _scratch_bytes(self, rows: RowEnds) -> int:
        return BlockSweep.scratch_bytes(self._kernel_program, rows.num_local, rows.num_arcs)

    def _numbers(self) -> dict[str, float]:
        return {"total": self._kernel.total}

    def _take_up(self, noted: dict[str, Any]) -> None:
        self._total = noted["total"]

    def run(self, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until the program is done (True) or the limit is reached (False)."""
        graph, kernel = self._graph, self._kernel
        kernel.prepare()
        self._spread(everything=True)
        self._take_moved()
        kernel.total = self._sums(kernel.total)[0]
        if self._total is not None:
            kernel.total = self._total  # the same number added in another order may differ in its last digits
        while max_iterations is None or self._state.iteration < max_iterations:
            started = time.perf_counter()
            incoming = self._reduce_hubs()
            for loaded in self._edges.blocks():
                kernel.sweep(loaded.block, loaded.neighbors, loaded.weights)
            for row, came, num_edges in incoming:
                kernel.close_row(row, came, num_edges, self._edges.no_edges)
            residual = kernel.end()
            self._spread()
            numbers = (residual, kernel.total, self._wants_to_save, *self._take_moved())
            self._state.residual, kernel.total, saves, *sums = self._sums(*numbers)
            moved = dict(zip(MOVED, map(int, sums), strict=False))
            seconds, size = time.perf_counter() - started, (graph.num_vertices, graph.num_arcs)
            self._record(trace, progress, Iteration("pull", *size, seconds, self._state.residual, moved), saves > 0)
            if self._program.is_done(self._state.iteration, self._state.residual):
                return True
        return False

    def _spread(self, everything: bool = False) -> None:
        """Give the ghosts what they send next: a message, or the fields that messages are made from."""
        program = self._kernel_program
        if self._kernel.has_messages:
            arrays = {"": self._kernel.messages}
        else:
            read = self._read_of_ghosts()
            names = read if everything else set(read) & set(program.updated)
            arrays = {name: self._fields[name] for name in sorted(names) if name != VERTEX_NUMBERS}
        for name, array in arrays.items():
            last = self._last_sent.get(name)
            self._boundary.spread(array, last)
            if last is None:
                self._last_sent[name] = array[self._rows.lent]

    def _reduce_hubs(self) -> list[tuple[int, Any, int]]:
        """Return the rows of own hubs, what all ranks together have reduced for them, and how many edges these had."""
        pieces, reduce = self._pieces, self._program.reduce
        if pieces is None:
            return []
        degrees = pieces.degrees[pieces.own].tolist()
        if reduce == "count":
            return list(zip(pieces.own_rows.tolist(), [0] * len(degrees), degrees, strict=True))
        _, firsts, lasts = pieces.parts.T
        partials = self._kernel.reduce_parts(pieces.receivers, firsts, lasts, pieces.neighbors, pieces.weights)
        found = self._to_owners(pieces, pieces.reduced(partials, reduce), reduce)
        return list(zip(pieces.own_rows.tolist(), found, degrees, strict=True))

    def _sums(self, *numbers: float) -> list[float]:
        """Return the sums over all ranks, added in their order."""
        return np.cumsum(self._share(np.array(numbers, np.float64)), axis=0)[-1].tolist()


def with_room(own: Array, rows: RowEnds) -> Array:
    """Return the values of own vertices with room for those of the ghosts of some rows behind them."""
    return np.concatenate([own, np.empty(rows.ghosts.size, own.dtype)])


def describe_local(planned: Plan, graph: ShardedGraph, state: State) -> KernelProgram:
    """Collect what a kernel is made from; vertex numbers are a field."""
    neighbors, weights = (None if array is None else graph.runtime.asarray(array) for array in graph.no_edges)
    nothing = Adjacency(graph.runtime, graph.runtime.full(2, 0, "int64"), neighbors, weights)
    none = Graph(nothing, directed=graph.directed, num_edges=0, reverse=nothing)
    found = describe(planned, InMemoryEdges(none), state)
    changes: dict[str, Any] = {"weighted": graph.weighted and "weight" in planned.parameters["message"]}
    asked = found.parameters["message"]
    if not {"source", "target"}.isdisjoint(asked):
        renamed = tuple("target_source" if name == "target" else name for name in asked)
        changes["parameters"] = {**found.parameters, "message": renamed}
        changes["field_dtypes"] = {**found.field_dtypes, VERTEX_NUMBERS: np.dtype(np.int64)}
    return replace(found, **changes)
