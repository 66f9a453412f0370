"""Dijkstra's algorithm with buckets, for small whole weights (Dial 1969); its order is the heap's, which is slower.

Entries of one length wait in the order in which they came, so the first of the first bucket is what a heap would give.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT

NEW, WAITING, SETTLED = 0, 1, 2
NOBODY = -1
MAX_WEIGHT = 256  # empty buckets are passed one by one: at most so many per vertex


@njit(**JIT)
def search_buckets(
    offsets, neighbors, weights, starts, target, limit, ties, nexts, pushed, num_buckets,
    state, order, lengths, parents, step_vertices, step_parents, step_replaces,
):  # fmt: skip
    """Needs 0 <= weights < num_buckets. Writes all arrays from nexts on but num_buckets; returns as the heap's search.

    nexts[i]: the entry behind entry i in its bucket. pushed[i]: the vertex of entry i.
    """
    heads, tails = np.full(num_buckets, NOBODY), np.full(num_buckets, NOBODY)
    length, waiting, number, found, steps = 0, 0, 0, 0, 0
    for start in starts:
        state[start] = WAITING
        _append(heads, tails, nexts, pushed, 0, number, start)
        waiting, number = waiting + 1, number + 1
    while waiting > 0:
        entry = heads[length % num_buckets]
        if entry == NOBODY:
            length += 1
            continue
        heads[length % num_buckets] = nexts[entry]
        vertex, waiting = pushed[entry], waiting - 1
        if state[vertex] == SETTLED:
            continue
        state[vertex], order[found] = SETTLED, vertex
        found += 1
        if vertex == target:
            break
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor, new_length = neighbors[edge], length + weights[edge]
            if new_length > limit:
                continue
            if state[neighbor] == NEW or (state[neighbor] == WAITING and new_length < lengths[neighbor]):
                state[neighbor], lengths[neighbor], parents[neighbor] = WAITING, new_length, vertex
                _append(heads, tails, nexts, pushed, new_length % num_buckets, number, neighbor)
                waiting, number = waiting + 1, number + 1
                if ties:
                    step_vertices[steps], step_parents[steps], step_replaces[steps] = neighbor, vertex, True
                    steps += 1
            elif ties and new_length == lengths[neighbor]:
                step_vertices[steps], step_parents[steps], step_replaces[steps] = neighbor, vertex, False
                steps += 1
    return found, steps


@njit(**JIT)
def _append(heads, tails, nexts, pushed, bucket, entry, vertex):
    """Put an entry behind the others of its bucket."""
    pushed[entry], nexts[entry] = vertex, NOBODY
    if heads[bucket] == NOBODY:
        heads[bucket] = entry
    else:
        nexts[tails[bucket]] = entry
    tails[bucket] = entry
