"""Breadth-first search: how many edges away is every vertex, and through whom.

Returns: levels, int32, -1 = not reached; parents, vertex numbers, the source is its own, -1 = not reached.
Technique: level by level, push from a small frontier and pull into the unreached vertices once the frontier is large
(Beamer, Asanovic, Patterson 2012; `tgraph.kernels.cpu.bfs`, or the program below). A parent is the smallest neighbour
one level closer: the same in every run.
"""

from __future__ import annotations

import time
from typing import Any, Unpack

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.elementwise import minimum, where
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels

UNREACHED = 1 << 30  # further than any level; one more still fits into int32


class BFS(Program):
    """Levels from one source vertex (a vertex number)."""

    reduce, monotonic, by_parts = "min", True, True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], Tensor]:
        levels = graph.full(UNREACHED, "int32", at={self.source: 0})
        return {"levels": levels}, graph.full(False, "bool", at={self.source: True})

    def message(self, levels: Tensor) -> Tensor:
        return levels + 1

    def update(self, levels: Tensor, incoming: Tensor) -> Tensor:
        return minimum(levels, incoming)

    def settled(self, levels: Tensor) -> Tensor:
        return levels < UNREACHED

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        levels = fields["levels"]
        return {"levels": where(levels < UNREACHED, levels, -1)}


class Parents(Program):
    """For every vertex, its smallest neighbour one level closer to the source. One iteration."""

    reduce, active, by_parts = "min", "all", True

    def __init__(self, levels: Tensor) -> None:
        self.levels = levels

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        self.nobody = graph.num_vertices  # above every vertex number
        parents = graph.full(self.nobody, index_dtype(graph.num_vertices))
        return {"parents": parents, "levels": self.levels}, None

    def message(self, levels: Tensor, target_levels: Tensor, source: Tensor) -> Tensor:
        return where((levels >= 0) & (target_levels == levels + 1), source, self.nobody)

    def update(self, incoming: Tensor) -> Tensor:
        return incoming

    def is_done(self, iteration: int, residual: float) -> bool:
        return True


class SharedParents(Program):
    """The same parents, with messages that depend on their sender alone: the smallest pair of level and vertex."""

    reduce, active = "min", "all"

    def __init__(self, levels: Tensor) -> None:
        self.levels = levels

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        self.nobody, self.count = (graph.num_vertices + 1) * graph.num_vertices, graph.num_vertices
        levels = graph.runtime.astype(self.levels, "int64")
        return {"parents": graph.full(self.nobody, "int64"), "levels": levels}, None

    def message(self, levels: Tensor, source: Tensor) -> Tensor:
        return where(levels >= 0, levels * self.count + source, self.nobody)

    def update(self, levels: Tensor, incoming: Tensor) -> Tensor:
        return where(levels > 0, incoming - (levels - 1) * self.count, self.count)

    def is_done(self, iteration: int, residual: float) -> bool:
        return True

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"parents": graph.runtime.astype(fields["parents"], index_dtype(graph.num_vertices))}


@recorded
def bfs(
    graph: Graph, source: Any, *, parents: bool = True, max_iterations: int | None = None, **how: Unpack[How]
) -> Result:
    """Find the level of every vertex that can be reached from `source`, and its parent.

    Args:
        graph: Edges are followed in their direction.
        source: A vertex, by the user's id.
        parents: Whether to return `parents` too.
        max_iterations: Look no further than this many edges; None = no limit.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `levels` (-1 = not reached) and `parents` (vertex numbers; -1 = not reached).

    >>> import tgraph as tg
    >>> result = tg.bfs(tg.from_edges([0, 0, 1, 4], [1, 2, 3, 0]), source=0)
    >>> result.levels.tolist(), result.parents.tolist()
    ([0, 1, 1, 2, -1], [0, 0, 0, 1, -1])
    """
    start = graph.vertex_of(source)
    if max_iterations is None and uses_kernels(graph, how):
        return _search(graph, start, parents, how)
    result = run(BFS(start), graph, max_iterations=max_iterations, **how)
    if parents:
        program = SharedParents if graph.is_compressed else Parents
        add_parents(result, program(result.levels), start, how)
    return result


def _search(graph: Graph, source: int, parents: bool, how: How) -> Result:
    """Find levels and parents in one compiled kernel."""
    from tgraph.kernels.cpu.bfs import search

    with Task("BFS", graph, how) as task:
        graph = task.graph
        incoming = task.rows("in")[:2] if graph.has_in_edges else None
        ascending = graph.is_sorted or graph.directed  # rows of incoming edges are built in ascending order
        watch = task.watch("levels")
        sides = task.rows("out")[:2], incoming
        found = search(*sides, np.array([source]), ascending=ascending, wants_parents=parents, watch=watch)
        task.record_all(found.rows, found.ticks)
        fields = {"levels": found.levels, "parents": found.parents} if parents else {"levels": found.levels}
        return task.result(fields, vertex_fields=("parents",) if parents else ())


def add_parents(result: Result, program: Program, source: int, how: How) -> None:
    """Run a program that finds parents, and put them into the result; the source is its own parent."""
    started = time.perf_counter()
    graph = result.graph
    found = run(program, graph, max_iterations=1, **how).values
    is_source = graph.full(False, "bool", at={source: True})
    result.fields["parents"] = where(is_source, source, where(found < graph.num_vertices, found, -1))
    result.vertex_fields = ("parents",)
    result.trace.seconds["parents"] = time.perf_counter() - started
