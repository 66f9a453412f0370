"""The engine for graphs that fit into memory, on any runtime: operators made of primitives.

An iteration takes the frontier (ids of active vertices), tensorizes it in blocks, makes the messages, aggregates
them, and updates who received some. A small frontier never touches a tensor of length V: its receivers are found by
`unique`, and only their values are read and written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tgraph.dtypes import identity
from tgraph.engine.edges import InMemoryEdges
from tgraph.engine.fields import edge_fields, initial_fields, new_fields
from tgraph.engine.fused import find_fused
from tgraph.engine.schedule import choose_direction
from tgraph.errors import InterruptedRunError, InvalidProgramError
from tgraph.graph import Graph
from tgraph.operators import update, vertex_select
from tgraph.program import Program, State, default_change, plan
from tgraph.results import Iteration, Result, Trace
from tgraph.results.progress import Progress
from tgraph.run import Options
from tgraph.runtime import Tensor

SPARSE_RECEIVERS = 8  # a frontier with fewer than V / 8 edges finds its receivers by sorting


def run(
    program: Program,
    graph: Graph,
    options: Options,
    make_edges: Callable[..., InMemoryEdges] = InMemoryEdges,
    engine_name: str = "in_memory",
    make_run: Callable[..., Run] | None = None,
    find_kernel: Callable[..., Any] = find_fused,
) -> Result:
    """Run a program until it is done, the limit is reached, or the user interrupts.

    Another engine that differs only in how messages cross edges gives its own `make_edges`; one that also differs in
    where vertices are updated gives its own `make_run`, and one with kernels of its own `find_kernel`.
    """
    started = time.perf_counter()
    engine = (make_run or Run)(program, graph, options, make_edges, engine_name)
    converged = False
    with Progress(type(program).__name__, options.progress, options.max_iterations) as progress:
        engine.trace.seconds["init"] = time.perf_counter() - started
        try:
            fused = find_kernel(engine.plan, engine.edges, engine.state, engine.frontier, options)
            if fused is not None:
                engine.trace.kernel = "fused"
                converged = fused.run(options.max_iterations, engine.trace, progress)
            while fused is None and not (converged := engine.is_done()) and engine.may_continue():
                progress.show(engine.iterate())
        except KeyboardInterrupt as interrupt:
            partial = engine.result(converged=False)
            message = f"{type(program).__name__} was interrupted after {partial.iterations} iterations"
            raise InterruptedRunError(message, partial) from interrupt
    return engine.result(converged)


class Run:
    """One run: the state between iterations."""

    def __init__(
        self,
        program: Program,
        graph: Graph,
        options: Options,
        make_edges: Callable[..., InMemoryEdges],
        engine_name: str,
    ) -> None:
        self.program, self.graph, self.options = program, graph, options
        self.runtime = graph.runtime
        self.trace = Trace(engine_name)
        fields, active = initial_fields(program, graph)
        self.state = State(fields)
        edge_data = edge_fields(program, graph)
        self.plan = plan(program, tuple(fields), tuple(edge_data))
        self.edges = make_edges(graph, options.direction, edge_data, options.kernel)
        self.is_dense = self.plan.has_compute or program.active == "all"
        self.frontier = None if self.is_dense or active is None else self._find_frontier(active)
        self.explored_edges = 0

    # --- the loop ----------------------------------------------------------------------------------------------------
    def is_done(self) -> bool:
        """Whether the last iteration was the last one needed."""
        if self.graph.num_vertices == 0:
            return True
        if self.is_dense:
            return self.state.iteration > 0 and self.program.is_done(self.state.iteration, self.state.residual)
        return self.frontier is not None and int(self.frontier.shape[0]) == 0

    def may_continue(self) -> bool:
        """Whether the limit allows another iteration."""
        return self.options.max_iterations is None or self.state.iteration < self.options.max_iterations

    def iterate(self) -> Iteration:
        """Do one iteration and record it."""
        started = time.perf_counter()
        senders = self.graph.num_vertices if self.frontier is None else int(self.frontier.shape[0])
        frontier_edges = self.edges.count_edges(self.frontier, self.program.along)
        if self.is_dense:
            direction = self._iterate_all()
        else:
            direction = self._iterate_frontier(frontier_edges)
        self.state.iteration += 1
        residual = self.state.residual if self.is_dense else None
        seconds, moved = time.perf_counter() - started, self.edges.take_moved()
        done = Iteration(direction, senders, frontier_edges, seconds, residual, moved)
        self.trace.add(done)
        return done

    def result(self, converged: bool) -> Result:
        """Return what has been computed."""
        fields = self.program.finish(self.graph, self.state.fields)
        residual = self.state.residual if self.is_dense and self.state.iteration else None
        name = type(self.program).__name__
        return Result(name, self.graph, fields, self.trace, converged, residual, self.program.vertex_fields)

    # --- all vertices active -----------------------------------------------------------------------------------------
    def _iterate_all(self) -> str:
        direction = "push" if self.options.direction == "push" else "pull"
        if self.plan.has_compute:
            residual = self.program.compute(self.state, self.edges)
        else:
            residual = self._sweep(direction)
        if residual is None:
            raise InvalidProgramError(f"{type(self.program).__name__}.compute returned nothing; return the residual")
        self.state.residual = float(residual if isinstance(residual, (int, float)) else self.runtime.item(residual))
        return direction

    def _sweep(self, direction: str) -> Tensor:
        """Let every vertex receive and update; return the residual."""
        fields = self.state.fields
        total = self._total(fields)
        incoming = self.edges.send(self.plan, fields, None, None, direction)
        new = self._updated(fields, incoming, total)
        residual = self._residual(fields, new, total)
        fields.update(new)
        return residual

    def _total(self, fields: dict[str, Tensor]) -> Tensor | None:
        if not self.plan.needs_total:
            return None
        return self.runtime.reduce(self.plan.call("total", fields.__getitem__), "sum")

    def _residual(self, old: dict[str, Tensor], new: dict[str, Tensor], total: Tensor | None) -> Tensor:
        after, main = {**old, **new}, self.plan.main_field
        known = {**old, "total": total}
        if self.program.change is None:
            change = default_change(old[main], after[main])
        else:
            change = self.plan.call("change", lambda name: known[name] if name in known else after[name[4:]])
        return self.runtime.reduce(self.runtime.astype(change, "float64"), "sum")  # a sum of int32 could overflow to 0

    # --- changed vertices active -------------------------------------------------------------------------------------
    def _find_frontier(self, active: Tensor) -> Tensor:
        return vertex_select(self.runtime, active)

    def _choose_direction(self, frontier_edges: int) -> str:
        total_edges = self.edges.count_edges(None, self.program.along)
        unexplored = total_edges - (self.explored_edges if self.program.settled is not None else 0)
        self.explored_edges += frontier_edges
        return choose_direction(self.options.direction, frontier_edges, unexplored, self.graph.num_vertices)

    def _iterate_frontier(self, frontier_edges: int) -> str:
        direction = self._choose_direction(frontier_edges)
        is_sparse = frontier_edges < self.graph.num_vertices // SPARSE_RECEIVERS
        if direction == "push" and self.frontier is not None and is_sparse:
            self._push_sparse(self.frontier)
        else:
            has_settled = direction == "pull" and self.program.settled is not None
            receivers = self._unsettled() if has_settled else None
            incoming = self.edges.send(self.plan, self.state.fields, self.frontier, receivers, direction)
            self._take(receivers, incoming)
        return direction

    def _unsettled(self) -> Tensor:
        return vertex_select(self.runtime, ~self.plan.call("settled", self.state.fields.__getitem__))

    def _push_sparse(self, frontier: Tensor) -> None:
        """Push from few vertices: all work is proportional to their edges."""
        receivers, incoming = self.edges.send_sparse(self.plan, self.state.fields, frontier)
        self._take(receivers, incoming)

    def _take(self, receivers: Tensor | None, incoming: Tensor) -> None:
        """Update the receivers (None = all vertices) and make those that changed the next frontier.

        Who received nothing but the identity keeps its values, whichever way the iteration took.
        """
        runtime, fields, total = self.runtime, self.state.fields, self._total(self.state.fields)
        if receivers is None:
            old = fields
        else:
            old = {name: runtime.index_select(tensor, receivers) for name, tensor in fields.items()}
        new, changed = self._received(old, incoming, total)
        if receivers is None:
            fields.update({name: runtime.where(changed, tensor, fields[name]) for name, tensor in new.items()})
            self.frontier = vertex_select(runtime, changed)
            return
        self.frontier = runtime.mask_select(receivers, changed)
        for name, tensor in new.items():
            fields[name] = runtime.index_put(fields[name], self.frontier, runtime.mask_select(tensor, changed))

    def _received(
        self, old: dict[str, Tensor], incoming: Tensor, total: Tensor | None
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return new fields and the mask of vertices that received something and changed."""
        received = incoming != identity(self.program.reduce, self.runtime.dtype(incoming))
        new, changed = update(self.runtime, old, lambda: self._updated(old, incoming, total), self.plan.main_field)
        return new, changed & received

    # --- the program's update ----------------------------------------------------------------------------------------
    def _updated(self, fields: dict[str, Tensor], incoming: Tensor, total: Tensor | None) -> dict[str, Tensor]:
        extra = {"incoming": incoming, "total": total}
        returned = self.plan.call("update", lambda name: fields[name] if name in fields else extra[name])
        size = int(incoming.shape[0])
        return new_fields(self.program, self.runtime, fields, returned, self.plan.main_field, size)
