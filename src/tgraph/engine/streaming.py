"""Results that stay current while a graph changes: after every batch they equal those of a fresh run.

How a program is kept depends on what it is; `keep` chooses, and the trace of every update says what was done.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tgraph.engine import in_memory
from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fields import initial_fields
from tgraph.engine.fused import describe
from tgraph.graph import Applied, DynamicGraph
from tgraph.kernels.cpu.fused.monotonic_stream import MonotonicStream, why_not_kept
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.gapped_rows import GappedRows
from tgraph.operators import changed_mask
from tgraph.program import Program, State, plan
from tgraph.results import Iteration, Trace
from tgraph.run import Options
from tgraph.runtime import Array

RETRY = 0.9  # after a run from the start, batches of this size are taken to cost less, so that they are tried again


@dataclass(frozen=True)
class ValueChanges:
    """What a batch did to a kept result: the vertices whose value changed, by number, and how it was found out."""

    vertices: Array  # ascending
    old: Array  # before; for a new vertex that with which it begins
    new: Array
    trace: Trace


@dataclass
class KeptProgram:
    """A program whose fields are current, one entry per place of the graph."""

    program: Program
    graph: DynamicGraph
    how: str  # monotonic, accumulative or recomputed
    reason: str = ""  # why it is recomputed
    fields: dict[str, Array] = field(default_factory=dict)  # the main one first

    @property
    def values(self) -> Array:
        """The main field."""
        return next(iter(self.fields.values()))

    def update(self, applied: Applied) -> ValueChanges:
        """Make the fields current after a batch."""
        raise NotImplementedError

    def finished(self) -> dict[str, Array]:
        """Return the results by name, the main one first, with an entry per place."""
        raise NotImplementedError

    def shown(self, values: Array) -> Array:
        """Return values of the main field as the result shows them. `finish` must be element-wise for that."""
        return values


class Recomputed(KeptProgram):
    """A program that is run again after every batch. A removed vertex is an isolated one to it."""

    def __init__(self, program: Program, graph: DynamicGraph, reason: str) -> None:
        super().__init__(program, graph, "recomputed", reason)
        self._run()

    def update(self, applied: Applied) -> ValueChanges:
        """Run it again and compare."""
        old = self.values
        trace = self._run()
        new = self.values
        padded = np.zeros(new.size, old.dtype)
        padded[: old.size] = old
        changed = np.flatnonzero(changed_mask(padded, new))
        return ValueChanges(changed, padded[changed], new[changed], trace)

    def finished(self) -> dict[str, Array]:
        """Return the fields, which a run has finished already."""
        return self.fields

    def _run(self) -> Trace:
        """Run the program on the graph as it is."""
        graph = self.graph.all_places()
        result = in_memory.run(self.program, graph, Options(progress="off"))
        self.fields = {name: graph.runtime.to_numpy(tensor) for name, tensor in result.fields.items()}
        return result.trace


class Monotonic(KeptProgram):
    """A monotonic program: values and parents, corrected where edges went, then followed from where they changed."""

    def __init__(self, program: Program, graph: DynamicGraph) -> None:
        super().__init__(program, graph, "monotonic")
        vertices = graph.snapshot_of_vertices()
        fields, _ = initial_fields(program, vertices)
        self._plan = plan(program, tuple(fields))
        state = State(fields)
        described = describe(self._plan, InMemoryEdges(vertices), state)
        uses_weights = graph.weighted and "weight" in self._plan.parameters["message"]
        self._kernel_program = replace(described, weighted=uses_weights)
        reason = why_not_kept(self._kernel_program)
        if reason:
            raise NotTranslatableError(reason)
        starts = self._stored(fields)
        send, pull = self._rows("send"), self._rows("pull")
        self._kernel = MonotonicStream(self._kernel_program, send, pull, starts.copy(), starts)
        self._seconds_per_change = 0.0  # of the batches so far
        self._recompute()

    @property
    def parents(self) -> Array:
        """The neighbour that gave each vertex its value, -1 = it has the value with which it began."""
        parents = self._kernel.parents
        return parents.view(f"i{parents.itemsize}")

    def update(self, applied: Applied) -> ValueChanges:
        """Follow a batch, or run the program again where that was quicker for batches of this size."""
        self._grow()
        started = time.perf_counter()
        arcs = applied.arcs
        num_changes = arcs.removed[0].size + arcs.added[0].size
        if num_changes * self._seconds_per_change > self._fresh_seconds:
            return self._update_anew(started)
        gone, new = (self._oriented(*part) for part in (arcs.removed, arcs.added))
        followed = self._kernel.follow(gone[:2], new)
        seconds = time.perf_counter() - started
        if num_changes:
            per_change = seconds / num_changes
            self._seconds_per_change = (
                per_change if not self._seconds_per_change else (0.5 * (per_change + self._seconds_per_change))
            )
        trace = Trace("streaming", "fused", {"follow": seconds})
        trace.add(Iteration("push", followed.vertices.size, followed.num_edges, seconds))
        return self._changes(followed.vertices, followed.old, trace)

    def finished(self) -> dict[str, Array]:
        """Return the values as the program finishes them, and the parents."""
        vertices = self.graph.snapshot_of_vertices()
        fields = self.program.finish(vertices, {self._plan.main_field: self.values})
        return {name: vertices.runtime.to_numpy(tensor) for name, tensor in fields.items()}

    def shown(self, values: Array) -> Array:
        """Return values of the main field as the program finishes them."""
        vertices = self.graph.snapshot_of_vertices()
        fields = self.program.finish(vertices, {self._plan.main_field: values})
        return vertices.runtime.to_numpy(next(iter(fields.values())))

    def _changes(self, vertices: Array, old: Array, trace: Trace) -> ValueChanges:
        """Leave out the vertices whose value is what it was."""
        new = self._kernel.values[vertices]
        changed = np.flatnonzero(changed_mask(old, new))
        order = changed[np.argsort(vertices[changed], kind="stable")]
        found = vertices[order].astype(np.int64)
        return ValueChanges(found, old[order].view(self._dtype), new[order].view(self._dtype), trace)

    def _update_anew(self, started: float) -> ValueChanges:
        """Run the program again and compare."""
        old = self._kernel.values.copy()
        trace = self._recompute()
        trace.seconds["recompute"] = time.perf_counter() - started
        self._seconds_per_change *= RETRY
        return self._changes(np.arange(old.size), old, trace)

    def _recompute(self) -> Trace:
        """Run the program in memory, and find the parents of what it found."""
        started = time.perf_counter()
        raw = copy(self.program)
        raw.finish = lambda graph, fields: fields  # type: ignore[method-assign]
        graph = self.graph.all_places()
        result = in_memory.run(raw, graph, Options(progress="off"))
        self._kernel.values[:] = self._stored(result.fields)
        _, active = initial_fields(self.program, self.graph.snapshot_of_vertices())
        num_without = self._kernel.begin(None if active is None else np.asarray(active))
        if num_without:
            raise NotTranslatableError(f"the values of {num_without} vertices come from no neighbour")
        self._fresh_seconds = time.perf_counter() - started
        self.fields = {self._plan.main_field: self._kernel.values.view(self._dtype)}
        return result.trace

    def _grow(self) -> None:
        """Add the vertices that are new."""
        first = self._kernel.values.size
        if self.graph.num_places == first:
            return
        fields, active = initial_fields(self.program, self.graph.snapshot_of_vertices())
        self._kernel.grow(self._stored(fields)[first:], None if active is None else np.asarray(active)[first:])
        self.fields = {self._plan.main_field: self._kernel.values.view(self._dtype)}

    def _stored(self, fields: dict[str, Any]) -> Array:
        """Return the main field as the kernel holds it: truth values as bytes."""
        values = np.ascontiguousarray(fields[self._plan.main_field])
        self._dtype = values.dtype
        return values.view(np.uint8) if values.dtype.kind == "b" else values

    def _rows(self, kind: str) -> list[GappedRows]:
        """Return the rows to send along, or those along which messages come."""
        both = {"out": ("out", "in"), "in": ("in", "out")}
        if not self.graph.directed:
            return [self.graph.gapped("out")]
        along = self.program.along
        if along == "both":
            return [self.graph.gapped(side) for side in (("out", "in") if kind == "send" else ("in", "out"))]
        return [self.graph.gapped(both[along][0 if kind == "send" else 1])]

    def _oriented(self, sources: Array, targets: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Return senders, receivers and weights of arcs."""
        if not self.graph.directed or self.program.along == "out":
            return sources, targets, weights
        if self.program.along == "in":
            return targets, sources, weights
        ends = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        return (*ends, np.concatenate([weights, weights]))


def keep(program: Program, graph: DynamicGraph) -> KeptProgram:
    """Compute a program and return it in the way in which it is kept current."""
    reason = "it is neither monotonic nor linear"
    if program.monotonic:
        try:
            return Monotonic(program, graph)
        except NotTranslatableError as error:
            reason = str(error)
    return Recomputed(program, graph, reason)
