"""Closeness centrality: how near a vertex is to all that can reach it.

Returns: scores, float64: the inverse of the mean distance from those who reach the vertex, times their part of all
other vertices (Wasserman, Faust 1994); with `harmonic` the sum of 1 / distance.
Technique: breadth-first searches from 128 sources at once, a bit for each (Then et al. 2014, `tgraph.kernels.cpu.
multi_source`), in deep graphs one after another on every thread (`separate_searches`); with `samples` from random
sources only (Eppstein, Wang 2004).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from tgraph.algorithms.sources import choose_sources, distinct_vertices
from tgraph.elementwise import where
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor
from tgraph.task import Task, uses_kernels


class Closeness(Program):
    """Distances from some sources (vertex numbers), one search per iteration, added up at the vertices they reach.

    With `at_sources` searches go against the edges, and what they find is added up at the source.
    """

    def __init__(self, sources: Array, at_sources: bool) -> None:
        self.sources, self.at_sources = sources, at_sources

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        counts, totals = graph.full(0, "int64"), graph.full(0, "int64")
        return {"counts": counts, "totals": totals, "inverses": graph.full(0.0, "float64")}, None

    def is_done(self, iteration: int, residual: float) -> bool:
        return iteration >= self.sources.size

    def compute(self, state: State, edges: Edges) -> float:
        """Add the distances of the next source."""
        graph, fields, runtime = edges.graph, state.fields, edges.graph.runtime
        source = graph.full(False, "bool", at={int(self.sources[state.iteration]): True})
        found, reached, depth = source, source, 0
        while True:
            depth += 1
            found = edges.aggregate(found, "any", along="in" if self.at_sources else "out") & ~reached
            reached = reached | found
            number = int(runtime.item(runtime.reduce(runtime.astype(found, "int64"), "sum")))
            if number == 0:
                return 0.0
            there, times = (source, number) if self.at_sources else (found, 1)
            fields["counts"] = fields["counts"] + where(there, times, 0)
            fields["totals"] = fields["totals"] + where(there, times * depth, 0)
            fields["inverses"] = fields["inverses"] + where(there, times / depth, 0.0)


@recorded
def closeness(
    graph: Graph,
    *,
    vertices: Iterable[Any] | None = None,
    samples: int | None = None,
    seed: int = 0,
    harmonic: bool = False,
    **how: Unpack[How],
) -> Result:
    """Find how near each vertex is to the vertices that can reach it, in edges.

    The values are those of `networkx.closeness_centrality`, or of `networkx.harmonic_centrality`, and the same on any
    number of threads. Turn the graph around (`graph.reverse()`) for the distances to others.

    Args:
        graph: Paths follow the edges in their direction. Weights are ignored.
        vertices: Only these vertices (the user's ids) get a score, the others NaN. None = all.
        samples: Estimate the scores of all vertices from their distances to this many random vertices. A vertex whose
            only sample is itself gets NaN.
        seed: The same seed draws the same vertices.
        harmonic: Add up 1 / distance instead.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `scores`.

    >>> import tgraph as tg
    >>> closeness(tg.from_edges([0, 1, 1], [1, 2, 3], directed=False)).scores.tolist()
    [0.6, 1.0, 0.6, 0.6]
    """
    if vertices is not None and samples is not None:
        raise InvalidArgumentError(f"vertices and samples={samples} are both given; give one of them")
    at_sources = vertices is not None
    if vertices is None:
        chosen = choose_sources(graph, None, samples, seed)
    else:
        chosen = distinct_vertices(graph, "vertices", vertices)
    if not uses_kernels(graph, how):
        found = run(Closeness(chosen, at_sources), graph, max_iterations=None, **how)
        columns = [found.column(name) for name in ("counts", "totals", "inverses")]
        scores = scores_of(graph, columns, chosen, at_sources, harmonic)
        fields = {"scores": found.graph.runtime.asarray(scores)}
        return Result("Closeness", found.graph, fields, found.trace, found.converged)
    from tgraph.kernels.cpu.multi_source import reach_of_sources, reach_of_vertices

    with Task("Closeness", graph, how) as task:
        out_rows, in_rows = task.rows("out")[:2], task.rows("in")[:2]
        watch = task.watch("sources", chosen.size)
        if at_sources:
            columns = [np.zeros(graph.num_vertices, dtype) for dtype in ("int64", "int64", "float64")]
            for column, part in zip(columns, reach_of_sources(in_rows, out_rows, chosen, watch), strict=True):
                column[chosen] = part
        else:
            columns = list(reach_of_vertices(out_rows, in_rows, chosen, watch))
        return task.result({"scores": scores_of(graph, columns, chosen, at_sources, harmonic)})


def scores_of(graph: Graph, columns: list[Array], chosen: Array, at_sources: bool, harmonic: bool) -> Array:
    """Return the scores for `columns`: how many others were found, the sums of their distances and of the inverses.

    Unless these were found `at_sources`, they rest on distances to the chosen vertices only.
    """
    counts, totals, inverses = columns
    others = graph.num_vertices - 1
    looked_at = np.full(graph.num_vertices, others if at_sources else chosen.size)
    if not at_sources:
        looked_at[chosen] -= 1
    if harmonic:
        scores = inverses * (others / np.maximum(looked_at, 1))
    else:
        scores = counts / np.maximum(totals, 1) * (counts / np.maximum(looked_at, 1))
    known = looked_at >= min(1, others)
    if at_sources:
        known = np.zeros(graph.num_vertices, bool)
        known[chosen] = True
    return np.where(known, scores, np.nan)
