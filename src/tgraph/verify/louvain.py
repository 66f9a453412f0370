"""Proof of communities: modularity from a list of edges, and no two communities that would gain by being one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import arcs_of, as_values, check_vertices, name_of


def check_louvain(
    graph: Graph, labels: Any, modularity: float, resolution: float = 1.0, tolerance: float = 1e-9
) -> None:
    """Raise `VerificationError` unless the communities are named, measured and locally best as they should be.

    A label is the smallest vertex of its community; `modularity` is right up to `tolerance`; joining two communities
    does not raise it by more than that.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)
    >>> check_louvain(graph, [0, 0, 0, 3, 3, 3], 5 / 14)
    >>> check_louvain(graph, [0, 0, 2, 3, 3, 3], 0.19387755102040816)
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: joining 0 and 2, which adds 0.163265, breaks the rule: no two communities gain by \
being one
    """
    given = as_values(graph, "labels", labels, "i")
    check_names(graph, given)
    sources, targets, weights = both_ways(graph)
    total = float(weights.sum())
    if not total:
        _check_modularity(0.0, modularity, tolerance)
        return
    strengths = np.bincount(given[sources], weights, graph.num_vertices) / total
    is_inside = given[sources] == given[targets]
    inside = float(weights[is_inside].sum()) / total
    _check_modularity(inside - resolution * float((strengths**2).sum()), modularity, tolerance)
    lower, upper = given[sources[~is_inside]].astype(np.int64), given[targets[~is_inside]].astype(np.int64)
    pairs, positions = np.unique(lower * graph.num_vertices + upper, return_inverse=True)
    between = np.bincount(positions, weights[~is_inside], pairs.size) / total
    left, right = pairs // graph.num_vertices, pairs % graph.num_vertices
    gains = 2 * (between - resolution * strengths[left] * strengths[right])
    if (gains > tolerance).any():
        worst = int(np.argmax(gains))
        names = f"{name_of(graph, int(left[worst]))!r} and {name_of(graph, int(right[worst]))!r}"
        raise VerificationError(
            "no two communities gain by being one", f"joining {names}, which adds {gains[worst]:.6g},"
        )


def check_names(graph: Graph, labels: Array) -> None:
    """Raise unless every label is the smallest vertex that has it."""
    numbers = np.arange(graph.num_vertices)
    rule = "a label is the smallest vertex of the community"
    check_vertices(graph, rule, (labels < 0) | (labels > numbers), label=labels)
    check_vertices(graph, rule, labels[labels] != labels, label=labels)


def both_ways(graph: Graph) -> tuple[Array, Array, Array]:
    """Return every edge from both of its ends, a self-loop twice: sources, targets and float64 weights."""
    arcs = arcs_of(graph)
    weights = np.ones(arcs.sources.size) if arcs.weights is None else arcs.weights.astype(np.float64)
    again = np.ones(arcs.sources.size, bool) if graph.directed else arcs.sources == arcs.targets
    sources = np.concatenate([arcs.sources, arcs.targets[again]])
    targets = np.concatenate([arcs.targets, arcs.sources[again]])
    return sources, targets, np.concatenate([weights, weights[again]])


def _check_modularity(expected: float, given: float, tolerance: float) -> None:
    if not abs(expected - given) <= tolerance:
        raise VerificationError("modularity is that of the labels", f"modularity {given}, expected {expected},")
