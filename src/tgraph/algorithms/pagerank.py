"""PageRank: how often a random surfer visits each vertex.

Returns: ranks, float64 unless asked for float32, which sum to 1; `residual`, the L1 change of the last iteration.
Technique: the surfer follows an edge with probability `damping` and jumps elsewhere otherwise; where there is no edge
to follow, it always jumps: the mass of such dangling vertices is spread like the jumps. Iteration over all vertices,
new ranks used at once where a compiled kernel runs (Gauss-Seidel by blocks), and on undirected graphs longer steps
where that is slow (Chebyshev's semi-iteration), until the L1 change of an iteration is at most `tol_l1`, absolute,
whatever the number of vertices. With `tol_l1=0` it is the power iteration, as often as `max_iterations` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Unpack

import numpy as np

from tgraph.dtypes import as_number
from tgraph.elementwise import where
from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor

SMALLEST_SHARE = 1e-9  # of the jumps that must reach vertices with edges


class PageRank(Program):
    """Ranks with damping, and jumps that go everywhere alike.

    `parts [V]` says which part of a rank goes along each edge, 0 = dangling. `total` is what jumps carry: a share of
    every rank, all of a dangling one. With `settles`, new ranks are used at once and only their proportions count until
    the end. A vertex without any edge, for which `parts` is -1 then, has nothing but its share of the jumps, in every
    iteration; what it adds to them is known and put into the shares of the others.
    """

    reduce, active, linear, by_parts = "sum", "all", True, True

    def __init__(self, damping: float, tol_l1: float, settles: bool = False, dtype: str = "float64") -> None:
        self.damping, self.tolerance, self.asynchronous, self.dtype = damping, tol_l1, settles, dtype

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        self.evenly = 1.0 / max(graph.num_vertices, 1)
        parts = self._find_parts(graph)
        self.all_of_it = 1.0
        if self.asynchronous:
            parts = self._leave_out_isolated(graph, parts)
        self.share = (1.0 - self.damping) * self.all_of_it
        return {"ranks": graph.full(self.evenly, self.dtype), "parts": parts}, None

    def message(self, ranks: Tensor, parts: Tensor) -> Tensor:
        return ranks * parts

    def total(self, ranks: Tensor, parts: Tensor) -> Tensor:
        return where(parts > 0, ranks * self.share, where(parts < 0, 0.0, ranks * self.all_of_it))

    def update(self, incoming: Tensor, total: Tensor) -> Tensor:
        return self.damping * incoming + total * self.evenly

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        ranks = fields["ranks"]
        if not self.asynchronous or not graph.num_vertices:
            return {"ranks": ranks}
        return {"ranks": ranks / graph.total(ranks)}

    def _find_parts(self, graph: Graph) -> Tensor:
        return edge_parts(graph, self.dtype)

    def _leave_out_isolated(self, graph: Graph, parts: Tensor) -> Tensor:
        """Mark the vertices without edges, and let the others carry what these add to the jumps."""
        runtime = graph.runtime
        isolated = runtime.nonzero(parts == 0)
        if not isolated.shape[0] and not graph.is_sharded:
            return parts
        if graph.directed:
            has_no_edges = runtime.index_select(graph.in_degrees(), isolated) == 0
            isolated = runtime.mask_select(isolated, has_no_edges)
        elsewhere = 1.0 - self._jumps_to(isolated, graph)
        if elsewhere <= SMALLEST_SHARE:
            return parts
        self.all_of_it = 1.0 / elsewhere
        return runtime.index_put(parts, isolated, -1.0)

    def _jumps_to(self, vertices: Tensor, graph: Graph) -> float:
        return graph.total(graph.runtime.asarray(np.asarray([vertices.shape[0]]))) * self.evenly


class WeightedPageRank(PageRank):
    """Edges are followed in proportion to their weights; `parts` holds the sums of the outgoing ones."""

    def message(self, ranks: Tensor, parts: Tensor, weight: Tensor) -> Tensor:  # type: ignore[override]
        return ranks * weight / where(parts > 0, parts, 1.0)

    def _find_parts(self, graph: Graph) -> Tensor:
        return out_strengths(graph, self.dtype)


class PersonalizedPageRank(PageRank):
    """`jumps [V]`, with a sum of 1, is where the surfer jumps to."""

    by_parts = False
    jumps: Array

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        fields, active = super().init(graph)
        return {**fields, "jumps": graph.runtime.asarray(self.jumps, self.dtype)}, active

    def update(self, jumps: Tensor, incoming: Tensor, total: Tensor) -> Tensor:  # type: ignore[override]
        return self.damping * incoming + total * jumps

    def _jumps_to(self, vertices: Tensor, graph: Graph) -> float:
        return float(self.jumps[graph.runtime.to_numpy(vertices)].sum())


class PersonalizedWeightedPageRank(PersonalizedPageRank, WeightedPageRank):
    """Edges are followed in proportion to their weights, and jumps go to some vertices more than to others."""


class StandingPageRank(PersonalizedPageRank):
    """Ranks that other ranks can stand in for at the start: they sum to 1 at the fixed point wherever they begin.

    What jumps carry beside the mass of dangling vertices is a number, so that a sweep from any ranks leads there.
    `find_jumps(graph)` gives the shares of the jumps, which sum to 1.
    """

    def __init__(self, damping: float, tol_l1: float, find_jumps: Callable[[Graph], Array]) -> None:
        super().__init__(damping, tol_l1)
        self.find_jumps, self.rest = find_jumps, 1.0 - damping

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        jumps = self.find_jumps(graph)
        return {"ranks": jumps.copy(), "parts": self._find_parts(graph), "jumps": jumps}, None

    def total(self, ranks: Tensor, parts: Tensor) -> Tensor:
        return where(parts > 0, 0.0, ranks * self.damping)

    def update(self, jumps: Tensor, incoming: Tensor, total: Tensor) -> Tensor:  # type: ignore[override]
        return self.damping * incoming + (total + self.rest) * jumps


@recorded
def pagerank(
    graph: Graph,
    damping: float = 0.85,
    tol_l1: float = 1e-6,
    max_iterations: int = 100,
    *,
    personalization: Mapping[Any, float] | Array | Tensor | None = None,
    weighted: bool = False,
    dtype: str = "float64",
    **how: Unpack[How],
) -> Result:
    """Rank the vertices by how often a random surfer visits them.

    Args:
        graph: Any graph.
        damping: The probability of following an edge, from 0 to 1.
        tol_l1: Stop when the ranks' absolute change, summed over all vertices, is not above this.
        max_iterations: Stop after this many iterations; `converged` says whether the tolerance was reached.
        personalization: Where the surfer jumps to: a mapping from the user's ids to weights (0 where it has none), or
            one weight per vertex. Evenly unless given.
        weighted: Whether an edge is followed in proportion to its weight; else all edges of a vertex alike.
        dtype: `float64`, or `float32`: half the memory and about 7 digits; `tol_l1` below 1e-6 may then not be reached.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `ranks`, which sum to 1, `residual` and `converged`.

    >>> import tgraph as tg
    >>> result = tg.pagerank(tg.from_edges([0, 1, 2, 3], [1, 0, 0, 0]), max_iterations=200)
    >>> [round(rank, 4) for rank in result.ranks.tolist()], result.converged
    ([0.4797, 0.4453, 0.0375, 0.0375], True)
    """
    if not 0.0 <= as_number(damping) <= 1.0:
        raise InvalidArgumentError(f"damping={damping!r} must be from 0 to 1")
    if not as_number(tol_l1) >= 0.0:
        raise InvalidArgumentError(f"tol_l1={tol_l1!r} must be 0 or more")
    check_choice("dtype", dtype, ("float64", "float32"))
    if weighted:
        check_weights(graph, "pagerank")
    arguments = float(damping), float(tol_l1), tol_l1 > 0, dtype
    if personalization is None:
        program = (WeightedPageRank if weighted else PageRank)(*arguments)
    else:
        program = personalized = (PersonalizedWeightedPageRank if weighted else PersonalizedPageRank)(*arguments)
        personalized.jumps = jump_shares(graph, personalization)
    return run(program, graph, max_iterations=max_iterations, **how)


def edge_parts(graph: Graph, dtype: str = "float64") -> Tensor:
    """Return the part of a vertex that goes along each of its outgoing edges, 0 where there is none."""
    runtime = graph.runtime
    degrees = runtime.astype(graph.out_degrees(), dtype)
    dangling = runtime.nonzero(degrees == 0)
    return 1.0 / (runtime.index_put(degrees, dangling, math.inf) if dangling.shape[0] else degrees)


def out_strengths(graph: Graph, dtype: str = "float64") -> Tensor:
    """Return the sum of the outgoing weights of every vertex."""
    runtime = graph.runtime
    sums = runtime.segment_reduce(runtime.astype(graph.weights, "float64"), graph.out_offsets, "sum")
    return runtime.asarray(sums, dtype)  # weights may be elsewhere than vertex data


def check_weights(graph: Graph, algorithm: str) -> None:
    """Raise unless every edge has a weight that can divide or multiply scores."""
    if graph.weights is None:
        raise InvalidArgumentError("weighted=True needs a graph with weights; this one has none")
    low, high, num_nan = graph.weight_range
    if num_nan or low < 0 or high == math.inf:
        weights = graph.runtime.to_numpy(graph.weights)
        edge = int(np.argmax(~(np.isfinite(weights) & (weights >= 0))))
        limit = f"{algorithm} needs finite weights of 0 or more, or use weighted=False"
        raise InvalidArgumentError(f"weights holds {weights[edge]} at edge {edge}; {limit}")


def jump_shares(graph: Graph, personalization: Any) -> Array:
    """Return the shares of the jumps, which sum to 1."""
    if isinstance(personalization, Mapping):
        shares = np.zeros(graph.num_vertices)
        shares[graph.vertices_of(list(personalization))] = [as_number(value) for value in personalization.values()]
    else:
        shares = np.array(graph.runtime.to_numpy(graph.runtime.asarray(personalization)), np.float64)
    if shares.shape != (graph.num_vertices,):
        wanted = f"give one weight for each of the {graph.num_vertices} vertices"
        raise InvalidArgumentError(f"personalization has shape {shares.shape}; {wanted}")
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise InvalidArgumentError("personalization needs finite weights of 0 or more, at least one above 0")
    normalized: Array = shares / shares.sum()
    return normalized
