"""Results that stay current while a graph changes: after every batch they equal those of a fresh run.

How a program is kept depends on what it is; `keep` chooses, and the trace of every update says what was done.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tgraph.engine import in_memory
from tgraph.graph import Applied, DynamicGraph
from tgraph.operators import changed_mask
from tgraph.program import Program
from tgraph.results import Trace
from tgraph.run import Options
from tgraph.runtime import Array


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


def keep(program: Program, graph: DynamicGraph) -> KeptProgram:
    """Compute a program and return it in the way in which it is kept current."""
    return Recomputed(program, graph, "there is no other way yet")
