"""Distances in edges from several sources to every vertex.

Returns: a tensor of levels `[S, V]`, int32, -1 = not reached.
Technique: breadth-first searches from 128 sources at once, a bit for each (Then et al. 2014, `tgraph.kernels.cpu.
multi_source`), in deep graphs one after another on every thread (`separate_searches`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from tgraph.algorithms.bfs import BFS
from tgraph.algorithms.sources import choose_sources
from tgraph.errors import check_graph
from tgraph.gaps import check_one_machine
from tgraph.graph import Graph
from tgraph.run import How, placed, run
from tgraph.runtime import Tensor
from tgraph.task import Task, in_group, uses_kernels


def distance_matrix(graph: Graph, sources: Iterable[Any] | None = None, **how: Unpack[How]) -> Tensor:
    """Return how many edges away every vertex is from each source.

    Args:
        graph: Edges are followed in their direction. Weights are ignored.
        sources: Vertices, by the user's ids: the rows of the matrix. None = all, in vertex order.
        how: How to run, see `tgraph.run`.

    Returns:
        A tensor `[S, V] int32` of the graph's runtime: a row for each source, a column for each vertex; -1 = not
        reached. It takes 4 S V bytes.

    >>> import tgraph as tg
    >>> distance_matrix(tg.from_edges([0, 1], [1, 2]), [0, 2]).tolist()
    [[0, 1, 2], [-1, -1, 0]]
    """
    check_graph(graph)
    check_one_machine("distance_matrix", in_group(graph))
    rows = choose_sources(graph, sources, None, 0)
    if uses_kernels(graph, how):
        from tgraph.kernels.cpu.multi_source import levels_from_sources

        with Task("Distances", graph, how) as task:
            watch = task.watch("sources", rows.size)
            levels = levels_from_sources(task.rows("out")[:2], task.rows("in")[:2], rows, watch)
            return task.graph.runtime.asarray(levels)
    here = placed(graph, how)
    found = [run(BFS(source), here, max_iterations=None, **how).levels for source in rows.tolist()]
    joined = here.runtime.concatenate(found) if found else here.runtime.full(0, -1, "int32")
    return joined.reshape(rows.size, graph.num_vertices)
