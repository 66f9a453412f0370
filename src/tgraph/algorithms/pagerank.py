"""PageRank: how often a random surfer visits each vertex.

Returns: ranks, float64 unless asked for float32, which sum to 1; `residual`, the L1 change of the last iteration.
Technique: the surfer follows an edge with probability `damping` and jumps elsewhere otherwise; where there is no edge
to follow, it always jumps: the mass of such dangling vertices is spread like the jumps. Iteration over all vertices,
new ranks used at once where a compiled kernel runs (Gauss-Seidel by blocks), until the L1 change of an iteration is at
most `tol_l1`, absolute, whatever the number of vertices. With `tol_l1=0` it is the power iteration, as often as
`max_iterations` says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from tgraph.elementwise import where
from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.run import How, run
from tgraph.runtime import Array, Tensor

SMALLEST_SHARE = 1e-9  # of the jumps that must reach vertices with edges


class PageRank(Program):
    """Ranks with damping; `jumps [V]` is where the surfer jumps to, with a sum of 1."""

    reduce, active = "sum", "all"

    weighted = False

    def __init__(self, damping: float, tol_l1: float, jumps: Array | None = None, dtype: str = "float64") -> None:
        self.damping, self.tolerance, self.jumps, self.dtype = damping, tol_l1, jumps, dtype

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        uniform = 1.0 / max(graph.num_vertices, 1)
        jumps = graph.full(uniform, self.dtype) if self.jumps is None else graph.runtime.asarray(self.jumps, self.dtype)
        strengths = out_strengths(graph, self.weighted, self.dtype)
        return {"ranks": graph.full(uniform, self.dtype), "strengths": strengths, "jumps": jumps}, None

    def message(self, ranks: Tensor, strengths: Tensor) -> Tensor:
        return ranks / where(strengths > 0, strengths, 1.0)

    def total(self, ranks: Tensor, strengths: Tensor) -> Tensor:
        return where(strengths > 0, 0.0, ranks)

    def update(self, jumps: Tensor, incoming: Tensor, total: Tensor) -> Tensor:
        return self.damping * (incoming + total * jumps) + (1.0 - self.damping) * jumps

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"ranks": fields["ranks"]}


class WeightedPageRank(PageRank):
    """Edges are followed in proportion to their weights."""

    weighted = True

    def message(self, ranks: Tensor, strengths: Tensor, weight: Tensor) -> Tensor:  # type: ignore[override]
        return ranks * weight / where(strengths > 0, strengths, 1.0)


class SettlingPageRank(PageRank):
    """The same ranks, reached sooner: new ranks are used at once, and only their proportions count until the end.

    `total` is what jumps carry: a share of every rank, all of a dangling one. A vertex without any edge has nothing but
    its part of the jumps, in every iteration; what it adds to them is known and put into the shares of the others.
    """

    asynchronous = True

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        fields, active = super().init(graph)
        runtime, jumps = graph.runtime, fields["jumps"]
        dangling = runtime.nonzero(fields["strengths"] == 0)
        isolated = dangling
        if graph.directed:
            has_no_edges = runtime.index_select(graph.in_degrees(), dangling) == 0
            isolated = runtime.mask_select(dangling, has_no_edges)
        elsewhere = 1.0 - float(runtime.item(runtime.reduce(runtime.index_select(jumps, isolated), "sum")))
        shares = self._shares(graph, dangling, isolated, elsewhere)
        return {**fields, "shares": shares}, active

    def _shares(self, graph: Graph, dangling: Tensor, isolated: Tensor, elsewhere: float) -> Tensor:
        """Return which part of its rank every vertex gives to the jumps."""
        runtime, is_known = graph.runtime, elsewhere > SMALLEST_SHARE
        factor = 1.0 / elsewhere if is_known else 1.0
        shares = graph.full((1.0 - self.damping) * factor, self.dtype)
        shares = runtime.index_put(shares, dangling, factor)
        return runtime.index_put(shares, isolated, 0.0) if is_known else shares

    def total(self, ranks: Tensor, shares: Tensor) -> Tensor:
        return ranks * shares

    def update(self, jumps: Tensor, incoming: Tensor, total: Tensor) -> Tensor:
        return self.damping * incoming + total * jumps

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        ranks, runtime = fields["ranks"], graph.runtime
        total = float(runtime.item(runtime.reduce(ranks, "sum")))
        return {"ranks": ranks / total if graph.num_vertices else ranks}


class WeightedSettlingPageRank(WeightedPageRank, SettlingPageRank):
    """Edges are followed in proportion to their weights, and new ranks are used at once."""


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
    if not 0.0 <= damping <= 1.0:
        raise InvalidArgumentError(f"damping={damping!r} must be from 0 to 1")
    if not tol_l1 >= 0.0:
        raise InvalidArgumentError(f"tol_l1={tol_l1!r} must be 0 or more")
    check_choice("dtype", dtype, ("float64", "float32"))
    if weighted:
        check_weights(graph, "pagerank")
    if weighted:
        kind: type[PageRank] = WeightedSettlingPageRank if tol_l1 > 0 else WeightedPageRank
    else:
        kind = SettlingPageRank if tol_l1 > 0 else PageRank
    program = kind(float(damping), float(tol_l1), _jump_shares(graph, personalization), dtype)
    return run(program, graph, max_iterations=max_iterations, **how)


def out_strengths(graph: Graph, weighted: bool, dtype: str = "float64") -> Tensor:
    """Return the sum of the outgoing weights of every vertex, or its number of outgoing edges."""
    runtime = graph.runtime
    if not weighted:
        return runtime.astype(graph.out_degrees(), dtype)
    sums = runtime.segment_reduce(runtime.astype(graph.weights, "float64"), graph.out_offsets, "sum")
    return runtime.astype(sums, dtype)


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


def _jump_shares(graph: Graph, personalization: Any) -> Array | None:
    """Return the shares of the jumps, which sum to 1; None = evenly."""
    if personalization is None:
        return None
    if isinstance(personalization, Mapping):
        shares = np.zeros(graph.num_vertices)
        shares[graph.vertices_of(list(personalization))] = list(personalization.values())
    else:
        shares = np.array(graph.runtime.to_numpy(graph.runtime.asarray(personalization)), np.float64)
    if shares.shape != (graph.num_vertices,):
        wanted = f"give one weight for each of the {graph.num_vertices} vertices"
        raise InvalidArgumentError(f"personalization has shape {shares.shape}; {wanted}")
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise InvalidArgumentError("personalization needs finite weights of 0 or more, at least one above 0")
    normalized: Array = shares / shares.sum()
    return normalized
