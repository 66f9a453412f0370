"""Triangles: three vertices that are all joined.

Returns: triangles, int64: how many each vertex is in; `total`: how many there are.
Technique: every edge is kept once, at its end of lower degree; neighbours are marked, and the marks are met along the
neighbours' rows, many at once among hubs (Latapy 2008; `tgraph.kernels.cpu.triangles`). Where that kernel does not
serve, every path of two kept edges is closed by a search among all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

from tgraph.graph import Adjacency, Graph
from tgraph.operators import split_by_edges
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels


class Triangles(Program):
    """Count the triangles of every vertex in one step. Needs all edges in memory."""

    along = "both"

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"triangles": graph.full(0, "int64")}, None

    def compute(self, state: State, edges: Edges) -> float:
        """Add 1 to the three vertices of every triangle."""
        runtime, counts = edges.graph.runtime, state.fields["triangles"]
        half = HalfEdges.of(edges.graph.symmetrize().simplify())
        for high_middle, middle_low, _ in half.triangles():
            corners = (
                runtime.index_select(half.sources, high_middle),
                runtime.index_select(half.sources, middle_low),
                runtime.index_select(half.targets, middle_low),
            )
            for vertices in corners:
                counts = runtime.scatter_reduce(counts, vertices, vertices, "count")
        state.fields["triangles"] = counts
        return 0.0


@dataclass(repr=False)
class TriangleCounts(Result):
    """A result with `triangles` of every vertex and their `total`."""

    @property
    def total(self) -> int:
        """How many triangles the graph has; each is counted at three vertices."""
        return int(self.to_numpy().sum()) // 3

    def to(self, runtime: str | None = None, device: str | None = None) -> TriangleCounts:
        """Return the result with its tensors and its graph on another runtime or device."""
        return TriangleCounts(**vars(super().to(runtime, device)))


@recorded
def triangles(graph: Graph, **how: Unpack[How]) -> TriangleCounts:
    """Count the triangles that every vertex is in.

    Edges have no direction here; self-loops and repeated edges do not count. The answer is exact and does not depend on
    the number of threads.

    Args:
        graph: Any graph; weights do not count.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `triangles`, one count per vertex, and `total`, the number of triangles.

    >>> import tgraph as tg
    >>> result = triangles(tg.from_edges([0, 0, 1, 2], [1, 2, 2, 3]))
    >>> result.triangles.tolist(), result.total
    ([1, 1, 1, 0], 1)
    """
    if not uses_kernels(graph, how):
        return TriangleCounts(**vars(run(Triangles(), graph, **how)))
    from tgraph.kernels.cpu.triangles import count_triangles

    with Task("Triangles", graph, how) as task:
        rows = task.rows("out")[:2]
        reverse = task.rows("in")[:2] if graph.directed else None
        counts = count_triangles(rows, reverse, graph.is_sorted, task.watch("vertices", graph.num_vertices))
        return TriangleCounts(**vars(task.result({"triangles": counts})))


@dataclass(frozen=True)
class HalfEdges:
    """Every edge of a simple undirected graph once, at its end of lower degree; edges are known by their positions."""

    rows: Adjacency  # [V]: the neighbours of higher degree
    sources: Tensor  # [H]
    keys: Tensor  # [H]: source * V + target, ascending

    @classmethod
    def of(cls, simple: Graph) -> HalfEdges:
        """Return half of a graph whose rows ascend, without self-loops and repeated edges."""
        runtime, count, degrees = simple.runtime, simple.num_vertices, simple.out_degrees()
        numbers = runtime.arange(0, count, "int64")
        ranks = runtime.index_put(runtime.full(count, 0, "int64"), runtime.argsort(-degrees), numbers)
        sources = runtime.repeat_interleave(numbers, degrees, simple.num_arcs)
        kept = runtime.index_select(ranks, simple.out_targets) < runtime.index_select(ranks, sources)
        sources = runtime.mask_select(sources, kept)
        targets = runtime.mask_select(runtime.astype(simple.out_targets, "int64"), kept)
        sizes = runtime.scatter_reduce(runtime.full(count, 0, "int64"), sources, sources, "count")
        offsets = runtime.concatenate([runtime.full(1, 0, "int64"), runtime.cumsum(sizes)])
        return cls(Adjacency(runtime, offsets, targets, None), sources, sources * count + targets)

    @property
    def targets(self) -> Tensor:
        """`[H]`: the end of higher degree."""
        return self.rows.neighbors

    def triangles(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield all triangles in blocks, as positions of three edges: high to middle, middle to low, high to low."""
        runtime, count = self.rows.runtime, self.rows.num_vertices
        num_paths = int(runtime.item(runtime.reduce(runtime.index_select(self.rows.degrees(), self.targets), "sum")))
        start = 0
        for block in split_by_edges(self.rows, self.targets, num_paths):  # a row of it is the path behind one edge
            end = start + int(block.offsets.shape[0]) - 1
            firsts = block.expand(runtime.arange(start, end, "int64"))
            wanted = runtime.index_select(self.sources, firsts) * count + block.neighbors
            closing = runtime.minimum(runtime.searchsorted(self.keys, wanted), self.rows.num_arcs - 1)
            is_closed = runtime.index_select(self.keys, closing) == wanted
            edges = (firsts, block.edge_positions, closing)
            first, second, third = (runtime.mask_select(positions, is_closed) for positions in edges)
            yield first, second, third
            start = end
