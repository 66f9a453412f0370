"""Depth-first search: every step of it, in order."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

FORWARD, NONTREE, REVERSE, LIMITED = 0, 1, 2, 3  # kinds of steps; LIMITED = back because of the limit of depth


def search(rows: tuple[Array, Array], starts: Array, max_depth: int, *, tree_only: bool) -> tuple[Array, Array, Array]:
    """Return the steps of a search from each start that was not found before: sources, targets and kinds.

    A start is its own source in its first and last step. With `tree_only` there are only FORWARD steps to others.

    >>> rows = np.array([0, 2, 3, 3]), np.array([2, 1, 0], np.int32)
    >>> [steps.tolist() for steps in search(rows, np.array([0]), 3, tree_only=True)]
    [[0, 0], [2, 1], [0, 0]]
    """
    num_vertices = rows[0].size - 1
    size = num_vertices if tree_only else rows[1].size + 3 * num_vertices
    sources, targets, kinds = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int8)
    stack, nexts = np.empty(num_vertices + 1, np.int64), rows[0][:-1].copy()
    seen = np.zeros(num_vertices, np.bool_)
    count = _search(*rows, starts, max_depth, tree_only, seen, stack, nexts, sources, targets, kinds)
    return sources[:count], targets[:count], kinds[:count]


@njit(**JIT)
def _search(offsets, neighbors, starts, max_depth, tree_only, seen, stack, nexts, sources, targets, kinds):
    """Writes seen, stack, nexts and the steps; returns how many of them."""
    count = 0
    for start in starts:
        if seen[start]:
            continue
        if not tree_only:
            sources[count], targets[count], kinds[count] = start, start, FORWARD
            count += 1
        seen[start], stack[0], depth = True, start, 1
        while depth > 0:
            vertex = stack[depth - 1]
            if nexts[vertex] == offsets[vertex + 1]:
                depth -= 1
                if depth > 0 and not tree_only:
                    sources[count], targets[count], kinds[count] = stack[depth - 1], vertex, REVERSE
                    count += 1
                continue
            neighbor = neighbors[nexts[vertex]]
            nexts[vertex] += 1
            if seen[neighbor]:
                if not tree_only:
                    sources[count], targets[count], kinds[count] = vertex, neighbor, NONTREE
                    count += 1
                continue
            seen[neighbor] = True
            sources[count], targets[count], kinds[count] = vertex, neighbor, FORWARD
            count += 1
            if depth < max_depth:
                stack[depth] = neighbor
                depth += 1
            elif not tree_only:
                sources[count], targets[count], kinds[count] = vertex, neighbor, LIMITED
                count += 1
        if not tree_only:
            sources[count], targets[count], kinds[count] = start, start, REVERSE
            count += 1
    return count
