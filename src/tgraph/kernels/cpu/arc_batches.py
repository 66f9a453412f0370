"""A batch of changes by vertex number, turned into mutations of stored arcs. One thread, for batches are small."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.arc_changes import CHANGE, DELETE, INSERT
from tgraph.kernels.cpu.team import JIT


@njit(**JIT)
def are_known(ids, num_known):
    """Say whether all ids are numbers of vertices.

    >>> are_known(np.array([0, 2]), 3), are_known(np.array([0, 3]), 3), are_known(np.array([-1]), 3)
    (True, False, False)
    """
    num_others = 0
    for i in range(ids.size):
        num_others += np.uint64(ids[i]) >= np.uint64(num_known)
    return num_others == 0


@njit(**JIT)
def known_numbers(ids, num_known):
    """Return ids that are numbers of vertices as they are, and -1 for others, `[N] int64`.

    >>> known_numbers(np.array([0, 3, -5, 2]), 3).tolist()
    [0, -1, -1, 2]
    """
    numbers = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        numbers[i] = ids[i] if 0 <= ids[i] < num_known else -1
    return numbers


@njit(**JIT)
def collect_arcs(
    gone_from, gone_to, deleted_from, deleted_to, changed_from, changed_to, changed_weights, inserted_from, inserted_to,
    inserted_weights, no_cells, directed, weighted,
):  # fmt: skip
    """Return all mutations: edges of removed vertices, then those that are deleted, changed and inserted.

    Ends are numbers, -1 = not known; edges with such an end are left out. In a graph that is `weighted` there is a
    weight for every changed and every inserted edge. `no_cells` is an empty array of the type of ends. In an undirected
    graph the mirrored mutations follow; the lower end comes first, so that both directions see the same order.

    Returns sources, targets, weights, kinds, and how many there are without the mirrored ones, of removed vertices, and
    left out.
    """
    most = gone_from.size + deleted_from.size + changed_from.size + inserted_from.size
    room = most if directed else 2 * most
    sources, targets = np.empty(room, no_cells.dtype), np.empty(room, no_cells.dtype)
    kinds = np.empty(room, np.uint8)
    weights = np.zeros(room if weighted else 0, inserted_weights.dtype)
    columns = sources, targets, weights, kinds
    no_weights = inserted_weights[:0]
    num_gone = _take(gone_from, gone_to, no_weights, DELETE, columns, 0)
    count = _take(deleted_from, deleted_to, no_weights, DELETE, columns, num_gone)
    count = _take(changed_from, changed_to, changed_weights, CHANGE, columns, count)
    count = _take(inserted_from, inserted_to, inserted_weights, INSERT, columns, count)
    total = count if directed else _mirror(sources, targets, weights, kinds, count)
    last = total if weighted else 0
    return sources[:total], targets[:total], weights[:last], kinds[:total], count, num_gone, most - count


@njit(**JIT)
def _take(ends_from, ends_to, given_weights, kind, columns, count):
    """Add the mutations whose ends are known; return how many there are then."""
    sources, targets, weights, kinds = columns
    for i in range(ends_from.size):
        if ends_from[i] >= 0 and ends_to[i] >= 0:
            sources[count], targets[count], kinds[count] = ends_from[i], ends_to[i], kind
            if given_weights.size:
                weights[count] = given_weights[i]
            count += 1
    return count


@njit(**JIT)
def _mirror(sources, targets, weights, kinds, count):
    """Put the lower end first, and add every mutation the other way round; return how many there are then."""
    total = count
    for i in range(count):
        low, high = min(sources[i], targets[i]), max(sources[i], targets[i])
        sources[i], targets[i] = low, high
        if low != high:
            sources[total], targets[total], kinds[total] = high, low, kinds[i]
            if weights.size:
                weights[total] = weights[i]
            total += 1
    return total
