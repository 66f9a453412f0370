"""Greedy colouring in a fixed order, by levels of vertices that wait for nobody any more.

A vertex takes the smallest colour that no earlier neighbour has. It counts the earlier neighbours that have no colour
yet; when the count falls to nothing, it is in the next level (Jones, Plassmann 1993; largest degree first: Hasenplaugh,
Kaler, Schardl, Leiserson 2014). The result is that of the serial loop in that order, whatever the number of threads.
Needs 16 bytes and an id per vertex, and 8 bytes times the largest degree per thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.counter_random import hash_number, stream_key
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 1 << 9  # vertices that a thread takes of all
LEVEL_CHUNK = 1 << 5  # vertices that a thread takes of a level
FEW = 1 << 7  # vertices of a level that thread 0 colours alone
ONE = np.uint64(1)
_TAIL, _HEAD, _HALT, _COUNT = COUNTERS, COUNTERS + 1, COUNTERS + 2, COUNTERS + 8
_LEVELS = COUNTERS + 16  # three counters that take turns


def largest_first_order(degrees: Array, seed: int) -> Array:
    """Return distinct numbers, `[V] int64`, ascending as degrees descend; equal degrees are in random order.

    Below the degree are random bits, as many as there is room for, and below them the vertex number.

    >>> np.argsort(largest_first_order(np.array([1, 3, 2]), seed=0)).tolist()
    [1, 2, 0]
    """
    most = int(degrees.max(initial=0))
    vertex_bits = max(degrees.size - 1, 0).bit_length()
    random_bits = max(0, 63 - vertex_bits - most.bit_length())
    order = np.empty(degrees.size, np.int64)
    widths = (np.uint64(vertex_bits), np.uint64(random_bits))
    run_team(_fill_order, team_size(degrees.size), stream_key(seed, 0), np.int64(most), *widths, degrees, order)
    return order


def first_fit_colors(sides: tuple[tuple[Array, Array], ...], order: Array, watch: Watch | None = None) -> Array:
    """Return colours from 0, `[V] int32`: what a loop in this order gives; loops at a vertex do not count.

    sides: offsets and neighbours of one direction where every edge is stored both ways, else of both directions.

    >>> sides = ((np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)),)
    >>> first_fit_colors(sides, np.array([0, 2, 1])).tolist()
    [0, 1, 0]
    """
    num_vertices = order.size
    colors, waiting = np.full(num_vertices, -1, np.int32), np.empty(num_vertices, np.uint32)
    queue = np.empty(num_vertices, sides[0][1].dtype)
    rows = [as_unsigned(array) for side in (sides[0], sides[-1]) for array in side]
    degrees = [int(np.diff(offsets).max(initial=0)) for offsets, _ in sides]
    size = team_size(sum(neighbors.size for _, neighbors in sides) + num_vertices)
    arrays = (order, colors, waiting, as_unsigned(queue))
    (watch or Watch()).run(_color, size, *rows, len(sides) == 2, sum(degrees), *arrays)
    return colors


@njit(**JIT)
def _fill_order(rank, size, key, most, vertex_bits, random_bits, degrees, order):
    """Writes the thread's part of the order."""
    first, last = part(rank, size, order.size)
    for vertex in range(first, last):
        number = np.uint64(most - degrees[vertex]) << random_bits
        if random_bits > np.uint64(0):
            number |= hash_number(key, np.uint64(vertex)) >> (np.uint64(64) - random_bits)
        order[vertex] = np.int64((number << vertex_bits) | np.uint64(vertex))


@njit(**JIT)
def _color(rank, size, shared, offsets, targets, in_offsets, in_sources, is_directed, degree, order, colors, waiting,
           queue):  # fmt: skip
    """Writes colors, one thread per vertex; waiting and queue by all threads."""
    num_vertices = np.int64(order.size)
    while True:
        chunk = fetch_add(shared, _COUNT, CHUNK)
        if chunk >= num_vertices:
            break
        for vertex in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            count = _count_earlier(vertex, offsets, targets, order)
            if is_directed:
                count += _count_earlier(vertex, in_offsets, in_sources, order)
            waiting[vertex] = count
            if count == 0:
                queue[fetch_add(shared, _TAIL, 1)] = vertex
    rows = (offsets, targets, in_offsets, in_sources)
    marks = np.zeros(degree + 2, np.uint64)  # the last vertex + 1 that saw a colour beside it
    meeting, turn = meet(shared, 1, size), 0
    while True:
        if rank == 0:
            shared[_HALT] = load(shared, STOP)
            head, tail = shared[_HEAD], shared[_TAIL]
            few = num_vertices if size == 1 else FEW
            while head < tail and tail - head <= few and not is_stopped(shared):
                _color_part(head, tail, shared, rows, is_directed, order, colors, waiting, queue, marks)
                head, tail = tail, shared[_TAIL]
            shared[_HEAD] = head
            shared[DONE] = head
        meeting = meet(shared, meeting, size)
        head, tail, halt = shared[_HEAD], shared[_TAIL], shared[_HALT]
        meeting = meet(shared, meeting, size)
        if head == tail or halt:
            break
        while True:
            first = head + fetch_add(shared, _LEVELS + 8 * turn, LEVEL_CHUNK)
            if first >= tail:
                break
            last = min(first + LEVEL_CHUNK, tail)
            _color_part(first, last, shared, rows, is_directed, order, colors, waiting, queue, marks)
        turn = (turn + 1) % 3
        meeting = meet(shared, meeting, size)
        if rank == 0:
            shared[_HEAD], shared[_LEVELS + 8 * turn] = tail, 0


@njit(**JIT)
def _count_earlier(vertex, offsets, neighbors, order):
    """Return how many edges of a vertex lead to earlier ones."""
    count, own = 0, order[vertex]
    for edge in range(offsets[vertex], offsets[vertex + ONE]):
        count += order[neighbors[edge]] < own
    return count


@njit(**JIT)
def _color_part(first, last, shared, rows, is_directed, order, colors, waiting, queue, marks):
    """Writes the colours of a part of the queue; appends the vertices that wait for nobody after that."""
    for place in range(first, last):
        vertex = np.uint64(queue[place])
        _look_around(vertex, rows[0], rows[1], shared, order, colors, waiting, queue, marks)
        if is_directed:
            _look_around(vertex, rows[2], rows[3], shared, order, colors, waiting, queue, marks)
        color = 0
        while marks[color] == vertex + ONE:
            color += 1
        colors[vertex] = color


@njit(**JIT)
def _look_around(vertex, offsets, neighbors, shared, order, colors, waiting, queue, marks):
    """Marks the colours of earlier neighbours, and tells later ones that this vertex has one."""
    own, one = order[vertex], np.uint32(1)
    for edge in range(offsets[vertex], offsets[vertex + ONE]):
        neighbor = neighbors[edge]
        other = order[neighbor]
        if other < own:
            marks[colors[neighbor]] = vertex + ONE
        elif other > own and fetch_add(waiting, neighbor, np.uint32(0xFFFFFFFF)) == one:
            queue[fetch_add(shared, _TAIL, 1)] = neighbor
