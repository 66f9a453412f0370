"""Programs on the blocks of a far graph: what all such runs share, and sweeps over all vertices."""

from __future__ import annotations

import math
import os
import time
from dataclasses import asdict, replace
from typing import Any

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fused import describe
from tgraph.engine.transfers import Transfers
from tgraph.kernels.cpu.fused.block_delta import can_send_changes
from tgraph.kernels.cpu.fused.block_sweep import BlockSweep
from tgraph.memory import Budget, EdgeStream, FarFile, FarGraph, link_for
from tgraph.memory.checkpoint import Checkpoint, fingerprint
from tgraph.memory.far_file import readers_for
from tgraph.program import Plan, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array

FIRST_SWEEPS = 4  # show how fast the residual falls
MANY_SWEEPS = 12  # sending changes costs less than more sweeps than these


class FarRun:
    """What they share: the budget, the edges in blocks, and the checkpoint."""

    schedule: str  # its name

    def __init__(
        self,
        planned: Plan,
        graph: FarGraph,
        state: State,
        direction: str,
        transfer: str = "hybrid",
        opens_blocks: bool = False,
    ) -> None:
        self._graph, self._state, self._program = graph, state, planned.program
        uses_weights = graph.weighted and "weight" in planned.parameters["message"]
        self._kernel_program = replace(describe(planned, InMemoryEdges(graph), state), weighted=uses_weights)
        self._fields = {name: graph.runtime.to_numpy(tensor) for name, tensor in state.fields.items()}
        self._budget = Budget(graph.memory)
        self._budget.take("fields", sum(array.nbytes for array in self._fields.values()))
        direction, in_place = direction if graph.directed else "out", transfer == "zero_copy"
        self._edges = EdgeStream.of_graph(graph, direction, uses_weights, self._budget, in_place, opens_blocks)
        self.checkpoint: Checkpoint | None = None
        self.gives_way = False  # to another schedule that would end sooner

    def make_checkpoint(self, folder: str | os.PathLike[str], wanted_schedule: str) -> Checkpoint:
        """Return the place where this run notes how far it is."""
        constants = sorted(self._kernel_program.constants.items())
        what = self._text(), constants, wanted_schedule, self._graph.identity
        identity = fingerprint(*what, *self._arrays().values())
        return Checkpoint(folder, type(self._program).__name__, identity)

    def resume(self, checkpoint: Checkpoint, trace: Trace) -> None:
        """Note from now on how far the run is; go on from there if the same run was ended before."""
        self.checkpoint = checkpoint
        noted = checkpoint.load(self._arrays(), self.schedule)
        if noted is None:
            return
        if noted["schedule"] != self.schedule:
            self.gives_way = self.schedule == "sweep"
            return
        for iteration in noted["trace"]:
            trace.add(Iteration(**iteration))
        self._state.iteration, self._state.residual = len(trace), noted["residual"]
        self._take_up(noted)

    def forget(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        if self.checkpoint is not None:
            self.checkpoint.remove()

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

    def _cut(self, transfer: str, cached: float = 0.0) -> None:
        """Cut the edges into blocks for a way of transfer."""
        link = link_for(self._graph.path).with_requests(readers_for(self._graph.memory))
        self._transfers = Transfers(self._edges, link, transfer, cached)

    def _record(self, trace: Trace, progress: Progress, done: Iteration) -> None:
        """End an iteration."""
        trace.add(done)
        self._state.iteration += 1
        progress.show(done)
        if self.checkpoint is not None:
            done_so_far = [asdict(iteration) for iteration in trace]
            noted = {"schedule": self.schedule, "trace": done_so_far, "residual": self._state.residual}
            noted |= self._numbers()
            self.checkpoint.save(self._arrays(), noted)


class FarSweep(FarRun):
    """All vertices are active: every iteration goes through all blocks of the edges that messages come along."""

    schedule = "sweep"

    def __init__(self, planned: Plan, graph: FarGraph, state: State, transfer: str, may_give_way: bool = False) -> None:
        super().__init__(planned, graph, state, "in" if planned.program.along == "out" else "out", transfer)
        self._transfer = transfer
        self._may_give_way = may_give_way and can_send_changes(self._kernel_program)
        self._budget.take(
            "messages", BlockSweep.scratch_bytes(self._kernel_program, graph.num_vertices, graph.num_arcs)
        )
        rows = self._edges.offsets, self._edges.no_block
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
        self._kernel.prepare()
        if self._total is not None:
            self._kernel.total = self._total  # the same number added in another order may differ in its last digits
        while max_iterations is None or self._state.iteration < max_iterations:
            started = time.perf_counter()
            for loaded in loader.stream_all(self._transfer):
                self._kernel.sweep(loaded.block, loaded.neighbors, loaded.weights)
            self._state.residual = self._kernel.end()
            seconds = time.perf_counter() - started
            did = loader.take_moved()
            moved, blocks = dict(did.num_bytes) or {"filter": 0}, dict(did.num_blocks)
            everyone = graph.num_vertices, graph.num_arcs
            done = Iteration("pull", *everyone, seconds, self._state.residual, moved, blocks)
            self._record(trace, progress, done)
            if self._program.is_done(self._state.iteration, self._state.residual):
                return True
            if self._may_give_way and self._sweeps_left(trace, max_iterations) > MANY_SWEEPS:
                self.gives_way = True
                return False
        return False

    def _sweeps_left(self, trace: Trace, max_iterations: int | None) -> float:
        """Return how many more sweeps the residual needs if it goes on to fall as it did in the last two."""
        left = math.inf if max_iterations is None else max_iterations - self._state.iteration
        if len(trace) < FIRST_SWEEPS:
            return 0.0
        residuals = [trace[place].residual or 0.0 for place in (-3, -1)]
        if not residuals[-1] < residuals[0]:
            return left
        per_sweep = math.log(residuals[-1] / residuals[0]) / 2
        return min(left, math.log(self._program.tolerance / residuals[-1]) / per_sweep)
