"""The graph of a level of a search for communities, and how it is made: from a graph, from a level's communities.

A `Level` is a symmetric weighted graph. Self-loops count in the strength of a vertex and nowhere else. Joining makes
every community one vertex of the next level: edges between two communities become one edge with their total weight,
what is inside counts only in the strength. All threads take chunks of communities, go through the rows of their members
once and make the new rows in memory of their own; then chunks are given their places one after the other, and copied.

Memory: 8 bytes per community for each thread (fewer threads run if that exceeds 32 bytes per vertex) and the new rows
of a chunk, one id per vertex, and the new level: per edge an id and 8 bytes, or 4 if the level has many edges and the
weights are whole numbers that sum up to less than 2^32. Room for the new level is asked for as if it had as many edges
as the level; what is not written to is given back unused.
Deterministic: a new row is made by one thread, in the order of its members, and rows lie in the order of communities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, give_way, load, relax, store
from tgraph.kernels.cpu.barrier import SPINS
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped, new_shared
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array, "Array | None"]  # offsets [V+1], neighbours [E], weights [E] or None

MIN_WATCHED = 50_000  # edges and vertices: below, a level takes less time than starting a thread to watch it
SUM_CHUNK = 1 << 12  # vertices whose sum is made by one thread
CHUNK = 1 << 4  # communities that a thread takes at once
LINE_BYTES = 128  # two cache lines, which are fetched together
MIN_NARROW = 1 << 22  # edges: a level with fewer is not worth code of its own for 32-bit weights of the next

_TURN, _PLACE = COUNTERS + 8, COUNTERS + 16  # the chunk that gets its place next, and where


@dataclass(frozen=True)
class Level:
    """The graph of a level; the edges of a directed graph count at both ends, as outgoing and incoming rows."""

    offsets: Array  # [V+1] uint64
    neighbors: Array  # [E] uint32 or uint64
    weights: Array | None  # [E], None = 1 each
    in_offsets: Array  # [V+1] uint64, [0] = the other rows hold every edge twice
    in_neighbors: Array
    in_weights: Array | None
    strengths: Array  # [V] float64: the sum of the weights of a vertex's edges, a self-loop twice

    @property
    def num_vertices(self) -> int:
        """The number of vertices."""
        return self.strengths.size

    @property
    def num_arcs(self) -> int:
        """The number of stored edges on both sides."""
        return self.neighbors.size + self.in_neighbors.size

    @property
    def rows(self) -> tuple[Array | None, ...]:
        """The six arrays of both sides."""
        return self.offsets, self.neighbors, self.weights, self.in_offsets, self.in_neighbors, self.in_weights

    def alone(self) -> Array:
        """Return the communities `[V]` in which every vertex is by itself."""
        return np.arange(self.num_vertices, dtype=self.neighbors.dtype)

    def run(self, watch: Watch | None, worker: Callable[..., None], size: int, *args: Any) -> None:
        """Run `worker(rank, size, shared, *rows, *args)`; on a small level without starting a thread."""
        if self.num_arcs + self.num_vertices < MIN_WATCHED:
            worker(0, 1, new_shared(1), *self.rows, *args)
        else:
            (watch or Watch()).run(worker, size, *self.rows, *args)


def first_level(outgoing: Rows, incoming: Rows | None) -> Level:
    """Return the level of a graph, whose arrays are shared. `incoming` is None for an undirected graph.

    >>> path = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32), None
    >>> first_level(path, None).strengths.tolist()
    [1.0, 2.0, 1.0]
    """
    empty_weights = None if outgoing[2] is None else outgoing[2][:0]
    in_offsets, in_neighbors, in_weights = incoming or (outgoing[0][:0], outgoing[1][:0], empty_weights)
    strengths = np.empty(outgoing[0].size - 1)
    sides = (as_unsigned(outgoing[0]), as_unsigned(outgoing[1]), outgoing[2])
    level = Level(*sides, as_unsigned(in_offsets), as_unsigned(in_neighbors), in_weights, strengths)
    level.run(None, _fill_strengths, team_size(level.num_arcs), strengths)
    return level


def one_sided(offsets: Array, neighbors: Array, weights: Array | None, strengths: Array) -> Level:
    """Return a level whose rows hold every edge twice. `offsets` are int64."""
    none = None if weights is None else weights[:0]
    return Level(as_unsigned(offsets), neighbors, weights, as_unsigned(offsets[:0]), neighbors[:0], none, strengths)


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
    most = min(level.num_arcs, CHUNK * count) + 1  # edges of a chunk; memory is not taken before it is written to
    scratch = np.zeros((size, count)), lists(size, most, communities.dtype), lists(size, most, np.dtype(np.float64))
    offsets, neighbors = np.zeros(count + 1, np.int64), np.empty(level.num_arcs, communities.dtype)
    weights = np.empty(level.num_arcs, _type_of_sums(level))
    level.run(watch, _join, size, communities, starts, members, *scratch, offsets, neighbors, weights)
    for array in (neighbors, weights):
        array.resize(int(offsets[-1]), refcheck=False)  # gives the rest back
    return one_sided(offsets, neighbors, weights, sum_by_community(level, communities, count))


def _type_of_sums(level: Level) -> type[np.uint32 | np.float64]:
    """Return the type for sums of weights of the level: always exact where the weights are whole numbers."""
    is_whole = level.weights is None or level.weights.dtype.kind in "iu"
    is_narrow = is_whole and level.num_arcs >= MIN_NARROW and float(level.strengths.sum()) < 2**32
    return np.uint32 if is_narrow else np.float64


def connected_marks(level: Level) -> Array:
    """Return marks `[V] uint8` of the vertices that have edges."""
    marks = level.offsets[1:] != level.offsets[:-1]
    if level.in_offsets.size:
        marks |= level.in_offsets[1:] != level.in_offsets[:-1]
    return marks.view(np.uint8)


def largest_degree(level: Level) -> int:
    """Return the largest number of edges of a vertex, on both sides together; at most that of each side."""
    sides = [np.diff(side.view(np.int64)) for side in (level.offsets, level.in_offsets) if side.size]
    return min(sum(int(degrees.max(initial=0)) for degrees in sides), level.num_arcs)


def lists(size: int, length: int, dtype: np.dtype[Any]) -> Array:
    """Return a list for each thread, in cache lines of its own."""
    return np.empty((size, length + LINE_BYTES // dtype.itemsize), dtype)


def sum_by_community(level: Level, communities: Array, count: int) -> Array:
    """Return the strength of every community, `[count] float64`."""
    totals = np.zeros(count)
    _fill_totals(communities, level.strengths, totals)
    return totals


def inner_weight(level: Level, communities: Array) -> float:
    """Return the weight inside communities, every edge counted from both ends. Deterministic."""
    sums = np.zeros(-(-level.num_vertices // SUM_CHUNK))
    level.run(None, _fill_inner_sums, team_size(level.num_arcs), communities, sums)
    return float(sums.sum())


@njit(**JIT)
def edges_of(vertex, offsets):
    """The first and the last + 1 edge of a vertex; none where there are no rows."""
    if offsets.size == 0:
        return np.uint64(0), np.uint64(0)
    return offsets[vertex], offsets[vertex + np.uint64(1)]


@njit(**JIT)
def weight_at(weights, edge):
    """The weight of an edge as float64."""
    return 1.0 if weights is None else np.float64(weights[edge])


@njit(**JIT)
def _fill_strengths(rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights, strengths):
    """Writes strengths[v], one thread per v."""
    first, last = part(rank, size, strengths.size)
    is_one_sided = in_offsets.size == 0
    for vertex in range(np.uint64(first), np.uint64(last)):
        total = 0.0
        begin, end = edges_of(vertex, offsets)
        for edge in range(begin, end):
            weight = weight_at(weights, edge)
            total += weight + weight if is_one_sided and neighbors[edge] == vertex else weight
        begin, end = edges_of(vertex, in_offsets)
        for edge in range(begin, end):
            total += weight_at(in_weights, edge)
        strengths[vertex] = total


@njit(**JIT)
def _fill_totals(communities, strengths, totals):
    """Writes totals: the strength of every community. Serial."""
    for vertex in range(strengths.size):
        totals[communities[vertex]] += strengths[vertex]


@njit(**JIT)
def _fill_inner_sums(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights, communities, sums
):
    """Writes sums[i], the inner weight of the i-th SUM_CHUNK vertices, one thread per i."""
    num_vertices = np.int64(communities.size)
    while True:
        chunk = fetch_add(shared, COUNTERS, 1)
        if chunk >= sums.size:
            break
        total = 0.0
        for vertex in range(np.uint64(chunk * SUM_CHUNK), np.uint64(min((chunk + 1) * SUM_CHUNK, num_vertices))):
            begin, end = edges_of(vertex, offsets)
            for edge in range(begin, end):
                if communities[neighbors[edge]] == communities[vertex]:
                    weight = weight_at(weights, edge)
                    is_single = in_offsets.size == 0 and neighbors[edge] == vertex
                    total += weight + weight if is_single else weight
            begin, end = edges_of(vertex, in_offsets)
            for edge in range(begin, end):
                if communities[in_neighbors[edge]] == communities[vertex]:
                    total += weight_at(in_weights, edge)
        sums[chunk] = total


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
def _add_row(first, last, neighbors, weights, own, communities, sums, touched, count):
    """Add the weights of these edges to the sums of the communities that they lead to; list those that are new."""
    for edge in range(first, last):
        community, weight = communities[neighbors[edge]], weight_at(weights, edge)
        if community == own or weight == 0.0:
            continue
        before = sums[community]
        touched[count] = community
        count += np.uint64(before == 0.0)
        sums[community] = before + weight
    return count


@njit(**JIT)
def _wait_for_turn(shared, begin):
    """Wait until the chunks before this one have their places; say whether it came to that."""
    spins = 0
    while load(shared, _TURN) != begin:
        if is_stopped(shared):
            return False
        spins += 1
        if spins < SPINS:
            relax()
        else:
            give_way()
    return True


@njit(**JIT)
def _join(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    communities, starts, members, all_sums, all_touched, all_totals, new_offsets, new_neighbors, new_weights,
):  # fmt: skip
    """Writes the new rows, one thread per CHUNK communities; chunks get their places one after the other."""
    sums, touched, totals, num_communities = all_sums[rank], all_touched[rank], all_totals[rank], starts.size - 1
    while True:
        begin = fetch_add(shared, COUNTERS, CHUNK)
        if begin >= num_communities or is_stopped(shared):
            break
        end, count = min(begin + CHUNK, num_communities), np.uint64(0)
        for community in range(begin, end):
            own, first_new = communities.dtype.type(community), count
            for place in range(starts[community], starts[community + 1]):
                vertex = np.uint64(members[place])
                first, last = edges_of(vertex, offsets)
                count = _add_row(first, last, neighbors, weights, own, communities, sums, touched, count)
                first, last = edges_of(vertex, in_offsets)
                count = _add_row(first, last, in_neighbors, in_weights, own, communities, sums, touched, count)
            for place in range(first_new, count):
                totals[place] = sums[touched[place]]
                sums[touched[place]] = 0.0
            new_offsets[community + 1] = count
        if not _wait_for_turn(shared, begin):
            break
        start = shared[_PLACE]
        shared[_PLACE] = start + np.int64(count)
        store(shared, _TURN, end)
        for community in range(begin, end):
            new_offsets[community + 1] += start
        for place in range(count):
            new_neighbors[np.uint64(start) + place] = touched[place]
            new_weights[np.uint64(start) + place] = totals[place]
        fetch_add(shared, DONE, CHUNK)
