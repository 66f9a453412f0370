"""Dijkstra's algorithm: vertices in the order in which they are settled; of equal lengths, first come, first served."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tgraph.kernels.cpu.ordered.binary_heap import pop, push
from tgraph.kernels.cpu.ordered.bucket_dijkstra import NOBODY, empty_lengths, search_buckets
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

NEW, WAITING, SETTLED = 0, 1, 2
NO_LIMIT = np.iinfo(np.int64).max
Steps = tuple[Array, Array, Array]


class Settled(NamedTuple):
    """What was found: vertices in order `[F]`; of these, by vertex `[V]`, length and parent; all ties, see `search`."""

    order: Array
    lengths: Array
    parents: Array
    ties: Steps


def search(
    rows: tuple[Array, Array],
    weights: Array,
    starts: Array,
    *,
    target: int = NOBODY,
    cutoff: float | None = None,
    ties: bool = False,
) -> Settled | None:
    """Settle vertices until `target` is; None where a negative weight makes that impossible.

    With `ties`, all parents are told as steps, in order: (vertex, parent, whether this parent replaces earlier ones).

    >>> rows = np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32)
    >>> found = search(rows, np.array([1, 5, 2]), np.array([0]))
    >>> found.order.tolist(), found.lengths.tolist(), found.parents.tolist()
    ([0, 1, 2], [0, 1, 3], [-1, 0, 1])
    """
    num_vertices, size = rows[0].size - 1, rows[1].size + starts.size
    lengths, state = np.zeros(num_vertices, weights.dtype), np.zeros(num_vertices, np.int8)
    heap = np.empty(size, weights.dtype), np.empty(size, np.int64), np.empty(size, np.int64)
    limit = np.inf if cutoff is None else float(cutoff)
    results, steps = _results(num_vertices, np.int64), _room(size, ties)
    found = _search(*rows, weights, starts, target, limit, ties, *heap, state, results[0], lengths, results[1], *steps)
    return None if found[0] < 0 else _settled(found, *results, lengths, steps)


def search_by_buckets(
    offsets: Array,
    edges: Array,
    starts: Array,
    *,
    target: int = NOBODY,
    cutoff: float | None = None,
    ties: bool = False,
) -> Settled:
    """As `search`, several times faster, with neighbours and weights from `bucket_dijkstra.pack_edges`.

    >>> from tgraph.kernels.cpu.ordered.bucket_dijkstra import pack_edges
    >>> edges = pack_edges(np.array([1, 2, 2], np.int32), np.array([1, 5, 2]))
    >>> search_by_buckets(np.array([0, 2, 3, 3]), edges, np.array([0])).lengths.tolist()
    [0, 1, 3]
    """
    num_vertices, size = offsets.size - 1, edges.size + starts.size
    lengths = empty_lengths(num_vertices)
    results, steps = _results(num_vertices, np.int32), _room(size, ties)
    queue = np.empty(size, np.int32), np.empty(size, np.int32)
    what = offsets, edges, starts, target, _whole_limit(cutoff), ties
    found = search_buckets(*what, *queue, results[0], lengths, results[1], *steps)
    return _settled(found, results[0], results[1].astype(np.int64), lengths, steps)


def _results(num_vertices: int, dtype: Any) -> tuple[Array, Array]:
    """Return room for the order of vertices, and parents, at first nobody."""
    return np.empty(num_vertices, np.int64), np.full(num_vertices, NOBODY, dtype)


def _room(size: int, ties: bool) -> Steps:
    """Return room for steps, if they are wanted."""
    size = size if ties else 0
    return np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.bool_)


def _settled(found: tuple[int, int], order: Array, parents: Array, lengths: Array, steps: Steps) -> Settled:
    vertices, step_parents, replaces = (step[: found[1]] for step in steps)
    return Settled(order[: found[0]], lengths, parents, (vertices, step_parents, replaces))


def _whole_limit(cutoff: float | None) -> int:
    """Return the largest whole number that a limit allows; nothing exceeds NaN."""
    if cutoff is None or not cutoff < NO_LIMIT:
        return NO_LIMIT
    return math.floor(max(cutoff, -1))


@njit(**JIT)
def _search(
    offsets, neighbors, weights, starts, target, limit, ties, heap_lengths, heap_numbers, pushed,
    state, order, lengths, parents, step_vertices, step_parents, step_replaces,
):  # fmt: skip
    """Writes all arrays from the heap on; returns how many were settled and how many steps there are, (-1, 0) = failed.

    pushed[i]: the vertex that was put into the heap as number i.
    """
    size, number, found, steps = 0, 0, 0, 0
    for start in starts:
        push(heap_lengths, heap_numbers, size, lengths[start], number)
        state[start], pushed[number] = WAITING, start
        size += 1
        number += 1
    while size > 0:
        length, pushed_as = pop(heap_lengths, heap_numbers, size)
        vertex, size = pushed[pushed_as], size - 1
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
            if state[neighbor] == SETTLED and new_length < lengths[neighbor]:
                return -1, 0
            if state[neighbor] == NEW or (state[neighbor] == WAITING and new_length < lengths[neighbor]):
                state[neighbor], lengths[neighbor], parents[neighbor] = WAITING, new_length, vertex
                push(heap_lengths, heap_numbers, size, new_length, number)
                pushed[number] = neighbor
                size += 1
                number += 1
                if ties:
                    step_vertices[steps], step_parents[steps], step_replaces[steps] = neighbor, vertex, True
                    steps += 1
            elif ties and new_length == lengths[neighbor]:
                step_vertices[steps], step_parents[steps], step_replaces[steps] = neighbor, vertex, False
                steps += 1
    return found, steps
