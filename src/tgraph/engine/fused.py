"""Running a program with a kernel that has its functions compiled in, where there is one for it.

A program qualifies if all its vertices are active, its tensors are in the CPU's memory, and its functions can be
translated. The answer is that of the plain path; sums of floats may differ in the last digits.
"""

from __future__ import annotations

import time

from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.messages import Messages
from tgraph.errors import InvalidProgramError
from tgraph.kernels.cpu.fused.pull import PullProgram, PullRun, build_pull_kernel
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.operators import tensorize
from tgraph.program import Plan, Program, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.run import Options

ITERATIONS_PER_CALL = 1000  # a kernel returns after so many, and is called again


class FusedSweep:
    """The iterations of a program whose vertices are all active, as sweeps of a compiled kernel."""

    def __init__(self, plan: Plan, edges: InMemoryEdges, state: State) -> None:
        self._program, self._state, self._edges = plan.program, state, edges
        side, adjacency = edges.sides(plan.program.along, "pull")[0]
        numpy = edges.graph.runtime.to_numpy
        kernel = build_pull_kernel(_describe(plan, edges, state))
        edge_data = {name: numpy(edges.edge_values(name, side)) for name in plan.edge_names}
        fields = {name: numpy(tensor) for name, tensor in state.fields.items()}
        self._run = PullRun(kernel, adjacency.to_numpy(), edge_data, fields)

    def run(self, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until the program is done (True) or the limit is reached (False)."""
        per_call = ITERATIONS_PER_CALL if type(self._program).is_done is Program.is_done else 1
        while max_iterations is None or self._state.iteration < max_iterations:
            limit = per_call if max_iterations is None else min(per_call, max_iterations - self._state.iteration)
            interrupted = self._call(limit, trace, progress)
            if interrupted:
                raise KeyboardInterrupt
            if self._program.is_done(self._state.iteration, self._state.residual):
                return True
        return False

    def _call(self, limit: int, trace: Trace, progress: Progress) -> bool:
        """Call the kernel once, show and record its iterations, and return whether the user interrupted it."""
        graph, before, started = self._edges.graph, len(trace), time.perf_counter()

        def look(done: int) -> None:
            progress.show(Iteration("pull", graph.num_vertices, graph.num_arcs, 0.0), before + done)

        residuals, ticks, interrupted = self._run.advance(limit, self._program.tolerance, look)
        seconds = ticks / max(ticks.sum(), 1) * (time.perf_counter() - started)
        for residual, share in zip(residuals.tolist(), seconds.tolist(), strict=True):
            trace.add(Iteration("pull", graph.num_vertices, graph.num_arcs, share, residual))
        self._state.iteration = len(trace)
        if residuals.size:
            self._state.residual = float(residuals[-1])
            progress.show(trace[-1], len(trace))
        return interrupted


def find_fused(plan: Plan, edges: InMemoryEdges, state: State, options: Options) -> FusedSweep | None:
    """Return the compiled form of a run, or None where the plain path serves."""
    reason = _why_plain(plan, edges, options)
    if reason is None:
        try:
            return FusedSweep(plan, edges, state)
        except NotTranslatableError as error:
            reason = str(error)
    if options.kernel == "fused":
        raise InvalidProgramError(
            f"kernel='fused' cannot run {type(plan.program).__name__}: {reason}; use kernel='auto'"
        )
    return None


def _why_plain(plan: Plan, edges: InMemoryEdges, options: Options) -> str | None:
    """Return what stands in the way of a compiled kernel, None if nothing does."""
    graph, program = edges.graph, plan.program
    checks = {
        "kernel='plain' was asked for": options.kernel == "plain",
        "it overrides compute": plan.has_compute,
        "only programs with active='all' are compiled so far": program.active != "all",
        "messages both ways are not compiled so far": program.along == "both" and graph.directed,
        "the kernel pulls, and direction='push' was asked for": options.direction == "push",
        f"the tensors are on {graph.runtime.device}": graph.runtime.device != "cpu",
        "there are no vertices": graph.num_vertices == 0,
    }
    return next((reason for reason, stands in checks.items() if stands), None)


def _describe(plan: Plan, edges: InMemoryEdges, state: State) -> PullProgram:
    """Collect what a kernel is made from; the type of a message is found by making none."""
    graph, program = edges.graph, plan.program
    none = tensorize(graph.adjacency("out"), range(0))
    message = Messages(plan, edges, state.fields).push("out", none)
    used = [name for name in ("message", "update", "total", "change") if name in plan.parameters]
    if "total" not in plan.parameters["update"]:
        used = [name for name in used if name != "total"]
    return PullProgram(
        functions={name: getattr(program, name) for name in used},
        parameters=plan.parameters,
        field_dtypes={name: graph.runtime.dtype(tensor) for name, tensor in state.fields.items()},
        edge_names=plan.edge_names,
        weighted=graph.weighted,
        message_dtype=graph.runtime.dtype(message),
        reduce=program.reduce,
        is_message_per_vertex=plan.is_message_per_vertex,
        main_field=plan.main_field,
    )
