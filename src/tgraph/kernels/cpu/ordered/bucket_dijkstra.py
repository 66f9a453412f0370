"""Dijkstra's algorithm with buckets, for small whole weights (Dial 1969); its order is the heap's, which is slower.

Entries of one length wait in the order in which they came, so the first of the first bucket is what a heap would give.
A neighbour and the weight of its edge are one number, so that a row is read from one place; the row of whoever comes
next is asked for before that of the vertex at hand is read.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

NOBODY = -1
NUM_BUCKETS = 256  # empty ones are passed one by one: at most so many per vertex
WEIGHT_BITS = 32  # to the left of the neighbour


def pack_edges(neighbors: Array, weights: Array) -> Array | None:
    """Return neighbours and weights as one array `[E] int64`, None unless weights are whole, 0 to 255.

    >>> (pack_edges(np.array([3, 1]), np.array([0, 2])) >> WEIGHT_BITS).tolist()
    [0, 2]
    """
    is_small = weights.dtype.kind == "i" and weights.min(initial=0) >= 0 and weights.max(initial=0) < NUM_BUCKETS
    return weights.astype(np.int64) << WEIGHT_BITS | neighbors if is_small else None


def empty_lengths(num_vertices: int) -> Array:
    """Return lengths `[V]`, larger than any path, in as few bits as paths need."""
    dtype = np.int32 if num_vertices * NUM_BUCKETS < np.iinfo(np.int32).max else np.int64
    return np.full(num_vertices, np.iinfo(dtype).max, dtype)


@njit(**JIT)
def search_buckets(
    offsets, edges, starts, target, limit, ties, nexts, pushed,
    order, lengths, parents, step_vertices, step_parents, step_replaces,
):  # fmt: skip
    """Needs edges from `pack_edges`. Writes all arrays from nexts on; returns as the heap's search.

    nexts[i]: the entry behind entry i in its bucket. pushed[i]: the vertex of entry i; it is stale if a shorter way was
    found since. lengths come from `empty_lengths`.
    """
    heads, tails = np.full(NUM_BUCKETS, NOBODY), np.full(NUM_BUCKETS, NOBODY)
    mask, neighbor_mask = NUM_BUCKETS - 1, (1 << WEIGHT_BITS) - 1
    length, waiting, number, found, steps = 0, 0, 0, 0, 0
    for start in starts:
        lengths[start], pushed[number], nexts[number] = 0, start, number + 1
        number += 1
    heads[0], tails[0], waiting = 0, number - 1, number
    nexts[number - 1] = NOBODY
    while waiting > 0:
        entry = heads[length & mask]
        if entry == NOBODY:
            length += 1
            continue
        following = nexts[entry]
        heads[length & mask] = following
        if following != NOBODY:
            prefetch(edges, offsets[pushed[following]])
        vertex, waiting = pushed[entry], waiting - 1
        if lengths[vertex] != length:
            continue
        order[found] = vertex
        found += 1
        if vertex == target:
            break
        for place in range(offsets[vertex], offsets[vertex + 1]):
            neighbor, new_length = edges[place] & neighbor_mask, length + (edges[place] >> WEIGHT_BITS)
            if new_length > limit:
                continue
            if new_length < lengths[neighbor]:
                lengths[neighbor], parents[neighbor] = new_length, vertex
                pushed[number], nexts[number] = neighbor, NOBODY
                bucket = new_length & mask
                if heads[bucket] == NOBODY:
                    heads[bucket] = number
                else:
                    nexts[tails[bucket]] = number
                tails[bucket] = number
                waiting, number = waiting + 1, number + 1
                if ties:
                    step_vertices[steps], step_parents[steps], step_replaces[steps] = neighbor, vertex, True
                    steps += 1
            elif ties and new_length == lengths[neighbor]:
                step_vertices[steps], step_parents[steps], step_replaces[steps] = neighbor, vertex, False
                steps += 1
    return found, steps
