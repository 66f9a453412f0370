"""Proof of breadth-first levels by edge rules, without searching.

Upper bound: the source has level 0 and no edge leads more than one level further, so no level exceeds the true one.
Lower bound: every reached vertex has a neighbour one level closer, so a path of that length exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.runtime import Array
from tgraph.verify.rules import Arcs, arcs_of, as_values, check_vertices


def check_bfs(graph: Graph, source: Any, levels: Any, parents: Any = None) -> None:
    """Raise `VerificationError` unless `levels` and `parents` are a breadth-first search of `graph` from `source`.

    Args:
        graph: The graph that was searched.
        source: The user's id of the first vertex.
        levels: `[V]` integers, -1 = not reached.
        parents: `[V]` vertex numbers, the source its own parent, -1 = not reached; None = not checked.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_bfs(graph, 0, [0, 1, 2], [0, 0, 1])
    >>> check_bfs(graph, 0, [0, 1, 1])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: vertex 2 (level 1) breaks the rule: an edge comes from one level closer
    """
    first = graph.vertex_of(source)
    depth = as_values(graph, "levels", levels, "i").astype(np.int64)
    arcs = arcs_of(graph)
    _check_levels(arcs, first, depth)
    if parents is not None:
        _check_parents(arcs, first, depth, as_values(graph, "parents", parents, "i").astype(np.int64))


def _check_levels(arcs: Arcs, first: int, depth: Array) -> None:
    graph = arcs.graph
    is_first = np.arange(graph.num_vertices) == first
    check_vertices(graph, "a level is -1 or more", depth < -1, level=depth)
    check_vertices(graph, "the source has level 0", is_first & (depth != 0), level=depth)
    check_vertices(graph, "only the source has level 0", ~is_first & (depth == 0), level=depth)
    near, far = depth[arcs.sources], depth[arcs.targets]
    arcs.check("no edge leads from a reached vertex to one not reached", (near >= 0) & (far < 0), levels=depth)
    arcs.check("an edge leads at most one level further", (near >= 0) & (far - 1 > near), levels=depth)
    has_closer = arcs.reach((near >= 0) & (far - 1 == near))
    check_vertices(graph, "an edge comes from one level closer", (depth > 0) & ~has_closer, level=depth)


def _check_parents(arcs: Arcs, first: int, depth: Array, parents: Array) -> None:
    graph = arcs.graph
    shown = {"level": depth, "parent": parents}
    is_first = np.arange(graph.num_vertices) == first
    check_vertices(graph, "the source is its own parent", is_first & (parents != first), **shown)
    check_vertices(graph, "a vertex not reached has parent -1", (depth < 0) & (parents != -1), **shown)
    wild = (depth >= 0) & ((parents < 0) | (parents >= graph.num_vertices))
    check_vertices(graph, "the parent of a reached vertex is a vertex", wild, **shown)
    has_parent = depth > 0
    closer = np.where(has_parent, depth[parents] + 1, depth)
    check_vertices(graph, "a parent is one level closer", closer != depth, **shown)
    joined = arcs.reach(parents[arcs.targets] == arcs.sources)
    check_vertices(graph, "an edge comes from the parent", has_parent & ~joined, **shown)
