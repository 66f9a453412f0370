"""Breadth-first search from a queue: vertices in the order in which they are found."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

NO_LIMIT = np.iinfo(np.int64).max


def search(rows: tuple[Array, Array], starts: Array, max_level: int = NO_LIMIT) -> tuple[Array, Array, Array]:
    """Return the vertices found `[F]`, in order, and of every vertex its parent and its level `[V]`, -1 = none.

    `starts` are different vertices; they come first.

    >>> order, parents, levels = search((np.array([0, 2, 3, 3]), np.array([2, 1, 0], np.int32)), np.array([0]))
    >>> order.tolist(), parents.tolist(), levels.tolist()
    ([0, 2, 1], [-1, 0, 0], [0, 1, 1])
    """
    num_vertices = rows[0].size - 1
    order = np.empty(num_vertices, np.int64)
    parents, levels = np.full(num_vertices, -1, np.int64), np.full(num_vertices, -1, np.int64)
    found = _search(*rows, starts, max_level, order, parents, levels)
    return order[:found], parents, levels


def meet(rows: tuple[Array, Array], reverse: tuple[Array, Array], source: int, target: int) -> Array:
    """Return a shortest path, found from both ends, the end with the smaller border first; empty if there is none.

    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    >>> meet(rows, rows, 0, 2).tolist(), meet(rows, rows, 1, 1).tolist()
    ([0, 1, 2], [1])
    """
    if source == target:
        return np.array([source])
    num_vertices = rows[0].size - 1
    parents, children = np.full(num_vertices, -1, np.int64), np.full(num_vertices, -1, np.int64)
    queues = np.empty((2, num_vertices), np.int64)
    middle = _meet(*rows, *reverse, source, target, parents, children, queues)
    if middle < 0:
        return np.empty(0, np.int64)
    before, after = [middle], []
    while before[-1] != source:
        before.append(int(parents[before[-1]]))
    while middle != target:
        middle = int(children[middle])
        after.append(middle)
    return np.array(before[::-1] + after)


def depths(order: Array, parents: Array) -> Array:
    """Return how far each vertex of `order` is below its root, `[F] int64`; parents stand before their children.

    >>> depths(np.array([2, 0, 1]), np.array([2, 0, -1])).tolist()
    [0, 1, 2]
    """
    by_vertex, found = np.empty(parents.size, np.int64), np.empty(order.size, np.int64)
    _depths(order, parents, by_vertex, found)
    return found


def label_edges(rows: tuple[Array, Array], starts: Array, directed: bool) -> tuple[Array, Array, Array]:
    """Return sources, targets and kinds (0 tree, 1 level, 2 forward, 3 reverse) of the edges that a search looks at."""
    num_vertices, size = rows[0].size - 1, rows[1].size
    sources, targets, kinds = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int8)
    scratch = np.empty(num_vertices, np.int64), np.full(num_vertices, -1, np.int64), np.zeros(num_vertices, np.bool_)
    count = _label_edges(*rows, starts, directed, *scratch, sources, targets, kinds)
    return sources[:count], targets[:count], kinds[:count]


@njit(**JIT)
def _search(offsets, neighbors, starts, max_level, order, parents, levels):
    """Writes order, parents and levels of what is found; returns how many."""
    last = 0
    for start in starts:
        levels[start] = 0
        order[last] = start
        last += 1
    first = 0
    while first < last and levels[order[first]] < max_level:
        vertex = order[first]
        first += 1
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[edge]
            if levels[neighbor] < 0:
                levels[neighbor] = levels[vertex] + 1
                parents[neighbor] = vertex
                order[last] = neighbor
                last += 1
    return last


@njit(**JIT)
def _meet(offsets, neighbors, in_offsets, in_neighbors, source, target, parents, children, queues):
    """Writes parents, children and queues; returns the vertex where the searches met, -1 = nowhere.

    The ends are their own parent and child, so that they count as found.
    """
    parents[source], children[target] = source, target
    queues[0, 0], queues[1, 0] = source, target
    first, last = np.zeros(2, np.int64), np.ones(2, np.int64)
    while first[0] < last[0] and first[1] < last[1]:
        side = 0 if last[0] - first[0] <= last[1] - first[1] else 1
        level_end = last[side]
        while first[side] < level_end:
            vertex = queues[side, first[side]]
            first[side] += 1
            if side == 0:
                for edge in range(offsets[vertex], offsets[vertex + 1]):
                    neighbor = neighbors[edge]
                    if parents[neighbor] < 0:
                        parents[neighbor], queues[0, last[0]] = vertex, neighbor
                        last[0] += 1
                    if children[neighbor] >= 0:
                        return neighbor
            else:
                for edge in range(in_offsets[vertex], in_offsets[vertex + 1]):
                    neighbor = in_neighbors[edge]
                    if children[neighbor] < 0:
                        children[neighbor], queues[1, last[1]] = vertex, neighbor
                        last[1] += 1
                    if parents[neighbor] >= 0:
                        return neighbor
    return -1


@njit(**JIT)
def _depths(order, parents, by_vertex, found):
    """Writes by_vertex and found."""
    for position in range(order.size):
        vertex = order[position]
        depth = 0 if parents[vertex] < 0 else by_vertex[parents[vertex]] + 1
        by_vertex[vertex] = found[position] = depth


@njit(**JIT)
def _label_edges(offsets, neighbors, starts, directed, order, levels, done, sources, targets, kinds):
    """Writes order, levels and done, and the edges; returns how many of them."""
    first, last, count = 0, 0, 0
    for start in starts:
        levels[start], order[last] = 0, start
        last += 1
    while first < last:
        vertex = order[first]
        first += 1
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor = neighbors[edge]
            if levels[neighbor] < 0:
                levels[neighbor], order[last] = levels[vertex] + 1, neighbor
                last += 1
                kind = 0
            elif levels[neighbor] == levels[vertex]:
                kind = -1 if done[neighbor] else 1
            elif levels[neighbor] > levels[vertex]:
                kind = 2
            else:
                kind = 3 if directed else -1
            if kind >= 0:
                sources[count], targets[count], kinds[count] = vertex, neighbor, kind
                count += 1
        done[vertex] = not directed
    return count
