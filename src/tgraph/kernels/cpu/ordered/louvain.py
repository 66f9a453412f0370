"""One level of Louvain: vertices move one after the other, in a given order, until none does (Blondel et al. 2008).

Vertices are visited far more often than they move, so each keeps a list of what it found: the communities of its
neighbours, its own among them, and the share of all weight that its edges to each have. It looks around again only if
a neighbour, or itself, has moved since. A visit that changes nothing reads a list and the sums of its communities, and
tells by bounds that there is nothing to gain. Vertices are renumbered in the order of the visits, so that lists and
rows are read one after the other.

Memory: 24 bytes per entry of the rows, and 60 per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

SLACK = 1e-13  # of a vertex's share: by far more than rounding can change a gain


def move_vertices(
    rows: tuple[Array, Array],
    weights: Array,
    degrees: tuple[Array, Array],
    order: Array,
    total: float,
    resolution: float,
    *,
    directed: bool,
) -> Array:
    """Return the community of every vertex, `[V]`; at first each is its own.

    Rows have no self-loops; of a directed graph they hold the edges of both directions. `degrees` are outgoing and
    incoming weights with self-loops (the same of an undirected graph), `total` the weight of all edges. A vertex moves
    to the first community, in the order of its row, whose gain is largest; gains are computed as NetworkX does, so that
    ties by rounding fall the same way.

    >>> rows = np.array([0, 1, 2, 3, 4]), np.array([1, 0, 3, 2], np.int32)
    >>> ones = np.ones(4)
    >>> move_vertices(rows, ones, (ones, ones), np.arange(4), 2.0, 1.0, directed=False).tolist()
    [1, 1, 3, 3]
    """
    visits = _renumber(rows, weights, order)
    num_vertices, num_places = order.size, rows[1].size + order.size  # a list holds the own community too
    communities = np.arange(num_vertices, dtype=np.int32)
    lists = np.empty(num_places, np.int32), np.empty(num_places)
    sizes, own_places = np.empty(num_vertices, np.int64), np.empty(num_vertices, np.int64)
    is_whole = all((degree == np.rint(degree)).all() for degree in degrees)
    degrees = degrees[0][order], degrees[1][order]
    out_sums = degrees[0].copy()
    sums = out_sums, degrees[1].copy() if directed else out_sums
    what = (*visits, *degrees, total, float(resolution), directed, is_whole)
    scratch = np.ones(num_vertices, np.bool_), np.full(num_vertices, -1.0)
    _move(*what, *sums, *lists, sizes, own_places, *scratch, communities)
    result = np.empty_like(order)
    result[order] = order[communities]
    return result


def _renumber(rows: tuple[Array, Array], weights: Array, order: Array) -> tuple[Array, Array, Array]:
    """Return the rows in the order of the visits, with the vertices numbered in it, and their weights."""
    turns = np.empty(order.size, np.int32)
    turns[order] = np.arange(order.size)
    offsets = np.concatenate([[0], np.cumsum(np.diff(rows[0])[order])])
    neighbors, new_weights = np.empty(rows[1].size, np.int32), np.empty(rows[1].size)
    _copy_rows(*rows, weights, order, turns, offsets, neighbors, new_weights)
    return offsets, neighbors, new_weights


@njit(**JIT)
def _copy_rows(offsets, neighbors, weights, order, turns, new_offsets, new_neighbors, new_weights):
    """Writes new_neighbors and new_weights."""
    for turn in range(order.size):
        place = new_offsets[turn]
        for edge in range(offsets[order[turn]], offsets[order[turn] + 1]):
            new_neighbors[place], new_weights[place] = turns[neighbors[edge]], weights[edge]
            place += 1


@njit(**JIT)
def _cost(resolution, total, directed, out_degree, in_degree, out_sum, in_sum):
    """Return what a community costs a vertex."""
    if directed:
        return resolution * (out_degree * in_sum + in_degree * out_sum) / total**2
    return resolution * (out_sum * out_degree) / (2 * total**2)


@njit(inline="always", **JIT)
def _look_around(vertex, offsets, neighbors, weights, communities, total, found, shares, known):
    """Writes the list of a vertex; returns its size and the place of the own community in it.

    known: -1 = not met, before and after; weights are >= 0.
    """
    own, begin = communities[vertex], offsets[vertex] + vertex
    end = begin
    for edge in range(offsets[vertex], offsets[vertex + 1]):
        community = communities[neighbors[edge]]
        if known[community] < 0:
            known[community], found[end] = 0.0, community
            end += 1
        known[community] += weights[edge]
    if known[own] < 0:
        known[own], found[end] = 0.0, own
        end += 1
    own_place = begin
    for place in range(begin, end):
        community = found[place]
        shares[place], known[community] = known[community] / total, -1.0
        if community == own:
            own_place = place
    return end - begin, own_place


@njit(inline="always", **JIT)
def _could_gain(begin, end, own_place, degrees, rates, slack, out_sums, in_sums, found, shares):
    """Say whether a vertex might gain by a move, without a division: wrong only where it says so and it does not."""
    own = found[own_place]
    stay = rates[0] * (out_sums[own] - degrees[0]) + rates[1] * (in_sums[own] - degrees[1]) - shares[own_place] + slack
    for place in range(begin, end):
        community = found[place]
        if stay + shares[place] - rates[0] * out_sums[community] - rates[1] * in_sums[community] > 0.0:
            return True
    return False


@njit(**JIT)
def _move(
    offsets, neighbors, weights, out_degrees, in_degrees, total, resolution, directed, is_whole, out_sums, in_sums,
    found, shares, sizes, own_places, is_stale, known, communities,
):  # fmt: skip
    """Writes communities, and everything from out_sums on as scratch; in_sums is out_sums if undirected.

    The list of a vertex begins at offsets[vertex] + vertex. To leave and to come back may change the sums of fractions
    by rounding, as it does in NetworkX: unless degrees are whole, every visit does it.
    """
    is_moving, slack_rate = True, SLACK * (1 + abs(resolution)) / total
    rate = resolution / total**2 if directed else resolution / (2 * total**2)
    while is_moving:
        is_moving = False
        for vertex in range(communities.size):
            own, out_degree, in_degree = communities[vertex], out_degrees[vertex], in_degrees[vertex]
            begin = offsets[vertex] + vertex
            if is_stale[vertex]:
                is_stale[vertex] = False
                sizes[vertex], own_places[vertex] = _look_around(
                    vertex, offsets, neighbors, weights, communities, total, found, shares, known
                )
            end, own_place = begin + sizes[vertex], own_places[vertex]
            if is_whole:
                rates = (rate * in_degree, rate * out_degree) if directed else (rate * out_degree, 0.0)
                slack = slack_rate * (out_degree + in_degree)
                degrees = out_degree, in_degree
                if not _could_gain(begin, end, own_place, degrees, rates, slack, out_sums, in_sums, found, shares):
                    continue
            out_sums[own] -= out_degree
            if directed:
                in_sums[own] -= in_degree
            leaving = -shares[own_place] + _cost(
                resolution, total, directed, out_degree, in_degree, out_sums[own], in_sums[own]
            )
            best_gain, best = 0.0, own
            for place in range(begin, end):
                community = found[place]
                gain = (leaving + shares[place]) - _cost(
                    resolution, total, directed, out_degree, in_degree, out_sums[community], in_sums[community]
                )
                if gain > best_gain:
                    best_gain, best = gain, community
            out_sums[best] += out_degree
            if directed:
                in_sums[best] += in_degree
            if best != own:
                communities[vertex], is_moving, is_stale[vertex] = best, True, True
                for edge in range(offsets[vertex], offsets[vertex + 1]):
                    is_stale[neighbors[edge]] = True
