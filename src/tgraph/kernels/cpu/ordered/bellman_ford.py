"""Bellman-Ford with a queue, skipping vertices one of whose parents waits in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

NOBODY = -1


class Relaxed(NamedTuple):
    """Vertices in the order in which they were first reached `[F]`, lengths `[V]`, and the parents of `order[i]`."""

    order: Array
    lengths: Array
    parent_offsets: Array  # [F+1]
    parents: Array


def search(rows: tuple[Array, Array], weights: Array, source: int, *, heuristic: bool) -> Relaxed | None:
    """Relax edges until no length changes; None where a negative cycle is found, sooner with the `heuristic`.

    >>> rows = np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32)
    >>> found = search(rows, np.array([1, 5, -2]), 0, heuristic=True)
    >>> found.order.tolist(), found.lengths.tolist(), found.parents.tolist()
    ([0, 1, 2], [0, 1, -1], [0, 1])
    """
    num_vertices = rows[0].size - 1
    order, lengths = np.empty(num_vertices, np.int64), np.zeros(num_vertices, weights.dtype)
    found, ends, parents = _search(*rows, weights, source, heuristic, order, lengths)
    if found < 0:
        return None
    return Relaxed(order[:found], lengths, ends[: found + 1], parents[: ends[found]])


@njit(**JIT)
def _grown(array):
    larger = np.empty(2 * array.size, array.dtype)
    larger[: array.size] = array
    return larger


@njit(**JIT)
def _search(offsets, neighbors, weights, source, heuristic, order, lengths):
    """Writes order and lengths; returns how many vertices were reached (-1 = cycle), ends of lists, and parents.

    Parents are linked lists in an arena: heads and tails per vertex, links from each entry to the next.
    """
    num_vertices = offsets.size - 1
    heads, tails = np.full(num_vertices, NOBODY), np.full(num_vertices, NOBODY)
    entries, links, used = np.empty(max(16, num_vertices), np.int64), np.empty(max(16, num_vertices), np.int64), 0
    recent_from, recent_to = np.full(num_vertices, NOBODY), np.full(num_vertices, NOBODY)
    last_parent, counts = np.full(num_vertices, NOBODY), np.zeros(num_vertices, np.int64)
    reached, waits = np.zeros(num_vertices, np.bool_), np.zeros(num_vertices, np.bool_)
    queue, first, last = np.empty(num_vertices + 1, np.int64), 0, 1
    queue[0], reached[source], waits[source], order[0], found = source, True, True, source, 1
    while first != last:
        vertex = queue[first]
        first = (first + 1) % queue.size
        waits[vertex] = False
        entry, is_late = heads[vertex], False
        while entry != NOBODY and not is_late:
            is_late, entry = waits[entries[entry]], links[entry]
        if is_late:
            continue
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor, length = neighbors[edge], lengths[vertex] + weights[edge]
            is_better = not reached[neighbor] or length < lengths[neighbor]
            if not is_better and length != lengths[neighbor]:
                continue
            if is_better:
                if heuristic:
                    if neighbor == recent_from[vertex] or neighbor == recent_to[vertex]:
                        return -1, counts, entries
                    if last_parent[neighbor] == vertex:
                        recent_from[neighbor], recent_to[neighbor] = recent_from[vertex], recent_to[vertex]
                    else:
                        recent_from[neighbor], recent_to[neighbor] = vertex, neighbor
                if not waits[neighbor]:
                    queue[last] = neighbor
                    last = (last + 1) % queue.size
                    waits[neighbor] = True
                    counts[neighbor] += 1
                    if counts[neighbor] == num_vertices:
                        return -1, counts, entries
                if not reached[neighbor]:
                    reached[neighbor], order[found] = True, neighbor
                    found += 1
                lengths[neighbor], last_parent[neighbor], heads[neighbor] = length, vertex, NOBODY
            if used == entries.size:
                entries, links = _grown(entries), _grown(links)
            entries[used], links[used] = vertex, NOBODY
            if heads[neighbor] == NOBODY:
                heads[neighbor] = used
            else:
                links[tails[neighbor]] = used
            tails[neighbor] = used
            used += 1
    return _collect(order, found, heads, links, entries, used)


@njit(**JIT)
def _collect(order, found, heads, links, entries, used):
    """Return the lists of all vertices found, one behind the other."""
    ends, parents = np.zeros(found + 1, np.int64), np.empty(used, np.int64)
    for place in range(found):
        ends[place + 1] = ends[place]
        entry = heads[order[place]]
        while entry != NOBODY:
            parents[ends[place + 1]] = entries[entry]
            ends[place + 1] += 1
            entry = links[entry]
    return found, ends, parents
