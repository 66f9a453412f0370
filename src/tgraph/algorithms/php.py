"""Penalised hitting probability (PHP): how close is every vertex to one vertex, over all walks.

Returns: scores, float64, 1 at the source; `residual`, the L1 change of the last iteration.
Technique: walkers leave the source along edges in proportion to their weights; every step costs the factor `damping`,
and who comes back to the source ends there. The score of a vertex is the expected number of visits, discounted:
x(v) = damping * (the sum over incoming edges of x(u) * share of that edge), x(source) = 1 (Guan, Wu, Zhang, Singh, Yan
2011). A sum over all vertices until it changes no more; where a compiled kernel runs, new scores are used at once, and
on undirected graphs steps are made longer where that is slow (Chebyshev's semi-iteration). Damping below 1 makes it
converge.
"""

from __future__ import annotations

from typing import Any, Unpack

from tgraph.algorithms.pagerank import check_weights, edge_parts, out_strengths
from tgraph.dtypes import as_number
from tgraph.elementwise import where
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor


class PHP(Program):
    """Scores of all vertices with respect to one source (a vertex number); `parts` of them go along each edge."""

    reduce, active, asynchronous, linear = "sum", "all", True, True

    def __init__(self, source: int, damping: float, tol_l1: float) -> None:
        self.source, self.damping, self.tolerance = source, damping, tol_l1

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        start = graph.full(0.0, "float64", at={self.source: 1.0})
        fields = {"scores": start, "parts": self._find_parts(graph)}
        return {**fields, "is_source": graph.full(False, "bool", at={self.source: True})}, None

    def message(self, scores: Tensor, parts: Tensor) -> Tensor:
        return scores * parts

    def update(self, is_source: Tensor, incoming: Tensor) -> Tensor:
        return where(is_source, 1.0, self.damping * incoming)

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"scores": fields["scores"]}

    def _find_parts(self, graph: Graph) -> Tensor:
        return edge_parts(graph)


class WeightedPHP(PHP):
    """Edges are followed in proportion to their weights; `parts` holds the sums of the outgoing ones."""

    def message(self, scores: Tensor, parts: Tensor, weight: Tensor) -> Tensor:  # type: ignore[override]
        return scores * weight / where(parts > 0, parts, 1.0)

    def _find_parts(self, graph: Graph) -> Tensor:
        return out_strengths(graph)


@recorded
def php(
    graph: Graph,
    source: Any,
    damping: float = 0.8,
    tol_l1: float = 1e-6,
    max_iterations: int = 1000,
    *,
    weighted: bool = False,
    **how: Unpack[How],
) -> Result:
    """Score the vertices by how likely walks from `source` come by, long ones counting less.

    Args:
        graph: Edges are followed in their direction.
        source: A vertex, by the user's id.
        damping: The factor for every step, from 0 to less than 1.
        tol_l1: Stop when the scores' absolute change, summed over all vertices, is not above this.
        max_iterations: Stop after this many iterations; `converged` says whether the tolerance was reached.
        weighted: Whether an edge is followed in proportion to its weight; else all edges of a vertex alike.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `scores`, `residual` and `converged`.

    >>> import tgraph as tg
    >>> result = tg.php(tg.from_edges([0, 0, 1], [1, 2, 2]), source=0)
    >>> [round(score, 4) for score in result.scores.tolist()]  # rounded
    [1.0, 0.4, 0.72]
    """
    if not 0.0 <= as_number(damping) < 1.0:
        raise InvalidArgumentError(f"damping={damping!r} must be from 0 to less than 1")
    if not as_number(tol_l1) >= 0.0:
        raise InvalidArgumentError(f"tol_l1={tol_l1!r} must be 0 or more")
    if weighted:
        check_weights(graph, "php")
    kind = WeightedPHP if weighted else PHP
    program = kind(graph.vertex_of(source), float(damping), float(tol_l1))
    return run(program, graph, max_iterations=max_iterations, **how)
