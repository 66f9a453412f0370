"""Proof of Katz centrality by one step of another kind: scores are pushed serially, edge after edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.verify.fixed_point import check_fixed_point, factors_of, rounding
from tgraph.verify.rules import arcs_of, as_values, check_vertices, push


def check_katz(
    graph: Graph, scores: Any, alpha: float, beta: float = 1.0, tol_l1: float = 1e-6, weighted: bool = False
) -> float:
    """Raise `VerificationError` unless one more step moves `scores`, which are not normalised, by at most `tol_l1`.

    Returns the distance that the step moves them. Rounding is allowed for on top of `tol_l1`.

    >>> import tgraph as tg
    >>> check_katz(tg.from_edges([0], [1]), [1.0, 1.5], alpha=0.5)
    0.0
    >>> check_katz(tg.from_edges([0], [1]), [1.0, 1.0], alpha=0.5)
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 1 (score 1, next score 1.5; all move by 0.5 > 1e-06) breaks the rule: one \
step leaves the scores as they are
    """
    given = as_values(graph, "scores", scores, "f").astype(np.float64)
    check_vertices(graph, "a score is a finite number", ~np.isfinite(given), score=given)
    arcs = arcs_of(graph)
    moved = alpha * push(arcs, given, factors_of(arcs, weighted)) + beta
    return check_fixed_point(graph, given, moved, tol_l1 + rounding(arcs, given))
