"""Edges that grow by preferential attachment (Barabási, Albert 1999).

Every end of an edge is one ticket for its vertex; a new vertex draws tickets until it has enough different neighbours.
Each draw depends on all edges before it, so this is serial.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.counter_random import hash_number, stream_key
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

TICKET_STREAM = 0


def barabasi_albert_edges(num_vertices: int, edges_per_vertex: int, seed: int) -> tuple[Array, Array]:
    """Return sources and targets of a star of `edges_per_vertex` edges and of what every further vertex adds.

    Needs 1 <= edges_per_vertex < num_vertices. Deterministic.

    >>> sources, targets = barabasi_albert_edges(100, 3, seed=1)
    >>> len(sources), bool((targets < sources).all())
    (291, True)
    """
    dtype = index_dtype(num_vertices)
    num_edges = (num_vertices - edges_per_vertex) * edges_per_vertex
    sources, targets = np.empty(num_edges, dtype), np.empty(num_edges, dtype)
    chosen_by = np.full(num_vertices, -1, dtype)  # [V], the last vertex that chose this one
    _grow(edges_per_vertex, stream_key(seed, TICKET_STREAM), chosen_by, sources, targets)
    return sources, targets


@njit(**JIT)
def _grow(edges_per_vertex, key, chosen_by, sources, targets):
    """Writes all edges. Ticket 2i is the source of edge i and ticket 2i + 1 its target."""
    for i in range(edges_per_vertex):
        sources[i], targets[i] = i + 1, 0
    edge, draw = edges_per_vertex, 0
    for vertex in range(edges_per_vertex + 1, chosen_by.size):
        num_tickets = np.uint64(2 * edge)
        found = 0
        while found < edges_per_vertex:
            ticket = np.int64(hash_number(key, np.uint64(draw)) % num_tickets)
            draw += 1
            other = targets[ticket // 2] if ticket % 2 else sources[ticket // 2]
            if chosen_by[other] != vertex:
                chosen_by[other] = vertex
                sources[edge], targets[edge] = vertex, other
                edge += 1
                found += 1
