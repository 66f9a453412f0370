"""Proof of connected communities: all that holds for Louvain's, and a union-find over the edges inside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.kernels.cpu.union_find import smallest_in_component
from tgraph.verify.louvain import both_ways, check_louvain
from tgraph.verify.rules import as_values, check_vertices


def check_leiden(
    graph: Graph, labels: Any, modularity: float, resolution: float = 1.0, tolerance: float = 1e-9
) -> None:
    """Raise `VerificationError` unless `check_louvain` holds and every community is connected by edges with weight.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1, 3, 4], [1, 2, 4, 5], directed=False)
    >>> check_leiden(graph, [0, 0, 0, 3, 3, 3], 0.5)
    >>> check_leiden(graph, [0, 0, 0, 0, 0, 0], 0.0)
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 3 (label 0) breaks the rule: a community is connected
    """
    given = as_values(graph, "labels", labels, "i")
    check_louvain(graph, given, modularity, resolution, tolerance)
    sources, targets, weights = both_ways(graph)
    kept = (given[sources] == given[targets]) & (weights > 0)
    sources, targets = sources[kept], targets[kept]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=graph.num_vertices))])
    pieces = smallest_in_component(offsets, targets[np.argsort(sources, kind="stable")])
    check_vertices(graph, "a community is connected", pieces != given, label=given)
