"""Proof of label propagation: the definition played again on a list of edges, where the algorithm counts row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import arcs_of, as_values, check_vertices


def check_cdlp(graph: Graph, labels: Any, max_iterations: int = 10) -> None:
    """Raise `VerificationError` unless `labels` are what this many iterations of the LDBC definition give.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1], [1, 2, 2], directed=False)
    >>> check_cdlp(graph, [0, 0, 0])
    >>> check_cdlp(graph, [0, 0, 2])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 (label 2, expected 0) breaks the rule: a label is the most frequent one \
around the vertex, 10 times over
    """
    given = as_values(graph, "labels", labels, "i")
    expected = _play(graph, max_iterations)
    rule = f"a label is the most frequent one around the vertex, {max_iterations} times over"
    check_vertices(graph, rule, given != expected, label=given, expected=expected)


def _play(graph: Graph, max_iterations: int) -> Array:
    """Return the labels as vertex numbers."""
    arcs = arcs_of(graph)
    sources, targets = arcs.sources, arcs.targets
    if graph.directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    places = _places(graph)
    labels = places.copy()
    for _ in range(max_iterations):
        before = labels.copy()
        seen, counts = np.unique(np.stack([sources, before[targets]]), axis=1, return_counts=True)
        order = np.lexsort((-seen[1], counts, seen[0]))  # of each vertex the last one wins
        labels[seen[0][order]] = seen[1][order]
        if np.array_equal(labels, before):
            break
    owners = np.empty_like(places)
    owners[places] = np.arange(places.size)
    return owners[labels]


def _places(graph: Graph) -> Array:
    """Return the place of each vertex in the order of the users' ids; its number if ids have no order."""
    ids = graph.vertex_labels
    if ids is None or ids.dtype.kind == "O":
        return np.arange(graph.num_vertices)
    return np.argsort(np.argsort(ids))
