"""Local clustering coefficient: how many of the edges that could be among a vertex's neighbours are there.

Returns: coefficients, float64, from 0 to 1.
Technique: the triangles of the graph without directions; each brings to a vertex the edges, one or two, between the two
others (`tgraph.kernels.cpu.lcc`). Directed graphs as in the LDBC Graphalytics specification, undirected ones as Watts,
Strogatz 1998.
"""

from __future__ import annotations

from typing import Unpack

from tgraph.algorithms.triangles import HalfEdges
from tgraph.graph import Graph
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels


class LCC(Program):
    """Find all coefficients in one step. Needs all edges in memory."""

    along = "both"

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"coefficients": graph.full(0.0, "float64")}, None

    def compute(self, state: State, edges: Edges) -> float:
        """Bring the edge between two corners of every triangle to the third one, and divide by all possible edges."""
        graph, runtime = edges.graph, edges.graph.runtime
        simple = graph.symmetrize().simplify()
        half, counts = HalfEdges.of(simple), graph.full(0, "int64")
        sizes = _count_directions(graph, half)
        for high_middle, middle_low, high_low in half.triangles():
            brought = (
                (half.sources, high_middle, middle_low),
                (half.sources, middle_low, high_low),
                (half.targets, middle_low, high_middle),
            )
            for ends, at, between in brought:
                corners, values = runtime.index_select(ends, at), runtime.index_select(sizes, between)
                counts = runtime.scatter_reduce(counts, corners, values, "sum")
        degrees = runtime.astype(simple.out_degrees(), "float64")
        possible = runtime.maximum(degrees * (degrees - 1.0), 1.0)
        state.fields["coefficients"] = runtime.astype(counts, "float64") / possible
        return 0.0


@recorded
def lcc(graph: Graph, **how: Unpack[How]) -> Result:
    """Find the local clustering coefficient of every vertex.

    The neighbours of a vertex are those that it has an edge to or from, without itself: d of them. The coefficient is
    the number of edges from one of them to another, divided by d (d - 1); with fewer than two neighbours it is 0. An
    undirected edge leads both ways: its graph has the coefficients that NetworkX calls `clustering`. For directed
    graphs this is the definition of LDBC Graphalytics, not NetworkX's. Self-loops and repeated edges do not count.

    The answer does not depend on the number of threads.

    Args:
        graph: Any graph; weights do not count.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `coefficients`, from 0 to 1.

    >>> import tgraph as tg
    >>> lcc(tg.from_edges([0, 0, 1], [1, 2, 2])).coefficients.tolist()
    [0.5, 0.5, 0.5]
    >>> lcc(tg.from_edges([0, 0, 1], [1, 2, 2], directed=False)).coefficients.tolist()
    [1.0, 1.0, 1.0]
    """
    if not uses_kernels(graph, how):
        return run(LCC(), graph, **how)
    from tgraph.kernels.cpu.lcc import clustering_coefficients

    with Task("LCC", graph, how) as task:
        rows = task.rows("out")[:2]
        reverse = task.rows("in")[:2] if graph.directed else None
        watch = task.watch("vertices", graph.num_vertices)
        return task.result({"coefficients": clustering_coefficients(rows, reverse, graph.is_sorted, watch)})


def _count_directions(graph: Graph, half: HalfEdges) -> Tensor:
    """Return in how many directions, 1 or 2, each of the half's edges leads, `[H] int64`."""
    runtime, count = graph.runtime, graph.num_vertices
    if not graph.directed:
        return runtime.full(half.rows.num_arcs, 2, "int64")
    simple = graph.simplify()
    sources = runtime.repeat_interleave(runtime.arange(0, count, "int64"), simple.out_degrees(), simple.num_arcs)
    keys = sources * count + simple.out_targets
    sizes = runtime.full(half.rows.num_arcs, 0, "int64")
    for wanted in (half.keys, half.targets * count + half.sources):
        found = runtime.minimum(runtime.searchsorted(keys, wanted), simple.num_arcs - 1)
        sizes = sizes + runtime.astype(runtime.index_select(keys, found) == wanted, "int64")
    return sizes
