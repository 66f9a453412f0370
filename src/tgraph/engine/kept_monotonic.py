"""Monotonic programs on a graph that changes."""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np

from tgraph.engine import in_memory
from tgraph.engine.kept import KeptProgram, ValueChanges, describe_kept, oriented, rows_to_pull, rows_to_send, start
from tgraph.graph import Applied, DynamicGraph
from tgraph.kernels.cpu.fused.monotonic_stream import Followed, MonotonicStream, why_not_kept
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.value_changes import list_changed
from tgraph.program import Program
from tgraph.results import Iteration, Trace
from tgraph.run import Options
from tgraph.runtime import Array

LARGE_BATCH = 1000  # changes; smaller ones are always followed, and tell nothing about the cost of a change
RETRY = 0.9  # after a run from the start, batches of this size are taken to cost less, so that they are tried again


class Monotonic(KeptProgram):
    """A monotonic program: values and parents, corrected where edges went, then followed from where they changed."""

    def __init__(self, program: Program, graph: DynamicGraph) -> None:
        super().__init__(program, graph, "monotonic")
        fields, _ = start(program, graph, has_degrees=False)
        self._plan, self._kernel_program = describe_kept(program, graph, fields)
        reason = why_not_kept(self._kernel_program)
        if reason:
            raise NotTranslatableError(reason)
        starts = self._stored(fields)
        rows = rows_to_send(program, graph), rows_to_pull(program, graph)
        if graph.far is not None:
            id_bytes = rows[0][0].neighbors.itemsize
            self._take_memory(3 * starts.itemsize + 7 * id_bytes + 2)
        hot = graph.watch_rows(self._kernel_program.weighted)
        self._kernel = MonotonicStream(self._kernel_program, *rows, starts.copy(), starts, hot)
        self._cost_per_change = 0.0  # of large batches so far: seconds, or cells that were read where these are far
        self._fresh_cost = 0.0
        self._recompute(Options())

    @property
    def parents(self) -> Array:
        """The neighbour that gave each vertex its value, -1 = it has the value with which it began."""
        parents = self._kernel.parents
        return parents.view(f"i{parents.itemsize}")

    @property
    def vertex_fields(self) -> tuple[str, ...]:
        """The results whose values are vertex numbers."""
        return (*self.program.vertex_fields, "parents")

    def update(self, applied: Applied) -> ValueChanges:
        """Follow a batch, or run the program again where that was quicker for batches of this size."""
        self._grow()
        started = time.perf_counter()
        arcs = applied.arcs
        num_changes = arcs.removed[0].size + arcs.added[0].size
        is_large = num_changes >= LARGE_BATCH
        if is_large and num_changes * self._cost_per_change > self._fresh_cost:
            return self._update_anew(started)
        gone, new = (oriented(self.program, self.graph, part) for part in (arcs.removed, arcs.added))
        followed = self._kernel.follow(gone[:2], new)
        seconds = time.perf_counter() - started
        if is_large:
            latest = (seconds if followed.reads is None else followed.num_edges) / num_changes
            self._cost_per_change = (latest + (self._cost_per_change or latest)) / 2
        return self._changes(followed.vertices, followed.old, _trace("follow", followed, seconds))

    def finished(self) -> dict[str, Array]:
        """Return the values as the program finishes them, and the parents."""
        vertices = self.graph.vertices()
        fields = self.program.finish(vertices, {self._plan.main_field: self.values})
        results = {name: vertices.runtime.to_numpy(tensor) for name, tensor in fields.items()}
        return {**results, "parents": self.parents}

    def shown(self, values: Array) -> tuple[str, Array]:
        """Return the name of the main result, and values as the program finishes them."""
        vertices = self.graph.vertices()
        name, tensor = next(iter(self.program.finish(vertices, {self._plan.main_field: values}).items()))
        return name, vertices.runtime.to_numpy(tensor)

    def _changes(self, vertices: Array, old: Array, trace: Trace) -> ValueChanges:
        """Leave out the vertices whose value is what it was, and put the others in order."""
        found, before, now = list_changed(vertices, old, self._kernel.values)
        order = np.argsort(found)
        return ValueChanges(found[order], before[order].view(self._dtype), now[order].view(self._dtype), trace)

    def _update_anew(self, started: float) -> ValueChanges:
        """Run the program again and compare."""
        old = self._kernel.values.copy()
        trace = self._recompute(Options(progress="off"))
        trace.seconds["recompute"] = time.perf_counter() - started
        self._cost_per_change *= RETRY
        return self._changes(np.arange(old.size), old, trace)

    def _recompute(self, options: Options) -> Trace:
        """Run the program in memory, and find the parents of what it found; on far edges, run it by the kernel."""
        started = time.perf_counter()
        if self.graph.far is not None:
            followed = self._kernel.run(start(self.program, self.graph, has_degrees=False)[1])
            self._fresh_cost = followed.num_edges
            self.fields = {self._plan.main_field: self._kernel.values.view(self._dtype)}
            return _trace("run", followed, time.perf_counter() - started)
        raw = copy(self.program)
        raw.finish = lambda graph, fields: fields  # type: ignore[method-assign]
        graph = self.graph.all_places()
        result = in_memory.run(raw, graph, options)
        self._kernel.values[:] = self._stored(result.fields)
        num_without = self._kernel.begin(start(self.program, self.graph, has_degrees=False)[1])
        if num_without:
            raise NotTranslatableError(f"the values of {num_without} vertices come from no neighbour")
        self._fresh_cost = time.perf_counter() - started
        self.fields = {self._plan.main_field: self._kernel.values.view(self._dtype)}
        return result.trace

    def _grow(self) -> None:
        """Add the vertices that are new."""
        first = self._kernel.values.size
        if self.graph.num_places == first:
            return
        fields, active = start(self.program, self.graph, has_degrees=False)
        self._kernel.grow(self._stored(fields)[first:], None if active is None else active[first:])
        self.fields = {self._plan.main_field: self._kernel.values.view(self._dtype)}

    def _stored(self, fields: dict[str, Any]) -> Array:
        """Return the main field as the kernel holds it: truth values as bytes."""
        values = np.ascontiguousarray(fields[self._plan.main_field])
        self._dtype = values.dtype
        return values.view(np.uint8) if values.dtype.kind == "b" else values


def _trace(what: str, followed: Followed, seconds: float) -> Trace:
    """Return the trace of what the kernel did."""
    trace, reads = Trace("streaming", "fused", {what: seconds}), followed.reads
    moved = None if reads is None else {"rows": reads.far_bytes}
    blocks = None if reads is None else {"rows": reads.far_rows, "cached_rows": reads.near_rows}
    trace.add(Iteration("push", followed.vertices.size, followed.num_edges, seconds, None, moved, blocks))
    return trace
