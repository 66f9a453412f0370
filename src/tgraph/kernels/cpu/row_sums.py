"""Sums of embeddings along edges: every row of a block adds up what its edges point at.

Embeddings are `[N, H, F]`: H heads of F features. `ids[e]` says which of the N an edge reads, so that a block reads
rows of a large table in place. Each row is summed by one thread, and threads get rows with about the same number of
edges: no atomics, and the same bits on any number of threads. Nothing of the size edges x features is made.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.csr import row_part
from tgraph.kernels.cpu.prefetch import MANY_BYTES, prefetch
from tgraph.kernels.cpu.team import JIT, as_unsigned, run_team, team_size
from tgraph.runtime.protocol import Array

FEATURE_JIT = {**JIT, "fastmath": {"contract", "reassoc", "nsz"}}  # sums over features and edges use whole vectors
FEATURES_PER_STEP = 8  # that count as one unit of work when threads are chosen
EDGES_AHEAD = np.uint64(8)  # 200,000 rows of 100 features: dots and maxima take half to two thirds of the time
CACHE_LINE_BYTES = 64
LINES_ASKED_FOR = 8
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


def feature_work(num_edges: int, width: int) -> int:
    """Return how much work so many edges with so many features each are, in the units of `team_size`."""
    return num_edges * max(1, width // FEATURES_PER_STEP)


def feature_team(num_edges: int, width: int) -> int:
    """Return how many threads they deserve."""
    return team_size(feature_work(num_edges, width))


@njit(**JIT)
def ask_for_row(rows, ids, i):
    """Ask for the start of the row that is read some edges after the i-th; it pays if the rows are `MANY_BYTES`.

    They lie at random places; once a row is being read the processor fetches the rest of it by itself.
    """
    ahead = i + EDGES_AHEAD
    if ahead < np.uint64(ids.size):
        row = rows[ids[ahead]]
        step = CACHE_LINE_BYTES // row.itemsize
        for f in range(np.uint64(0), np.uint64(min(row.size, LINES_ASKED_FOR * step)), np.uint64(step)):
            prefetch(row, f)


def sum_rows(offsets: Array, ids: Array, weights: Array | None, embeddings: Array, new_sums: Array) -> None:
    """Write `new_sums[r, h]`, the sum over the edges e of row r of `weights[e, h] * embeddings[ids[e], h]`.

    >>> sums = np.empty((2, 1, 1))
    >>> sum_rows(np.array([0, 2, 2]), np.array([0, 2]), None, np.array([[[1.0]], [[2.0]], [[4.0]]]), sums)
    >>> sums.ravel().tolist()
    [5.0, 0.0]
    """
    size = feature_team(ids.size, embeddings.shape[1] * embeddings.shape[2])
    run_team(_sum_rows, size, as_unsigned(offsets), as_unsigned(ids), weights, embeddings, new_sums)


@njit(**FEATURE_JIT)
def _sum_rows(rank, size, offsets, ids, weights, embeddings, new_sums):
    """Writes the sums of the thread's rows. Four edges at a time: the sums are read and written a quarter as often."""
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        for head in range(np.uint64(embeddings.shape[1])):
            sums = new_sums[row, head]
            sums[:] = 0
            i, end = offsets[row], offsets[row + ONE]
            while i + FOUR <= end:
                a, b = embeddings[ids[i], head], embeddings[ids[i + ONE], head]
                c, d = embeddings[ids[i + TWO], head], embeddings[ids[i + THREE], head]
                if weights is None:
                    for f in range(sums.size):
                        sums[f] += (a[f] + b[f]) + (c[f] + d[f])
                else:
                    wa, wb = weights[i, head], weights[i + ONE, head]
                    wc, wd = weights[i + TWO, head], weights[i + THREE, head]
                    for f in range(sums.size):
                        sums[f] += (wa * a[f] + wb * b[f]) + (wc * c[f] + wd * d[f])
                i += FOUR
            while i < end:
                a = embeddings[ids[i], head]
                if weights is None:
                    for f in range(sums.size):
                        sums[f] += a[f]
                else:
                    wa = weights[i, head]
                    for f in range(sums.size):
                        sums[f] += wa * a[f]
                i += ONE


def sum_products(
    offsets: Array, ids: Array, embeddings: Array, factor_ids: Array, factors: Array, new_sums: Array
) -> None:
    """Write `new_sums[r]`, the sum over the edges e of row r of `embeddings[ids[e]] * factors[factor_ids[e]]`.

    >>> sums, table = np.empty((1, 1)), np.array([[2.0], [3.0], [5.0]])
    >>> sum_products(np.array([0, 2]), np.array([0, 1]), table, np.array([1, 2]), table, sums)
    >>> sums.tolist()
    [[21.0]]
    """
    size = feature_team(ids.size, embeddings.shape[1])
    read = (as_unsigned(ids), embeddings, as_unsigned(factor_ids), factors)
    run_team(_sum_products, size, as_unsigned(offsets), *read, new_sums)


@njit(**FEATURE_JIT)
def _sum_products(rank, size, offsets, ids, embeddings, factor_ids, factors, new_sums):
    """Writes the sums of the thread's rows."""
    is_large = embeddings.nbytes > MANY_BYTES
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        sums = new_sums[row]
        sums[:] = 0
        i, end = offsets[row], offsets[row + ONE]
        while i + TWO <= end:
            if is_large:
                ask_for_row(embeddings, ids, i)
                ask_for_row(embeddings, ids, i + ONE)
            x, p = embeddings[ids[i]], factors[factor_ids[i]]
            y, s = embeddings[ids[i + ONE]], factors[factor_ids[i + ONE]]
            for f in range(sums.size):
                sums[f] += x[f] * p[f] + y[f] * s[f]
            i += TWO
        while i < end:
            x, p = embeddings[ids[i]], factors[factor_ids[i]]
            for f in range(sums.size):
                sums[f] += x[f] * p[f]
            i += ONE
