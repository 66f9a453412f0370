"""Colouring with two colours from a stack, for bipartite graphs."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

UNKNOWN = 2


def two_colors(rows: tuple[Array, Array], reverse: tuple[Array, Array] | None) -> tuple[Array, Array] | None:
    """Return the vertices with neighbours in the order in which they get a colour, and colours `[V]`, 2 = none.

    `reverse` has the incoming edges of a directed graph, which are followed first. None if two colours do not do.

    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    >>> [part.tolist() for part in two_colors(rows, None)]
    [[0, 1, 2], [1, 0, 1]]
    """
    num_vertices = rows[0].size - 1
    order, stack = np.empty(num_vertices, np.int64), np.empty(num_vertices, np.int64)
    colors = np.full(num_vertices, UNKNOWN, np.int64)
    nothing = np.zeros(num_vertices + 1, np.int64), np.empty(0, np.int32)
    found = _color(*rows, *(nothing if reverse is None else reverse), stack, order, colors)
    return None if found < 0 else (order[:found], colors)


@njit(**JIT)
def _follow(offsets, neighbors, vertex, height, found, stack, order, colors):
    """Give the neighbours the other colour; returns the new height and the new number found, -1 = not possible."""
    for edge in range(offsets[vertex], offsets[vertex + 1]):
        neighbor = neighbors[edge]
        if colors[neighbor] == UNKNOWN:
            colors[neighbor] = 1 - colors[vertex]
            stack[height], order[found] = neighbor, neighbor
            height, found = height + 1, found + 1
        elif colors[neighbor] == colors[vertex]:
            return height, -1
    return height, found


@njit(**JIT)
def _color(offsets, neighbors, in_offsets, in_neighbors, stack, order, colors):
    """Writes stack, order and colors; returns how many have a colour, -1 = not possible."""
    found = 0
    for start in range(offsets.size - 1):
        if colors[start] != UNKNOWN or offsets[start] == offsets[start + 1]:
            continue
        colors[start], stack[0], order[found] = 1, start, start
        height, found = 1, found + 1
        while height > 0:
            vertex = stack[height - 1]
            height, found = _follow(in_offsets, in_neighbors, vertex, height - 1, found, stack, order, colors)
            if found >= 0:
                height, found = _follow(offsets, neighbors, vertex, height, found, stack, order, colors)
            if found < 0:
                return -1
    return found
