"""Core numbers: the largest k such that a vertex is in a part of the graph where all have at least k neighbours.

Returns: cores, int32.
Technique: peeling: vertices with the fewest neighbours go first and take their edges with them, on all threads, level
by level (Kabir, Madduri 2017; `tgraph.kernels.cpu.k_core`). Where that kernel does not serve, each iteration takes away
all vertices that are not above the level.
"""

from __future__ import annotations

from typing import Unpack

from tgraph.graph import Graph
from tgraph.operators import tensorize, vertex_select
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels

GONE = -1  # the degree of a vertex that was taken away


class KCore(Program):
    """Take away, in each iteration, the vertices with the fewest neighbours. Needs all edges in memory."""

    along = "both"

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        self.simple = graph.symmetrize().simplify()
        return {"cores": graph.full(0, "int32"), "degrees": graph.runtime.copy(self.simple.out_degrees())}, None

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Raise the level to the lowest degree, and take away who is not above it; return how many are left."""
        runtime, cores, degrees = edges.graph.runtime, state.fields["cores"], state.fields["degrees"]
        is_left = degrees != GONE
        lowest = runtime.reduce(runtime.mask_select(degrees, is_left), "min")
        level = runtime.maximum(lowest, runtime.reduce(runtime.astype(cores, "int64"), "max"))
        goes = is_left & (degrees <= level)
        state.fields["cores"] = runtime.where(is_left, runtime.astype(level, "int32"), cores)
        neighbors = tensorize(self.simple.adjacency("out"), vertex_select(runtime, goes)).neighbors
        lost = runtime.scatter_reduce(edges.graph.full(0, "int64"), neighbors, neighbors, "count")
        stays = is_left & (degrees > level)
        state.fields["degrees"] = runtime.where(stays, degrees - lost, GONE)
        return runtime.reduce(runtime.astype(stays, "int64"), "sum")

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"cores": fields["cores"]}


@recorded
def k_core(graph: Graph, **how: Unpack[How]) -> Result:
    """Find the core number of every vertex.

    The k-core is what is left when vertices with fewer than k neighbours are taken away until there are none; the core
    number of a vertex is the largest k whose core it is in. Edges have no direction here, also in a directed graph
    (where NetworkX adds incoming and outgoing edges); self-loops do not count and repeated edges count once. The answer
    does not depend on the number of threads.

    Args:
        graph: Any graph; weights do not count.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `cores`.

    >>> import tgraph as tg
    >>> k_core(tg.from_edges([0, 0, 1, 2], [1, 2, 2, 3])).cores.tolist()
    [2, 2, 2, 1]
    """
    if not uses_kernels(graph, how):
        return run(KCore(), graph, **how)
    from tgraph.kernels.cpu.k_core import core_numbers

    with Task("KCore", graph, how) as task:
        rows = task.rows("out")[:2]
        reverse = task.rows("in")[:2] if graph.directed else None
        watch = task.watch("vertices", graph.num_vertices)
        return task.result({"cores": core_numbers(rows, reverse, graph.is_sorted, watch)})
