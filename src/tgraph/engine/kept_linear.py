"""Linear programs on a graph that changes: what a batch leaves pending is sent on until little is left."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from tgraph.engine.kept import KeptProgram, ValueChanges, describe_kept, oriented, rows_to_pull, rows_to_send, start
from tgraph.errors import InvalidProgramError
from tgraph.graph import Applied, DynamicGraph
from tgraph.kernels.cpu.fused.block_delta import can_send_changes
from tgraph.kernels.cpu.fused.linear_correction import LinearCorrection
from tgraph.kernels.cpu.fused.linear_stream import LinearFollower
from tgraph.kernels.cpu.fused.pull import GappedSide, PullRun
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.gapped_rows import GappedRows
from tgraph.kernels.cpu.value_changes import add_up, find_changed
from tgraph.program import Program
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array

FOLLOWED_PART = 0.25  # of the edges: if more would have to be followed, a sweep over all finds out as well
BATCHES_FOLLOWED = 64  # one after the other: then a sweep over all takes away what rounding has added up to
CORRECTIONS = 6  # sweeps: what is still pending then falls slowly, and faster if new values are used at once
MOST_SWEEPS = 10_000  # of a batch; values that settle do so after far fewer


class Accumulative(KeptProgram):
    """A linear program: values, and for each the part of it that is `pending`, which no neighbour knows of yet.

    Values without what is pending are what was sent; with it they are what a sweep would make of that. So pending is
    the change of that sweep, and where it adds up to no more than the tolerance, values are as near to the fixed point
    as those of a fresh run. A batch adds to it near the edges that changed; the correction sends it on.
    """

    def __init__(self, program: Program, graph: DynamicGraph) -> None:
        super().__init__(program, graph, "accumulative")
        fields, _ = start(program, graph, has_degrees=True)
        self._plan, self._kernel_program = describe_kept(program, graph, fields)
        if not can_send_changes(self._kernel_program):
            raise NotTranslatableError("it does more than add up multiples of its main field")
        send = rows_to_send(program, graph)
        self._take_memory(len(send) * 8 + 5 * sum(np.asarray(tensor).itemsize for tensor in fields.values()))
        self._follower = LinearFollower(self._kernel_program, len(send), send[0].neighbors.dtype)
        self.fields = {name: np.ascontiguousarray(tensor) for name, tensor in fields.items()}
        self._pending, self._num_followed = np.zeros(0), 0
        self._settle(Trace("streaming", "fused"), "auto")

    def update(self, applied: Applied) -> ValueChanges:
        """Follow a batch."""
        trace = Trace("streaming", "fused")
        started = time.perf_counter()
        constants = self._kernel_program.constants
        old = self._renew_fields()
        if not self._follow(applied, old, constants, trace):
            self._find_pending(trace)
        trace.seconds["follow"] = time.perf_counter() - started
        is_settled = add_up(self._pending) <= self.program.tolerance  # NaN is not
        if not is_settled and not self._correct(trace):
            self._settle(trace, "off")
        before, now = old[self._plan.main_field], self.values
        changed = find_changed(before, now, self.program.tolerance / max(now.size, 1))
        return ValueChanges(changed, before[changed], now[changed], trace)

    def finished(self) -> dict[str, Array]:
        """Return the fields as the program finishes them."""
        vertices = self.graph.vertices()
        fields = self.program.finish(vertices, dict(self.fields))
        return {name: vertices.runtime.to_numpy(tensor) for name, tensor in fields.items()}

    def _renew_fields(self) -> dict[str, Array]:
        """Take the program's other fields as they are now; the main one stays. Return all as they were."""
        new, _ = start(self.program, self.graph, has_degrees=True)
        main, count = self._plan.main_field, self.graph.num_places
        old = {name: with_size(array, count) for name, array in self.fields.items()}
        self.fields = {name: np.ascontiguousarray(tensor) for name, tensor in new.items()}
        self.fields[main] = old[main].copy()
        return old

    def _follow(self, applied: Applied, old: dict[str, Array], constants: dict[str, Any], trace: Trace) -> bool:
        """Add to what is pending near the edges that changed, if they are few and all else is as it was."""
        parts = applied.arcs.removed, applied.arcs.added
        gone, new = (oriented(self.program, self.graph, part) for part in parts)
        senders = np.unique(np.concatenate([gone[0], new[0]]))
        send = rows_to_send(self.program, self.graph)
        num_edges = sum(int(side.places[senders, 1].sum(dtype=np.int64)) for side in send)
        is_much = num_edges > FOLLOWED_PART * sum(side.num_cells for side in send)
        others = {name: array for name, array in old.items() if name != self._plan.main_field}
        if is_much or self._num_followed == BATCHES_FOLLOWED or not self._is_only_at(senders, others, constants):
            return False
        self._num_followed += 1
        started = time.perf_counter()
        self._follower.follow(self._pending, senders, gone, new, send, self.fields, others)
        moved = self._moved(send, num_edges)
        trace.add(Iteration("push", senders.size, num_edges, time.perf_counter() - started, moved=moved))
        return True

    def _is_only_at(self, senders: Array, others: dict[str, Array], constants: dict[str, Any]) -> bool:
        """Say whether nothing but what these vertices send has changed: the same vertices, numbers and other fields."""
        if self._pending.size != self.graph.num_places or constants != self._kernel_program.constants:
            return False
        for name, before in others.items():
            changed = np.flatnonzero(before != self.fields[name])
            if name in self._kernel_program.parameters["update"]:
                if changed.size:
                    return False
            elif not np.isin(changed, senders, assume_unique=True).all():
                return False
        return True

    def _find_pending(self, trace: Trace) -> None:
        """Find what is pending by a sweep over all edges: what it changes."""
        main = self._plan.main_field
        before = self.fields[main].copy()
        sides = self._sides()
        self._sweep(trace, PullRun(self._kernel_program, sides, self.fields), sides, 1)
        self._pending, self._num_followed = self.fields[main] - before, 0

    def _sides(self) -> list[GappedSide]:
        return [GappedSide(side) for side in rows_to_pull(self.program, self.graph)]

    def _correct(self, trace: Trace) -> bool:
        """Send on what is pending; say whether no more than the tolerance is left."""
        sides = self._sides()
        correction = LinearCorrection(self._kernel_program, sides, self.fields, self._pending)
        residuals = self._sweep(trace, correction, sides, CORRECTIONS)
        return bool(residuals[-1] <= self.program.tolerance)

    def _settle(self, trace: Trace, show: str) -> None:
        """Use new values at once (Gauss-Seidel by blocks) until a sweep changes no more than the tolerance."""
        if self.graph.num_places:
            at_once, sides = replace(self._kernel_program, asynchronous=True), self._sides()
            residuals = self._sweep(trace, PullRun(at_once, sides, self.fields), sides, MOST_SWEEPS, show)
            self._refuse_unsettled(residuals)
        self._find_pending(trace)

    def _refuse_unsettled(self, residuals: Array) -> None:
        if not np.isfinite(residuals).all():
            raise InvalidProgramError("values do not settle: they grow beyond all numbers; use smaller factors")
        if residuals[-1] > self.program.tolerance:
            raise InvalidProgramError(
                f"values do not settle: the last of {residuals.size} sweeps changed them by {residuals[-1]:.3g}, and "
                f"{self.program.tolerance:.3g} is allowed; use a larger tolerance"
            )

    def _sweep(
        self, trace: Trace, run: PullRun | LinearCorrection, sides: list[GappedSide], most: int, show: str = "off"
    ) -> Array:
        """Go over all vertices, at most so many times; return what every sweep changed."""
        num_vertices, num_edges = self.graph.num_places, sum(side.num_edges for side in sides)
        moved = self._moved(rows_to_pull(self.program, self.graph), num_edges)
        with Progress(type(self.program).__name__, show, None) as progress:

            def look(done: int) -> None:
                progress.show(Iteration("pull", num_vertices, num_edges, 0.0), done)

            started = time.perf_counter()
            residuals, ticks, interrupted = run.advance(most, self.program.tolerance, look)
            seconds = ticks / max(ticks.sum(), 1) * (time.perf_counter() - started)
        for residual, share in zip(residuals.tolist(), seconds.tolist(), strict=True):
            trace.add(Iteration("pull", num_vertices, num_edges, share, residual, moved))
        if interrupted:
            raise KeyboardInterrupt
        return residuals

    def _moved(self, rows: list[GappedRows], num_cells: int) -> dict[str, int] | None:
        """Return the bytes of so many cells, if they are far: all of them are read there."""
        if self.graph.far is None:
            return None
        return {"rows": num_cells * rows[0].bytes_per_cell(self._kernel_program.weighted)}


def with_size(array: Array, size: int) -> Array:
    """Return an array with zeros behind it, or itself if it has that size."""
    if array.size == size:
        return array
    longer = np.zeros(size, array.dtype)
    longer[: array.size] = array
    return longer
