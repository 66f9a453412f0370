"""Refining communities: each is divided into connected parts that gain by being one, before parts are joined.

Where vertices wait in queues, every vertex starts as a part of its own. One after the other, a vertex that is still
alone, and well connected to the rest of its community, joins the part of the same community where modularity grows
most, if that part is well connected too (Leiden: Traag, Waltman, van Eck 2019; the paper draws among the parts with a
gain, here the best one is taken). A part only ever grows along an edge, so that parts are connected.

On levels for batches (`tgraph.kernels.cpu.communities`) that would leave very many small parts, joined to a level about
as large as before. There the edges inside communities make a level of their own, on which single vertices move as
everywhere; what they form lies inside the communities, and is divided into connected pieces.

Memory: 41 bytes per vertex with 32-bit ids; or the edges inside communities, with their weights, then those inside
parts. Deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.communities import is_for_batches, move_in_batches
from tgraph.kernels.cpu.community_levels import Level, edges_of, one_sided, sum_by_community, weight_at
from tgraph.kernels.cpu.community_queue import LOOK_EVERY, shuffled_order
from tgraph.kernels.cpu.components import smallest_connected
from tgraph.kernels.cpu.team import JIT, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 1 << 10  # vertices that a thread takes at once


def refine_communities(
    level: Level, communities: Array, seed: int, turn: int, coefficient: float, watch: Watch | None = None
) -> Array:
    """Return the part of every vertex, a number below V; a part is a connected piece of a community.

    If nobody gains by leaving a part of its own, the parts are the connected pieces of the communities.
    """
    parts = level.alone()
    if is_for_batches(level):
        inner = inside(level, communities)
        if inner.num_arcs:
            move_in_batches(inner, parts, seed, turn, coefficient, watch, is_alone=True)
        if not np.array_equal(parts, level.alone()):
            inner = inside(inner, parts)
    else:
        _join_single_vertices(level, communities, parts, shuffled_order(level, seed, turn), coefficient, watch)
        if not np.array_equal(parts, level.alone()):
            return parts
        inner = inside(level, communities)
    return smallest_connected(inner.offsets.view(np.int64), inner.neighbors, True)


def _join_single_vertices(
    level: Level, communities: Array, parts: Array, order: Array, coefficient: float, watch: Watch | None
) -> None:
    """Change `parts`, in which every vertex is alone: each joins another part at most once."""
    totals = sum_by_community(level, communities, level.num_vertices)
    cells, outer = np.zeros((level.num_vertices, 2)), np.empty(level.num_vertices)
    cells[:, 1] = level.strengths
    is_joined, touched = np.zeros(level.num_vertices, np.uint8), np.empty_like(communities)
    arrays = (level.strengths, communities, parts, order, totals, cells, outer, is_joined, touched)
    level.run(watch, _refine, 1, *arrays, coefficient)


def inside(level: Level, communities: Array) -> Level:
    """Return the level with only the edges inside communities that have a weight, but with the same strengths."""
    offsets = np.zeros(level.num_vertices + 1, np.int64)
    size = team_size(level.num_arcs)
    level.run(None, _count_inside, size, communities, offsets)
    np.cumsum(offsets, out=offsets)
    neighbors = np.empty(int(offsets[-1]), level.neighbors.dtype)
    weights = None if level.weights is None else np.empty(neighbors.size, level.weights.dtype)
    level.run(None, _fill_inside, size, communities, offsets, neighbors, weights)
    return one_sided(offsets, neighbors, weights, level.strengths)


@njit(**JIT)
def _weight_inside(first, last, neighbors, weights, vertex, communities):
    """Return the weight of the edges that stay in the vertex's community, self-loops aside."""
    total, own = 0.0, communities[vertex]
    for edge in range(first, last):
        neighbor = neighbors[edge]
        if neighbor != vertex and communities[neighbor] == own:
            total += weight_at(weights, edge)
    return total


@njit(**JIT)
def _gather_parts(first, last, neighbors, weights, vertex, communities, parts, cells, touched, count):
    """Add the weights of the edges inside the community to cells[:, 0] of the parts; list those that are new."""
    own = communities[vertex]
    for edge in range(first, last):
        neighbor, weight = neighbors[edge], weight_at(weights, edge)
        if communities[neighbor] != own or neighbor == vertex or weight == 0.0:
            continue
        part = parts[neighbor]
        before = cells[part, 0]
        if before == 0.0:
            touched[count] = part
            count += np.uint64(1)
        cells[part, 0] = before + weight
    return count


@njit(**JIT)
def _best_part(vertex, strength, total, coefficient, cells, outer, touched, count):
    """Return the well connected part with the largest gain (or the vertex itself), and the weight shared with it."""
    best, most, inner = vertex, 0.0, 0.0
    for place in range(count):
        part = np.uint64(touched[place])
        weight, other = cells[part, 0], cells[part, 1]
        cells[part, 0] = 0.0
        gain = weight - coefficient * strength * other
        if gain > most and outer[part] >= coefficient * other * (total - other):
            best, most, inner = part, gain, weight
    return best, inner


@njit(**JIT)
def _refine(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    strengths, communities, parts, order, totals, cells, outer, is_joined, touched, coefficient,
):  # fmt: skip
    """Writes parts. One thread. outer[p]: the weight from part p to the rest of its community."""
    for vertex in range(np.uint64(strengths.size)):
        first, last = edges_of(vertex, offsets)
        in_first, in_last = edges_of(vertex, in_offsets)
        outer[vertex] = _weight_inside(first, last, neighbors, weights, vertex, communities) + _weight_inside(
            in_first, in_last, in_neighbors, in_weights, vertex, communities
        )
    for position in range(order.size):
        if position % LOOK_EVERY == 0:
            if is_stopped(shared):
                break
            shared[DONE] = position
        vertex = np.uint64(order[position])
        strength, total = strengths[vertex], totals[communities[vertex]]
        if is_joined[vertex] or outer[vertex] < coefficient * strength * (total - strength):
            continue
        first, last = edges_of(vertex, offsets)
        in_first, in_last = edges_of(vertex, in_offsets)
        count = _gather_parts(first, last, neighbors, weights, vertex, communities, parts, cells, touched, np.uint64(0))
        count = _gather_parts(
            in_first, in_last, in_neighbors, in_weights, vertex, communities, parts, cells, touched, count
        )
        best, inner = _best_part(vertex, strength, total, coefficient, cells, outer, touched, count)
        if best != vertex:
            parts[vertex] = best
            cells[best, 1] += strength
            outer[best] += outer[vertex] - 2.0 * inner
            is_joined[best] = 1


@njit(**JIT)
def _count_row(first, last, neighbors, weights, vertex, communities):
    """Return how many of these edges stay in the vertex's community, self-loops aside."""
    count, own = 0, communities[vertex]
    for edge in range(first, last):
        neighbor = neighbors[edge]
        count += (communities[neighbor] == own) & (neighbor != vertex) & (weight_at(weights, edge) != 0.0)
    return count


@njit(**JIT)
def _count_inside(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights, communities, new_counts
):
    """Writes new_counts[v + 1], one thread per vertex v."""
    total = np.int64(communities.size)
    while True:
        begin = fetch_add(shared, COUNTERS, CHUNK)
        if begin >= total or is_stopped(shared):
            break
        for vertex in range(np.uint64(begin), np.uint64(min(begin + CHUNK, total))):
            first, last = edges_of(vertex, offsets)
            count = _count_row(first, last, neighbors, weights, vertex, communities)
            first, last = edges_of(vertex, in_offsets)
            count += _count_row(first, last, in_neighbors, in_weights, vertex, communities)
            new_counts[vertex + np.uint64(1)] = count


@njit(**JIT)
def _fill_row(first, last, neighbors, weights, vertex, communities, place, new_neighbors, new_weights):
    """Write the edges that stay in the vertex's community from `place` on; return the end."""
    own = communities[vertex]
    for edge in range(first, last):
        neighbor = neighbors[edge]
        if communities[neighbor] == own and neighbor != vertex and weight_at(weights, edge) != 0.0:
            new_neighbors[place] = neighbor
            if new_weights is not None:
                new_weights[place] = weights[edge]
            place += np.uint64(1)
    return place


@njit(**JIT)
def _fill_inside(
    rank, size, shared, offsets, neighbors, weights, in_offsets, in_neighbors, in_weights,
    communities, new_offsets, new_neighbors, new_weights,
):  # fmt: skip
    """Writes the new rows, one thread per vertex."""
    total = np.int64(communities.size)
    while True:
        begin = fetch_add(shared, COUNTERS, CHUNK)
        if begin >= total or is_stopped(shared):
            break
        for vertex in range(np.uint64(begin), np.uint64(min(begin + CHUNK, total))):
            place = np.uint64(new_offsets[vertex])
            first, last = edges_of(vertex, offsets)
            place = _fill_row(first, last, neighbors, weights, vertex, communities, place, new_neighbors, new_weights)
            first, last = edges_of(vertex, in_offsets)
            _fill_row(first, last, in_neighbors, in_weights, vertex, communities, place, new_neighbors, new_weights)
