"""Proof of a minimum spanning forest by Kruskal's way, edge after edge, where the algorithm grows all trees at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import arcs_of, name_of
from tgraph.verify.wcc import check_wcc


def check_mst(graph: Graph, sources: Any, targets: Any, weights: Any, labels: Any = None) -> None:
    """Raise `VerificationError` unless these edges (vertex numbers) are the minimum spanning forest.

    Edges are ordered by (weight, smaller end, larger end). `labels`, where given, name the smallest vertex of a tree.
    The edges are sorted and joined one by one in Python: about a second per million.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1, 0], [1, 2, 2], [3, 1, 2])
    >>> check_mst(graph, [1, 0], [2, 2], [1, 2])
    >>> check_mst(graph, [1, 0], [2, 1], [1, 3])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: edge 0 - 2 (weight 2) is missing, which breaks the rule: the forest has the first \
edges that join two trees
    """
    columns = [runtimes.get("numpy").asarray(column) for column in (sources, targets, weights)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise VerificationError("every edge has two ends and a weight", f"shapes {shapes}")
    found = sorted(zip(*(column.tolist() for column in _ordered(*columns)), strict=True))
    expected = sorted(_kruskal(graph))
    if found != expected:
        missing = sorted(set(expected) - set(found))
        extra = sorted(set(found) - set(expected)) or found
        weight, low, high = (missing or extra)[0]
        edge = f"edge {_name(graph, low)} - {_name(graph, high)} (weight {weight})"
        what = f"{edge} {'is missing, which' if missing else 'is too much, which'}"
        raise VerificationError("the forest has the first edges that join two trees", what)
    if labels is not None:
        check_wcc(graph, labels)


def _name(graph: Graph, vertex: int) -> str:
    return repr(name_of(graph, vertex)) if 0 <= vertex < graph.num_vertices else f"with no vertex {vertex}"


def _ordered(sources: Array, targets: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return weights, smaller and larger ends."""
    return weights, np.minimum(sources, targets), np.maximum(sources, targets)


def _kruskal(graph: Graph) -> list[tuple[Any, int, int]]:
    """Return the edges (weight, smaller end, larger end) that join two trees when all are taken in order."""
    arcs = arcs_of(graph)
    weights = np.ones(arcs.sources.size, np.int64) if arcs.weights is None else arcs.weights
    columns = _ordered(arcs.sources, arcs.targets, weights)
    order = np.lexsort(columns[::-1])
    parents = list(range(graph.num_vertices))
    chosen = []
    for weight, low, high in zip(*(column[order].tolist() for column in columns), strict=True):
        left, right = _root(parents, low), _root(parents, high)
        if left != right:
            parents[right] = left
            chosen.append((weight, low, high))
    return chosen


def _root(parents: list[int], vertex: int) -> int:
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex
