"""Linear programs on a graph that changes: a first guess of the change, then sweeps from there."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from tgraph.engine.kept import KeptProgram, ValueChanges, describe_kept, oriented, rows_to_pull, rows_to_send, start
from tgraph.errors import InvalidProgramError
from tgraph.graph import Applied, DynamicGraph
from tgraph.kernels.cpu.fused.block_delta import can_send_changes
from tgraph.kernels.cpu.fused.linear_stream import LinearGuess
from tgraph.kernels.cpu.fused.pull import GappedSide, PullRun
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.gapped_rows import GappedRows
from tgraph.program import Program
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array

GUESSED_PART = 0.25  # of the edges: if more would have to be followed for a guess, a sweep does it as well
MOST_SWEEPS = 10_000  # of a batch; values that settle do so after far fewer


class Accumulative(KeptProgram):
    """A linear program: its values are near the fixed point before a batch, so few sweeps lead to the next one.

    New values are used at once (Gauss-Seidel by blocks). Sweeps end when one changes no more than the tolerance, as in
    a fresh run: values are as near to the fixed point as those of one.
    """

    def __init__(self, program: Program, graph: DynamicGraph) -> None:
        super().__init__(program, graph, "accumulative")
        fields, _ = start(program, graph, has_degrees=True)
        self._plan, described = describe_kept(program, graph, fields)
        self._kernel_program = replace(described, asynchronous=True)
        if not can_send_changes(self._kernel_program):
            raise NotTranslatableError("it does more than add up multiples of its main field")
        send = rows_to_send(program, graph)
        self._take_memory(len(send) * 8 + 4 * sum(np.asarray(tensor).itemsize for tensor in fields.values()))
        self._guess = LinearGuess(self._kernel_program, len(send), send[0].neighbors.dtype)
        self.fields = {name: np.ascontiguousarray(tensor) for name, tensor in fields.items()}
        self._sweep(Trace("streaming", "fused"), "auto")

    def update(self, applied: Applied) -> ValueChanges:
        """Follow a batch."""
        trace = Trace("streaming", "fused")
        started = time.perf_counter()
        old = self._renew_fields()
        self._make_guess(applied, old, trace)
        trace.seconds["guess"] = time.perf_counter() - started
        self._sweep(trace, "off")
        before, now = old[self._plan.main_field], self.values
        changed = np.flatnonzero(np.abs(now - before) > self.program.tolerance / max(now.size, 1))
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
        old = {}
        for name, array in self.fields.items():
            old[name] = np.zeros(count, array.dtype)
            old[name][: array.size] = array
        self.fields = {name: np.ascontiguousarray(tensor) for name, tensor in new.items()}
        self.fields[main] = old[main].copy()
        return old

    def _make_guess(self, applied: Applied, old: dict[str, Array], trace: Trace) -> None:
        """Let the vertices with changed edges send the difference, if they are few."""
        parts = applied.arcs.removed, applied.arcs.added
        gone, new = (oriented(self.program, self.graph, part) for part in parts)
        senders = np.unique(np.concatenate([gone[0], new[0]]))
        send = rows_to_send(self.program, self.graph)
        num_edges = sum(int(side.places[senders, 1].sum(dtype=np.int64)) for side in send)
        if num_edges > GUESSED_PART * sum(side.num_cells for side in send):
            return
        started = time.perf_counter()
        others = {name: array for name, array in old.items() if name != self._plan.main_field}
        self._guess.make(senders, gone, new, send, self.fields, others)
        moved = self._moved(send, num_edges)
        trace.add(Iteration("push", senders.size, num_edges, time.perf_counter() - started, moved=moved))

    def _sweep(self, trace: Trace, show: str) -> None:
        """Go over all vertices until a sweep changes no more than the tolerance."""
        rows = rows_to_pull(self.program, self.graph)
        sides = [GappedSide(side) for side in rows]
        run = PullRun(self._kernel_program, sides, self.fields)
        num_vertices, num_edges = self.graph.num_places, sum(side.num_edges for side in sides)
        residual, moved = math.inf if num_vertices else 0.0, self._moved(rows, num_edges)
        num_done = 0
        with Progress(type(self.program).__name__, show, None) as progress:

            def look(done: int) -> None:
                progress.show(Iteration("pull", num_vertices, num_edges, 0.0), num_done + done)

            while residual > self.program.tolerance and num_done < MOST_SWEEPS:
                started = time.perf_counter()
                residuals, ticks, interrupted = run.advance(MOST_SWEEPS - num_done, self.program.tolerance, look)
                seconds = ticks / max(ticks.sum(), 1) * (time.perf_counter() - started)
                for residual, share in zip(residuals.tolist(), seconds.tolist(), strict=True):
                    trace.add(Iteration("pull", num_vertices, num_edges, share, residual, moved))
                num_done += residuals.size
                if interrupted:
                    raise KeyboardInterrupt
                if not np.isfinite(residuals).all():
                    raise InvalidProgramError("values do not settle: they grow beyond all numbers; use smaller factors")
        if residual > self.program.tolerance:
            raise InvalidProgramError(
                f"values do not settle: the last of {num_done} sweeps changed them by {residual:.3g}, and "
                f"{self.program.tolerance:.3g} is allowed; use a larger tolerance"
            )

    def _moved(self, rows: list[GappedRows], num_cells: int) -> dict[str, int] | None:
        """Return the bytes of so many cells, if they are far: all of them are read there."""
        if self.graph.far is None:
            return None
        return {"rows": num_cells * rows[0].bytes_per_cell(self._kernel_program.weighted)}
