"""VoteRank: the vertex with most votes is elected, its neighbours' votes then count less (Zhang et al. 2016)."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def elect(votes: tuple[Array, Array], rows: tuple[Array, Array], limit: int, less: float) -> Array:
    """Return the vertices that are elected, at most `limit`, in order; `less` is what a vote loses.

    `votes` are pairs of who gets and who gives one, in the order in which they are added up.

    >>> rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    >>> elect((np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])), rows, 3, 0.75).tolist()
    [1]
    """
    elected = np.empty(limit, np.int64)
    num_vertices = rows[0].size - 1
    sums, abilities, is_elected = np.zeros(num_vertices), np.ones(num_vertices), np.zeros(num_vertices, np.bool_)
    count = _elect(*votes, *rows, sums, abilities, is_elected, less, elected)
    return elected[:count]


@njit(**JIT)
def _elect(receivers, voters, offsets, neighbors, sums, abilities, is_elected, less, elected):
    """Writes sums, abilities, is_elected and elected; returns how many are elected."""
    for turn in range(elected.size):
        sums[:] = 0.0
        for vote in range(receivers.size):
            sums[receivers[vote]] += abilities[voters[vote]]
        best = -1
        for vertex in range(sums.size):
            if is_elected[vertex]:
                sums[vertex] = 0.0
            if best < 0 or sums[vertex] > sums[best]:
                best = vertex
        if sums[best] == 0:
            return turn
        elected[turn], is_elected[best], abilities[best] = best, True, 0.0
        for edge in range(offsets[best], offsets[best + 1]):
            abilities[neighbors[edge]] = max(abilities[neighbors[edge]] - less, 0.0)
    return elected.size
