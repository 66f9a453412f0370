"""Proof of nearest sources by edge rules, without searching.

Upper bound: every source has level 0 and itself as origin, and no edge leads to a level more than one further, nor to
one exactly one further with a larger origin: so no pair (level, origin) exceeds the true one. Lower bound: every other
reached vertex has a neighbour one level closer with its own origin, so a path of that length from there exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tgraph.graph import Graph
from tgraph.verify.rules import arcs_of, as_values, check_vertices


def check_multi_source_bfs(graph: Graph, sources: Iterable[Any], levels: Any, origins: Any) -> None:
    """Raise `VerificationError` unless `levels` and `origins` are those of the nearest sources.

    Args:
        graph: The graph that was searched.
        sources: The user's ids of the sources.
        levels: `[V]` integers, -1 = not reached.
        origins: `[V]` vertex numbers, the smallest of the nearest sources, -1 = not reached.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 2], [1, 1])
    >>> check_multi_source_bfs(graph, [0, 2], [0, 1, 0], [0, 0, 2])
    >>> check_multi_source_bfs(graph, [0, 2], [0, 1, 0], [0, 2, 2])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: edge 0 -> 1 (level 0 and 1, origin 0 and 2) breaks the rule: no edge comes from a \
smaller origin one level closer
    """
    depth = as_values(graph, "levels", levels, "i").astype(np.int64)
    origin = as_values(graph, "origins", origins, "i").astype(np.int64)
    arcs, shown = arcs_of(graph), {"level": depth, "origin": origin}
    is_source = np.zeros(graph.num_vertices, bool)
    is_source[graph.vertices_of(sources)] = True
    numbers = np.arange(graph.num_vertices)
    check_vertices(graph, "a level is -1 or more", depth < -1, **shown)
    check_vertices(graph, "a source has level 0 and itself", is_source & ((depth != 0) | (origin != numbers)), **shown)
    check_vertices(graph, "only a source has level 0", ~is_source & (depth == 0), **shown)
    check_vertices(graph, "who is not reached has origin -1", (depth < 0) & (origin != -1), **shown)
    near, far = depth[arcs.sources], depth[arcs.targets]
    arcs.check("no edge leads from a reached vertex to one not reached", (near >= 0) & (far < 0), **shown)
    arcs.check("an edge leads at most one level further", (near >= 0) & (far - 1 > near), **shown)
    further = (near >= 0) & (far - 1 == near)
    smaller = further & (origin[arcs.sources] < origin[arcs.targets])
    arcs.check("no edge comes from a smaller origin one level closer", smaller, **shown)
    has_closer = arcs.reach(further & (origin[arcs.sources] == origin[arcs.targets]))
    rule = "an edge comes from one level closer with the same origin"
    check_vertices(graph, rule, (depth > 0) & ~has_closer, **shown)
