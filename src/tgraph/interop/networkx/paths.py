"""Shortest paths as lists of nodes, made from parents for many vertices at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.kernels.cpu.ordered.breadth_first import depths as depths_below_root
from tgraph.runtime import Array


def paths_by_node(
    graph: ConvertedGraph, order: Array, parents: Array, *, backwards: bool = False
) -> dict[Any, list[Any]]:
    """Return the path to every vertex of `order`, in that order; a vertex without a parent (-1) begins its path.

    Every parent stands before its children in `order`. `backwards`: paths lead from the vertex to the root.
    """
    depths = depths_below_root(order, parents)
    found: list[Any] = [None] * order.size
    places = np.empty(len(graph), np.int64)  # where a vertex's path is among those of its depth
    by_depth = np.argsort(depths, kind="stable")
    ends = np.cumsum(np.bincount(depths)) if order.size else np.zeros(0, np.int64)
    shorter, begin = np.empty((1, 0), object), 0
    for end in ends.tolist():
        positions = by_depth[begin:end]
        vertices = order[positions]
        before = shorter[places[parents[vertices]]] if begin else np.empty((vertices.size, 0), object)
        nodes = graph.nodes[vertices][:, None]
        shorter = np.concatenate([nodes, before] if backwards else [before, nodes], axis=1)
        places[vertices] = np.arange(vertices.size)
        for position, path in zip(positions.tolist(), shorter.tolist(), strict=True):
            found[position] = path
        begin = end
    return dict(zip(graph.nodes_of(order), found, strict=True))


def path_to(graph: ConvertedGraph, parents: Array, vertex: int) -> list[Any]:
    """Return the path to one vertex."""
    path = [vertex]
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    return graph.nodes_of(np.array(path[::-1]))
