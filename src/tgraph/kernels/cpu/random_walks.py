"""Random walks: every walk on its own, by random numbers that depend on nothing but seed, walk, step and try.

A uniform step takes one number. A weighted step searches the running sums of the row's weights. A second-order step
(node2vec: Grover, Leskovec 2016) draws such a step and keeps it with a probability that depends on the vertex before:
rejection sampling, as in KnightKing (Yang et al. 2019), and after many tries one exact draw over the whole row. Whether
a vertex is a neighbour of the vertex before is looked up by bisection, for which the rows must ascend. A thread takes
several walks, and one step of each before the next, so that it waits for the memory of many at the same time.

Memory: the walks, and 8 bytes per edge where steps are weighted. Deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.counter_random import below, hash_number, stream_key, unit
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 64  # walks that a thread takes at once
TRIES = 32  # before a biased step is drawn from the whole row
ENDED = -1  # in place of the vertices after a dead end


def walk(
    offsets: Array,
    neighbors: Array,
    sums: Array | None,
    starts: Array,
    length: int,
    seed: int,
    bias: tuple[float, float] | None = None,
    watch: Watch | None = None,
) -> Array:
    """Return walks `[W, length + 1]` in the type of the neighbours; -1 after a vertex that no step leads away from.

    `sums` are the running sums of the weights of each row (see `row_sums`), None = all edges alike. `bias` are the
    factors of going back and of going to no neighbour of the vertex before, which needs ascending rows.

    >>> walk(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), None, np.array([0, 2]), 3, 0).tolist()
    [[0, 1, 2, -1], [2, -1, -1, -1]]
    """
    walks = np.empty((starts.size, length + 1), neighbors.dtype)
    size = team_size(walks.size * 10)
    back, away = bias or (1.0, 1.0)
    biases = np.array([back, away, max(back, away, 1.0), min(back, away, 1.0)])
    rows = (as_unsigned(offsets), as_unsigned(neighbors), sums)
    begins = starts.astype(neighbors.dtype)
    (watch or Watch()).run(_walk, size, *rows, begins, walks, stream_key(seed, 0), biases, bias is not None)
    return walks


def row_sums(offsets: Array, weights: Array) -> Array:
    """Return the running sums of the weights in each row, `[E] float64`."""
    sums = np.empty(weights.size)
    run_team(_fill_row_sums, team_size(weights.size), as_unsigned(offsets), weights, sums)
    return sums


@njit(**JIT)
def _fill_row_sums(rank, size, offsets, weights, sums):
    """Writes the sums of the thread's rows."""
    first, last = part(rank, size, offsets.size - 1)
    for row in range(np.uint64(first), np.uint64(last)):
        total = 0.0
        for edge in range(offsets[row], offsets[row + np.uint64(1)]):
            total += np.float64(weights[edge])
            sums[edge] = total


@njit(**JIT)
def draw_edge(bits, first, last, sums):
    """Return an edge of the row, with the probability of its weight; `last` if all weights are 0.

    `sums` are the running sums of the row's weights, None = all edges alike. For use inside a worker.
    """
    if sums is None:
        return first + below(bits, last - first)
    total = sums[last - np.uint64(1)]
    if not total > 0.0:
        return last
    wanted = unit(bits) * total
    low, high = first, last - np.uint64(1)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if sums[middle] > wanted:
            high = middle
        else:
            low = middle + np.uint64(1)
    while low > first and not sums[low] > sums[low - np.uint64(1)]:  # rounding may lead to an edge without weight
        low -= np.uint64(1)
    return low


@njit(**JIT)
def has_edge(source, target, offsets, neighbors):
    """Look for an edge by bisection, from inside a worker. Needs an ascending row."""
    low, high = offsets[source], offsets[source + np.uint64(1)]
    end = high
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if neighbors[middle] < target:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low < end and neighbors[low] == target


@njit(**JIT)
def _factor(target, before, offsets, neighbors, biases):
    """Return what the chance of a step to `target` is multiplied by."""
    if target == before:
        return biases[0]
    return 1.0 if has_edge(before, target, offsets, neighbors) else biases[1]


@njit(**JIT)
def _biased_draw(key, first, last, before, offsets, neighbors, sums, biases):
    """Return an edge: drawn until kept. biases: going back, going away, and the largest; a common neighbour has 1."""
    for attempt in range(TRIES):
        edge = draw_edge(hash_number(key, np.uint64(2 * attempt)), first, last, sums)
        if edge == last:
            return edge
        limit = unit(hash_number(key, np.uint64(2 * attempt + 1))) * biases[2]
        is_certain = limit < biases[3]
        if is_certain or limit < _factor(neighbors[edge], before, offsets, neighbors, biases):
            return edge
    return _exact_draw(hash_number(key, np.uint64(2 * TRIES)), first, last, before, offsets, neighbors, sums, biases)


@njit(**JIT)
def _exact_draw(bits, first, last, before, offsets, neighbors, sums, biases):
    """Return an edge with the probability of its weight times its factor; `last` if all are 0."""
    wanted, chosen = 0.0, last
    for is_choosing in (False, True):
        total = 0.0
        for edge in range(first, last):
            weight = 1.0
            if sums is not None:
                weight = sums[edge] - (sums[edge - np.uint64(1)] if edge > first else 0.0)
            weight *= _factor(neighbors[edge], before, offsets, neighbors, biases)
            total += weight
            if is_choosing and weight > 0.0:
                chosen = edge
                if total > wanted:
                    break
        wanted = unit(bits) * total
    return chosen


@njit(**JIT)
def _step(number, step, offsets, neighbors, sums, walks, seed_key, biases, is_biased):
    """Writes walks[number, step]."""
    walks[number, step] = ENDED
    if walks[number, step - 1] < 0:
        return
    vertex = np.uint64(walks[number, step - 1])
    first, last = offsets[vertex], offsets[vertex + np.uint64(1)]
    if first == last:
        return
    bits = hash_number(hash_number(seed_key, np.uint64(number)), np.uint64(step))
    if is_biased and step > 1:
        before = np.uint64(walks[number, step - 2])
        edge = _biased_draw(bits, first, last, before, offsets, neighbors, sums, biases)
    else:
        edge = draw_edge(bits, first, last, sums)
    if edge < last:
        walks[number, step] = neighbors[edge]


@njit(**JIT)
def _walk(rank, size, shared, offsets, neighbors, sums, starts, walks, seed_key, biases, is_biased):
    """Writes walks[i], one thread per walk i."""
    total = walks.shape[0]
    while True:
        begin = fetch_add(shared, COUNTERS, CHUNK)
        if begin >= total or is_stopped(shared):
            break
        end = min(begin + CHUNK, total)
        for number in range(begin, end):
            walks[number, 0] = starts[number]
        for step in range(1, walks.shape[1]):
            for number in range(begin, end):
                _step(number, step, offsets, neighbors, sums, walks, seed_key, biases, is_biased)
        fetch_add(shared, DONE, end - begin)
