"""Breadth-first search from several sources at once: how far is the nearest of them, and which is it.

Returns: levels, int32, -1 = not reached; origins, vertex numbers of the nearest source, the smallest of several, -1 =
not reached.
Technique: level by level, as `tgraph.bfs` (`tgraph.kernels.cpu.nearest_source`, or `tgraph.kernels.cpu.bfs` for levels
alone, or the program below). There a vertex keeps level and origin as one number, level * V + origin: the smallest is
the nearest source, and among equally near ones the smallest vertex.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from tgraph.algorithms.sources import distinct_vertices
from tgraph.dtypes import index_dtype
from tgraph.elementwise import minimum, where
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor
from tgraph.task import Task, uses_kernels

UNREACHED = 1 << 62  # further than any level; one level more still fits into int64


class MultiSourceBFS(Program):
    """The nearest of some sources (vertex numbers), and how many edges away it is."""

    reduce, monotonic = "min", True

    def __init__(self, sources: Array, wants_origins: bool = True) -> None:
        self.sources, self.vertex_fields = sources, ("origins",) if wants_origins else ()

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], Tensor]:
        runtime, self.step = graph.runtime, graph.num_vertices
        sources = runtime.asarray(self.sources)
        nearest = runtime.index_put(graph.full(UNREACHED, "int64"), sources, runtime.astype(sources, "int64"))
        return {"nearest": nearest}, runtime.index_put(graph.full(False, "bool"), sources, True)

    def message(self, nearest: Tensor) -> Tensor:
        return nearest + self.step

    def update(self, nearest: Tensor, incoming: Tensor) -> Tensor:
        return minimum(nearest, incoming)

    def settled(self, nearest: Tensor) -> Tensor:
        return nearest < UNREACHED

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        nearest, runtime, count = fields["nearest"], graph.runtime, max(graph.num_vertices, 1)
        reached = nearest < UNREACHED
        levels = runtime.astype(where(reached, nearest // count, -1), "int32")
        if not self.vertex_fields:
            return {"levels": levels}
        return {"levels": levels, "origins": runtime.astype(where(reached, nearest % count, -1), index_dtype(count))}


@recorded
def multi_source_bfs(
    graph: Graph,
    sources: Iterable[Any],
    *,
    origins: bool = True,
    max_iterations: int | None = None,
    **how: Unpack[How],
) -> Result:
    """Find the nearest of several sources for every vertex, and how many edges away it is.

    `distance_matrix` gives the distances from each of the sources.

    Args:
        graph: Edges are followed in their direction. Weights are ignored.
        sources: Vertices, by the user's ids.
        origins: Whether to find `origins` too; levels alone are found sooner.
        max_iterations: Look no further than this many edges; None = no limit.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `levels` (-1 = not reached) and, unless they are not wanted, `origins` (vertex numbers; of
        sources equally near the smallest; -1 = not reached).

    >>> import tgraph as tg
    >>> result = multi_source_bfs(tg.from_edges([0, 1, 3, 4], [1, 2, 2, 5]), [0, 3])
    >>> result.levels.tolist(), result.origins.tolist()
    ([0, 1, 1, 0, -1, -1], [0, 0, 3, 3, -1, -1])
    """
    chosen = distinct_vertices(graph, "sources", sources)
    if max_iterations is None and uses_kernels(graph, how):
        return _search(graph, chosen, origins, how)
    return run(MultiSourceBFS(chosen, origins), graph, max_iterations=max_iterations, **how)


def _search(graph: Graph, sources: Array, wants_origins: bool, how: How) -> Result:
    """Find levels, and origins if they are wanted, in one compiled kernel."""
    from tgraph.kernels.cpu.bfs import search
    from tgraph.kernels.cpu.nearest_source import nearest_sources

    with Task("MultiSourceBFS", graph, how) as task:
        sides = task.rows("out")[:2], task.rows("in")[:2] if task.graph.has_in_edges else None
        if not wants_origins:
            levels = search(*sides, sources, ascending=True, wants_parents=False, watch=task.watch("levels"))
            task.record_all(levels.rows, levels.ticks)
            return task.result({"levels": levels.levels}, vertex_fields=())
        found = nearest_sources(*sides, sources, task.watch("levels"))
        task.record_all(found.rows, found.ticks)
        return task.result({"levels": found.levels, "origins": found.origins}, vertex_fields=("origins",))
