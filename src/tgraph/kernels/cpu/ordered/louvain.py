"""One level of Louvain: vertices move one after the other, in a given order, until none does (Blondel et al. 2008).

Vertices look around far more often than they move, so each keeps a list of what it found: the communities of its
neighbours, its own among them, and the weight of its edges to each. Who moves tells its neighbours, which change two
entries of their lists, if weights are whole (sums are then exact in any order) and that does not take longer than to
look around again. A visit that changes nothing reads a list from the front to the end, and the sums of its communities.
Vertices are renumbered in the order of the visits, so that lists and rows are read one after the other.

Memory: 32 bytes per entry of the rows, and 80 per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

TO_TELL = 16  # edges that a vertex could look along while it is told of a move, and its list gone through
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
    lists = np.empty(num_places, np.int32), np.empty(num_places), np.empty(num_places)
    sizes, own_places = np.empty(num_vertices, np.int64), np.empty(num_vertices, np.int64)
    is_whole = weights.min(initial=1) > 0 and all((found == np.rint(found)).all() for found in (weights, *degrees))
    state = np.ones(num_vertices, np.bool_), np.ones(num_vertices, np.bool_), np.zeros(num_vertices, np.int64)
    degrees = degrees[0][order], degrees[1][order]
    out_sums = degrees[0].copy()
    sums = out_sums, degrees[1].copy() if directed else out_sums
    what = (*visits, *degrees, total, float(resolution), directed, is_whole)
    _move(*what, *sums, *lists, sizes, own_places, *state, np.full(num_vertices, -1.0), communities)
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
def _look_around(vertex, offsets, neighbors, weights, communities, total, found, weights_to, shares, known):
    """Writes the list of a vertex; returns its size and the place of the own community. known: -1 = not met."""
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
        weights_to[place], shares[place] = known[community], known[community] / total
        known[community] = -1.0
        if community == own:
            own_place = place
    return end - begin, own_place


@njit(inline="always", **JIT)
def _tell(vertex, moved, offsets, total, found, weights_to, shares, sizes, own_places):
    """Changes the list of a vertex, one of whose neighbours has left a community and joined another."""
    left, joined, weight = moved
    begin = offsets[vertex] + vertex
    last = begin + sizes[vertex] - 1
    place = begin
    while found[place] != left:
        place += 1
    weights_to[place] -= weight
    shares[place] = weights_to[place] / total
    if weights_to[place] == 0.0 and place != own_places[vertex]:
        found[place], weights_to[place], shares[place] = found[last], weights_to[last], shares[last]
        if own_places[vertex] == last:
            own_places[vertex] = place
        last -= 1
    place = begin
    while place <= last and found[place] != joined:
        place += 1
    if place > last:
        found[place], weights_to[place], last = joined, 0.0, place
    weights_to[place] += weight
    shares[place] = weights_to[place] / total
    sizes[vertex] = last - begin + 1


@njit(inline="always", **JIT)
def _settle(vertex, own_place, best_place, offsets, found, weights_to, shares, sizes, own_places):
    """Makes another community the own one; the old one leaves the list if no neighbour is in it."""
    last = offsets[vertex] + vertex + sizes[vertex] - 1
    own_places[vertex] = best_place
    if weights_to[own_place] == 0.0:
        found[own_place], weights_to[own_place], shares[own_place] = found[last], weights_to[last], shares[last]
        sizes[vertex] -= 1
        if best_place == last:
            own_places[vertex] = own_place


@njit(inline="always", **JIT)
def _could_gain(begin, size, own_place, degrees, rates, slack, out_sums, in_sums, found, shares):
    """Say whether a vertex might gain by a move, without a division: wrong only where it says so and it does not."""
    own = found[own_place]
    stay = rates[0] * (out_sums[own] - degrees[0]) + rates[1] * (in_sums[own] - degrees[1]) - shares[own_place] + slack
    for place in range(begin, begin + size):
        community = found[place]
        if stay + shares[place] - rates[0] * out_sums[community] - rates[1] * in_sums[community] > 0.0:
            return True
    return False


@njit(**JIT)
def _move(
    offsets, neighbors, weights, out_degrees, in_degrees, total, resolution, directed, is_whole, out_sums, in_sums,
    found, weights_to, shares, sizes, own_places, is_stale, is_ordered, spent, known, communities,
):  # fmt: skip
    """Writes communities, and everything from out_sums on as scratch.

    The list of a vertex begins at offsets[vertex] + vertex. Of equal gains the first in the row counts: a list that was
    changed is then made again. To leave and to come back may change the sums of fractions by rounding, as it does in
    NetworkX: every visit does it then.
    """
    is_moving, slack_rate = True, SLACK * (1 + abs(resolution)) / total
    rate = resolution / total**2 if directed else resolution / (2 * total**2)
    while is_moving:
        is_moving = False
        for vertex in range(communities.size):
            begin, spent[vertex], is_chosen = offsets[vertex] + vertex, 0, False
            own, out_degree, in_degree = communities[vertex], out_degrees[vertex], in_degrees[vertex]
            if is_whole and not is_stale[vertex]:
                degrees = out_degree, in_degree
                rates = (rate * in_degree, rate * out_degree) if directed else (rate * out_degree, 0.0)
                slack = slack_rate * (out_degree + in_degree)
                if not _could_gain(
                    begin, sizes[vertex], own_places[vertex], degrees, rates, slack, out_sums, in_sums, found, shares
                ):
                    continue
            out_sums[own] -= out_degree
            if directed:
                in_sums[own] -= in_degree
            own_cost = _cost(resolution, total, directed, out_degree, in_degree, out_sums[own], in_sums[own])
            while not is_chosen:
                if is_stale[vertex]:
                    is_stale[vertex], is_ordered[vertex] = False, True
                    sizes[vertex], own_places[vertex] = _look_around(
                        vertex, offsets, neighbors, weights, communities, total, found, weights_to, shares, known
                    )
                own_place = best_place = own_places[vertex]
                leaving, best_gain, is_tied = -shares[own_place] + own_cost, 0.0, False
                for place in range(begin, begin + sizes[vertex]):
                    community = found[place]
                    gain = (leaving + shares[place]) - _cost(
                        resolution, total, directed, out_degree, in_degree, out_sums[community], in_sums[community]
                    )
                    if gain > best_gain:
                        best_gain, best_place, is_tied = gain, place, False
                    elif gain == best_gain:
                        is_tied = best_gain > 0.0
                is_chosen = is_ordered[vertex] or not is_tied
                is_stale[vertex] = not is_chosen
            best = found[best_place]
            out_sums[best] += out_degree
            if directed:
                in_sums[best] += in_degree
            if best == own:
                continue
            communities[vertex], is_moving, is_stale[vertex] = best, True, not is_whole
            _settle(vertex, own_place, best_place, offsets, found, weights_to, shares, sizes, own_places)
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                neighbor = neighbors[edge]
                spent[neighbor] += sizes[neighbor] + TO_TELL
                if is_stale[neighbor] or not is_whole or spent[neighbor] > offsets[neighbor + 1] - offsets[neighbor]:
                    is_stale[neighbor] = True
                else:
                    is_ordered[neighbor] = False
                    moved = own, best, weights[edge]
                    _tell(neighbor, moved, offsets, total, found, weights_to, shares, sizes, own_places)
