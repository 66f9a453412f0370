"""Refining communities: each is divided into parts that hang together well, before parts are joined.

Every vertex starts as a part of its own. One after the other, a vertex that is still alone, and well connected to the
rest of its community, joins the part of the same community where modularity grows most, if that part is well connected
too (Leiden: Traag, Waltman, van Eck 2019; the paper draws among the parts with a gain, here the best one is taken). A
part only ever grows along an edge, so that parts are connected, and so are the communities made of them in the end.

Memory per vertex, with 32-bit ids: 16 bytes for sums, 16 for strengths and outer weights, 9 for part, list and mark.
One thread, deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.communities import LOOK_EVERY, Level, edges_of, sum_by_community, weight_at
from tgraph.kernels.cpu.team import JIT
from tgraph.kernels.cpu.watch import DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array


def refine_communities(
    level: Level, communities: Array, order: Array, coefficient: float, watch: Watch | None = None
) -> Array:
    """Return the part of every vertex: numbers below V, equal only within a community and its connected piece."""
    parts, touched = level.alone(), np.empty_like(communities)
    totals = sum_by_community(level, communities, level.num_vertices)
    cells, outer = np.zeros((level.num_vertices, 2)), np.empty(level.num_vertices)
    cells[:, 1] = level.strengths
    is_joined = np.zeros(level.num_vertices, np.uint8)
    arrays = (level.strengths, communities, parts, order, totals, cells, outer, is_joined, touched)
    level.run(watch, _refine, 1, *arrays, coefficient)
    return parts


def connected_parts(level: Level, communities: Array) -> Array:
    """Return the connected pieces of the communities by edges with weight, as the smallest vertex of each."""
    parts = level.alone()
    _unite(*level.rows, communities, parts)
    return parts


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
def _root(vertex, parts):
    """Return the root above a vertex; halves the path to it."""
    while parts[vertex] != vertex:
        parts[vertex] = parts[parts[vertex]]
        vertex = parts[vertex]
    return vertex


@njit(**JIT)
def _unite_row(first, last, neighbors, weights, vertex, communities, parts):
    """Hang together the vertex and these neighbours, if they are of one community."""
    for edge in range(first, last):
        neighbor = neighbors[edge]
        if communities[neighbor] == communities[vertex] and weight_at(weights, edge) > 0.0:
            left, right = _root(vertex, parts), _root(neighbor, parts)
            if left < right:
                parts[right] = left
            else:
                parts[left] = right


@njit(**JIT)
def _unite(offsets, neighbors, weights, in_offsets, in_neighbors, in_weights, communities, parts):
    """Writes parts. Serial; incoming edges are outgoing ones of others."""
    for number in range(parts.size):
        vertex = parts.dtype.type(number)
        first, last = edges_of(np.uint64(vertex), offsets)
        _unite_row(first, last, neighbors, weights, vertex, communities, parts)
    for number in range(parts.size):
        parts[number] = _root(parts.dtype.type(number), parts)
