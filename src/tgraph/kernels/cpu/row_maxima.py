"""The largest message per row and feature, which edge brought it, and the sums that its gradients need.

Embeddings are `[N, H, F]`, weights `[E, H]`. Of equal messages the first edge wins; NaN wins over all. A row without
edges gets 0 and the winner -1. Each row belongs to one thread. No atomics, and the same bits on any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.csr import row_part
from tgraph.kernels.cpu.prefetch import MANY_BYTES
from tgraph.kernels.cpu.row_sums import FEATURE_JIT, ONE, ask_for_row, feature_team
from tgraph.kernels.cpu.team import as_unsigned, run_team
from tgraph.runtime.protocol import Array

NO_EDGE = -1


def max_rows(
    offsets: Array,
    ids: Array,
    weights: Array | None,
    embeddings: Array,
    adds: bool,
    new_maxima: Array,
    new_winners: Array,
) -> None:
    """Write the largest `w * x` of each row, or `x + w` if it `adds`; x is `embeddings[ids[e]]`, w the edge's weight.

    >>> maxima, winners = np.empty((2, 1, 2)), np.empty((2, 1, 2), np.int32)
    >>> embeddings = np.array([[[1.0, 9.0]], [[5.0, 2.0]]])
    >>> max_rows(np.array([0, 2, 2]), np.array([0, 1]), None, embeddings, False, maxima, winners)
    >>> maxima[:, 0].tolist(), winners[:, 0].tolist()
    ([[5.0, 9.0], [0.0, 0.0]], [[1, 0], [-1, -1]])
    """
    size = feature_team(ids.size, embeddings.shape[1] * embeddings.shape[2])
    read = (as_unsigned(offsets), as_unsigned(ids), weights, embeddings, adds)
    run_team(_max_rows, size, *read, new_maxima, new_winners)


@njit(**FEATURE_JIT)
def _max_rows(rank, size, offsets, ids, weights, embeddings, adds, new_maxima, new_winners):
    """Writes the maxima and winners of the thread's rows."""
    zero, one = embeddings.dtype.type(0), embeddings.dtype.type(1)
    flat, is_large = embeddings.reshape(embeddings.shape[0], -1), embeddings.nbytes > MANY_BYTES
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        start_row(row, offsets, new_maxima, new_winners)
        for i in range(offsets[row], offsets[row + ONE]):
            if is_large:
                ask_for_row(flat, ids, i)
            for head in range(np.uint64(embeddings.shape[1])):
                factor, shift = one, zero  # the message is factor * x + shift
                if weights is not None:
                    if adds:
                        shift = weights[i, head]
                    else:
                        factor = weights[i, head]
                x, maxima, winners = embeddings[ids[i], head], new_maxima[row, head], new_winners[row, head]
                edge = winners.dtype.type(i)
                for f in range(x.size):
                    message, largest, winner = factor * x[f] + shift, maxima[f], winners[f]
                    is_larger = (message > largest) | (message != message)
                    maxima[f] = message if is_larger else largest
                    winners[f] = edge if is_larger else winner


@njit(**FEATURE_JIT)
def start_row(row, offsets, new_maxima, new_winners):
    """Set a row to what it has before its first edge: the first edge wins over it, also with -inf."""
    is_empty = offsets[row] == offsets[row + ONE]
    new_maxima[row] = 0 if is_empty else -np.inf
    new_winners[row] = NO_EDGE if is_empty else offsets[row]


def max_weighted_by_products(
    offsets: Array,
    ids: Array,
    embeddings: Array,
    factor_ids: Array,
    factors: Array,
    row_factors: Array,
    adds: bool,
    new_maxima: Array,
    new_winners: Array,
) -> None:
    """Write the largest `w * x` or `x + w` of each row, where w is `factors[factor_ids[e]] * row_factors[r]`.

    All are `[_, F]`.
    """
    size = feature_team(ids.size, embeddings.shape[1])
    read = (as_unsigned(ids), embeddings, as_unsigned(factor_ids), factors, row_factors, adds)
    run_team(_max_weighted_by_products, size, as_unsigned(offsets), *read, new_maxima, new_winners)


@njit(**FEATURE_JIT)
def _max_weighted_by_products(
    rank, size, offsets, ids, embeddings, factor_ids, factors, row_factors, adds, new_maxima, new_winners
):
    """Writes the maxima and winners of the thread's rows."""
    is_large = embeddings.nbytes > MANY_BYTES
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        start_row(row, offsets, new_maxima, new_winners)
        maxima, winners, q = new_maxima[row], new_winners[row], row_factors[row]
        for i in range(offsets[row], offsets[row + ONE]):
            if is_large:
                ask_for_row(embeddings, ids, i)
            x, p = embeddings[ids[i]], factors[factor_ids[i]]
            edge = winners.dtype.type(i)
            for f in range(x.size):
                weight, largest, winner = p[f] * q[f], maxima[f], winners[f]
                message = x[f] + weight if adds else x[f] * weight
                is_larger = (message > largest) | (message != message)
                maxima[f] = message if is_larger else largest
                winners[f] = edge if is_larger else winner


def sum_won(
    offsets: Array,
    targets: Array,
    edges: Array,
    winners: Array,
    weights: Array | None,
    gradients: Array,
    new_sums: Array,
) -> None:
    """Write `new_sums[s, h]`: for each feature the sum of the gradients, times the weights, that edges of s won.

    `offsets`, `targets` and `edges` are the block's reverse; `winners` and `gradients` are `[T, H, F]`.
    """
    size = feature_team(targets.size, gradients.shape[1] * gradients.shape[2])
    read = (as_unsigned(targets), as_unsigned(edges), winners, weights, gradients)
    run_team(_sum_won, size, as_unsigned(offsets), *read, new_sums)


@njit(**FEATURE_JIT)
def _sum_won(rank, size, offsets, targets, edges, winners, weights, gradients, new_sums):
    """Writes the sums of the thread's sources."""
    zero, one = gradients.dtype.type(0), gradients.dtype.type(1)
    first, last = row_part(rank, size, offsets)
    for source in range(first, last):
        new_sums[source] = 0
        for i in range(offsets[source], offsets[source + ONE]):
            target, place = targets[i], np.uint64(edges[i])
            edge = winners.dtype.type(place)
            for head in range(np.uint64(gradients.shape[1])):
                weight = one
                if weights is not None:
                    weight = weights[place, head]
                sums, won, gradient = new_sums[source, head], winners[target, head], gradients[target, head]
                for f in range(sums.size):
                    value = weight * gradient[f]
                    sums[f] += value if won[f] == edge else zero


def dot_won(
    offsets: Array, ids: Array, winners: Array, embeddings: Array | None, gradients: Array, new_dots: Array
) -> None:
    """Write `new_dots[e, h]`: the sum over the features that edge e won of `gradients * embeddings[ids[e]]`.

    Without embeddings it is the sum of the gradients.
    """
    size = feature_team(ids.size, gradients.shape[1] * gradients.shape[2])
    run_team(_dot_won, size, as_unsigned(offsets), as_unsigned(ids), winners, embeddings, gradients, new_dots)


@njit(**FEATURE_JIT)
def _dot_won(rank, size, offsets, ids, winners, embeddings, gradients, new_dots):
    """Writes the dots of the edges in the thread's rows."""
    zero = gradients.dtype.type(0)
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + ONE]):
            edge = winners.dtype.type(i)
            for head in range(np.uint64(gradients.shape[1])):
                won, gradient = winners[row, head], gradients[row, head]
                total = zero
                if embeddings is None:
                    for f in range(won.size):
                        value = gradient[f]
                        total += value if won[f] == edge else zero
                else:
                    x = embeddings[ids[i], head]
                    for f in range(won.size):
                        value = gradient[f] * x[f]
                        total += value if won[f] == edge else zero
                new_dots[i, head] = total
