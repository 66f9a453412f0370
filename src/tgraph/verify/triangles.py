"""Proof of triangle counts: the edges among each vertex's neighbours are counted by binary search in whole rows."""

from __future__ import annotations

from typing import Any

from tgraph.graph import Graph
from tgraph.kernels.cpu.common_neighbors import arcs_among_neighbors
from tgraph.verify.rules import as_values, check_vertices


def check_triangles(graph: Graph, triangles: Any) -> None:
    """Raise `VerificationError` unless `triangles` counts, for every vertex, the edges among its neighbours.

    Edges have no direction; self-loops and repeated edges do not count.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1], [1, 2, 2])
    >>> check_triangles(graph, [1, 1, 1])
    >>> check_triangles(graph, [1, 0, 1])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 1 (triangles 0, edges among neighbours 1) breaks the rule: \
a vertex is in one triangle per edge among its neighbours
    """
    given = as_values(graph, "triangles", triangles, "i")
    rows = graph.symmetrize().simplify().adjacency("out").to_numpy()[:2]
    expected = arcs_among_neighbors(rows, rows) // 2  # each edge is stored in both directions
    rule = "a vertex is in one triangle per edge among its neighbours"
    columns = {"triangles": given, "edges among neighbours": expected}
    check_vertices(graph, rule, given != expected, **columns)
