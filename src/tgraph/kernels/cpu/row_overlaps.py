"""What neighbourhoods have in common: overlaps of rows, squares, triangles by the multiplicity of edges."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array]


def overlaps(rows: Rows, firsts: Array, seconds: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return for pairs of vertices the common neighbours, those other than the two, and the sum of values over these.

    Rows ascend. Deterministic.

    >>> rows = np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1], np.int32)
    >>> [part.tolist() for part in overlaps(rows, np.array([0]), np.array([1]), np.array([1.0, 2.0, 4.0]))]
    [[1], [1], [4.0]]
    """
    common, others = np.zeros(firsts.size, np.int64), np.zeros(firsts.size, np.int64)
    sums = np.zeros(firsts.size)
    run_team(_overlaps, team_size(firsts.size * 8), *rows, firsts, seconds, values, common, others, sums)
    return common, others, sums


def squares(rows: Rows) -> tuple[Array, Array]:
    """Return for every vertex the squares that it is in and those it could be in.

    Rows are symmetric, ascending and without self-loops. Deterministic.
    """
    num_vertices = rows[0].size - 1
    found, possible = np.zeros(num_vertices, np.int64), np.zeros(num_vertices, np.int64)
    size = team_size(rows[1].size * 8)
    run_team(_squares, size, *rows, np.zeros((size, num_vertices), np.int64), found, possible)
    return found, possible


def multiplied_triangles(rows: Rows, multiplicities: Array) -> Array:
    """Return for every vertex the sum over pairs of joined neighbours of the product of the three multiplicities.

    Symmetric rows without self-loops; every pair counts in both orders.

    >>> rows = np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1], np.int32)
    >>> multiplied_triangles(rows, np.array([1, 1, 1, 2, 1, 2])).tolist()
    [4, 4, 4]
    """
    num_vertices = rows[0].size - 1
    sums = np.zeros(num_vertices, np.int64)
    size = team_size(rows[1].size * 8)
    run_team(_multiplied_triangles, size, *rows, multiplicities, np.zeros((size, num_vertices), np.int64), sums)
    return sums


@njit(**JIT)
def _overlaps(rank, size, offsets, neighbors, firsts, seconds, values, common, others, sums):
    """Writes common, others and sums, the own part of the pairs."""
    first, last = part(rank, size, firsts.size)
    for pair in range(first, last):
        one, other = firsts[pair], seconds[pair]
        i, j = offsets[one], offsets[other]
        while i < offsets[one + 1] and j < offsets[other + 1]:
            if neighbors[i] < neighbors[j]:
                i += 1
            elif neighbors[i] > neighbors[j]:
                j += 1
            else:
                common[pair] += 1
                if neighbors[i] != one and neighbors[i] != other:
                    others[pair] += 1
                    sums[pair] += values[neighbors[i]]
                i, j = i + 1, j + 1


@njit(**JIT)
def _squares(rank, size, offsets, neighbors, all_counts, found, possible):
    """Writes found and possible, every size-th vertex, and the own row of all_counts, zero again at the end."""
    counts = all_counts[rank]
    for vertex in range(rank, offsets.size - 1, size):
        degree = offsets[vertex + 1] - offsets[vertex]
        if degree < 2:
            continue
        degrees, triangles, pairs = 0, 0, 0
        for place in range(offsets[vertex], offsets[vertex + 1]):
            middle = neighbors[place]
            degrees += (offsets[middle + 1] - offsets[middle]) * (degree - 1)
            for edge in range(offsets[middle], offsets[middle + 1]):
                counts[neighbors[edge]] += 1
        for place in range(offsets[vertex], offsets[vertex + 1]):
            triangles += counts[neighbors[place]]
        counts[vertex] = 0
        for place in range(offsets[vertex], offsets[vertex + 1]):
            middle = neighbors[place]
            for edge in range(offsets[middle], offsets[middle + 1]):
                count = counts[neighbors[edge]]
                pairs += count * (count - 1)
                counts[neighbors[edge]] = 0
        found[vertex] = pairs // 2
        possible[vertex] = degrees - degree * (degree - 1) - triangles - pairs // 2


@njit(**JIT)
def _multiplied_triangles(rank, size, offsets, neighbors, multiplicities, all_marks, sums):
    """Writes sums, every size-th vertex, and the own row of all_marks, zero again at the end."""
    marks = all_marks[rank]
    for vertex in range(rank, offsets.size - 1, size):
        for place in range(offsets[vertex], offsets[vertex + 1]):
            marks[neighbors[place]] = multiplicities[place]
        total = 0
        for place in range(offsets[vertex], offsets[vertex + 1]):
            middle, inner = neighbors[place], 0
            for edge in range(offsets[middle], offsets[middle + 1]):
                inner += marks[neighbors[edge]] * multiplicities[edge]
            total += inner * multiplicities[place]
        sums[vertex] = total
        for place in range(offsets[vertex], offsets[vertex + 1]):
            marks[neighbors[place]] = 0
