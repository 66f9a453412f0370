"""Eigenvector centrality: a vertex counts as much as the vertices that point to it.

Returns: scores, float64, of length 1 (the root of the sum of squares); `residual`, the L1 change of the last iteration,
which counts the change of the vector's length too.
Technique: power iteration with A + I in place of A, which has the same eigenvectors and does not swing to and fro on
bipartite graphs (Bonacich 1972). Where rows of an undirected graph are in memory, a compiled kernel finds the best
combination of all iterations so far (Lanczos 1950; `tgraph.kernels.cpu.lanczos`), which takes half as many or fewer. On
a directed graph without cycles no such vector exists: scores then go to the last vertices of the longest paths, slowly.
On several equally strong components the answer depends on the even start.
"""

from __future__ import annotations

from typing import Unpack

from tgraph.algorithms.pagerank import check_weights
from tgraph.dtypes import as_number
from tgraph.elementwise import absolute, sqrt
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.program import Program
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, uses_kernels


class Eigenvector(Program):
    """Scores that one more step along the edges only makes longer or shorter, all alike.

    Every step divides by the length before it, so that the length of the scores goes to the factor of one step.
    """

    reduce, active = "sum", "all"

    def __init__(self, tol_l1: float) -> None:
        self.tolerance = tol_l1

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        return {"scores": graph.full(max(graph.num_vertices, 1) ** -0.5, "float64")}, None

    def message(self, scores: Tensor) -> Tensor:
        return scores

    def total(self, scores: Tensor) -> Tensor:
        return scores * scores

    def update(self, scores: Tensor, incoming: Tensor, total: Tensor) -> Tensor:
        return (scores + incoming) / sqrt(total)

    def change(self, scores: Tensor, new_scores: Tensor, total: Tensor) -> Tensor:
        return absolute(new_scores - scores) / sqrt(total)

    def finish(self, graph: Graph, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        scores = fields["scores"]
        return {"scores": scores / sqrt(graph.runtime.reduce(scores * scores, "sum"))} if graph.num_vertices else fields


class WeightedEigenvector(Eigenvector):
    """An edge counts as much as its weight."""

    def message(self, scores: Tensor, weight: Tensor) -> Tensor:  # type: ignore[override]
        return scores * weight


@recorded
def eigenvector(
    graph: Graph, tol_l1: float = 1e-6, max_iterations: int = 1000, *, weighted: bool = False, **how: Unpack[How]
) -> Result:
    """Score the vertices by the scores of those that point to them.

    Args:
        graph: Any graph; a directed edge counts for its target.
        tol_l1: Stop when the scores' absolute change, summed over all vertices, is not above this.
        max_iterations: Stop after this many iterations; `converged` says whether the tolerance was reached.
        weighted: Whether an edge counts as much as its weight; else all alike.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `scores`, `residual` and `converged`.

    >>> import tgraph as tg
    >>> result = tg.eigenvector(tg.from_edges([0, 0, 0], [1, 2, 3], directed=False))
    >>> [round(score, 4) for score in result.scores.tolist()]  # rounded
    [0.7071, 0.4082, 0.4082, 0.4082]
    """
    if not as_number(tol_l1) >= 0.0:
        raise InvalidArgumentError(f"tol_l1={tol_l1!r} must be 0 or more")
    if weighted:
        check_weights(graph, "eigenvector")
    if not graph.directed and graph.num_vertices and max_iterations != 0 and uses_kernels(graph, how):
        return _from_kernel(graph, float(tol_l1), max_iterations, weighted, how)
    kind = WeightedEigenvector if weighted else Eigenvector
    return run(kind(float(tol_l1)), graph, max_iterations=max_iterations, **how)


def _from_kernel(graph: Graph, tol_l1: float, max_iterations: int, weighted: bool, how: How) -> Result:
    from tgraph.kernels.cpu.lanczos import LanczosRun

    with Task("Eigenvector", graph, how, max_iterations) as task:
        rows = task.rows("in")
        kernel = LanczosRun(rows if weighted else (*rows[:2], None))
        return task.iterate(kernel.advance, tol_l1, graph.num_arcs, lambda: {"scores": kernel.scores})
