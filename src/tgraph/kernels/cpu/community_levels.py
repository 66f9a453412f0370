"""Joining communities: every community becomes one vertex of the next level.

Edges between two communities become one edge with their total weight; what is inside a community counts only in its
strength. All threads take communities in pieces, and go through the rows of their members twice: to count the edges of
the new rows, and to fill them.

Memory: 8 bytes per community for each thread (fewer threads run if that exceeds 32 bytes per vertex), one id per
vertex, and the new level. Deterministic: a new row is made by one thread, in the order of its members.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.communities import Level, edges_of, sum_by_community, weight_at
from tgraph.kernels.cpu.team import JIT, as_unsigned, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 1 << 6  # communities that a thread takes at once


def number_in_order(communities: Array) -> int:
    """Number communities (below V) anew, in the order of their first vertices; return how many there are.

    >>> communities = np.array([3, 1, 3, 0], np.uint32)
    >>> number_in_order(communities), communities.tolist()
    (3, [0, 1, 0, 2])
    """
    return int(_number(communities, np.full_like(communities, np.iinfo(communities.dtype).max)))


def join_communities(level: Level, communities: Array, count: int, watch: Watch | None = None) -> Level:
    """Return the level whose vertices are the `count` communities. Needs communities numbered in order."""
    starts, members = np.zeros(count + 1, np.int64), np.empty_like(communities)
    _group(communities, starts, members)
    size = max(1, min(team_size(level.num_arcs), 4 * level.num_vertices // max(count, 1)))
    slots, offsets = np.zeros((size, count), np.int64), np.zeros(count + 1, np.int64)
    level.run(watch, _count_edges, size, communities, starts, members, slots, offsets)
    np.cumsum(offsets, out=offsets)
    neighbors, weights = np.empty(int(offsets[-1]), communities.dtype), np.empty(int(offsets[-1]))
    slots.fill(0)
    level.run(watch, _fill_edges, size, communities, starts, members, slots, offsets, neighbors, weights)
    strengths = sum_by_community(level, communities, count)
    return Level(
        as_unsigned(offsets), neighbors, weights, as_unsigned(starts[:0]), neighbors[:0], weights[:0], strengths
    )


@njit(**JIT)
def _number(communities, numbers):
    """Writes communities. numbers starts with all bits set: no number yet. Serial."""
    none, count = numbers.dtype.type(-1), numbers.dtype.type(0)
    for vertex in range(communities.size):
        old = communities[vertex]
        if numbers[old] == none:
            numbers[old] = count
            count += numbers.dtype.type(1)
        communities[vertex] = numbers[old]
    return count


@njit(**JIT)
def _group(communities, starts, members):
    """Writes starts and members: the vertices of every community in ascending order. Serial."""
    for vertex in range(communities.size):
        starts[communities[vertex]] += 1
    total = 0
    for i in range(starts.size):
        total += starts[i]
        starts[i] = total
    for i in range(communities.size):
        vertex = communities.size - 1 - i
        place = starts[communities[vertex]] - 1
        starts[communities[vertex]] = place
        members[place] = vertex


@njit(**JIT)
def _count_row(first, last, neighbors, own, communities, stamp, slots):
    """Return how many communities these edges lead to for the first time; slots[c] = stamp marks them."""
    count = 0
    for edge in range(first, last):
        community = communities[neighbors[edge]]
        if community != own and slots[community] != stamp:
            slots[community] = stamp
            count += 1
    return count


@njit(**JIT)
def _fill_row(first, last, neighbors, weights, own, communities, start, place, slots, new_neighbors, new_weights):
    """Add these edges to the row that begins at `start`; return its end. slots[c] = place of c + 1 if above start."""
    for edge in range(first, last):
        community = communities[neighbors[edge]]
        if community == own:
            continue
        slot = slots[community]
        if slot <= start:
            new_neighbors[place] = community
            new_weights[place] = weight_at(weights, edge)
            place += 1
            slots[community] = place
        else:
            new_weights[slot - 1] += weight_at(weights, edge)
    return place


@njit(**JIT)
def _count_edges(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    communities, starts, members, slots, new_counts,
):  # fmt: skip
    """Writes new_counts[c + 1], one thread per community c."""
    own_slots, total = slots[rank], starts.size - 1
    while True:
        begin = fetch_add(shared, COUNTERS, CHUNK)
        if begin >= total or is_stopped(shared):
            break
        for community in range(begin, min(begin + CHUNK, total)):
            own, stamp, count = communities.dtype.type(community), community + 1, 0
            for place in range(starts[community], starts[community + 1]):
                vertex = np.uint64(members[place])
                first, last = edges_of(vertex, offsets)
                count += _count_row(first, last, neighbors, own, communities, stamp, own_slots)
                first, last = edges_of(vertex, in_offsets)
                count += _count_row(first, last, in_neighbors, own, communities, stamp, own_slots)
            new_counts[community + 1] = count
        fetch_add(shared, DONE, CHUNK)


@njit(**JIT)
def _fill_edges(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    communities, starts, members, slots, new_offsets, new_neighbors, new_weights,
):  # fmt: skip
    """Writes the new rows, one thread per community; a thread's rows begin further and further behind."""
    own_slots, total = slots[rank], starts.size - 1
    while True:
        begin = fetch_add(shared, COUNTERS, CHUNK)
        if begin >= total or is_stopped(shared):
            break
        for community in range(begin, min(begin + CHUNK, total)):
            own, start = communities.dtype.type(community), new_offsets[community]
            end = start
            for place in range(starts[community], starts[community + 1]):
                vertex = np.uint64(members[place])
                first, last = edges_of(vertex, offsets)
                end = _fill_row(
                    first, last, neighbors, weights, own, communities, start, end, own_slots, new_neighbors, new_weights
                )
                first, last = edges_of(vertex, in_offsets)
                end = _fill_row(
                    first, last, in_neighbors, in_weights, own, communities, start, end, own_slots, new_neighbors,
                    new_weights,
                )  # fmt: skip
        fetch_add(shared, DONE, CHUNK)
