"""Communities of high modularity: the graph of a level, and moving its vertices.

A `Level` is a symmetric weighted graph. Self-loops count in the strength of a vertex and nowhere else. Vertices wait in
a queue; each goes to the community where modularity grows most, and its neighbours elsewhere are queued again (fast
local moving: Traag, Waltman, van Eck 2019). One thread moves: vertices that move at the same time would not see each
other, and the answer would depend on chance. Vertices with few edges come first, so that hubs find communities to
choose from; measured, that gives the higher and steadier modularity.

Memory per vertex, with 32-bit ids: 16 bytes for sums, 8 for the strength, 13 for community, queue, list and mark.
Deterministic: every sum is made in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.counter_random import uniform
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, SHARED_SIZE, Watch, is_stopped
from tgraph.runtime.protocol import Array

Rows = tuple[Array, Array, "Array | None"]  # offsets [V+1], neighbours [E], weights [E] or None

SMALLEST_GAIN = 1e-11  # of a vertex's strength: what is less may be rounding
VISITS_PER_VERTEX = 100  # on average; many times more than ever seen, so that rounding cannot make it go on for ever
LOOK_EVERY = 1 << 13  # visits between two looks at the stop word
LITTLE_GROWTH = 0.1  # of modularity, in the first round of moves
BLOCK = 64  # consecutive vertices that stay together in the order of visits
MIN_WATCHED = 50_000  # edges and vertices: below, a level takes less time than starting a thread to watch it
SUM_CHUNK = 1 << 12  # vertices whose sum is made by one thread


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
        return np.arange(self.num_vertices).astype(self.neighbors.dtype)

    def run(self, watch: Watch | None, worker: Callable[..., None], size: int, *args: Any) -> None:
        """Run `worker(rank, size, shared, *rows, *args)`; on a small level without starting a thread."""
        if self.num_arcs + self.num_vertices < MIN_WATCHED:
            worker(0, 1, np.zeros(SHARED_SIZE, np.int64), *self.rows, *args)
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


def visiting_order(level: Level, seed: int, turn: int, is_by_degree: bool = True) -> Array:
    """Return the vertices in shuffled blocks of neighbouring numbers; those with few edges first if `is_by_degree`."""
    num_blocks = -(-level.num_vertices // BLOCK)
    blocks = np.argsort(uniform(num_blocks, seed, turn), kind="stable")
    order = np.empty(level.num_vertices, level.neighbors.dtype)
    _fill_order(level.offsets, level.in_offsets, blocks, is_by_degree, order)
    return order


def move_single_vertices(
    level: Level, seed: int, turn: int, coefficient: float, watch: Watch | None = None
) -> tuple[Array, float]:
    """Return communities and gain of moving vertices that were alone.

    Vertices with few edges come first. In a graph with next to no communities that leaves very many small ones, which
    would be as large as the graph again; if the gain is that small, all begin again in shuffled order.
    """
    communities = level.alone()
    gain = move_vertices(level, communities, visiting_order(level, seed, turn), coefficient, watch)
    if 2 * gain < LITTLE_GROWTH * float(level.strengths.sum()):
        shuffled = level.alone()
        other = move_vertices(level, shuffled, visiting_order(level, seed, turn, False), coefficient, watch)
        if other > gain:
            return shuffled, other
    return communities, gain


def move_vertices(
    level: Level, communities: Array, order: Array, coefficient: float, watch: Watch | None = None
) -> float:
    """Move vertices until none gains by it; changes `communities [V]` (numbers below V) and uses up `order`.

    `coefficient` is the resolution divided by the sum of all strengths. Returns the gain: the weight by which what is
    inside communities exceeds what was expected there, which is half the sum of all strengths times the growth of
    modularity.
    """
    cells = np.zeros((level.num_vertices, 2))
    _fill_totals(communities, level.strengths, cells)
    marks = np.ones(level.num_vertices, np.uint8)
    touched, gain = np.empty_like(communities), np.zeros(1)
    arrays = (level.strengths, communities, order, marks, cells, touched)
    level.run(watch, _move, 1, *arrays, coefficient, gain)
    return float(gain[0])


def inner_weight(level: Level, communities: Array) -> float:
    """Return the weight inside communities, every edge counted from both ends. Deterministic."""
    sums = np.zeros(-(-level.num_vertices // SUM_CHUNK))
    level.run(None, _fill_inner_sums, team_size(level.num_arcs), communities, sums)
    return float(sums.sum())


def sum_by_community(level: Level, communities: Array, count: int) -> Array:
    """Return the strength of every community, `[count] float64`."""
    cells = np.zeros((count, 2))
    _fill_totals(communities, level.strengths, cells)
    return np.ascontiguousarray(cells[:, 1])


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
def _degree_class(vertex, offsets, in_offsets, is_by_degree):
    """The number of bits of the degree; 0 if that does not matter."""
    if not is_by_degree:
        return 0
    begin, end = edges_of(vertex, offsets)
    in_begin, in_end = edges_of(vertex, in_offsets)
    degree, bits = (end - begin) + (in_end - in_begin), 0
    while degree:
        degree >>= np.uint64(1)
        bits += 1
    return bits


@njit(**JIT)
def _fill_order(offsets, in_offsets, blocks, is_by_degree, order):
    """Writes order: a counting sort of the vertices by class of degree."""
    starts = np.zeros(66, np.int64)
    for vertex in range(np.uint64(order.size)):
        starts[_degree_class(vertex, offsets, in_offsets, is_by_degree) + 1] += 1
    for i in range(1, starts.size):
        starts[i] += starts[i - 1]
    for block in blocks:
        for vertex in range(np.uint64(block * BLOCK), np.uint64(min((block + 1) * BLOCK, order.size))):
            degree_class = _degree_class(vertex, offsets, in_offsets, is_by_degree)
            order[starts[degree_class]] = vertex
            starts[degree_class] += 1


@njit(**JIT)
def _fill_totals(communities, strengths, cells):
    """Writes cells[:, 1]: the strength of every community."""
    for vertex in range(strengths.size):
        cells[communities[vertex], 1] += strengths[vertex]


@njit(**JIT)
def _gather(first, last, neighbors, weights, vertex, communities, cells, touched, count):
    """Add the weights of these edges to cells[:, 0] of the communities that they lead to; list those that are new."""
    for edge in range(first, last):
        neighbor, weight = neighbors[edge], weight_at(weights, edge)
        if neighbor == vertex or weight == 0.0:
            continue
        community = communities[neighbor]
        before = cells[community, 0]
        if before == 0.0:
            touched[count] = community
            count += np.uint64(1)
        cells[community, 0] = before + weight
    return count


@njit(**JIT)
def _best_community(own, strength, coefficient, cells, touched, count):
    """Return where a vertex gains most and how much more than at home. Sets cells[:, 0] back to 0. First come wins."""
    price = coefficient * strength
    stay = cells[own, 0] - price * (cells[own, 1] - strength)
    best, most = own, stay + SMALLEST_GAIN * strength
    for place in range(count):
        community = touched[place]
        gain = cells[community, 0] - price * cells[community, 1]
        cells[community, 0] = 0.0
        if gain > most and community != own:
            best, most = community, gain
    return best, most - stay


@njit(**JIT)
def _queue(first, last, neighbors, community, communities, marks, order, tail):
    """Put these neighbours into the ring `order`, unless they wait already or are in the community."""
    for edge in range(first, last):
        neighbor = neighbors[edge]
        if marks[neighbor] == 0 and communities[neighbor] != community:
            marks[neighbor] = 1
            order[tail if tail < np.uint64(order.size) else tail - np.uint64(order.size)] = neighbor
            tail += np.uint64(1)
    return tail


@njit(**JIT)
def _move(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    strengths, communities, order, marks, cells, touched, coefficient, gains,
):  # fmt: skip
    """Writes communities, cells and gains[0]. One thread. order[head:tail] is a ring; marks[v] = v waits in it."""
    one, ring = np.uint64(1), np.uint64(order.size)
    head, tail, visits = np.uint64(0), ring, np.int64(0)
    while head < tail and visits < VISITS_PER_VERTEX * order.size:
        if visits % LOOK_EVERY == 0:
            if is_stopped(shared):
                break
            shared[DONE] = visits
        vertex = np.uint64(order[head])
        visits += 1
        head += one
        if head == ring:
            head, tail = np.uint64(0), tail - ring
        marks[vertex] = 0
        strength, own = strengths[vertex], communities[vertex]
        first, last = edges_of(vertex, offsets)
        in_first, in_last = edges_of(vertex, in_offsets)
        count = _gather(first, last, neighbors, weights, vertex, communities, cells, touched, np.uint64(0))
        count = _gather(in_first, in_last, in_neighbors, in_weights, vertex, communities, cells, touched, count)
        best, gain = _best_community(own, strength, coefficient, cells, touched, count)
        if best == own:
            continue
        gains[0] += gain
        cells[own, 1] -= strength
        cells[best, 1] += strength
        communities[vertex] = best
        tail = _queue(first, last, neighbors, best, communities, marks, order, tail)
        tail = _queue(in_first, in_last, in_neighbors, best, communities, marks, order, tail)
