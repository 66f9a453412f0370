"""Weakly connected components: which vertices can reach each other when edges are followed both ways.

Returns: labels, vertex numbers: the smallest vertex of the component.
Technique: trees of vertices are linked, a few edges of every vertex first, and the largest component then needs no more
(Afforest: Sutton, Ben-Nun, Barak 2018; `tgraph.kernels.cpu.components`). Where that kernel does not serve, labels fall
to the smallest one in sight, with pointer jumping so that a long path takes a logarithmic number of iterations (FastSV:
Zhang, Azad, Hu 2020). Ranks of a group link by themselves and then tell each other (`wcc_parts`). `message` and
`update` are the plain label propagation with the same fixed point, for engines that keep results current.
"""

from __future__ import annotations

from typing import Unpack

from tgraph.dtypes import index_dtype
from tgraph.elementwise import minimum
from tgraph.graph import CompressedGraph, Graph, shard
from tgraph.operators import changed_mask
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, placed, run, use_threads
from tgraph.runtime import Tensor
from tgraph.task import Task, in_group, may_use_kernels, streams_kernels, uses_kernels


class WCC(Program):
    """Every vertex learns the smallest vertex number of its component."""

    reduce, monotonic, along = "min", True, "both"
    vertex_fields = ("labels",)

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"labels": graph.runtime.arange(0, graph.num_vertices, index_dtype(graph.num_vertices))}, None

    def message(self, labels: Tensor) -> Tensor:
        return labels

    def update(self, labels: Tensor, incoming: Tensor) -> Tensor:
        return minimum(labels, incoming)

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Let each vertex, and the vertex that it points to, take the smallest grandparent among its neighbours."""
        runtime, labels = edges.graph.runtime, state.fields["labels"]
        grandparents = runtime.index_select(labels, labels)
        smallest = edges.aggregate(grandparents, "min", along="both")
        lowered = minimum(grandparents, smallest)
        hooked = runtime.scatter_reduce(runtime.copy(lowered), labels, lowered, "min")
        state.fields["labels"] = hooked
        return runtime.reduce(runtime.astype(changed_mask(labels, hooked), "int64"), "sum")


@recorded
def wcc(graph: Graph, *, max_iterations: int | None = None, **how: Unpack[How]) -> Result:
    """Find the component of every vertex; edge directions do not matter.

    Args:
        graph: Any graph.
        max_iterations: Pass labels along edges, this many times at most; they may then be too large. None = no limit.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `labels`: vertex numbers, the smallest vertex of the component.

    >>> import tgraph as tg
    >>> tg.wcc(tg.from_edges([0, 3, 2], [1, 2, 4])).labels.tolist()
    [0, 0, 2, 2, 2]
    """
    if in_group(graph) and max_iterations is None and how.get("checkpoint") is None and streams_kernels(how):
        return _link_ranks(graph, how)
    if graph.is_far and graph.runtime.device == "cpu" and max_iterations is None and streams_kernels(how):
        return _link_blocks(graph, how)
    if isinstance(graph, CompressedGraph) and max_iterations is None and may_use_kernels(graph, how):
        return _link_shared(graph, how)
    if max_iterations is not None or not uses_kernels(graph, how):
        return run(WCC(), graph, max_iterations=max_iterations, **how)
    from tgraph.kernels.cpu.components import smallest_connected

    with Task("WCC", graph, how) as task:
        offsets, targets, _ = task.rows("out")
        labels = smallest_connected(offsets, targets, not graph.directed, task.watch("vertices", graph.num_vertices))
        return task.result({"labels": labels}, vertex_fields=("labels",))


def _link_ranks(graph: Graph, how: How) -> Result:
    """Link the edges of every rank of a group by itself, and then their components."""
    from tgraph.algorithms.wcc_parts import link_parts

    with use_threads(how.get("threads")):
        return link_parts(shard(placed(graph, how)).whole())


def _link_shared(graph: CompressedGraph, how: How) -> Result:
    """Link the rows of a compressed graph as they are: a virtual vertex belongs to whom it connects."""
    from tgraph.kernels.cpu.components import smallest_connected

    with Task("WCC", graph, how, engine="compressed") as task:
        offsets, neighbors, _ = graph.rows.to_numpy()
        labels = smallest_connected(offsets, neighbors, False, task.watch("vertices", graph.num_vertices))
        return task.result({"labels": labels[: graph.num_vertices]}, vertex_fields=("labels",))


def _link_blocks(graph: Graph, how: How) -> Result:
    """Link every edge of a far graph while the edges pass by once."""
    from tgraph.kernels.cpu.components import BlockLinks

    with Task("WCC", graph, how, streams=True) as task:
        dtype = index_dtype(graph.num_vertices)
        links = BlockLinks(graph.num_vertices, dtype)
        for offsets, loaded in task.stream("out", graph.num_vertices * dtype.itemsize):
            links.add(offsets, loaded.block, loaded.neighbors, not graph.directed)
        task.record("link", graph.num_vertices, graph.num_arcs)
        return task.result({"labels": links.finish()}, vertex_fields=("labels",))
