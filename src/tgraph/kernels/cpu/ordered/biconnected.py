"""Biconnected components and the vertices that join them, as one depth-first search finds them (Tarjan 1972)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


class Biconnected(NamedTuple):
    """Edges component by component, where each component begins, with the end `[C+1]`; joining vertices, each once."""

    sources: Array
    targets: Array
    begins: Array
    joints: Array


def split(rows: tuple[Array, Array]) -> Biconnected:
    """Split an undirected graph; edges lead as the search went, and self-loops of roots are left out.

    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    >>> [part.tolist() for part in split(rows)]
    [[1, 0], [2, 1], [0, 1, 2], [1]]
    """
    num_vertices, size = rows[0].size - 1, rows[1].size
    edges = [np.empty(size, np.int64) for _ in range(4)]
    begins, joints = np.zeros(num_vertices + 1, np.int64), np.empty(num_vertices, np.int64)
    scratch = [np.empty(num_vertices + 1, np.int64) for _ in range(5)]
    count, num_edges, num_joints = _split(*rows, rows[0][:-1].copy(), *scratch, *edges, begins, joints)
    return Biconnected(edges[2][:num_edges], edges[3][:num_edges], begins[: count + 1], joints[:num_joints])


@njit(**JIT)
def _split(
    offsets, neighbors, nexts, stack, numbers, lows, places, parents, stack_sources, stack_targets, sources, targets,
    begins, joints,
):  # fmt: skip
    """Writes all arrays from nexts on; returns the numbers of components, edges and joints.

    places[v]: where the edge to v is on the stack of edges. numbers: -1 = not seen yet.
    """
    num_vertices = offsets.size - 1
    numbers[:] = -1
    is_joint = np.zeros(num_vertices, np.bool_)
    last_number, height, count, found, num_joints = 0, 0, 0, 0, 0
    for start in range(num_vertices):
        if numbers[start] >= 0:
            continue
        stack[0], parents[start], depth, children = start, start, 1, 0
        numbers[start] = lows[start] = last_number
        last_number += 1
        while depth > 0:
            vertex = stack[depth - 1]
            parent = parents[vertex]
            if nexts[vertex] < offsets[vertex + 1]:
                neighbor = neighbors[nexts[vertex]]
                nexts[vertex] += 1
                if neighbor == parent:
                    continue
                if numbers[neighbor] < 0:
                    numbers[neighbor] = lows[neighbor] = last_number
                    last_number += 1
                    parents[neighbor], stack[depth], places[neighbor] = vertex, neighbor, height
                    depth += 1
                elif numbers[neighbor] <= numbers[vertex]:
                    lows[vertex] = min(lows[vertex], numbers[neighbor])
                else:
                    continue
                stack_sources[height], stack_targets[height] = vertex, neighbor
                height += 1
                continue
            depth -= 1
            if depth == 0:
                continue
            if depth == 1:
                children += 1
            if depth == 1 or lows[vertex] >= numbers[parent]:
                for place in range(places[vertex], height):
                    sources[found], targets[found] = stack_sources[place], stack_targets[place]
                    found += 1
                height = places[vertex]
                count += 1
                begins[count] = found
                if depth > 1 and not is_joint[parent]:
                    is_joint[parent], joints[num_joints] = True, parent
                    num_joints += 1
            lows[parent] = min(lows[parent], lows[vertex])
        if children > 1:
            joints[num_joints] = start
            num_joints += 1
    return count, found, num_joints
