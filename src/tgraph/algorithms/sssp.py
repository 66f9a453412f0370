"""Single-source shortest paths with weights of 0 or more.

Returns: distances, inf = not reached; parents, vertex numbers, the source is its own, -1 = not reached.
Technique: a vertex whose distance fell tells its neighbours, the nearest first: in buckets of distance where a compiled
kernel runs (delta-stepping: Meyer, Sanders 2003), else all at once (Bellman-Ford on a frontier). Distances are float64;
integer weights so large that float64 could round a sum are added in int64 (2^63 - 1 = not reached).
Parents form a tree also where edges weigh 0: among the neighbours on a shortest path, one with the fewest edges from
the source is taken, the smallest of those.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from tgraph import runtime
from tgraph.algorithms.bfs import UNREACHED, Parents, SharedParents, add_parents
from tgraph.dtypes import identity
from tgraph.elementwise import minimum, where
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor

EXACT_IN_FLOAT64 = 2**53
LARGEST_INT32, LARGEST_INT64 = 2**31 - 1, 2**63 - 1


class SSSP(Program):
    """Distances from one source vertex (a vertex number), added up in float64, int64, or int32 where that is exact."""

    reduce, monotonic, by_parts = "min", True, True

    def __init__(self, source: int, dtype: str = "float64") -> None:
        self.source, self.dtype = source, dtype
        self.unreached = identity("min", dtype)

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], Tensor]:
        distances = graph.full(self.unreached, self.dtype, at={self.source: 0})
        return {"distances": distances}, graph.full(False, "bool", at={self.source: True})

    def message(self, distances: Tensor, weight: Tensor) -> Tensor:
        return where(distances < self.unreached, distances + weight, self.unreached)

    def update(self, distances: Tensor, incoming: Tensor) -> Tensor:
        return minimum(distances, incoming)

    def priority(self, distances: Tensor) -> Tensor:
        return distances

    def bucket_width(self, graph: Graph) -> float:
        """Return a typical weight, less the more neighbours a vertex has: few of its edges then stay in its bucket.

        Much narrower buckets are more rounds than work, much wider ones settle vertices too early and again. The
        square comes from measurements: vertices with many neighbours have most of the edges.
        """
        low, high, _ = graph.weight_range
        largest = float(high) if high < math.inf else max(1.0, float(low))
        degree = max(graph.num_arcs, 1) / max(graph.num_vertices, 1)
        return max((float(low) + largest) / 2 * 12 / degree**2, float(low) if low < math.inf else 0.0, 1e-300)

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        if self.dtype != "int32":
            return fields
        distances = fields["distances"]
        exact = graph.runtime.astype(distances, "float64")
        return {"distances": where(distances < self.unreached, exact, math.inf)}


class ShortestPathHops(Program):
    """The fewest edges of a shortest path to every vertex: a search along edges that lie on shortest paths."""

    reduce, monotonic, by_parts = "min", True, True

    def __init__(self, source: int, distances: Tensor) -> None:
        self.source, self.distances = source, distances
        self.unreached = identity("min", runtime.of(distances).dtype(distances))

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], Tensor]:
        hops = graph.full(UNREACHED, "int32", at={self.source: 0})
        return {"hops": hops, "distances": self.distances}, graph.full(False, "bool", at={self.source: True})

    def message(self, hops: Tensor, distances: Tensor, target_distances: Tensor, weight: Tensor) -> Tensor:
        is_tight = (distances + weight == target_distances) & (target_distances < self.unreached)
        return where(is_tight, hops + 1, UNREACHED)

    def update(self, hops: Tensor, incoming: Tensor) -> Tensor:
        return minimum(hops, incoming)


class ShortestPathParents(Parents):
    """For every vertex, its smallest neighbour on a shortest path with the fewest edges."""

    def __init__(self, hops: Tensor, distances: Tensor) -> None:
        super().__init__(hops)
        self.distances = distances

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        fields, _ = super().init(graph)
        return {**fields, "distances": self.distances}, None

    def message(  # type: ignore[override]
        self,
        levels: Tensor,
        target_levels: Tensor,
        distances: Tensor,
        target_distances: Tensor,
        weight: Tensor,
        source: Tensor,
    ) -> Tensor:
        is_parent = (levels < UNREACHED) & (target_levels == levels + 1) & (distances + weight == target_distances)
        return where(is_parent, source, self.nobody)


@recorded
def sssp(
    graph: Graph, source: Any, *, parents: bool = True, max_iterations: int | None = None, **how: Unpack[How]
) -> Result:
    """Find the shortest distance from `source` to every vertex, and its parent on such a path.

    Args:
        graph: Weights must be 0 or more; without weights every edge counts 1. An infinite weight bars an edge.
        source: A vertex, by the user's id.
        parents: Whether to find `parents` too, with another search along shortest paths.
        max_iterations: Stop after this many rounds; distances may then be too long. None = no limit.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `distances` (inf = not reached) and `parents` (vertex numbers; -1 = not reached).

    >>> import tgraph as tg
    >>> result = tg.sssp(tg.from_edges([0, 0, 1], [1, 2, 2], [5.0, 9.0, 2.0]), source=0)
    >>> result.distances.tolist(), result.parents.tolist()
    ([0.0, 5.0, 7.0], [0, 0, 1])
    """
    start = graph.vertex_of(source)
    dtype = _distance_dtype(graph)
    result = run(SSSP(start, dtype), graph, max_iterations=max_iterations, **how)
    if parents and graph.is_compressed:
        add_parents(result, SharedParents(_levels(result)), start, how)
    elif parents:
        hops = run(ShortestPathHops(start, result.distances), result.graph, **how).values
        add_parents(result, ShortestPathParents(hops, result.distances), start, how)
    return result


def _levels(result: Result) -> Tensor:
    """Return the distances of a graph without weights as numbers of edges, -1 = not reached."""
    reached = result.distances < math.inf
    return result.graph.runtime.astype(where(reached, result.distances, -1), "int64")


def _distance_dtype(graph: Graph) -> str:
    """Check the weights and return the smallest type in which their sums are exact."""
    low, high, num_nan = graph.weight_range
    if num_nan:
        edge = int(np.argmax(np.isnan(graph.runtime.to_numpy(graph.weights))))
        raise InvalidArgumentError(f"weights holds NaN at edge {edge}; sssp needs numbers, use inf to bar an edge")
    if low < 0:
        edge = int(graph.runtime.to_numpy(graph.weights).argmin())
        needs = "sssp needs weights of 0 or more, use inf to bar an edge"
        raise InvalidArgumentError(f"weights holds {low} at edge {edge}; {needs}")
    if isinstance(high, float):
        return "float64"
    longest = high * graph.num_vertices
    if longest > LARGEST_INT64:
        limit = LARGEST_INT64 // graph.num_vertices
        raise InvalidArgumentError(f"weights holds {high}; a path could pass 2^63, use weights up to {limit}")
    if longest <= LARGEST_INT32 // 2:
        return "int32"
    return "int64" if longest > EXACT_IN_FLOAT64 else "float64"
