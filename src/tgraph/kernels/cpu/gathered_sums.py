"""Sums and means of rows of a table along edges, each written once: what forward passes spend their time on.

The source s of an edge is row `row_ids[s]` of the table, or row s without them. A sum is made in a buffer of the thread
that stays in its first cache, then divided, multiplied and written, so that the result is touched once. Threads take a
few rows at a time; one row is summed by one thread in the order of its edges: the same bits on any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.openmp import run_on_shared_threads, start_threads
from tgraph.kernels.cpu.prefetch import MANY_BYTES
from tgraph.kernels.cpu.row_blocks import build_block_sum
from tgraph.kernels.cpu.row_sums import feature_work
from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array

ROWS_PER_CLAIM = 16
EDGES_AHEAD = np.uint64(16)
WIDEST_ASKED_FOR = 1024  # features; of wider rows the processor fetches by itself what is read next
ZERO, ONE, TWO, FOUR, EIGHT, TWELVE = (np.uint64(number) for number in (0, 1, 2, 4, 8, 12))
sum_two, sum_four, sum_eight, sum_twelve = (build_block_sum(number, is_masked=False) for number in (2, 4, 8, 12))
sum_up_to_four, sum_up_to_twelve = (build_block_sum(number, is_masked=True) for number in (4, 12))


def sum_gathered(
    offsets: Array,
    sources: Array,
    row_ids: Array | None,
    weights: Array | None,
    table: Array,
    is_mean: bool,
    factors: Array | None,
    factor_ids: Array | None,
    new_sums: Array,
) -> None:
    """Write `new_sums[r]`, the sum over the edges e of row r of `weights[e] * table[row_ids[sources[e]]]`, `[R, F]`.

    With `is_mean` it is divided by the number of edges; then it is multiplied by 1 + the row's factors, if there are
    any: `factors[factor_ids[r]]`, or `factors[r]` without ids. A row without edges is 0. Deterministic.

    >>> table, sums = np.array([[1.0], [2.0], [4.0]]), np.empty((2, 1))
    >>> offsets, sources = np.array([0, 2, 2]), np.array([0, 1], np.int32)
    >>> sum_gathered(offsets, sources, np.array([1, 2]), None, table, True, None, None, sums)
    >>> sums.ravel().tolist()
    [3.0, 0.0]
    """
    ids, own_ids = (None if one is None else as_unsigned(one) for one in (row_ids, factor_ids))
    read = (as_unsigned(offsets), as_unsigned(sources), ids, weights, table, is_mean, factors, own_ids)
    work = feature_work(sources.size, table.shape[1])
    run_on_shared_threads(_launch, _sum_gathered, work, np.zeros(1, np.int64), *read, new_sums)


@njit(**JIT)
def _launch(size, *args):
    """Runs the worker on OpenMP threads."""
    start_threads(_sum_gathered, size, args)


@njit(**JIT)
def _sum_gathered(
    rank, size, claimed, offsets, sources, row_ids, weights, table, is_mean, factors, factor_ids, new_sums
):
    """Writes the sums of the rows that the thread takes."""
    num_rows, width, lanes = np.int64(offsets.size) - 1, np.uint64(table.shape[1]), np.uint64(32 // table.itemsize)
    ahead = EDGES_AHEAD if table.nbytes > MANY_BYTES and width <= WIDEST_ASKED_FOR else ZERO
    while True:
        first = fetch_add(claimed, 0, ROWS_PER_CLAIM)
        if first >= num_rows:
            break
        for row in range(np.uint64(first), np.uint64(min(first + ROWS_PER_CLAIM, num_rows))):
            begin, end = offsets[row], offsets[row + ONE]
            scale = table.dtype.type(1)
            if is_mean and begin < end:
                scale = scale / table.dtype.type(end - begin)
            own = row
            if factor_ids is not None:
                own = np.uint64(factor_ids[row])
            read = (begin, end, sources, row_ids, weights, table, scale, factors, own, ahead, new_sums, row)
            f = ZERO
            while f + TWELVE * lanes <= width:
                sum_twelve(f, *read)
                f += TWELVE * lanes
            left = width - f
            if left == EIGHT * lanes:
                sum_eight(f, *read)
            elif left > FOUR * lanes:
                sum_up_to_twelve(f, *read)
            elif left == FOUR * lanes:
                sum_four(f, *read)
            elif left == TWO * lanes:
                sum_two(f, *read)
            elif left > ZERO:
                sum_up_to_four(f, *read)
