"""Proof of eigenvector centrality by one step of another kind: scores are pushed serially, edge after edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.verify.fixed_point import check_fixed_point, factors_of, rounding
from tgraph.verify.rules import arcs_of, as_values, check_vertices, push


def check_eigenvector(graph: Graph, scores: Any, tol_l1: float = 1e-6, weighted: bool = False) -> float:
    """Raise `VerificationError` unless one more step only makes `scores` longer, within `tol_l1` in all.

    The step is with A + I. Scores are of length 1 and not negative. Returns the distance that the step moves them after
    it is brought back to length 1. That proves an eigenvector, not that it is the one of the largest eigenvalue; scores
    above 0 on a strongly connected graph can be no other.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0], [1], directed=False)
    >>> check_eigenvector(graph, [0.5 ** 0.5, 0.5 ** 0.5])
    0.0
    >>> check_eigenvector(graph, [0.6, 0.8])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 0 (score 0.6, next score 0.707107; all move by 0.2 > 1e-06) breaks the \
rule: one step leaves the scores as they are
    """
    given = as_values(graph, "scores", scores, "f").astype(np.float64)
    check_vertices(graph, "a score is a number, 0 or more", ~(given >= 0) | ~np.isfinite(given), score=given)
    if not graph.num_vertices:
        return 0.0
    arcs = arcs_of(graph)
    slack = tol_l1 + rounding(arcs, given)
    if abs(np.sqrt(np.square(given).sum()) - 1) > slack:
        raise VerificationError("scores have length 1", f"the length {np.sqrt(np.square(given).sum())}")
    moved = given + push(arcs, given, factors_of(arcs, weighted))
    return check_fixed_point(graph, given, moved / np.sqrt(np.square(moved).sum()), slack)
