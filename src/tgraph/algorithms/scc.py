"""Strongly connected components: which vertices can reach each other along the edges.

Returns: labels, vertex numbers: the smallest vertex of the component.
Technique: the component of a vertex with many edges by breadth-first search and sweeps over outgoing edges, the rest
by Tarjan's depth-first search, small graphs by that alone (`tgraph.kernels.cpu.scc`). Where that kernel does not serve,
colours: every vertex takes the smallest vertex that reaches it, and whoever reaches that vertex back within its colour
is in its component (Orzan 2004). Where edges have no direction the components are those of `wcc`.
"""

from __future__ import annotations

from typing import Unpack

from tgraph.dtypes import index_dtype
from tgraph.elementwise import minimum, where
from tgraph.graph import Graph
from tgraph.operators import changed_mask
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels


class SCC(Program):
    """Every vertex learns the smallest vertex number of its component. One iteration finds one component per colour."""

    vertex_fields = ("labels",)

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"labels": graph.full(-1, index_dtype(graph.num_vertices))}, None  # -1 = not known yet

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Colour the vertices without a label, and label those that reach the vertex that their colour is named by."""
        runtime, labels = edges.graph.runtime, state.fields["labels"]
        count = edges.graph.num_vertices
        vertices = runtime.arange(0, count, index_dtype(count))
        is_open = labels < 0
        colors = _colors(edges, where(is_open, vertices, count))
        found = _reaching_back(edges, colors, is_open & (colors == vertices))
        state.fields["labels"] = where(found, colors, labels)
        return runtime.reduce(runtime.astype(is_open & ~found, "int64"), "sum")


def _colors(edges: Edges, colors: Tensor) -> Tensor:
    """Return the smallest vertex that reaches each vertex; V of those that take no part."""
    runtime, closed = edges.graph.runtime, colors == edges.graph.num_vertices
    while True:
        lowered = where(closed, colors, minimum(colors, edges.aggregate(colors, "min")))
        if not runtime.item(runtime.reduce(changed_mask(colors, lowered), "any")):
            return colors
        colors = lowered


def _reaching_back(edges: Edges, colors: Tensor, found: Tensor) -> Tensor:
    """Return the mask of the vertices that reach a found one of their colour.

    The colours at the other ends of a vertex's edges are not larger than its own: the largest one decides.
    """
    runtime, closed = edges.graph.runtime, colors == edges.graph.num_vertices
    while True:
        largest = edges.aggregate(where(found, colors, -1), "max", along="in")
        reaching = found | ((largest == colors) & ~closed)
        if not runtime.item(runtime.reduce(reaching & ~found, "any")):
            return found
        found = reaching


@recorded
def scc(graph: Graph, **how: Unpack[How]) -> Result:
    """Find the strongly connected component of every vertex: who can be reached from it and reaches it.

    Args:
        graph: Any graph; in an undirected one these are the components of `wcc`.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `labels`: vertex numbers, the smallest vertex of the component.

    >>> import tgraph as tg
    >>> from tgraph.algorithms.scc import scc
    >>> scc(tg.from_edges([0, 1, 2, 2], [1, 2, 1, 3])).labels.tolist()
    [0, 1, 1, 3]
    """
    if not uses_kernels(graph, how):
        return run(SCC(), graph, **how)
    from tgraph.kernels.cpu.components import smallest_connected
    from tgraph.kernels.cpu.scc import smallest_strongly_connected

    with Task("SCC", graph, how) as task:
        offsets, targets, _ = task.rows("out")
        watch = task.watch("vertices", graph.num_vertices)
        if graph.directed:
            labels = smallest_strongly_connected(offsets, targets, watch)
        else:
            labels = smallest_connected(offsets, targets, True, watch)
        return task.result({"labels": labels}, vertex_fields=("labels",))
