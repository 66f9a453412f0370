"""Results that stay current while a graph changes: after every batch they equal those of a fresh run.

How a program is kept depends on what it is; `keep` chooses, and the trace of every update says what was done.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

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
from tgraph.prove import check
from tgraph.results import Trace
from tgraph.run import Options
from tgraph.runtime import Array


class Recomputed(KeptProgram):
    """A program that is run again after every batch. A removed vertex is an isolated one to it."""

    def __init__(self, program: Program, graph: DynamicGraph, reason: str) -> None:
        super().__init__(program, graph, "recomputed", reason)
        self._run(Options())

    def update(self, applied: Applied) -> ValueChanges:
        """Run it again and compare."""
        old = self.values
        trace = self._run(Options(progress="off"))
        new = self.values
        padded = np.zeros(new.size, old.dtype)
        padded[: old.size] = old
        changed = np.flatnonzero(changed_mask(padded, new))
        return ValueChanges(changed, padded[changed], new[changed], trace)

    def finished(self) -> dict[str, Array]:
        """Return the fields, which a run has finished already."""
        return self.fields

    def _run(self, options: Options) -> Trace:
        """Run the program on the graph as it is."""
        graph = self.graph.all_places()
        result = in_memory.run(self.program, graph, options)
        self.fields = {name: graph.runtime.to_numpy(tensor) for name, tensor in result.fields.items()}
        return result.trace


_REFUTATIONS: dict[tuple[type[Program], tuple[Any, ...]], str] = {}  # a proof takes about half a second
NEITHER = "it is neither monotonic nor linear"


def keep(program: Program, graph: DynamicGraph) -> KeptProgram:
    """Compute a program and return it in the way in which it is kept current."""
    reason = _refutation(program, graph) or NEITHER
    try:
        if program.monotonic and reason == NEITHER:
            return Monotonic(program, graph)
        if program.linear and reason == NEITHER:
            return Accumulative(program, graph)
    except (NotTranslatableError, NeedsEdgesError) as error:
        reason = str(error)
    return Recomputed(program, graph, reason)


def _refutation(program: Program, graph: DynamicGraph) -> str:
    """Return why a user's program is not what it says, as far as z3 is installed and finds an example of it."""
    is_ours = type(program).__module__.startswith("tgraph.")
    if is_ours or not (program.monotonic or program.linear) or find_spec("z3") is None:
        return ""
    numbers = {name: value for name, value in vars(program).items() if isinstance(value, (bool, int, float))}
    key = type(program), tuple(sorted(numbers.items()))
    if key not in _REFUTATIONS:
        refuted = check(program, graph.vertices(), weights=(0.0, math.inf)).refuted
        _REFUTATIONS[key] = f"{refuted[0].name} is refuted: {refuted[0].explanation}" if refuted else ""
    return _REFUTATIONS[key]
