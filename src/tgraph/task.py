"""The frame of algorithms that are not programs: they call kernels, and are run, watched and traced like programs.

```python
def triangles(graph, **how):
    with Task("Triangles", graph, how) as task:
        counts = count_triangles(*task.rows("out"), task.watch("vertices", graph.num_vertices))
        return task.result({"triangles": counts})
```
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tgraph.errors import DeclaredGapError, InterruptedRunError, InvalidArgumentError
from tgraph.group import current
from tgraph.results import Iteration, Result, Trace
from tgraph.results.progress import Progress
from tgraph.run import How, check_how, placed, use_threads
from tgraph.runtime import Array

if TYPE_CHECKING:
    from tgraph.graph import Graph
    from tgraph.kernels.cpu.watch import Watch
    from tgraph.memory import LoadedBlock

ITERATIONS_PER_CALL = 1000  # a kernel returns after so many, and is called again


def uses_kernels(graph: Graph, how: How) -> bool:
    """Whether compiled code for rows in memory runs such a call: they are there and nothing else was asked for."""
    return not (graph.is_far or graph.is_compressed or in_group(graph)) and may_use_kernels(graph, how)


def in_group(graph: Graph) -> bool:
    """Whether the ranks of a group run it together."""
    return graph.is_sharded or current() is not None


def may_use_kernels(graph: Graph, how: How) -> bool:
    """Whether nothing else than compiled code on the CPU was asked for."""
    device = how.get("device") or graph.runtime.device
    return streams_kernels(how) and device == "cpu"


def streams_kernels(how: How) -> bool:
    """Whether nothing else than compiled code was asked for."""
    options = check_how(None, how)
    return options.kernel != "plain" and options.direction == "auto"


class Task:
    """One call of an algorithm: its graph on the runtime asked for, its threads, progress, trace and interruption.

    The compiled kernels take NumPy arrays. On another device the arrays are copied to the CPU and the result back; an
    algorithm that also has a form made of runtime primitives asks `uses_kernels` first.

    >>> import tgraph as tg
    >>> with Task("Degrees", tg.from_edges([0, 0], [1, 2]), {}) as task:
    ...     offsets, _, _ = task.rows("out")
    ...     result = task.result({"degrees": offsets[1:] - offsets[:-1]})
    >>> result.degrees.tolist()
    [2, 0, 0]
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        how: How,
        max_iterations: int | None = None,
        *,
        streams: bool = False,
        engine: str = "in_memory",
    ) -> None:
        options = check_how(max_iterations, how)
        if options.kernel == "plain":
            raise InvalidArgumentError(f"kernel='plain' is not there for {name}; use kernel='auto'")
        if options.checkpoint is not None:
            raise InvalidArgumentError(f"checkpoint= is not there for {name}; leave it out")
        if graph.is_far and not streams:
            raise InvalidArgumentError(
                f"{name} needs the whole graph in memory, and this one was opened with a budget; use tgraph.read"
            )
        if in_group(graph):
            raise DeclaredGapError(
                f"{name} needs the whole graph in memory, and a group of ranks divides it; run it outside of "
                "`with tgraph.distributed():`"
            )
        if graph.is_compressed and engine != "compressed":
            raise InvalidArgumentError(
                f"{name} needs the rows of the graph itself, and this one is compressed; use graph.decompress()"
            )
        self.name, self.graph = name, placed(graph, how)
        self.max_iterations = options.max_iterations
        self.trace = Trace("out_of_memory" if graph.is_far else engine, "fused")
        self._how, self._stack = how, ExitStack()
        self._progress = Progress(name, options.progress, options.max_iterations)
        self._step_started = 0.0
        self._moved: dict[str, int] | None = None  # since the last step

    def __enter__(self) -> Task:
        self._stack.enter_context(use_threads(self._how.get("threads")))
        self._stack.enter_context(self._progress)
        self._step_started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
        if isinstance(value, KeyboardInterrupt) and not isinstance(value, InterruptedRunError):
            raise InterruptedRunError(f"{self.name} was interrupted after {len(self.trace)} steps", None) from value

    def rows(self, along: str) -> tuple[Array, Array, Array | None]:
        """Return offsets `[V+1]`, neighbours and weights `[E]` of one direction (`out` or `in`) as NumPy arrays."""
        return self.graph.adjacency(along).to_numpy()

    def stream(self, along: str, near_bytes: int) -> Iterator[tuple[Array, LoadedBlock]]:
        """Yield offsets `[V+1]` and the edges of one direction of a far graph, block by block, without weights.

        `near_bytes` is what the algorithm itself holds beside them; it counts in the graph's budget.
        """
        from tgraph.memory import Budget, EdgeStream, FarGraph

        assert isinstance(self.graph, FarGraph)
        budget = Budget(self.graph.memory)
        budget.take("vertex data", near_bytes)
        transfer = self._how.get("transfer", "hybrid")
        edges = EdgeStream.of_graph(self.graph, along, False, budget, in_place=transfer == "zero_copy")
        edges.cut()
        with self.graph.open_file() as file:
            loader = edges.loader(file)
            for number, loaded in enumerate(loader.stream_all(transfer), 1):
                yield edges.offsets, loaded
                self._progress.say(f"{number} of {len(edges.blocks)} blocks")
            self._moved = dict(loader.take_moved().num_bytes)

    def watch(self, what: str, total: int | None = None) -> Watch:
        """Return what a kernel is run with, so that progress is shown (`done` of `total` `what`) and Ctrl-C works."""
        from tgraph.kernels.cpu.watch import Watch

        if total is None:
            return Watch(lambda done: self._progress.say(f"{done:,} {what}"))
        return Watch(lambda done: self._progress.say(f"{min(done, total):,} of {total:,} {what}"))

    def record(self, step: str, vertices: int, edges: int, residual: float | None = None) -> None:
        """Note that a step has ended: its name, the vertices and edges that took part, since the step before."""
        now = time.perf_counter()
        self.trace.add(Iteration(step, vertices, edges, now - self._step_started, residual, self._moved))
        self._moved = None
        self._progress.show(self.trace[-1])
        self._step_started = now

    def record_all(self, rows: Array, ticks: Array) -> None:
        """Note the iterations of one kernel: rows (pulled, vertices, edges) `[I, 3]` and the ticks `[I]` of each."""
        now = time.perf_counter()
        self.trace.add_all(rows, ticks / max(ticks.sum(), 1) * (now - self._step_started))
        self._step_started = now
        if rows.size:
            pulled, vertices, edges = rows[-1].tolist()
            self._progress.show(Iteration("pull" if pulled else "push", vertices, edges, 0.0), len(self.trace))

    def record_sweeps(self, vertices: int, edges: int, residuals: Array, ticks: Array) -> None:
        """Note the iterations of one kernel in which all vertices took part: residuals and ticks `[I]` of each."""
        now = time.perf_counter()
        seconds = ticks / max(ticks.sum(), 1) * (now - self._step_started)
        for residual, share in zip(residuals.tolist(), seconds.tolist(), strict=True):
            self.trace.add(Iteration("pull", vertices, edges, share, residual))
        self._step_started = now
        if residuals.size:
            self._progress.show(self.trace[-1], len(self.trace))

    def iterate(
        self,
        advance: Callable[[int, float, Watch], tuple[Array, Array, bool]],
        tolerance: float,
        edges: int,
        fields: Callable[[], dict[str, Any]],
    ) -> Result:
        """Let a kernel iterate until its residual is not above the tolerance, the limit is reached, or Ctrl-C.

        `advance(limit, tolerance, watch)` returns the residuals and ticks of its iterations and whether the user
        interrupted; `fields()` gives the values after them. An iteration takes so many edges.
        """
        residual, limit = math.inf, self.max_iterations
        try:
            while residual > tolerance and (limit is None or len(self.trace) < limit):
                most = ITERATIONS_PER_CALL if limit is None else min(ITERATIONS_PER_CALL, limit - len(self.trace))
                residuals, ticks, interrupted = advance(most, tolerance, self.watch("iterations", limit))
                self.record_sweeps(self.graph.num_vertices, edges, residuals, ticks)
                residual = float(residuals[-1])
                if interrupted:
                    raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            partial = self.result(fields(), converged=residual <= tolerance, residual=residual)
            words = f"{self.name} was interrupted after {len(self.trace)} iterations"
            raise InterruptedRunError(words, partial) from interrupt
        return self.result(fields(), converged=residual <= tolerance, residual=residual)

    def result(
        self,
        fields: dict[str, Any],
        *,
        converged: bool = True,
        residual: float | None = None,
        vertex_fields: tuple[str, ...] = (),
    ) -> Result:
        """Return the result; NumPy arrays become tensors of the graph's runtime. A task without steps has been one."""
        if not len(self.trace) and self.graph.num_vertices:
            self.record(self.name.lower(), self.graph.num_vertices, self.graph.num_arcs, residual)
        tensors = {name: self.graph.runtime.asarray(values) for name, values in fields.items()}
        return Result(self.name, self.graph, tensors, self.trace, converged, residual, vertex_fields)
