"""Communities of high modularity: a queue of vertices, into which the neighbours of those that moved come back.

Fast local moving (Traag, Waltman, van Eck 2019), until nobody who waits gains. Vertices with edges wait in shuffled
blocks of neighbouring numbers.

Where vertices start by themselves and most have all neighbours near them in number, as in grids and on roads, all
threads work at first: the vertices are divided into ranges, the same for any number of threads, each with a queue of
its own. Vertices with an edge to another range stay where they are. So communities stay inside ranges, and what a range
reads and writes is its own. Then one thread goes on with those that stayed, and with whom they disturb.

Memory per vertex, with 32-bit ids: 16 bytes for totals and sums, 7 for the queue and marks.
Deterministic on any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.community_levels import (
    Level,
    connected_marks,
    edges_of,
    largest_degree,
    lists,
    sum_by_community,
    weight_at,
)
from tgraph.kernels.cpu.counter_random import uniform
from tgraph.kernels.cpu.team import JIT, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

SMALLEST_GAIN = 1e-11  # of a vertex's strength: what is less may be rounding
VISITS_PER_VERTEX = 100  # on average; many times more than ever seen, so that rounding cannot make it go on for ever
LOOK_EVERY = 1 << 13  # visits between two looks at the stop word
BLOCK = 1 << 6  # consecutive vertices that stay together in the queue
MAX_RANGES, MIN_RANGE = 32, 1 << 16  # the second in edges
MOST_CROSSING = 4  # there are ranges where at most this part of the vertices has edges that leave its range


def move_by_queue(
    level: Level, communities: Array, seed: int, turn: int, coefficient: float, watch: Watch | None, is_alone: bool
) -> float:
    """Change `communities` until no vertex gains by moving; return the gain."""
    cells = np.zeros((level.num_vertices, 2))  # totals and sums of a community in one cache line
    cells[:, 0] = sum_by_community(level, communities, level.num_vertices)
    marks = connected_marks(level)
    waiting, gain, how = marks.copy(), 0.0, (seed, turn, coefficient, watch)
    if is_alone:
        ranges, crossing = _ranges(level), np.zeros_like(marks)
        level.run(None, _mark_crossing, team_size(level.num_arcs), ranges, crossing)
        if ranges.size > 2 and int(np.count_nonzero(crossing)) * MOST_CROSSING <= level.num_vertices:
            gain = _drain_queues(level, communities, ranges, marks - crossing, marks, cells, *how)
            waiting = crossing
    return gain + _drain_queues(level, communities, _whole(level), waiting, marks, cells, *how)


def shuffled_order(level: Level, seed: int, turn: int) -> Array:
    """Return the vertices that have edges, in shuffled blocks of neighbouring numbers."""
    order, counts = _shuffled(level, _whole(level), connected_marks(level), seed, turn)
    return order[: int(counts[0])]


def _drain_queues(
    level: Level,
    communities: Array,
    borders: Array,
    waiting: Array,
    marks: Array,
    cells: Array,
    seed: int,
    turn: int,
    coefficient: float,
    watch: Watch | None,
) -> float:
    """Move the vertices that are waiting, one queue per range, and whom they disturb; return the gain.

    `marks` are of these and of those that must not be put into a queue.
    """
    order, counts = _shuffled(level, borders, waiting, seed, turn)
    size = min(team_size(level.num_arcs), counts.size)
    touched = lists(size, min(largest_degree(level), level.num_vertices) + 1, communities.dtype)
    gains = np.zeros(counts.size)
    arrays = (level.strengths, communities, order, borders, counts, marks, cells[:, 0], cells[:, 1], touched)
    level.run(watch, _move, size, *arrays, coefficient, gains)
    return float(gains.sum())


def _whole(level: Level) -> Array:
    """Return the borders of one range with all vertices."""
    return np.array([0, level.num_vertices])


def _ranges(level: Level) -> Array:
    """Return where ranges of about as many edges begin, and the end; they begin with a block."""
    count = max(1, min(level.num_arcs // MIN_RANGE, MAX_RANGES))
    wanted = np.arange(1, count) * (level.neighbors.size // count)
    inner = np.searchsorted(level.offsets.view(np.int64), wanted) // BLOCK * BLOCK
    return np.unique(np.concatenate([[0], inner, [level.num_vertices]]))


def _shuffled(level: Level, borders: Array, waiting: Array, seed: int, turn: int) -> tuple[Array, Array]:
    """Return who waits, those of a range from its border on, in shuffled blocks, and how many they are."""
    first_of_block = np.arange(0, level.num_vertices, BLOCK)
    keys = uniform(first_of_block.size, seed, turn) + np.searchsorted(borders, first_of_block, "right")
    order, counts = np.empty(level.num_vertices, level.neighbors.dtype), np.zeros(borders.size - 1, np.int64)
    _fill_order(np.argsort(keys, kind="stable"), borders, waiting, order, counts)
    return order, counts


@njit(**JIT)
def _fill_order(blocks, borders, waiting, order, counts):
    """Writes order and counts: the waiting vertices of one block after the other. A range's blocks stand together."""
    for i in range(counts.size):
        place = borders[i]
        for position in range(borders[i] // BLOCK, (borders[i + 1] + BLOCK - 1) // BLOCK):
            first = blocks[position] * BLOCK
            for vertex in range(first, min(first + BLOCK, borders[i + 1])):
                if waiting[vertex]:
                    order[place] = vertex
                    place += 1
        counts[i] = place - borders[i]


@njit(**JIT)
def _is_leaving(first_edge, last_edge, neighbors, first, last):
    """Say whether one of these edges leads out of a range."""
    is_leaving = False
    for edge in range(first_edge, last_edge):
        is_leaving |= not first <= neighbors[edge] < last
    return is_leaving


@njit(**JIT)
def _mark_crossing(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights, borders, marks
):
    """Writes marks[v] = 1 where v has an edge to another range, one thread per range."""
    while True:
        i = fetch_add(shared, COUNTERS, 1)
        if i >= borders.size - 1:
            break
        first, last = np.uint64(borders[i]), np.uint64(borders[i + 1])
        for vertex in range(first, last):
            begin, end = edges_of(vertex, offsets)
            in_begin, in_end = edges_of(vertex, in_offsets)
            marks[vertex] = _is_leaving(begin, end, neighbors, first, last) or _is_leaving(
                in_begin, in_end, in_neighbors, first, last
            )


@njit(**JIT)
def _gather(begin, end, neighbors, weights, vertex, communities, sums, touched, count):
    """Add the weights of these edges to the sums of the communities that they lead to; list those that are new."""
    for edge in range(begin, end):
        neighbor, weight = np.uint64(neighbors[edge]), weight_at(weights, edge)
        if neighbor == vertex or weight == 0.0:
            continue
        community = communities[neighbor]
        before = sums[community]
        touched[count] = community
        count += np.uint64(before == 0.0)
        sums[community] = before + weight
    return count


@njit(**JIT)
def best_community(own, strength, coefficient, totals, sums, touched, count):
    """Return where a vertex gains most and how much more than at home. Sets sums back to 0. First come wins."""
    price = coefficient * strength
    stay = sums[own] - price * (totals[own] - strength)
    best, most = own, stay + SMALLEST_GAIN * strength
    for place in range(count):
        community = touched[place]
        gain = sums[community] - price * totals[community]
        sums[community] = 0.0
        if gain > most and community != own:
            best, most = community, gain
    return best, most - stay


@njit(**JIT)
def _queue(begin, end, neighbors, community, communities, marks, ring, tail):
    """Put these neighbours into the ring, unless they wait already or are in the community."""
    for edge in range(begin, end):
        neighbor = neighbors[edge]
        if marks[neighbor] == 0 and communities[neighbor] != community:
            marks[neighbor] = 1
            ring[tail if tail < np.uint64(ring.size) else tail - np.uint64(ring.size)] = neighbor
            tail += np.uint64(1)
    return tail


@njit(**JIT)
def _drain(
    shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    strengths, communities, ring, waiting, marks, totals, sums, touched, coefficient,
):  # fmt: skip
    """Writes communities, totals and marks of a range; returns the gain. ring[head:tail] waits; marks[v] = v waits."""
    one, gains = np.uint64(1), 0.0
    head, tail, visits = np.uint64(0), np.uint64(waiting), np.int64(0)
    while head < tail and visits < VISITS_PER_VERTEX * ring.size:
        if visits % LOOK_EVERY == 0:
            if is_stopped(shared):
                break
            fetch_add(shared, DONE, LOOK_EVERY)
        vertex = np.uint64(ring[head])
        visits += 1
        head += one
        if head == np.uint64(ring.size):
            head, tail = np.uint64(0), tail - np.uint64(ring.size)
        marks[vertex] = 0
        strength, own = strengths[vertex], communities[vertex]
        begin, end = edges_of(vertex, offsets)
        in_begin, in_end = edges_of(vertex, in_offsets)
        count = _gather(begin, end, neighbors, weights, vertex, communities, sums, touched, np.uint64(0))
        count = _gather(in_begin, in_end, in_neighbors, in_weights, vertex, communities, sums, touched, count)
        best, gain = best_community(own, strength, coefficient, totals, sums, touched, count)
        if best == own:
            continue
        gains += gain
        totals[own] -= strength
        totals[best] += strength
        communities[vertex] = best
        tail = _queue(begin, end, neighbors, best, communities, marks, ring, tail)
        tail = _queue(in_begin, in_end, in_neighbors, best, communities, marks, ring, tail)
    return gains


@njit(**JIT)
def _move(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    strengths, communities, order, borders, counts, marks, totals, sums, all_touched, coefficient, gains,
):  # fmt: skip
    """Writes communities, totals, marks and gains[i], one thread per range i. Needs communities inside ranges."""
    while True:
        i = fetch_add(shared, COUNTERS, 1)
        if i >= counts.size or is_stopped(shared):
            break
        ring = order[borders[i] : borders[i + 1]]
        gains[i] = _drain(
            shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
            strengths, communities, ring, counts[i], marks, totals, sums, all_touched[rank], coefficient,
        )  # fmt: skip
