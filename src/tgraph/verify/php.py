"""Proof of penalised hitting probabilities by one step of another kind: scores are pushed serially, edge after edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.verify.fixed_point import check_fixed_point, factors_of, rounding
from tgraph.verify.rules import arcs_of, as_values, check_vertices, push


def check_php(
    graph: Graph, source: Any, scores: Any, damping: float = 0.8, tol_l1: float = 1e-6, weighted: bool = False
) -> float:
    """Raise `VerificationError` unless `scores` is 1 at `source` and one more step moves it by at most `tol_l1`.

    Returns the bound on the sum of absolute differences to the exact scores: a step shrinks them by `damping`.

    >>> import tgraph as tg
    >>> check_php(tg.from_edges([0], [1]), 0, [1.0, 0.8])
    0.0
    >>> check_php(tg.from_edges([0], [1]), 0, [1.0, 1.0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 1 (score 1, next score 0.8; all move by 0.2 > 1e-06) breaks the rule: one \
step leaves the scores as they are
    """
    given = as_values(graph, "scores", scores, "f").astype(np.float64)
    check_vertices(graph, "a score is a number, 0 or more", ~(given >= 0) | ~np.isfinite(given), score=given)
    arcs = arcs_of(graph)
    factors = factors_of(arcs, weighted)
    strengths = np.zeros(graph.num_vertices)
    np.add.at(strengths, arcs.sources, 1.0 if factors is None else factors)
    shares = np.divide(given, strengths, out=np.zeros(graph.num_vertices), where=strengths > 0)
    moved = damping * push(arcs, shares, factors)
    moved[graph.vertex_of(source)] = 1.0
    return check_fixed_point(graph, given, moved, tol_l1 + rounding(arcs, given)) / (1 - damping)
