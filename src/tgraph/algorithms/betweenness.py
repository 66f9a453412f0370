"""Betweenness centrality: how much of all shortest paths passes through a vertex.

Returns: scores, float64: the sum over pairs of other vertices of the share of their shortest paths that contain it.
Technique: one search from every source counts shortest paths, and walking back adds up the shares (Brandes 2001). The
compiled kernel (`tgraph.kernels.cpu.betweenness`) never loses a path to overflow; the plain form keeps path counts
relative to the largest of their level, and takes those below 10^-300 of it as that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from tgraph.algorithms.sources import choose_sources
from tgraph.elementwise import maximum, where
from tgraph.graph import Graph
from tgraph.graph.check import rows_ascend
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor
from tgraph.task import Task, uses_kernels

LEAST = 1e-300  # of the largest number of paths in a level


class Betweenness(Program):
    """Every vertex adds up its shares of the shortest paths from some sources (vertex numbers), one per iteration."""

    def __init__(self, sources: Array) -> None:
        self.sources = sources

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"scores": graph.full(0.0, "float64")}, None

    def is_done(self, iteration: int, residual: float) -> bool:
        return iteration >= self.sources.size

    def compute(self, state: State, edges: Edges) -> float:
        """Add the shares of the next source."""
        levels, counts, paths, depth = self._count_paths(int(self.sources[state.iteration]), edges)
        shares = edges.graph.full(0.0, "float64")
        for level in range(depth, 1, -1):
            sent = where(levels == level, (shares + 1.0) / paths, 0.0)
            shares = where(levels == level - 1, counts * edges.aggregate(sent, "sum", along="in"), shares)
        state.fields["scores"] = state.fields["scores"] + shares
        return 0.0

    def _count_paths(self, source: int, edges: Edges) -> tuple[Tensor, Tensor, Tensor, int]:
        """Return levels, path counts relative to the largest of the level, and to that of the level before."""
        graph, runtime, depth = edges.graph, edges.graph.runtime, 0
        levels = graph.full(-1, "int64", at={source: 0})
        counts, paths = graph.full(0.0, "float64", at={source: 1.0}), graph.full(1.0, "float64")
        while True:
            totals = edges.aggregate(where(levels == depth, counts, 0.0), "sum")
            totals = where(levels < 0, totals, 0.0)
            largest = float(runtime.item(runtime.reduce(totals, "max")))
            if largest == 0.0:
                return levels, counts, paths, depth
            depth += 1
            found = totals > 0.0
            levels, paths = where(found, depth, levels), where(found, totals, paths)
            counts = where(found, maximum(totals / largest, LEAST), counts)


@recorded
def betweenness(
    graph: Graph,
    *,
    sources: Iterable[Any] | None = None,
    samples: int | None = None,
    seed: int = 0,
    normalized: bool = True,
    **how: Unpack[How],
) -> Result:
    """Find how much of the shortest paths between other vertices passes through each vertex.

    Edges count without their weights, self-loops do not matter, and a repeated edge counts once. The values are those
    of `networkx.betweenness_centrality` on the simple graph, and the same on any number of threads.

    Args:
        graph: Paths follow the edges in their direction. An undirected pair counts once, a directed one both ways.
        sources: Only paths that start from these vertices (the user's ids); the scores are the part of the exact ones
            that these add. None = all vertices.
        samples: Estimate the scores of all paths from this many random sources. The scores of the sources themselves
            rest on one source less: for `samples=1` that score is NaN.
        seed: The same seed draws the same sources.
        normalized: Divide by the number of pairs of other vertices.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `scores`.

    >>> import tgraph as tg
    >>> betweenness(tg.from_edges([0, 1, 1], [1, 2, 3]), normalized=False).scores.tolist()
    [0.0, 2.0, 0.0, 0.0]
    """
    chosen = choose_sources(graph, sources, samples, seed)
    scale = scale_of(graph, chosen if samples is not None else None, normalized)
    if not uses_kernels(graph, how):
        found = run(Betweenness(chosen), graph.simplify(), max_iterations=None, **how)
        runtime = found.graph.runtime
        fields = {"scores": runtime.asarray(runtime.to_numpy(found.scores) * scale)}
        return Result("Betweenness", found.graph, fields, found.trace, found.converged)
    from tgraph.kernels.cpu.betweenness import path_shares

    with Task("Betweenness", graph, how) as task:
        ascending = _ascending(task.graph)
        out_rows, in_rows = (ascending.adjacency(along).to_numpy()[:2] for along in ("out", "in"))
        scores = path_shares(out_rows, in_rows, chosen, task.watch("sources", chosen.size))
        scores *= scale
        return task.result({"scores": scores})


def _ascending(graph: Graph) -> Graph:
    """Return the graph itself if equal neighbours lie side by side in its rows, else one without them."""
    if graph.is_sorted and (not graph.directed or rows_ascend(*graph.adjacency("in").to_numpy()[:2])):
        return graph
    return graph.simplify()


def scale_of(graph: Graph, sampled: Array | None, normalized: bool) -> Array | float:
    """Return what to multiply sums over sources with: one number, or one per vertex if the sources are a sample."""
    others = graph.num_vertices - 1  # a pair has so many possible sources, and one less possible targets
    if others < 2:
        return 1.0
    pairs = 1.0 / (others * (others - 1)) if normalized else 1.0 if graph.directed else 0.5
    if sampled is None:
        return pairs
    scale = np.full(graph.num_vertices, pairs * others / sampled.size)
    scale[sampled] = pairs * others / (sampled.size - 1) if sampled.size > 1 else np.nan
    return scale
