"""Strongly connected components, in the order in which one depth-first search closes them (Nuutila 1994)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def components(rows: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return all vertices, component by component, and where each begins, with the end, `[C+1]`.

    A component comes after all others that it leads to.

    >>> rows = np.array([0, 1, 2, 3]), np.array([1, 0, 0], np.int32)
    >>> [part.tolist() for part in components(rows)]
    [[0, 1, 2], [0, 2, 3]]
    """
    num_vertices = rows[0].size - 1
    order, begins = np.empty(num_vertices, np.int64), np.zeros(num_vertices + 1, np.int64)
    scratch = [np.zeros(num_vertices, np.int64) for _ in range(4)]
    count = _components(*rows, rows[0][:-1].copy(), *scratch, np.zeros(num_vertices, np.bool_), order, begins)
    return order, begins[: count + 1]


@njit(**JIT)
def _components(offsets, neighbors, nexts, numbers, lows, stack, waiting, closed, order, begins):
    """Writes all arrays from nexts on; returns how many components there are. numbers: 0 = not seen yet."""
    last_number, found, count, num_waiting = 0, 0, 0, 0
    for start in range(offsets.size - 1):
        if closed[start]:
            continue
        stack[0], depth = start, 1
        while depth > 0:
            vertex = stack[depth - 1]
            if numbers[vertex] == 0:
                last_number += 1
                numbers[vertex] = lows[vertex] = last_number
            while nexts[vertex] < offsets[vertex + 1] and numbers[neighbors[nexts[vertex]]] != 0:
                nexts[vertex] += 1
            if nexts[vertex] < offsets[vertex + 1]:
                stack[depth] = neighbors[nexts[vertex]]
                nexts[vertex] += 1
                depth += 1
                continue
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                neighbor = neighbors[edge]
                if not closed[neighbor]:
                    is_below = numbers[neighbor] > numbers[vertex]
                    lows[vertex] = min(lows[vertex], lows[neighbor] if is_below else numbers[neighbor])
            depth -= 1
            if lows[vertex] != numbers[vertex]:
                waiting[num_waiting] = vertex
                num_waiting += 1
                continue
            closed[vertex], order[found] = True, vertex
            found += 1
            while num_waiting > 0 and numbers[waiting[num_waiting - 1]] > numbers[vertex]:
                num_waiting -= 1
                closed[waiting[num_waiting]], order[found] = True, waiting[num_waiting]
                found += 1
            count += 1
            begins[count] = found
    return count
