"""What every kept result has in common: a program, its current fields, and the rows that its messages take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fields import initial_fields
from tgraph.engine.fused import describe
from tgraph.graph import Applied, DynamicGraph
from tgraph.graph.edgeless import EdgelessGraph
from tgraph.kernels.cpu.fused.pieces import KernelProgram
from tgraph.kernels.cpu.gapped_rows import GappedRows
from tgraph.program import Plan, Program, State, plan
from tgraph.results import Trace
from tgraph.runtime import Array, Tensor


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

    def _take_memory(self, bytes_per_vertex: int) -> None:
        """Take near memory for fields, where the graph has a budget."""
        if self.graph.far is not None:
            self.graph.far.take(f"{type(self.program).__name__} {id(self):x}", bytes_per_vertex, self)

    def update(self, applied: Applied) -> ValueChanges:
        """Make the fields current after a batch."""
        raise NotImplementedError

    def finished(self) -> dict[str, Array]:
        """Return the results by name, the main one first, with an entry per place."""
        raise NotImplementedError

    @property
    def vertex_fields(self) -> tuple[str, ...]:
        """The results whose values are vertex numbers."""
        return self.program.vertex_fields

    def shown(self, values: Array) -> tuple[str, Array]:
        """Return the name of the main result, and values of the main field as the result shows them.

        `finish` must be element-wise for that.
        """
        return next(iter(self.fields)), values


Arcs = tuple[Array, Array, Array]  # ends and weights


def start(program: Program, graph: DynamicGraph, has_degrees: bool) -> tuple[dict[str, Tensor], Array | None]:
    """Return the fields with which a program begins and who is active then (None = everyone)."""
    fields, active = initial_fields(program, EdgelessGraph(graph, has_degrees))
    return fields, None if active is None else np.asarray(active)


def describe_kept(program: Program, graph: DynamicGraph, fields: dict[str, Tensor]) -> tuple[Plan, KernelProgram]:
    """Look through a program and return what a kernel on rows with gaps is made from."""
    planned = plan(program, tuple(fields))
    described = describe(planned, InMemoryEdges(graph.vertices()), State(fields))
    return planned, replace(described, weighted=graph.weighted and "weight" in planned.parameters["message"])


def rows_to_send(program: Program, graph: DynamicGraph) -> list[GappedRows]:
    """Return the rows of the edges along which a vertex sends."""
    return [graph.gapped(side) for side in _sides(program, graph)]


def rows_to_pull(program: Program, graph: DynamicGraph) -> list[GappedRows]:
    """Return the rows of the edges along which messages reach a vertex."""
    opposite = {"out": "in", "in": "out"}
    return [graph.gapped(opposite[side]) for side in _sides(program, graph)]


def oriented(program: Program, graph: DynamicGraph, arcs: Arcs) -> Arcs:
    """Return arcs as messages take them: senders, receivers and weights."""
    sources, targets, weights = arcs
    ways = {"out": (sources, targets, weights), "in": (targets, sources, weights)}
    taken = [ways[side] for side in _sides(program, graph)]
    if len(taken) == 1:
        return taken[0]
    senders, receivers, both = (np.concatenate(columns) for columns in zip(*taken, strict=True))
    return senders, receivers, both


def _sides(program: Program, graph: DynamicGraph) -> tuple[str, ...]:
    if not graph.directed:
        return ("out",)
    return ("out", "in") if program.along == "both" else (program.along,)
