"""Results that stay current while a graph changes: after every batch they equal those of a fresh run.

How a program is kept depends on what it is; `keep` chooses, and the trace of every update says what was done.
"""

from __future__ import annotations

import numpy as np

from tgraph.engine import in_memory
from tgraph.engine.kept import KeptProgram, ValueChanges
from tgraph.engine.kept_linear import Accumulative
from tgraph.engine.kept_monotonic import Monotonic
from tgraph.graph import Applied, DynamicGraph
from tgraph.graph.edgeless import NeedsEdgesError
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.operators import changed_mask
from tgraph.program import Program
from tgraph.results import Trace
from tgraph.run import Options
from tgraph.runtime import Array


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
    reason = "it is neither monotonic nor linear"
    try:
        if program.monotonic:
            return Monotonic(program, graph)
        if program.linear:
            return Accumulative(program, graph)
    except (NotTranslatableError, NeedsEdgesError) as error:
        reason = str(error)
    return Recomputed(program, graph, reason)
