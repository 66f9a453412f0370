"""Minimum spanning forest: the lightest edges that keep together what is connected, directions left aside.

Returns: labels, the smallest vertex of each tree; besides, `edges` and their total `weight`.
Technique: Boruvka's rounds on the light edges first, then on the heavy ones that still join two trees
(`tgraph.kernels.cpu.mst`). There is no form made of runtime primitives: on any device the arrays are copied to the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How
from tgraph.runtime import Array
from tgraph.task import Task

MAX_VERTICES = 2**32


@dataclass(repr=False)
class SpanningForest(Result):
    """A result with the edges of a forest: `sources`, `targets` (vertex numbers) and `edge_weights`, NumPy arrays."""

    sources: Array = None  # type: ignore[assignment]  # [F], the smaller vertex number of an edge
    targets: Array = None  # type: ignore[assignment]  # [F], the larger one
    edge_weights: Array = None  # type: ignore[assignment]  # [F], all 1 in an unweighted graph

    @property
    def edges(self) -> tuple[Array, Array, Array]:
        """Both ends (the user's ids) and the weights of the edges, in a fixed order."""
        return self.graph.labels_of(self.sources), self.graph.labels_of(self.targets), self.edge_weights

    @property
    def weight(self) -> float:
        """The sum of the weights: an exact int of integers, a float of floats."""
        if self.edge_weights.dtype.kind != "f":
            return sum(self.edge_weights.tolist())
        with np.errstate(invalid="ignore", over="ignore"):
            return float(self.edge_weights.sum(dtype=np.float64))

    def table(self) -> dict[str, Array]:
        """Return what is written to files: the edges."""
        return dict(zip(("source", "target", "weight"), self.edges, strict=True))

    def to(self, runtime: str | None = None, device: str | None = None) -> SpanningForest:
        """Return the result with its tensors and its graph on another runtime or device."""
        return _with_edges(super().to(runtime, device), self.sources, self.targets, self.edge_weights)


@recorded
def mst(graph: Graph, **how: Unpack[How]) -> SpanningForest:
    """Find the minimum spanning forest of the graph without its directions.

    Equal weights are ordered by the smaller, then by the larger vertex number of the edge, so the answer is unique.
    Weights may be negative, zero or infinite. Self-loops are never chosen.

    Args:
        graph: Any graph; without weights every edge weighs 1.
        how: How to run, see `tgraph.run`. `kernel="plain"` is not there.

    Returns:
        A result with `labels`: vertex numbers, the smallest vertex of the tree; with `edges`: both ends and the weights
        of the chosen edges; and with their total `weight`.

    >>> import tgraph as tg
    >>> from tgraph.algorithms.mst import mst
    >>> forest = mst(tg.from_edges(["a", "b", "a"], ["b", "c", "c"], [3, 1, 2]))
    >>> forest.weight, sorted(zip(*(column.tolist() for column in forest.edges)))
    (3, [('a', 'c', 2), ('b', 'c', 1)])
    """
    from tgraph.kernels.cpu.mst import minimum_spanning_forest

    with Task("MST", graph, how) as task:
        offsets, targets, weights = task.rows("out")
        _check(graph.num_vertices, weights)
        watch = task.watch("vertices", graph.num_vertices)
        forest = minimum_spanning_forest(offsets, targets, weights, not graph.directed, watch)
        result = task.result({"labels": forest.labels}, vertex_fields=("labels",))
        kept = np.ones(forest.sources.size, np.int64) if forest.weights is None else forest.weights
        return _with_edges(result, forest.sources, forest.targets, kept)


def _check(num_vertices: int, weights: Array | None) -> None:
    if num_vertices > MAX_VERTICES:
        raise InvalidArgumentError(f"the graph has {num_vertices} vertices; mst takes at most {MAX_VERTICES}")
    if weights is not None and weights.dtype.kind == "f" and np.isnan(weights.max(initial=0)):
        arc = int(np.flatnonzero(np.isnan(weights))[0])
        raise InvalidArgumentError(f"weights[{arc}] is nan, which has no order; give every edge a number, or remove it")


def _with_edges(result: Result, sources: Array, targets: Array, weights: Array) -> SpanningForest:
    own = (result.name, result.graph, result.fields, result.trace, result.converged, result.residual)
    return SpanningForest(*own, result.vertex_fields, sources, targets, weights)
