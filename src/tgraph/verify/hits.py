"""Proof of hub and authority scores: one serial step leaves them as they are, and no other scores gain more from it.

A fixed point alone proves too little: the scores of any part of the graph that is not joined to the rest are one. The
right scores belong to the largest singular value, so a few steps from another start must not find a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, arcs_of, as_values, check_vertices, push

OTHER_STEPS = 10  # steps from the degrees, to look for a larger singular value


def check_hits(graph: Graph, hubs: Any, authorities: Any, tol: float = 1e-8, weighted: bool = False) -> None:
    """Raise `VerificationError` unless the scores are a fixed point of HITS for the largest singular value.

    Scores are scaled to sum 1, and are all 0 in a graph without edges. One step may move them by `tol`, as the sum of
    absolute differences, and the singular value may be smaller than the largest one found by the share `sqrt(tol)`.
    Unlike for PageRank this bounds no error: where the two largest singular values are close, scores that hardly move
    may still be far from the limit; where they are equal, the limit depends on the start, and any such scores pass.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [2, 2])
    >>> check_hits(graph, [0.5, 0.5, 0.0], [0.0, 0.0, 1.0])
    >>> check_hits(graph, [0.6, 0.4, 0.0], [0.0, 0.0, 1.0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 0 (hub 0.6, next hub 0.5) breaks the rule: one step leaves hubs as they are
    """
    arcs = arcs_of(graph)
    factors = arcs.weights.astype(np.float64) if weighted and arcs.weights is not None else None
    scores = [_check_scores(arcs, name, given) for name, given in (("hubs", hubs), ("authorities", authorities))]
    if not arcs.targets.size or (factors is not None and not factors.any()):
        for name, values in zip(("hub", "authority"), scores, strict=True):
            check_vertices(graph, "without edges all scores are 0", values != 0, **{name: values})
        return
    rounding = _rounding(arcs, hubs, authorities)
    for name, values in zip(("hubs", "authorities"), scores, strict=True):
        if abs(values.sum() - 1) > tol + rounding:
            raise VerificationError(f"{name} sum to 1", f"the sum {values.sum()}")
    next_authorities, _ = _step(arcs, scores[0], factors)
    next_hubs, _ = _step(arcs, scores[1], factors, reverse=True)
    _check_fixed(graph, "hub", "hubs", scores[0], next_hubs, tol + rounding)
    _check_fixed(graph, "authority", "authorities", scores[1], next_authorities, tol + rounding)
    _check_largest(arcs, scores[1], factors, float(np.sqrt(tol)) + rounding)


def _check_scores(arcs: Arcs, name: str, given: Any) -> Array:
    values = as_values(arcs.graph, name, given, "f").astype(np.float64)
    check_vertices(arcs.graph, f"{name} are numbers, 0 or more", ~(values >= 0) | ~np.isfinite(values), score=values)
    return values


def _step(arcs: Arcs, scores: Array, factors: Array | None, reverse: bool = False) -> tuple[Array, float]:
    """Return the scores of the other kind, scaled to sum 1, and the sum before."""
    received = push(arcs, scores, factors, reverse)
    total = float(received.sum())
    return (received / total if total else received), total


def _check_fixed(graph: Graph, one: str, name: str, values: Array, moved: Array, tol: float) -> None:
    changes = np.abs(values - moved)
    if changes.sum() <= tol:
        return
    is_worst = np.arange(changes.size) == np.argmax(changes)
    check_vertices(graph, f"one step leaves {name} as they are", is_worst, **{one: values, f"next {one}": moved})


def _check_largest(arcs: Arcs, authorities: Array, factors: Array | None, slack: float) -> None:
    other = np.bincount(arcs.targets, minlength=arcs.graph.num_vertices).astype(np.float64)
    for _ in range(OTHER_STEPS):
        other, _ = _step(arcs, _step(arcs, other, factors, reverse=True)[0], factors)
    found, larger = (_singular_value(arcs, vector, factors) for vector in (authorities, other))
    if larger > found * (1 + slack):
        raise VerificationError(
            "scores belong to the largest singular value", f"the value {found:.9g}, below {larger:.9g},"
        )


def _singular_value(arcs: Arcs, authorities: Array, factors: Array | None) -> float:
    """Return the length that a unit vector of authorities gets in one step: never more than the largest one."""
    return float(np.linalg.norm(push(arcs, authorities, factors, reverse=True)) / np.linalg.norm(authorities))


def _rounding(arcs: Arcs, hubs: Any, authorities: Any) -> float:
    """Bound what rounding alone may move: one epsilon per edge of the vertex with the most of them."""
    epsilon = max(np.finfo(as_values(arcs.graph, "scores", given, "f").dtype).eps for given in (hubs, authorities))
    degrees = [np.bincount(ends, minlength=arcs.graph.num_vertices) for ends in (arcs.sources, arcs.targets)]
    return float(epsilon * (max(degree.max() for degree in degrees) + 64))
