"""One number per edge and head from the embeddings at its two ends, and the sums that their gradients need.

Embeddings are `[N, H, F]`, scores `[E, H]`. An edge's score is written by the thread that has its row. No atomics, and
the same bits on any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.csr import row_part
from tgraph.kernels.cpu.prefetch import MANY_BYTES
from tgraph.kernels.cpu.row_sums import FEATURE_JIT, ONE, ask_for_row, feature_team
from tgraph.kernels.cpu.team import as_unsigned, run_team
from tgraph.runtime.protocol import Array


def dot_edges(offsets: Array, ids: Array, embeddings: Array, row_embeddings: Array, new_scores: Array) -> None:
    """Write `new_scores[e, h]`, the dot product of `embeddings[ids[e], h]` and that of the edge's row.

    >>> scores = np.empty((2, 1))
    >>> ends = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    >>> dot_edges(np.array([0, 1, 2]), np.array([1, 1]), ends, ends, scores)
    >>> scores.ravel().tolist()
    [11.0, 25.0]
    """
    size = feature_team(ids.size, embeddings.shape[1] * embeddings.shape[2])
    run_team(_dot_edges, size, as_unsigned(offsets), as_unsigned(ids), embeddings, row_embeddings, new_scores)


@njit(**FEATURE_JIT)
def _dot_edges(rank, size, offsets, ids, embeddings, row_embeddings, new_scores):
    """Writes the scores of the edges in the thread's rows."""
    flat, is_large = embeddings.reshape(embeddings.shape[0], -1), embeddings.nbytes > MANY_BYTES
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + ONE]):
            if is_large:
                ask_for_row(flat, ids, i)
            for head in range(np.uint64(embeddings.shape[1])):
                x, y = embeddings[ids[i], head], row_embeddings[row, head]
                total = embeddings.dtype.type(0)
                for f in range(x.size):
                    total += x[f] * y[f]
                new_scores[i, head] = total


def leaky_dot_edges(
    offsets: Array,
    ids: Array,
    embeddings: Array,
    row_embeddings: Array,
    attention: Array,
    slope: float,
    new_scores: Array,
) -> None:
    """Write `new_scores[e, h]`, the dot product of `attention[h]` and `leaky_relu(x + y)` of the two ends.

    The leaky_relu multiplies what is not positive by `slope`.
    """
    size = feature_team(ids.size, embeddings.shape[1] * embeddings.shape[2])
    read = (as_unsigned(ids), embeddings, row_embeddings, attention, embeddings.dtype.type(slope))
    run_team(_leaky_dot_edges, size, as_unsigned(offsets), *read, new_scores)


@njit(**FEATURE_JIT)
def _leaky_dot_edges(rank, size, offsets, ids, embeddings, row_embeddings, attention, slope, new_scores):
    """Writes the scores of the edges in the thread's rows."""
    one = embeddings.dtype.type(1)
    flat, is_large = embeddings.reshape(embeddings.shape[0], -1), embeddings.nbytes > MANY_BYTES
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        for i in range(offsets[row], offsets[row + ONE]):
            if is_large:
                ask_for_row(flat, ids, i)
            for head in range(np.uint64(embeddings.shape[1])):
                x, y, a = embeddings[ids[i], head], row_embeddings[row, head], attention[head]
                total = embeddings.dtype.type(0)
                for f in range(x.size):
                    z = x[f] + y[f]
                    total += a[f] * z * (one if z > 0 else slope)
                new_scores[i, head] = total


def leaky_sums(
    offsets: Array,
    ids: Array,
    edges: Array | None,
    gradients: Array,
    embeddings: Array,
    row_embeddings: Array,
    slope: float,
    new_sums: Array,
) -> None:
    """Write `new_sums[r, h]`, the sum over the edges of row r of their gradient times the slope of leaky_relu(x + y).

    `edges[i]` says where the gradient of the i-th edge is, None that it is at i.
    """
    size = feature_team(ids.size, embeddings.shape[1] * embeddings.shape[2])
    places = None if edges is None else as_unsigned(edges)
    read = (as_unsigned(ids), places, gradients, embeddings, row_embeddings, embeddings.dtype.type(slope))
    run_team(_leaky_sums, size, as_unsigned(offsets), *read, new_sums)


@njit(**FEATURE_JIT)
def _leaky_sums(rank, size, offsets, ids, edges, gradients, embeddings, row_embeddings, slope, new_sums):
    """Writes the sums of the thread's rows."""
    flat, is_large = embeddings.reshape(embeddings.shape[0], -1), embeddings.nbytes > MANY_BYTES
    first, last = row_part(rank, size, offsets)
    for row in range(first, last):
        new_sums[row] = 0
        for i in range(offsets[row], offsets[row + ONE]):
            if is_large:
                ask_for_row(flat, ids, i)
            edge = np.uint64(i)
            if edges is not None:
                edge = np.uint64(edges[i])
            for head in range(np.uint64(embeddings.shape[1])):
                x, y, sums = embeddings[ids[i], head], row_embeddings[row, head], new_sums[row, head]
                positive = gradients[edge, head]
                other = positive * slope
                for f in range(x.size):
                    sums[f] += positive if x[f] + y[f] > 0 else other
