"""Communities of high modularity: moving the vertices of a level to where it grows most.

On a level that is small, or has few edges per vertex, vertices wait in queues (`tgraph.kernels.cpu.community_queue`).
Measured on a grid, where a visit is short, that is faster than batches and finds a higher modularity.

On a large level all threads move. Vertices are taken in batches of shuffled blocks of consecutive vertices. In a batch
all choose by what was so before it, but for their own block, whose vertices one thread takes one after the other; then
all who gain move. A batch has a small part of the edges and of the strength, so that hardly any vertex misses a
neighbour's move; where few vertices have most of the strength, a block is one vertex. Passes are over the vertices with
a neighbour that moved, and end when one brings next to nothing. Two single vertices in different blocks that want to
join go to the smaller one, instead of changing places.

Memory per vertex, with 32-bit ids: 16 bytes for strengths and totals, 9 for communities and marks, and 8 for each
thread (fewer run if that is more than 32 bytes per vertex and more than the neighbours take).
Deterministic on any number of threads: a block is one thread's, every community's total is changed by one thread in the
order of the vertices, and the gains of a pass are added as integers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.community_levels import (
    Level,
    connected_marks,
    edges_of,
    largest_degree,
    lists,
    number_in_order,
    sum_by_community,
    weight_at,
)
from tgraph.kernels.cpu.community_queue import best_community, move_by_queue
from tgraph.kernels.cpu.counter_random import uniform
from tgraph.kernels.cpu.team import JIT, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

BLOCK_EDGES, MAX_BLOCK_BITS = 1 << 11, 6  # edges of a block in a batch; larger ones grow chains of vertices
LARGE_BLOCK = 256  # a block of several vertices has at most this part of the strength
MIN_BATCHED = 1 << 17  # edges: below, vertices wait in queues
MIN_DEGREE = 8  # edges per vertex that has any: below, vertices wait in queues
NUM_BATCHES, MIN_BATCH = 512, 1 << 15  # the second in edges
HEAVY_BATCH = 128  # a batch has about this part of the strength at most
MAX_PASSES, LAST_PASS = 32, 100  # a pass that brings less than a LAST_PASS-th of all before is the last
GAIN_UNITS = 2.0**40  # in half the sum of all strengths

_GAIN, _IS_ENDED = COUNTERS + 16, COUNTERS + 24


def move_vertices(
    level: Level,
    communities: Array,
    seed: int,
    turn: int,
    coefficient: float,
    watch: Watch | None = None,
    is_alone: bool = False,
) -> tuple[int, float]:
    """Move vertices while that pays; changes `communities [V]` (numbers below V), which end up numbered in order.

    `coefficient` is the resolution divided by the sum of all strengths, `is_alone` says that every vertex starts by
    itself. Returns the number of communities, and the gain as the vertices saw it: the weight by which what is inside
    communities exceeds what was expected there, half the sum of all strengths times the growth of modularity. If every
    vertex is left by itself, no move gains.
    """
    gain = 0.0
    if is_for_batches(level):
        gain = move_in_batches(level, communities, seed, turn, coefficient, watch, is_alone)
        count = number_in_order(communities)
        if count < level.num_vertices:
            return count, gain
    gain += move_by_queue(level, communities, seed, turn, coefficient, watch, is_alone)
    return number_in_order(communities), gain


def is_for_batches(level: Level) -> bool:
    """Whether all threads move the vertices of a level: it has many edges in all and per vertex, and any weight."""
    if level.num_arcs < max(MIN_BATCHED, 1) or not level.strengths.any():
        return False
    degrees: Array = np.diff(level.offsets.view(np.int64))
    if level.in_offsets.size:
        degrees += np.diff(level.in_offsets.view(np.int64))
    return level.num_arcs >= MIN_DEGREE * int(np.count_nonzero(degrees))


def move_in_batches(
    level: Level, communities: Array, seed: int, turn: int, coefficient: float, watch: Watch | None, is_alone: bool
) -> float:
    """Move vertices in batches while a pass brings something; return the gain. Needs edges and strength."""
    size = min(team_size(level.num_arcs), max(4, level.num_arcs // (2 * level.num_vertices)))
    bits, blocks, starts = _batches(level, seed, turn)
    totals = sum_by_community(level, communities, level.num_vertices)
    marks, sums = connected_marks(level), np.zeros((size, level.num_vertices))
    touched = lists(size, largest_degree(level) + 1, communities.dtype)
    olds = np.empty(int(np.diff(starts).max()) << bits, communities.dtype)
    half, gain = float(level.strengths.sum()) / 2, np.zeros(1, np.int64)
    arrays = (level.strengths, communities, communities.copy(), olds, totals, marks, sums, touched, blocks, starts)
    level.run(watch, _move_in_batches, size, *arrays, np.uint64(bits), coefficient, half, is_alone, gain)
    return float(gain[0]) / GAIN_UNITS * half


def _batches(level: Level, seed: int, turn: int) -> tuple[int, Array, Array]:
    """Return the bits of a block's size, the blocks that have edges, shuffled, and where batches of them start `[B+1]`.

    A batch has at most about a NUM_BATCHES-th of the edges (if these are not few) and a HEAVY_BATCH-th of the strength.
    Blocks are single vertices if one of several would have too much of it.
    """
    total = float(level.strengths.sum())
    usual = (BLOCK_EDGES * level.num_vertices // level.num_arcs).bit_length() - 1
    for bits in (max(0, min(usual, MAX_BLOCK_BITS)), 0):
        borders = np.minimum(np.arange(0, level.num_vertices + (1 << bits), 1 << bits), level.num_vertices)
        strengths = np.add.reduceat(level.strengths, borders[:-1])
        if strengths.max() * LARGE_BLOCK <= total:
            break
    edges: Array = np.diff(level.offsets[borders].view(np.int64))
    if level.in_offsets.size:
        edges += np.diff(level.in_offsets[borders].view(np.int64))
    blocks = np.flatnonzero(edges)
    blocks = blocks[np.argsort(uniform(blocks.size, seed, turn), kind="stable")]
    shares = edges[blocks] / max(level.num_arcs / NUM_BATCHES, MIN_BATCH) + strengths[blocks] / total * HEAVY_BATCH
    numbers = np.cumsum(shares).astype(np.int64)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return bits, blocks, np.append(starts, blocks.size)


@njit(**JIT)
def _gather(first, last, neighbors, weights, vertex, bits, communities, news, sums, touched, count):
    """Add the weights of these edges to the sums of the communities that they lead to; list those that are new.

    The communities of the vertex's own block are in `news`.
    """
    block = vertex >> bits
    for edge in range(first, last):
        neighbor, weight = np.uint64(neighbors[edge]), weight_at(weights, edge)
        if neighbor == vertex or weight == 0.0:
            continue
        community = news[neighbor] if neighbor >> bits == block else communities[neighbor]
        before = sums[community]
        touched[count] = community
        count += np.uint64(before == 0.0)
        sums[community] = before + weight
    return count


@njit(**JIT)
def _choose_in_block(
    block, bits, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    strengths, communities, news, olds, totals, marks, sums, touched, coefficient, half, keeps_marks,
):  # fmt: skip
    """Writes news and marks of the block's vertices, and olds; returns the gain in GAIN_UNITS. One thread."""
    first_vertex, gains = np.uint64(block) << bits, np.int64(0)
    for vertex in range(first_vertex, min(first_vertex + (np.uint64(1) << bits), np.uint64(strengths.size))):
        strength, own = strengths[vertex], communities[vertex]
        olds[vertex - first_vertex] = own
        if marks[vertex] == 0:
            continue
        if not keeps_marks:
            marks[vertex] = 0
        first, last = edges_of(vertex, offsets)
        count = _gather(first, last, neighbors, weights, vertex, bits, communities, news, sums, touched, np.uint64(0))
        first, last = edges_of(vertex, in_offsets)
        count = _gather(first, last, in_neighbors, in_weights, vertex, bits, communities, news, sums, touched, count)
        best, gain = best_community(own, strength, coefficient, totals, sums, touched, count)
        if best == own:
            continue
        other = np.uint64(best)
        is_pair = totals[own] == strength and communities[other] == best and totals[other] == strengths[other]
        if is_pair and best > own and other >> bits != vertex >> bits:
            marks[vertex] = 1
            continue
        news[vertex] = best
        gains += np.int64(gain / half * GAIN_UNITS)
    return gains


@njit(**JIT)
def _mark_row(first, last, neighbors, community, news, marks):
    """Mark these neighbours, unless they are in the community."""
    for edge in range(first, last):
        neighbor = neighbors[edge]
        if news[neighbor] != community:
            marks[neighbor] = 1


@njit(**JIT)
def _apply(
    rank, size, blocks, bits, offsets, neighbors, in_offsets, in_neighbors,
    strengths, communities, news, olds, totals, marks, keeps_marks,
):  # fmt: skip
    """Writes totals, communities and marks after a batch of blocks. A thread has every size-th community and block."""
    for place in range(blocks.size):
        first_vertex, shift = np.uint64(blocks[place]) << bits, np.uint64(place) << bits
        is_mine = place % size == rank
        for vertex in range(first_vertex, min(first_vertex + (np.uint64(1) << bits), np.uint64(strengths.size))):
            old, new = olds[shift + vertex - first_vertex], news[vertex]
            if old == new:
                continue
            if np.int64(old) % size == rank:
                totals[old] -= strengths[vertex]
            if np.int64(new) % size == rank:
                totals[new] += strengths[vertex]
            if is_mine:
                communities[vertex] = new
                if not keeps_marks:
                    first, last = edges_of(vertex, offsets)
                    _mark_row(first, last, neighbors, new, news, marks)
                    first, last = edges_of(vertex, in_offsets)
                    _mark_row(first, last, in_neighbors, new, news, marks)


@njit(**JIT)
def _move_in_batches(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    strengths, communities, news, olds, totals, marks, all_sums, all_touched, blocks, starts, bits,
    coefficient, half, is_alone, gains,
):  # fmt: skip
    """Writes communities, news, totals, marks and gains[0], which is in GAIN_UNITS.

    Between two meetings either all choose (news of their blocks, nothing else that others read) or all apply. Rank 0
    looks at the stop word, so that all end after the same batch.
    """
    meeting, turns, before = 1, 0, np.int64(0)
    sums, touched = all_sums[rank], all_touched[rank]
    for turn in range(MAX_PASSES):
        keeps_marks, gain = is_alone and turn == 0, np.int64(0)
        for batch in range(starts.size - 1):
            chosen = blocks[starts[batch] : starts[batch + 1]]
            while True:
                place = fetch_add(shared, COUNTERS + 8 * (turns % 2), 1)
                if place >= chosen.size:
                    break
                gain += _choose_in_block(
                    chosen[place], bits, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
                    strengths, communities, news, olds[np.uint64(place) << bits :], totals, marks, sums, touched,
                    coefficient, half, keeps_marks,
                )  # fmt: skip
            meeting, turns = meet(shared, meeting, size), turns + 1
            _apply(
                rank, size, chosen, bits, offsets, neighbors, in_offsets, in_neighbors,
                strengths, communities, news, olds, totals, marks, keeps_marks,
            )  # fmt: skip
            if rank == 0:
                shared[COUNTERS + 8 * (turns % 2)] = 0
                shared[DONE] = min(shared[DONE] + chosen.size * (1 << np.int64(bits)), communities.size)
                shared[_IS_ENDED] = is_stopped(shared)
            meeting = meet(shared, meeting, size)
            if load(shared, _IS_ENDED):
                return
        fetch_add(shared, _GAIN, gain)
        meeting = meet(shared, meeting, size)
        total = load(shared, _GAIN)
        if (total - before) * LAST_PASS <= total:
            break
        before = total
    if rank == 0:
        gains[0] = load(shared, _GAIN)
