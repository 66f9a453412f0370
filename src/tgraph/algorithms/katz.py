"""Katz centrality: a vertex counts as much as all walks that end at it, longer ones less.

Returns: scores, float64, of length 1 (the root of the sum of squares) unless `normalized=False`; `residual`, the L1
change of the last iteration before that, or a bound of what another one would change (`tgraph.kernels.cpu.katz`).
Technique: x = alpha * (the sum of x over incoming edges) + beta, over all vertices (Katz 1953), from what the first
iteration makes of beta, which the degrees tell. Where a compiled kernel runs, new scores are used at once; on
undirected graphs steps are made longer instead (Chebyshev's semi-iteration), and without weights, where rows are in
memory, steps are sent in place of scores. It converges if alpha is below 1 / the largest eigenvalue; no eigenvalue is
above the largest sum of incoming weights, so the default alpha always does.
"""

from __future__ import annotations

import math
from typing import Unpack

from tgraph.algorithms.pagerank import check_weights
from tgraph.dtypes import as_number
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels


class Katz(Program):
    """Scores before they are normalised."""

    reduce, active, asynchronous, linear = "sum", "all", True, True

    def __init__(self, alpha: float, beta: float, tol_l1: float) -> None:
        self.alpha, self.beta, self.tolerance = alpha, beta, tol_l1

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"scores": self.start(graph)}, None

    def start(self, graph: Graph) -> Tensor:
        """Return the scores after walks of at most one edge."""
        return graph.runtime.astype(graph.in_degrees(), "float64") * (self.alpha * self.beta) + self.beta

    def message(self, scores: Tensor) -> Tensor:
        return scores

    def update(self, incoming: Tensor) -> Tensor:
        return self.alpha * incoming + self.beta


class WeightedKatz(Katz):
    """An edge counts as much as its weight."""

    def start(self, graph: Graph) -> Tensor:
        """Return the scores after walks of no edge: adding up weights takes as long as an iteration."""
        return graph.full(self.beta, "float64")

    def message(self, scores: Tensor, weight: Tensor) -> Tensor:  # type: ignore[override]
        return scores * weight


@recorded
def katz(
    graph: Graph,
    alpha: float | None = None,
    beta: float = 1.0,
    tol_l1: float = 1e-6,
    max_iterations: int = 1000,
    *,
    normalized: bool = True,
    weighted: bool = False,
    **how: Unpack[How],
) -> Result:
    """Score the vertices by the walks that end at them.

    Args:
        graph: Any graph; a directed edge counts for its target.
        alpha: How much less a walk counts for each further edge; must be below 1 / the largest eigenvalue. Unless
            given, 1 / (1 + the largest sum of incoming weights), which always converges.
        beta: What every vertex counts by itself.
        tol_l1: Stop when the scores' absolute change, summed over all vertices, is not above this.
        max_iterations: Stop after this many iterations; `converged` says whether the tolerance was reached.
        normalized: Whether the squares of the scores sum to 1.
        weighted: Whether an edge counts as much as its weight; else all alike.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `scores`, `residual` and `converged`.

    >>> import tgraph as tg
    >>> result = tg.katz(tg.from_edges([0, 1, 2], [1, 2, 1]), alpha=0.1, normalized=False)
    >>> [round(score, 4) for score in result.scores.tolist()]  # rounded
    [1.0, 1.2121, 1.1212]
    """
    if weighted:
        check_weights(graph, "katz")
    if alpha is None:
        alpha = 1.0 / (1.0 + _largest_incoming(graph, weighted))
    for name, value in (("alpha", alpha), ("beta", beta), ("tol_l1", tol_l1)):
        if not 0.0 <= as_number(value) < math.inf:
            raise InvalidArgumentError(f"{name}={value!r} must be a number, 0 or more")
    numbers = float(alpha), float(beta), float(tol_l1)
    if not (weighted or graph.directed) and graph.num_vertices and max_iterations != 0 and uses_kernels(graph, how):
        result = _from_kernel(graph, *numbers, max_iterations, how)
    else:
        kind = WeightedKatz if weighted else Katz
        result = run(kind(*numbers), graph, max_iterations=max_iterations, **how)
    if not math.isfinite(result.graph.total(result.scores)):
        raise InvalidArgumentError(f"alpha={alpha!r} is above 1 / the largest eigenvalue: scores grow; use a smaller")
    return _normalized(result) if normalized else result


def _from_kernel(graph: Graph, alpha: float, beta: float, tol_l1: float, max_iterations: int, how: How) -> Result:
    from tgraph.kernels.cpu.katz import KatzRun

    with Task("Katz", graph, how, max_iterations) as task:
        kernel = KatzRun(task.rows("in")[:2], alpha, beta)
        return task.iterate(kernel.advance, tol_l1, graph.num_arcs, lambda: {"scores": kernel.scores})


def _normalized(result: Result) -> Result:
    """Return the result with scores of length 1, unless all are 0."""
    scores = result.scores
    length = math.sqrt(result.graph.total(scores * scores))
    if length > 0:
        result.fields["scores"] = scores / length
    return result


def _largest_incoming(graph: Graph, weighted: bool) -> float:
    if not graph.num_vertices:
        return 0.0
    if not weighted:
        return float(graph.runtime.item(graph.runtime.reduce(graph.in_degrees(), "max")))
    weights = graph.runtime.astype(graph.in_weights, "float64")
    sums = graph.runtime.segment_reduce(weights, graph.in_offsets, "sum")
    return float(graph.runtime.item(graph.runtime.reduce(sums, "max")))
