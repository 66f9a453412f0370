"""Dijkstra's algorithm with buckets, for small whole weights (Dial 1969); its order is the heap's, which is slower.

Entries of one length wait in the order in which they came, so the first of the first bucket is what a heap would give.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT

NOBODY = -1
UNREACHED = np.iinfo(np.int64).max
MAX_WEIGHT = 255  # empty buckets are passed one by one: at most so many per vertex


@njit(**JIT)
def search_buckets(
    offsets, neighbors, weights, starts, target, limit, ties, nexts, pushed, num_buckets,
    order, lengths, parents, step_vertices, step_parents, step_replaces,
):  # fmt: skip
    """Needs 0 <= weights < num_buckets, a power of two. Writes all arrays from nexts on; returns as the heap's search.

    nexts[i]: the entry behind entry i in its bucket. pushed[i]: the vertex of entry i; it is stale if a shorter way was
    found since. lengths are whole numbers here, UNREACHED at first.
    """
    heads, tails = np.full(num_buckets, NOBODY), np.full(num_buckets, NOBODY)
    mask = num_buckets - 1
    length, waiting, number, found, steps = 0, 0, 0, 0, 0
    for start in starts:
        lengths[start] = 0
        _append(heads, tails, nexts, pushed, 0, number, start)
        waiting, number = waiting + 1, number + 1
    while waiting > 0:
        entry = heads[length & mask]
        if entry == NOBODY:
            length += 1
            continue
        heads[length & mask] = nexts[entry]
        vertex, waiting = pushed[entry], waiting - 1
        if lengths[vertex] != length:
            continue
        order[found] = vertex
        found += 1
        if vertex == target:
            break
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            neighbor, new_length = neighbors[edge], length + weights[edge]
            if new_length > limit:
                continue
            if new_length < lengths[neighbor]:
                lengths[neighbor], parents[neighbor] = new_length, vertex
                _append(heads, tails, nexts, pushed, new_length & mask, number, neighbor)
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
