"""Products of two matrices by 512-bit vectors: a layer's tall and narrow ones.

On a Zen 5 of AMD they take about half the time of torch's (MKL), which seems to use vectors of half that width there.
Threads take some rows and a panel of columns at a time. Every element is summed by one thread in one order: the same
bits on any number of threads.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding
import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.dense_tiles import VECTOR_BYTES, build_tile
from tgraph.kernels.cpu.openmp import run_on_shared_threads, start_threads
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

DEPTH = 128  # rows of b that are used by all rows of a part before the next ones: with 256 bytes each they fit into L1
FEW_ROWS, MANY_ROWS = 24, 48  # of a part, multiples of the rows of a tile
MANY = 512  # rows of a product, from which on parts have many
PANEL = 4  # vectors
MULTIPLICATIONS_PER_WORK = 64  # in the units of `team_size`

ZERO, ONE, FOUR, SIX = (np.uint64(number) for number in (0, 1, 4, 6))
six_by_one, six_by_two, six_by_three, six_by_four = (build_tile(6, number) for number in (1, 2, 3, 4))
four_by_one, four_by_two, four_by_three, four_by_four = (build_tile(4, number) for number in (1, 2, 3, 4))
one_by_one, one_by_two, one_by_three, one_by_four = (build_tile(1, number) for number in (1, 2, 3, 4))


@cache
def is_faster_here() -> bool:
    """Say whether this beats torch's products: on AMD's processors with 512-bit vectors."""
    has_vectors = llvmlite.binding.get_host_cpu_features().get("avx512f", False)
    return bool(has_vectors) and llvmlite.binding.get_host_cpu_name().startswith("znver")


def multiply(a: Array, b: Array, is_transposed: bool, adds: bool, new: Array) -> None:
    """Write `a @ b`, or `a.T @ b` if it `is_transposed`, into `new`, or add it to that. All are contiguous.

    >>> a, b, new = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), np.ones((1, 1))
    >>> multiply(a, b, False, True, new)
    >>> new.tolist()
    [[12.0]]
    """
    rows, depth = a.shape[::-1] if is_transposed else a.shape
    strides = (1, rows) if is_transposed else (depth, 1)
    work = rows * depth * b.shape[1] // MULTIPLICATIONS_PER_WORK
    read = (a.reshape(-1), *map(np.uint64, strides), b.reshape(-1), np.uint64(depth))
    sizes = (np.uint64(rows), np.uint64(b.shape[1]))
    run_on_shared_threads(_launch, _multiply, work, np.zeros(1, np.int64), *read, *sizes, adds, new.reshape(-1))


@njit(**JIT)
def _launch(size, *args):
    """Runs the worker on OpenMP threads."""
    start_threads(_multiply, size, args)


@njit(**JIT)
def _multiply(rank, size, claimed, a, a_row, a_step, b, depth, num_rows, width, adds, new):
    """Writes the parts of the product that the thread takes."""
    lanes = np.uint64(VECTOR_BYTES // a.itemsize)
    panel = np.uint64(PANEL) * lanes
    part = np.uint64(MANY_ROWS if num_rows >= np.uint64(MANY) else FEW_ROWS)
    num_parts, num_panels = (num_rows + part - ONE) // part, (width + panel - ONE) // panel
    while True:
        taken = np.uint64(fetch_add(claimed, 0, 1))
        if taken >= num_parts * num_panels:
            break
        first, column = (taken % num_parts) * part, (taken // num_parts) * panel
        last, columns = min(first + part, num_rows), min(panel, width - column)
        k = ZERO
        while k < depth:
            count = min(np.uint64(DEPTH), depth - k)
            row = first
            while row < last:
                read = (a, row * a_row + k * a_step, a_row, a_step, b, k * width + column, width, count)
                written = (new, row * width + column, width, columns, adds or k > ZERO)
                if row + SIX <= last:
                    _six_rows(columns, lanes, read, written)
                    row += SIX
                elif row + FOUR <= last:
                    _four_rows(columns, lanes, read, written)
                    row += FOUR
                else:
                    _one_row(columns, lanes, read, written)
                    row += ONE
            k += np.uint64(DEPTH)


@njit(**JIT, forceinline=True)
def _six_rows(columns, lanes, read, written):
    if columns > lanes + lanes + lanes:
        six_by_four(*read, *written)
    elif columns > lanes + lanes:
        six_by_three(*read, *written)
    elif columns > lanes:
        six_by_two(*read, *written)
    else:
        six_by_one(*read, *written)


@njit(**JIT, forceinline=True)
def _four_rows(columns, lanes, read, written):
    if columns > lanes + lanes + lanes:
        four_by_four(*read, *written)
    elif columns > lanes + lanes:
        four_by_three(*read, *written)
    elif columns > lanes:
        four_by_two(*read, *written)
    else:
        four_by_one(*read, *written)


@njit(**JIT, forceinline=True)
def _one_row(columns, lanes, read, written):
    if columns > lanes + lanes + lanes:
        one_by_four(*read, *written)
    elif columns > lanes + lanes:
        one_by_three(*read, *written)
    elif columns > lanes:
        one_by_two(*read, *written)
    else:
        one_by_one(*read, *written)
