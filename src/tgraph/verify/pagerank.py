"""Proof of PageRank by one step of another kind: ranks are pushed serially, edge after edge.

One step shrinks the distance to the true ranks, in the sum of absolute differences, at least by the damping factor. So
ranks that one step moves by `residual` are at most `residual / (1 - damping)` away from the true ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, arcs_of, as_values, check_vertices, push, spread


def check_pagerank(
    graph: Graph,
    ranks: Any,
    damping: float = 0.85,
    tol_l1: float = 1e-6,
    personalization: Mapping[Any, float] | Any | None = None,
    weighted: bool = False,
) -> float:
    """Raise `VerificationError` unless one more step moves `ranks` by at most `tol_l1`; return the error bound.

    The rank of vertices without outgoing edges goes to all vertices as the random jumps do: evenly, or by
    `personalization`. The bound is on the sum of absolute differences to the exact ranks; it is infinite for damping 1,
    where ranks need not be unique. Rounding is allowed for on top of `tol_l1`: one unit in the last place of the type
    of `ranks` per addition.

    Args:
        graph: The graph.
        ranks: `[V]` floats.
        damping: The share of rank that travels along edges.
        tol_l1: How far one step may move the ranks, as the sum of absolute differences.
        personalization: Where random jumps lead: a mapping from the user's ids, or `[V]` numbers; None = anywhere.
        weighted: Whether rank is divided among edges by their weights.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 0])
    >>> check_pagerank(graph, [0.5, 0.5])
    0.0
    >>> check_pagerank(graph, [0.6, 0.4])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 0 (rank 0.6, next rank 0.415; all move by 0.37 > 1e-06) breaks the rule: \
one step leaves the ranks as they are
    """
    given = as_values(graph, "ranks", ranks, "f")
    values = given.astype(np.float64)
    check_vertices(graph, "a rank is a number, 0 or more", ~(values >= 0) | ~np.isfinite(values), rank=values)
    if not graph.num_vertices:
        return 0.0
    arcs = arcs_of(graph)
    moved = _one_step(arcs, values, damping, spread(graph, "personalization", personalization), weighted)
    rounding = _rounding(arcs, values, np.finfo(given.dtype).eps)
    if abs(values.sum() - 1) > tol_l1 + rounding:
        raise VerificationError("ranks sum to 1", f"the sum {values.sum()}")
    changes = np.abs(moved - values)
    residual = float(changes.sum())
    if residual > tol_l1 + rounding:
        worst = int(np.argmax(changes))
        vertex = graph.labels_of(np.asarray([worst])).tolist()[0]
        ranks_shown = f"rank {values[worst]:.6g}, next rank {moved[worst]:.6g}"
        total = f"all move by {residual:.6g} > {tol_l1:.6g}"
        raise VerificationError("one step leaves the ranks as they are", f"vertex {vertex!r} ({ranks_shown}; {total})")
    return residual / (1 - damping) if damping < 1 else float("inf")


def _one_step(arcs: Arcs, ranks: Array, damping: float, jumps: Array, weighted: bool) -> Array:
    num_vertices = arcs.graph.num_vertices
    factors = arcs.weights.astype(np.float64) if weighted and arcs.weights is not None else None
    totals = np.zeros(num_vertices)
    np.add.at(totals, arcs.sources, 1.0 if factors is None else factors)
    is_dangling = totals == 0
    shares = np.divide(ranks, totals, out=np.zeros(num_vertices), where=~is_dangling)
    travelled = push(arcs, shares, factors)
    free: Array = damping * ranks[is_dangling].sum() + (1 - damping)
    return damping * travelled + free * jumps


def _rounding(arcs: Arcs, ranks: Array, epsilon: float) -> float:
    """Bound what rounding alone may move: one epsilon per incoming edge, weighted by the rank it adds up to."""
    in_degrees = np.bincount(arcs.targets, minlength=arcs.graph.num_vertices)
    return float(epsilon * (np.dot(in_degrees, ranks) + 64))
