"""One level of Louvain: vertices move one after the other, in a given order, until none does (Blondel et al. 2008)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

ROWS_AHEAD = 4  # vertices: their rows, and half as long before the communities of their first neighbours, are asked for
NEIGHBORS_AHEAD = 8


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
    num_vertices = rows[0].size - 1
    communities = np.arange(num_vertices, dtype=rows[1].dtype)
    sums = degrees[0].copy(), degrees[1].copy()
    scratch = np.full(num_vertices, -1.0), np.empty(num_vertices + 1, np.int64)
    stamps = np.zeros(num_vertices, np.int64), np.zeros(num_vertices, np.int64)
    is_whole = all((degree == np.rint(degree)).all() for degree in degrees)
    arguments = (*rows, weights, *degrees, order, total, float(resolution), directed, is_whole)
    _move(*arguments, *sums, *scratch, *stamps, communities)
    return communities


@njit(**JIT)
def _cost(resolution, total, directed, out_degree, in_degree, out_sum, in_sum):
    """Return what a community costs a vertex."""
    if directed:
        return resolution * (out_degree * in_sum + in_degree * out_sum) / total**2
    return resolution * (out_sum * out_degree) / (2 * total**2)


@njit(**JIT)
def _is_settled(vertex, offsets, neighbors, communities, changed, looked):
    """Say whether all that a vertex would look at is as it was when it looked last."""
    if changed[communities[vertex]] >= looked[vertex]:
        return False
    for edge in range(offsets[vertex], offsets[vertex + 1]):
        if changed[communities[neighbors[edge]]] >= looked[vertex]:
            return False
    return True


@njit(**JIT)
def _ask_ahead(place, order, offsets, neighbors, weights, communities):
    """Brings what vertices look at that come soon into the cache."""
    last = order.size - 1
    prefetch(offsets, order[min(place + 2 * ROWS_AHEAD, last)])
    first = offsets[order[min(place + ROWS_AHEAD, last)]]
    prefetch(neighbors, first)
    prefetch(weights, first)
    vertex = order[min(place + ROWS_AHEAD // 2, last)]
    for edge in range(offsets[vertex], min(offsets[vertex + 1], offsets[vertex] + NEIGHBORS_AHEAD)):
        prefetch(communities, neighbors[edge])


@njit(**JIT)
def _move(
    offsets, neighbors, weights, out_degrees, in_degrees, order, total, resolution, directed, is_whole,
    out_sums, in_sums, shares, candidates, changed, looked, communities,
):  # fmt: skip
    """Writes communities, and everything from out_sums on as scratch. shares: -1 = no candidate; weights are >= 0.

    changed: when a community last did; looked: when a vertex last looked at all communities around it, both counted in
    such looks. Who would see what it saw last time does not look again, unless degrees are fractions: to leave and to
    come back then changes sums by rounding.
    """
    is_moving, now = True, 0
    while is_moving:
        is_moving = False
        for place in range(order.size):
            _ask_ahead(place, order, offsets, neighbors, weights, communities)
            vertex = order[place]
            if is_whole and _is_settled(vertex, offsets, neighbors, communities, changed, looked):
                continue
            own, count, now = communities[vertex], 0, now + 1
            looked[vertex] = now
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                community = communities[neighbors[edge]]
                if shares[community] < 0:
                    shares[community], candidates[count] = 0.0, community
                    count += 1
                shares[community] += weights[edge]
            if shares[own] < 0:
                shares[own], candidates[count] = 0.0, own
                count += 1
            out_degree, in_degree = out_degrees[vertex], in_degrees[vertex]
            out_sums[own] -= out_degree
            in_sums[own] -= in_degree
            leaving = -shares[own] / total + _cost(
                resolution, total, directed, out_degree, in_degree, out_sums[own], in_sums[own]
            )
            best_gain, best = 0.0, np.int64(own)
            for number in range(count):
                community = candidates[number]
                gain = (leaving + shares[community] / total) - _cost(
                    resolution, total, directed, out_degree, in_degree, out_sums[community], in_sums[community]
                )
                if gain > best_gain:
                    best_gain, best = gain, community
                shares[community] = -1.0
            out_sums[best] += out_degree
            in_sums[best] += in_degree
            if best != own:
                communities[vertex], is_moving = best, True
                changed[own] = changed[best] = now
