"""Greedy colouring: every vertex, in a given order, takes the smallest colour that no neighbour has."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def greedy_colors(rows: tuple[Array, Array], order: Array) -> Array:
    """Return the colour of every vertex, `[V] int64`.

    >>> greedy_colors((np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)), np.array([1, 0, 2])).tolist()
    [1, 0, 1]
    """
    num_vertices = rows[0].size - 1
    colors = np.full(num_vertices, -1)
    _color(*rows, order, np.full(num_vertices + 1, -1), colors)
    return colors


@njit(**JIT)
def _color(offsets, neighbors, order, marks, colors):
    """Writes marks (the last vertex beside a colour) and colors."""
    for vertex in order:
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            if colors[neighbors[edge]] >= 0:
                marks[colors[neighbors[edge]]] = vertex
        color = 0
        while marks[color] == vertex:
            color += 1
        colors[vertex] = color
