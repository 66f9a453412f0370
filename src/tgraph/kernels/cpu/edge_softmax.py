"""Numbers of edges, `[E, H]`: their sums per row, and the softmax over the edges of each row.

Each row belongs to one thread. No atomics, and the same bits on any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.csr import row_part
from tgraph.kernels.cpu.row_sums import ONE
from tgraph.kernels.cpu.team import JIT, as_unsigned, run_team, team_size
from tgraph.runtime.protocol import Array


def sum_edges(offsets: Array, edges: Array | None, values: Array, new_sums: Array) -> None:
    """Write `new_sums[r, h]`, the sum of the values of the edges of row r; `edges` says where they are, None in order.

    >>> sums = np.empty((2, 1))
    >>> sum_edges(np.array([0, 2, 3]), None, np.array([[1.0], [2.0], [3.0]]), sums)
    >>> sums.ravel().tolist()
    [3.0, 3.0]
    """
    places = None if edges is None else as_unsigned(edges)
    run_team(_sum_edges, team_size(values.size), as_unsigned(offsets), places, values, new_sums)


@njit(**JIT)
def _sum_edges(rank, size, offsets, edges, values, new_sums):
    """Writes the sums of the thread's rows."""
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        new_sums[row] = 0
        for i in range(offsets[row], offsets[row + ONE]):
            edge = np.uint64(i)
            if edges is not None:
                edge = np.uint64(edges[i])
            for head in range(np.uint64(values.shape[1])):
                new_sums[row, head] += values[edge, head]


def softmax_edges(offsets: Array, scores: Array, new_shares: Array) -> None:
    """Write the softmax of the scores over the edges of each row; a row of -inf alone gets zeros.

    >>> shares = np.empty((3, 1))
    >>> softmax_edges(np.array([0, 2, 3]), np.array([[1000.0], [1000.0], [7.0]]), shares)
    >>> shares.ravel().tolist()
    [0.5, 0.5, 1.0]
    """
    run_team(_softmax_edges, team_size(4 * scores.size), as_unsigned(offsets), scores, new_shares)


@njit(**JIT)
def _softmax_edges(rank, size, offsets, scores, new_shares):
    """Writes the shares of the edges in the thread's rows."""
    zero = scores.dtype.type(0)
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        for head in range(np.uint64(scores.shape[1])):
            largest = scores.dtype.type(-np.inf)
            for i in range(offsets[row], offsets[row + ONE]):
                largest = max(largest, scores[i, head])
            shift = largest if largest > -np.inf else zero
            total = zero
            for i in range(offsets[row], offsets[row + ONE]):
                share = np.exp(scores[i, head] - shift)
                new_shares[i, head] = share
                total += share
            if total != zero:
                for i in range(offsets[row], offsets[row + ONE]):
                    new_shares[i, head] /= total


def softmax_gradients(offsets: Array, shares: Array, gradients: Array, new_gradients: Array) -> None:
    """Write what the gradients of the shares are for the scores they were made from."""
    run_team(_softmax_gradients, team_size(2 * shares.size), as_unsigned(offsets), shares, gradients, new_gradients)


@njit(**JIT)
def _softmax_gradients(rank, size, offsets, shares, gradients, new_gradients):
    """Writes the gradients of the edges in the thread's rows."""
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        for head in range(np.uint64(shares.shape[1])):
            mean = shares.dtype.type(0)
            for i in range(offsets[row], offsets[row + ONE]):
                mean += shares[i, head] * gradients[i, head]
            for i in range(offsets[row], offsets[row + ONE]):
                new_gradients[i, head] = shares[i, head] * (gradients[i, head] - mean)
