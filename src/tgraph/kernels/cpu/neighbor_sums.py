"""Sums over the neighbours of a vertex, for workers that sweep over all edges."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import JIT

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@njit(**JIT, forceinline=True)
def sum_row(first, last, neighbors, sent):
    """Return the sum of `sent`, float64 or float32, over some edges; four at a time, so that additions wait less.

    The sum is made in float64. Edges and neighbours are unsigned.
    """
    total, edge = 0.0, first
    while edge + FOUR <= last:
        left = np.float64(sent[neighbors[edge]]) + np.float64(sent[neighbors[edge + ONE]])
        right = np.float64(sent[neighbors[edge + TWO]]) + np.float64(sent[neighbors[edge + THREE]])
        total += left + right
        edge += FOUR
    while edge < last:
        total += np.float64(sent[neighbors[edge]])
        edge += ONE
    return total


@njit(**JIT, forceinline=True)
def sum_weighted_row(first, last, neighbors, weights, factor, sent):
    """Return `factor` times the sum of `sent` over some edges, each times its weight; without weights as `sum_row`.

    Weights may be so large that the factor must come first.
    """
    if not weights.size:
        return sum_row(first, last, neighbors, sent) * factor
    total = 0.0
    for edge in range(first, last):
        total += sent[neighbors[edge]] * factor * weights[edge]
    return total


@njit(**JIT)
def sum_pieces(size, shared, meeting, counter, pieces, neighbors, weights, factor, sent, partials):
    """Writes partials[piece], the sum over a piece of a long row, one thread per piece; meets if there are any."""
    num_pieces = pieces.shape[0]
    while num_pieces > 0:
        piece = fetch_add(shared, counter, 1)
        if piece >= num_pieces:
            return meet(shared, meeting, size)
        partials[piece] = sum_weighted_row(pieces[piece, 2], pieces[piece, 3], neighbors, weights, factor, sent)
    return meeting
