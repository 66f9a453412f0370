"""Proof of clustering coefficients: the edges among each vertex's neighbours are counted by binary search in rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.kernels.cpu.common_neighbors import arcs_among_neighbors
from tgraph.verify.rules import as_values, check_vertices


def check_lcc(graph: Graph, coefficients: Any, tol_max: float = 1e-12) -> None:
    """Raise `VerificationError` unless each coefficient is the share of possible edges among the neighbours.

    With d neighbours, d (d - 1) edges are possible; directions count, an undirected edge leads both ways, self-loops
    and repeated edges do not count. A coefficient may differ by `tol_max`.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1], [1, 2, 2], directed=False)
    >>> check_lcc(graph, [1.0, 1.0, 1.0])
    >>> check_lcc(graph, [1.0, 0.5, 1.0])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 1 (coefficient 0.5, expected 1.0) breaks the rule: \
a coefficient is the share of possible edges among the neighbours
    """
    given = as_values(graph, "coefficients", coefficients, "f")
    rows = graph.symmetrize().simplify().adjacency("out").to_numpy()[:2]
    arcs = graph.simplify().adjacency("out").to_numpy()[:2]
    degrees = np.diff(rows[0]).astype(np.float64)
    expected = arcs_among_neighbors(rows, arcs) / np.maximum(degrees * (degrees - 1), 1)
    rule = "a coefficient is the share of possible edges among the neighbours"
    check_vertices(graph, rule, ~(np.abs(given - expected) <= tol_max), coefficient=given, expected=expected)
