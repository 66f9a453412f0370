"""Shares of shortest paths on vertices and edges, added up in the order of Brandes' algorithm (2001)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def edge_shares(rows: tuple[Array, Array], edges: Array, sources: Array, num_edges: int) -> Array:
    """Return, per edge, the sum over the sources of the share of shortest paths that contain it, `[num_edges]`.

    `edges` has the number of the edge of every entry of the rows.

    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    >>> edge_shares(rows, np.array([0, 0, 1, 1]), np.arange(3), 2).tolist()
    [4.0, 4.0]
    """
    num_vertices = rows[0].size - 1
    shares = np.zeros(num_edges)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[1], minlength=num_vertices))])
    ways = np.empty(rows[1].size, np.int64), np.empty(rows[1].size, np.int64)
    scratch = [np.empty(num_vertices, np.int64) for _ in range(3)]
    _edge_shares(*rows, edges, sources, starts, *ways, *scratch, np.empty(num_vertices), np.empty(num_vertices), shares)
    return shares


@njit(**JIT)
def _edge_shares(
    offsets, neighbors, edges, sources, starts, way_parents, way_edges, order, levels, num_ways, counts, flows, shares
):
    """Writes shares, and everything from way_parents on as scratch.

    The ways to v, as parents and edges, lie from starts[v] on.
    """
    for source in sources:
        levels[:] = -1
        first, last = 0, 1
        order[0], levels[source], counts[source], num_ways[source], flows[source] = source, 0, 1.0, 0, 0.0
        while first < last:
            vertex = order[first]
            first += 1
            for place in range(offsets[vertex], offsets[vertex + 1]):
                neighbor = neighbors[place]
                if levels[neighbor] < 0:
                    levels[neighbor], order[last] = levels[vertex] + 1, neighbor
                    counts[neighbor], num_ways[neighbor], flows[neighbor] = 0.0, 0, 0.0
                    last += 1
                if levels[neighbor] == levels[vertex] + 1:
                    way = starts[neighbor] + num_ways[neighbor]
                    way_parents[way], way_edges[way] = vertex, edges[place]
                    num_ways[neighbor] += 1
                    counts[neighbor] += counts[vertex]
        while last > 0:
            last -= 1
            vertex = order[last]
            share = (1.0 + flows[vertex]) / counts[vertex]
            for way in range(starts[vertex], starts[vertex] + num_ways[vertex]):
                part = counts[way_parents[way]] * share
                shares[way_edges[way]] += part
                flows[way_parents[way]] += part
