"""Levels of one source by a serial search on NumPy arrays, for the checks of what many searches find together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tgraph.graph import Graph
from tgraph.runtime import Array


def search_each(graph: Graph, sources: Array, along: str = "out") -> Iterator[Array]:
    """Yield the levels `[V] int64` (-1 = not reached) of every source (vertex numbers), one after the other.

    >>> import tgraph as tg
    >>> next(search_each(tg.from_edges([0, 1], [1, 2]), np.array([1]))).tolist()
    [-1, 0, 1]
    """
    offsets, neighbors, _ = graph.adjacency(along).to_numpy()
    for source in sources.tolist():
        levels = np.full(graph.num_vertices, -1, np.int64)
        frontier, depth = np.asarray([source]), 0
        while frontier.size:
            levels[frontier] = depth
            found = _neighbors_of(frontier, offsets, neighbors)
            frontier = np.unique(found[levels[found] < 0])
            depth += 1
        yield levels


def _neighbors_of(vertices: Array, offsets: Array, neighbors: Array) -> Array:
    """Return the neighbours of all these vertices."""
    sizes = offsets[vertices + 1] - offsets[vertices]
    ends = np.cumsum(sizes)
    shifts = np.repeat(offsets[vertices] - (ends - sizes), sizes)
    return neighbors[np.arange(shifts.size) + shifts]
