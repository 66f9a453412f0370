"""HITS: good hubs point to good authorities, and good authorities are pointed to by good hubs.

Returns: hubs and authorities, float64, each summing to 1; `residual`, the L1 change of the hubs in the last iteration.
Technique: power iteration from equal hubs, authorities from hubs along the edges and hubs from authorities against
them, normalised by their sums (Kleinberg 1999). Where several communities are equally strong the fixed point is not
unique; this one weighs them by their share of the start. A graph without edges has hubs and authorities of 0. Where
the rows are in memory, also on a compressed graph, a compiled kernel combines iterations in the best way (Lanczos 1950;
`tgraph.kernels.cpu.hits`), so that fewer do, the more so the closer singular values are. With `tol_l1=0` it is the
power iteration, as often as `max_iterations` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from tgraph.algorithms.pagerank import check_weights
from tgraph.dtypes import as_number
from tgraph.elementwise import absolute, maximum
from tgraph.errors import InvalidArgumentError
from tgraph.graph import CompressedGraph, Graph
from tgraph.program import Edges, Program, State
from tgraph.results import Result
from tgraph.results.recorded import recorded
from tgraph.run import How, run
from tgraph.runtime import Tensor
from tgraph.task import Task, in_group, may_use_kernels, uses_kernels

SMALLEST_WEIGHT = 1e-290  # if none is larger, all count as 0: what they are divided by would not be finite
SLICES, SMALLEST_SLICE = 64, 8192  # of the vertices, in which the change is summed: differences need no tensor `[V]`


class HITS(Program):
    """Hubs and authorities by turns."""

    active, by_parts = "all", True
    compute_bytes = 9  # one tensor of float64 and slices

    def __init__(self, tol_l1: float, weighted: bool) -> None:
        self.tolerance = tol_l1
        self.edge_message: Callable[..., Tensor] | None = weigh if weighted else None

    def init(self, graph: Graph) -> tuple[dict[str, Tensor], None]:
        start = graph.full(1.0 / max(graph.num_vertices, 1), "float64")
        return {"hubs": start, "authorities": graph.full(0.0, "float64")}, None

    def compute(self, state: State, edges: Edges) -> Tensor:
        """Take authorities from hubs, then hubs from authorities; three tensors `[V]` at a time."""
        graph, runtime, old = edges.graph, edges.graph.runtime, state.fields["hubs"]
        least = float(np.finfo(runtime.dtype(old)).tiny)  # avoids 0 / 0 where there are no edges
        authorities = edges.aggregate(old, "sum", message=self.edge_message)
        authorities /= maximum(graph.sum_of(authorities), least)
        state.fields["authorities"] = authorities
        hubs = edges.aggregate(authorities, "sum", along="in", message=self.edge_message)
        hubs /= maximum(graph.sum_of(hubs), least)
        state.fields["hubs"] = hubs
        count = max(graph.num_values, 1)  # a rank may have none
        size = max(SMALLEST_SLICE, -(-count // SLICES))
        slices = [slice(first, first + size) for first in range(0, count, size)]
        return graph.sum_of(sum(runtime.reduce(absolute(hubs[part] - old[part]), "sum") for part in slices))


@recorded
def hits(
    graph: Graph, tol_l1: float = 1e-8, max_iterations: int = 100, *, weighted: bool = False, **how: Unpack[How]
) -> Result:
    """Find hubs and authorities.

    Args:
        graph: Any graph.
        tol_l1: Stop when the hubs' absolute change, summed over all vertices, is not above this.
        max_iterations: Stop after this many iterations; `converged` says whether the tolerance was reached.
        weighted: Whether an edge counts as much as its weight; else all alike.
        how: How to run, see `tgraph.run`.

    Returns:
        A result with `hubs` and `authorities`, each summing to 1.

    >>> import tgraph as tg
    >>> result = tg.hits(tg.from_edges([0, 1, 2], [3, 3, 4]))
    >>> [round(value, 3) for value in result.authorities.tolist()]  # rounded
    [0.0, 0.0, 0.0, 1.0, 0.0]
    """
    if not as_number(tol_l1) >= 0.0:
        raise InvalidArgumentError(f"tol_l1={tol_l1!r} must be 0 or more")
    if weighted:
        check_weights(graph, "hits")
    if not graph.num_vertices or max_iterations == 0 or not _is_compiled(graph, how):
        return run(HITS(float(tol_l1), weighted), graph, max_iterations=max_iterations, **how)
    engine = "compressed" if graph.is_compressed else "in_memory"
    with Task("HITS", graph, how, max_iterations, engine=engine) as task:
        return _iterate(task, float(tol_l1), weighted)


def _is_compiled(graph: Graph, how: How) -> bool:
    """Whether the kernel runs such a call: on rows in memory, with virtual vertices or without."""
    return uses_kernels(graph, how) or (graph.is_compressed and not in_group(graph) and may_use_kernels(graph, how))


def _sides(task: Task, weighted: bool) -> tuple[Any, Any]:
    """Return the rows against the edges and along them, as the kernel takes them."""
    graph = task.graph
    if isinstance(graph, CompressedGraph):
        return graph.side("in"), graph.side("out")
    inward, outward = task.rows("in"), task.rows("out")
    return (inward, outward) if weighted else ((*inward[:2], None), (*outward[:2], None))


def _iterate(task: Task, tol_l1: float, weighted: bool) -> Result:
    """Let the kernel iterate."""
    from tgraph.kernels.cpu.hits import HitsRun

    count = task.graph.num_vertices
    largest = task.graph.weight_range[1] if weighted else 1.0
    scale = 1.0 / largest if largest > SMALLEST_WEIGHT else 1.0
    hits_run = HitsRun(*_sides(task, weighted), np.full(count, 1.0 / count), scale, is_power=tol_l1 == 0)
    return task.iterate(
        hits_run.advance,
        tol_l1,
        2 * task.graph.num_arcs,
        lambda: {"hubs": hits_run.hubs, "authorities": hits_run.authorities},
    )


def weigh(value: Tensor, weight: Tensor) -> Tensor:
    """Return a message that counts as much as its edge."""
    return value * weight
