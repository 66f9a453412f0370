"""Proof that scores are a fixed point: one step of another kind, serial, edge after edge, leaves them as they are."""

from __future__ import annotations

import numpy as np

from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, name_of


def check_fixed_point(graph: Graph, scores: Array, moved: Array, tol_l1: float) -> float:
    """Raise unless `moved`, the scores after a step, is within `tol_l1` of them in all; return the distance.

    >>> import tgraph as tg
    >>> check_fixed_point(tg.from_edges([0], [1]), np.array([0.5, 0.25]), np.array([0.5, 0.25]), 1e-9)
    0.0
    """
    changes = np.abs(moved - scores)
    residual = float(changes.sum())
    if not residual <= tol_l1:
        worst = int(np.argmax(changes))
        shown = f"score {scores[worst]:.6g}, next score {moved[worst]:.6g}; all move by {residual:.6g} > {tol_l1:.6g}"
        raise VerificationError("one step leaves the scores as they are", f"vertex {name_of(graph, worst)!r} ({shown})")
    return residual


def rounding(arcs: Arcs, scores: Array) -> float:
    """Return what rounding alone may move: one unit in the last place per incoming edge, of the score it adds up to."""
    in_degrees = np.bincount(arcs.targets, minlength=arcs.graph.num_vertices)
    return float(np.finfo(np.float64).eps * (np.dot(in_degrees, np.abs(scores)) + 64))


def factors_of(arcs: Arcs, weighted: bool) -> Array | None:
    """Return the factors of the edges: their weights, or None for 1."""
    return arcs.weights.astype(np.float64) if weighted and arcs.weights is not None else None
