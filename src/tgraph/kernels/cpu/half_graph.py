"""Half of a graph: every edge once, from the end of lower degree to the end of higher degree.

Vertices are ranked by degree, the largest first; each keeps only its neighbours of smaller rank. No row of such a half
is much longer than the square root of twice the edges, and every triangle has exactly one vertex that keeps the two
others (Chiba, Nishizeki 1985; Ortmann, Brandes 2014). Self-loops are left out, and an edge that occurs more than once,
or in both directions, is kept once. Ranks follow the degrees to 1 part in 256: counting sort then needs few counters.

Memory: one id per edge of the half (half of an undirected graph's), 24 bytes per vertex (32 with 64-bit ids), and a
quarter byte per vertex and thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 256  # vertices
STEPS = 256  # keys for every doubling of the degree
NUM_KEYS = STEPS * 57  # enough for degrees below 2^64
_PLACES = COUNTERS + 8


@dataclass(frozen=True)
class HalfGraph:
    """Rows by rank: those of rank r are `neighbors[starts[r]:ends[r]]`, ranks smaller than r in any order.

    All arrays are unsigned. With arcs, an entry is `2 * rank + 1` where edges lead both ways, else `2 * rank`.
    """

    ranks: Array  # [V]: the rank of every vertex
    degrees: Array  # [V]: the number of distinct neighbours of every vertex
    starts: Array  # [V] by rank
    ends: Array  # [V] by rank
    neighbors: Array

    @property
    def num_arcs(self) -> int:
        """An upper bound of the number of entries."""
        return int(self.neighbors.size)


def build_half_graph(
    rows: tuple[Array, Array], reverse: tuple[Array, Array] | None, is_sorted: bool, arcs: bool, watch: Watch
) -> HalfGraph:
    """Return the half of a graph, given by its rows (offsets and neighbours).

    A directed graph gives its reverse rows too; without them, `rows` must hold both directions of every edge. `arcs`
    asks for the numbers of directions. Where rows lie in `neighbors` depends on threads; what they hold does not.

    >>> rows = np.array([0, 2, 4, 7, 8]), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.int32)
    >>> half = build_half_graph(rows, None, True, False, Watch())
    >>> half.ranks.tolist(), half.degrees.tolist(), half.neighbors[half.starts[2]:half.ends[2]].tolist()
    ([1, 2, 0, 3], [2, 2, 3, 1], [1, 0])
    """
    offsets, neighbors = as_unsigned(rows[0]), as_unsigned(rows[1])
    in_offsets, in_neighbors = (None, None) if reverse is None else (as_unsigned(reverse[0]), as_unsigned(reverse[1]))
    num_vertices = offsets.size - 1
    size = team_size(neighbors.size + num_vertices)
    ranks, degrees = np.empty(num_vertices, neighbors.dtype), np.empty(num_vertices, neighbors.dtype)
    watch.run(_rank_by_degree, size, offsets, in_offsets, np.zeros((size, NUM_KEYS), np.int64), ranks)
    starts, ends = np.empty(num_vertices, np.uint64), np.empty(num_vertices, np.uint64)
    halves = np.empty(neighbors.size if reverse is not None else neighbors.size // 2, neighbors.dtype)
    given = (offsets, neighbors, in_offsets, in_neighbors, is_sorted and reverse is None, arcs, ranks)
    watch.run(_orient, size, *given, degrees, starts, ends, halves)
    return HalfGraph(ranks, degrees, starts, ends, halves)


@njit(**JIT)
def _key(offsets, in_offsets, vertex):
    """The place of a vertex's degree in descending order, equal for degrees that differ by little."""
    degree = offsets[vertex + np.uint64(1)] - offsets[vertex]
    if in_offsets is not None:
        degree += in_offsets[vertex + np.uint64(1)] - in_offsets[vertex]
    key = np.uint64(NUM_KEYS - 1)
    while degree >= np.uint64(2 * STEPS):
        degree >>= np.uint64(1)
        key -= np.uint64(STEPS)
    return key - degree


@njit(**JIT)
def _rank_by_degree(rank, size, shared, offsets, in_offsets, places, ranks):
    """Writes ranks, those of its part, and places[rank]. Counting sort: equal keys keep the order of the vertices."""
    first, last = part(rank, size, np.int64(ranks.size))
    for vertex in range(np.uint64(first), np.uint64(last)):
        places[rank, _key(offsets, in_offsets, vertex)] += 1
    meeting = meet(shared, 1, size)
    if rank == 0:
        place = 0
        for key in range(NUM_KEYS):
            for other in range(size):
                count = places[other, key]
                places[other, key] = place
                place += count
    meet(shared, meeting, size)
    for vertex in range(np.uint64(first), np.uint64(last)):
        key = _key(offsets, in_offsets, vertex)
        ranks[vertex] = places[rank, key]
        places[rank, key] += 1


@njit(**JIT)
def _orient(
    rank,
    size,
    shared,
    offsets,
    neighbors,
    in_offsets,
    in_neighbors,
    is_sorted,
    arcs,
    ranks,
    degrees,
    starts,
    ends,
    halves,
):
    """Writes degrees, starts, ends of the vertices taken, and halves at places taken from a counter."""
    num_vertices = np.int64(ranks.size)
    num_words = (num_vertices + 63) // 64
    outs, ins = np.zeros(num_words, np.uint64), np.zeros(0 if in_offsets is None else num_words, np.uint64)
    while True:
        chunk = fetch_add(shared, COUNTERS, CHUNK)
        if chunk >= num_vertices or is_stopped(shared):
            break
        first, last = np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))
        room = _count_kept(first, last, offsets, neighbors, ranks)
        if in_offsets is not None:
            room += _count_kept(first, last, in_offsets, in_neighbors, ranks)
        place = np.uint64(fetch_add(shared, _PLACES, np.int64(room)))
        for vertex in range(first, last):
            own = ranks[vertex]
            starts[own] = place
            if is_sorted:
                place, degree = _keep_ascending(vertex, offsets, neighbors, ranks, place, halves)
            else:
                place, degree = _keep_new(vertex, offsets, neighbors, ranks, outs, ins, place, halves)
                if in_offsets is not None:
                    place, more = _keep_new(vertex, in_offsets, in_neighbors, ranks, ins, outs, place, halves)
                    degree += more
                    if arcs:
                        _tell_arcs(starts[own], place, outs, ins, halves)
                    _clear(vertex, in_offsets, in_neighbors, ranks, ins)
                _clear(vertex, offsets, neighbors, ranks, outs)
            degrees[vertex] = degree
            ends[own] = place


@njit(**JIT)
def _count_kept(first, last, offsets, neighbors, ranks):
    """How many entries these rows need at most."""
    count = np.uint64(0)
    for vertex in range(first, last):
        own = ranks[vertex]
        for i in range(offsets[vertex], offsets[vertex + np.uint64(1)]):
            count += np.uint64(ranks[neighbors[i]] < own)
    return count


@njit(**JIT)
def _keep_ascending(vertex, offsets, neighbors, ranks, place, halves):
    """Writes halves from place on; returns the next place and the number of distinct neighbours."""
    own, degree = ranks[vertex], np.uint64(0)
    first = offsets[vertex]
    for i in range(first, offsets[vertex + np.uint64(1)]):
        other = ranks[neighbors[i]]
        if other == own or (i > first and neighbors[i] == neighbors[i - np.uint64(1)]):
            continue
        degree += np.uint64(1)
        if other < own:
            halves[place] = other
            place += np.uint64(1)
    return place, degree


@njit(**JIT)
def _keep_new(vertex, offsets, neighbors, ranks, seen, seen_before, place, halves):
    """As _keep_ascending, for rows in any order: leaves out ranks whose bit is set, and sets the bits in seen."""
    own, degree, one = ranks[vertex], np.uint64(0), np.uint64(1)
    for i in range(offsets[vertex], offsets[vertex + one]):
        other = np.uint64(ranks[neighbors[i]])
        word, bit = other >> np.uint64(6), one << (other & np.uint64(63))
        if other == own or seen[word] & bit:
            continue
        seen[word] |= bit
        if seen_before.size > 0 and seen_before[word] & bit:
            continue
        degree += one
        if other < own:
            halves[place] = other
            place += one
    return place, degree


@njit(**JIT)
def _tell_arcs(start, end, outs, ins, halves):
    """Writes halves[start:end]: every rank doubled, plus one if edges lead both ways."""
    one = np.uint64(1)
    for i in range(start, end):
        other = np.uint64(halves[i])
        both = outs[other >> np.uint64(6)] & ins[other >> np.uint64(6)]
        halves[i] = (other << one) | ((both >> (other & np.uint64(63))) & one)


@njit(**JIT)
def _clear(vertex, offsets, neighbors, ranks, seen):
    """Writes 0 to the words of seen that the vertex's row has set."""
    for i in range(offsets[vertex], offsets[vertex + np.uint64(1)]):
        seen[np.uint64(ranks[neighbors[i]]) >> np.uint64(6)] = 0
