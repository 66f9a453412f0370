"""Topological order by generations, and longest paths along it."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def generations(rows: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the vertices that no cycle leads to, generation by generation, and where each begins, with the end.

    >>> [part.tolist() for part in generations((np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32)))]
    [[0, 1, 2], [0, 1, 2, 3]]
    """
    num_vertices = rows[0].size - 1
    missing = np.bincount(rows[1], minlength=num_vertices)
    order, begins = np.empty(num_vertices, np.int64), np.zeros(num_vertices + 1, np.int64)
    found, count = _generations(*rows, missing, order, begins)
    return order[:found], begins[: count + 1]


def longest_paths(in_rows: tuple[Array, Array], in_weights: Array, order: Array) -> tuple[Array, Array]:
    """Return the length of the longest path to every vertex and the vertex before it `[V]`; itself = the path begins.

    `order` is topological. Of equally long ways the first in the row is taken.
    """
    num_vertices = in_rows[0].size - 1
    lengths, parents = np.zeros(num_vertices, in_weights.dtype), np.arange(num_vertices)
    _longest_paths(*in_rows, in_weights, order, lengths, parents)
    return lengths, parents


@njit(**JIT)
def _generations(offsets, neighbors, missing, order, begins):
    """Writes missing, order and begins; returns how many vertices and generations there are."""
    first, last, count = 0, 0, 0
    for vertex in range(offsets.size - 1):
        if missing[vertex] == 0:
            order[last] = vertex
            last += 1
    while first < last:
        count += 1
        begins[count] = end = last
        while first < end:
            vertex = order[first]
            first += 1
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                missing[neighbors[edge]] -= 1
                if missing[neighbors[edge]] == 0:
                    order[last] = neighbors[edge]
                    last += 1
    return last, count


@njit(**JIT)
def _longest_paths(offsets, sources, weights, order, lengths, parents):
    """Writes lengths and parents."""
    for vertex in order:
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            length = lengths[sources[edge]] + weights[edge]
            if edge == offsets[vertex] or length > lengths[vertex]:
                lengths[vertex], parents[vertex] = length, sources[edge]
        if lengths[vertex] < 0:
            lengths[vertex], parents[vertex] = 0, vertex
