"""Programs on the blocks of a far graph: sweeps over all vertices, and pushing from those that changed."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fused import describe
from tgraph.kernels.cpu.fused.block_push import ActiveRows, BlockPush, can_push_blocks
from tgraph.kernels.cpu.fused.block_sweep import BlockSweep
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.memory import Budget, EdgeStream, FarFile, FarGraph, Link, link_for
from tgraph.memory.checkpoint import Checkpoint, fingerprint
from tgraph.memory.transfer import TRANSFERS, choose_transfers
from tgraph.memory.transfer.compact import JOINED_BYTES
from tgraph.program import Plan, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array


class FarRun:
    """What both share: the budget, the edges in blocks, and the checkpoint."""

    def __init__(self, planned: Plan, graph: FarGraph, state: State, direction: str) -> None:
        self._graph, self._state, self._program = graph, state, planned.program
        uses_weights = graph.weighted and "weight" in planned.parameters["message"]
        self._kernel_program = replace(describe(planned, InMemoryEdges(graph), state), weighted=uses_weights)
        self._fields = {name: graph.runtime.to_numpy(tensor) for name, tensor in state.fields.items()}
        self._budget = Budget(graph.memory)
        self._budget.take("fields", sum(array.nbytes for array in self._fields.values()))
        self._edges = EdgeStream(graph, direction if graph.directed else "out", uses_weights, self._budget)
        self._checkpoint: Checkpoint | None = None

    def resume(self, folder: str | os.PathLike[str], trace: Trace) -> None:
        """Note from now on how far the run is; go on from there if the same run was ended before."""
        constants = sorted(self._kernel_program.constants.items())
        identity = fingerprint(self._text(), constants, self._graph.identity, *self._arrays().values())
        self._checkpoint = Checkpoint(folder, type(self._program).__name__, identity)
        noted = self._checkpoint.load(self._arrays())
        if noted is not None:
            for iteration in noted["trace"]:
                trace.add(Iteration(**iteration))
            self._state.iteration, self._state.residual = len(trace), noted["residual"]
            self._take_up(noted)

    def forget(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        if self._checkpoint is not None:
            self._checkpoint.remove()

    def _text(self) -> str:
        """Return the kernel's text."""
        raise NotImplementedError

    def _arrays(self) -> dict[str, Array]:
        """Return all that a checkpoint must hold."""
        return self._fields

    def _numbers(self) -> dict[str, float]:
        """Return further numbers that a checkpoint must hold."""
        return {}

    def _take_up(self, noted: dict[str, Any]) -> None:
        """Take the numbers of a checkpoint over."""

    def _record(self, trace: Trace, progress: Progress, done: Iteration) -> None:
        """End an iteration."""
        trace.add(done)
        self._state.iteration += 1
        progress.show(done)
        if self._checkpoint is not None:
            done_so_far = [asdict(iteration) for iteration in trace]
            noted = {"trace": done_so_far, "residual": self._state.residual, **self._numbers()}
            self._checkpoint.save(self._arrays(), noted)


class FarSweep(FarRun):
    """All vertices are active: every iteration goes through all blocks of the edges that messages come along."""

    def __init__(self, planned: Plan, graph: FarGraph, state: State) -> None:
        super().__init__(planned, graph, state, "in" if planned.program.along == "out" else "out")
        self._budget.take(
            "messages", BlockSweep.scratch_bytes(self._kernel_program, graph.num_vertices, graph.num_arcs)
        )
        rows = self._edges.offsets, self._edges.no_edges
        self._kernel = BlockSweep(self._kernel_program, *rows, self._fields)
        self._edges.cut()
        self._total: float | None = None  # that a checkpoint says

    def _text(self) -> str:
        return self._kernel.text

    def _numbers(self) -> dict[str, float]:
        return {"total": self._kernel.total}

    def _take_up(self, noted: dict[str, Any]) -> None:
        self._total = noted["total"]

    def run(self, file: FarFile, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until the program is done (True) or the limit is reached (False)."""
        loader, graph = self._edges.loader(file), self._graph
        everything = range(len(self._edges.blocks))
        self._kernel.prepare()
        if self._total is not None:
            self._kernel.total = self._total  # the same number added in another order may differ in its last digits
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


class FarPush(FarRun):
    """Vertices that changed are active: an iteration goes through the blocks that have some."""

    def __init__(self, planned: Plan, graph: FarGraph, state: State, active: Array | None, transfer: str) -> None:
        super().__init__(planned, graph, state, "out" if planned.program.along == "out" else "in")
        if not can_push_blocks(self._kernel_program):
            raise NotTranslatableError(
                "update does more than the reduction, or a message asks what the receiver has so far"
            )
        self._budget.take("activity", BlockPush.scratch_bytes(graph.num_vertices))
        mask = np.ones(graph.num_vertices, np.bool_) if active is None else np.array(active)
        rows = self._edges.offsets, self._edges.no_edges
        self._kernel = BlockPush(self._kernel_program, *rows, self._fields, mask)
        self._edges.cut()
        self._transfer = transfer
        self._per_neighbor_byte = self._edges.edge_bytes / self._edges.arrays[0].dtype.itemsize

    def _text(self) -> str:
        return self._kernel.text

    def _arrays(self) -> dict[str, Array]:
        return {**self._fields, "active vertices": self._kernel.active}

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
            touched = sum(
                int(counts.page_bytes[number] * self._per_neighbor_byte)
                for number, way in zip(numbers.tolist(), ways, strict=True)
                if way == "zero_copy" and not loader.is_kept(number)
            )
            for loaded in loader.stream(numbers.tolist(), ways, self._kernel.active):
                if loaded.rows is None:
                    self._kernel.push(loaded.block, loaded.neighbors, loaded.weights)
                else:
                    self._kernel.push_rows(loaded.rows, loaded.neighbors, loaded.weights)
            self._kernel.end()
            moved = dict(loader.take_moved().num_bytes)
            if touched:
                moved["zero_copy"] = touched
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
