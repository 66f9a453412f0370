"""Sampling the edges of many rows at once: how many of each, which ones, and where they lead.

A place is a vertex that takes part in a batch, with a time where edges have times. What is drawn for a place is a
function of the layer's key, its vertex and its time, so the sample is the same on any number of threads. Rows are
counted first, which gives every row its own part of the result; then threads take chunks of rows. Edges lie at random
places of memory, so all of a chunk are drawn and asked for before the first is read. With times every row ascends by
time, and a place sees a first part of its row. Memory: 24 bytes per place. Deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.counter_random import hash_number
from tgraph.kernels.cpu.neighbor_draws import (
    FEW,
    draw_by_weight,
    draw_few,
    draw_many,
    draw_with_replacement,
    take_all,
)
from tgraph.kernels.cpu.openmp import run_on_shared_threads, start_threads
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

ALL = -1  # as a fan-out: every edge of the row
CHUNK = 32  # rows that a thread takes at once
AHEAD = 16  # rows whose offsets are asked for before they are read
WORK_PER_EDGE = 2  # in the units of `team_size`: a read at a random place of memory

ONE = np.uint64(1)


def sample_rows(
    neighbors: Array,
    chances: tuple[Array | None, Array | None],
    counted: tuple[Array, Array, Array],
    places: tuple[Array, Array | None],
    fanout: int,
    replace: bool,
    key: np.uint64,
    new: tuple[Array, Array, Array | None],
) -> None:
    """Draw the edges of all places; who calls has counted them with `count_rows`.

    Args:
        neighbors: Of all rows, unsigned.
        chances: Running sums of the weights in each row (to draw with replacement by weight), and weights (to draw
            without); both None: all edges alike.
        counted: What `count_rows` wrote: firsts, degrees, new_offsets.
        places: Vertices, and times or None.
        fanout: How many edges of each row, `ALL` = every one.
        replace: Whether an edge may be drawn again.
        key: Of the layer.
        new: Written: positions of the edges `[E] int64`, neighbours `[E]`, and the times handed down to them or None.
    """
    total = int(counted[2][-1])
    read = (np.zeros(1, np.int64), neighbors, *chances, *counted, *places, fanout, replace, key)
    run_on_shared_threads(_launch, _sample, total * WORK_PER_EDGE, *read, *new)


@njit(**JIT)
def _launch(size, *args):
    """Runs the worker on OpenMP threads."""
    start_threads(_sample, size, args)


@njit(**JIT)
def count_rows(vertices, times, offsets, row_times, fanout, replace, firsts, degrees, new_offsets):
    """Writes where each place's row begins, how long it is for the place, and new_offsets; returns their last.

    times and row_times are None or int64; a row ascends by row_times then. Deterministic.
    """
    total = 0
    for i in range(vertices.size):
        if i + AHEAD < vertices.size:
            prefetch(offsets, np.uint64(vertices[i + AHEAD]))
        vertex = np.uint64(vertices[i])
        first, last = offsets[vertex], offsets[vertex + ONE]
        if row_times is not None:
            last = _end_of_past(row_times, times[i], first, last)
        degree = np.int64(last - first)
        firsts[i], degrees[i], new_offsets[i] = first, degree, total
        if fanout == ALL or degree == 0 or (degree < fanout and not replace):
            total += degree
        else:
            total += fanout
    new_offsets[vertices.size] = total
    return total


@njit(**JIT)
def _end_of_past(row_times, time, first, last):
    """The first edge of a row that is later than `time`."""
    while first < last:
        middle = (first + last) >> ONE
        if row_times[middle] <= time:
            first = middle + ONE
        else:
            last = middle
    return first


@njit(**JIT)
def _sample(
    rank,
    size,
    claimed,
    neighbors,
    sums,
    weights,
    firsts,
    degrees,
    new_offsets,
    vertices,
    times,
    fanout,
    replace,
    key,
    new_edges,
    new_neighbors,
    new_times,
):
    """Writes the edges, neighbours and times of the places that the thread takes."""
    slots = np.empty(_table_size(fanout), np.int64)
    keys = np.empty(max(fanout, 0) if weights is not None else 0, np.float64)
    while True:
        begin = fetch_add(claimed, 0, CHUNK)
        if begin >= vertices.size:
            break
        end = min(begin + CHUNK, vertices.size)
        for i in range(begin, end):
            drawn = new_edges[new_offsets[i] : new_offsets[i + 1]]
            place_key = hash_number(key, np.uint64(vertices[i]))
            if times is not None:
                place_key = hash_number(place_key, np.uint64(times[i]))
                new_times[new_offsets[i] : new_offsets[i + 1]] = times[i]
            if fanout == ALL or degrees[i] == 0 or (degrees[i] <= fanout and not replace):
                take_all(firsts[i], degrees[i], drawn)
            elif replace:
                draw_with_replacement(place_key, firsts[i], degrees[i], sums, drawn)
            elif weights is not None:
                draw_by_weight(place_key, firsts[i], degrees[i], weights, keys, drawn)
            elif fanout <= FEW:
                draw_few(place_key, firsts[i], degrees[i], drawn)
            else:
                draw_many(place_key, firsts[i], degrees[i], slots, drawn)
            for j in range(drawn.size):
                prefetch(neighbors, np.uint64(drawn[j]))
        for j in range(new_offsets[begin], new_offsets[end]):
            new_neighbors[j] = neighbors[np.uint64(new_edges[j])]


@njit(**JIT)
def _table_size(fanout):
    """The slots that `draw_many` needs: a power of two."""
    size = 1
    while fanout > FEW and size < 2 * fanout:
        size *= 2
    return size
