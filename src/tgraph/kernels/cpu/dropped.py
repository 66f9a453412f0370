"""Leaving out a random part of numbers, the rest made larger by as much: dropout.

Number i is left out if the 32 random bits that belong to (key, i) are below a threshold, so nothing but the key has to
be kept to leave out the same ones again, and the result is the same on any number of threads. Needs arrays in C order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.counter_random import LOW_32, ONE, SHIFT_32, hash_number
from tgraph.kernels.cpu.openmp import run_on_shared_threads, start_threads
from tgraph.kernels.cpu.team import JIT, part
from tgraph.runtime.protocol import Array

WORK = 4  # a number takes as long as so many that are only copied


def drop(values: Array, share: float, key: int, new_values: Array) -> None:
    """Write the values, 0 for about a `share` (from 0 to less than 1) of them and divided by 1 - share for the others.

    >>> kept = np.empty(1000)
    >>> drop(np.ones(1000), 0.5, 7, kept)
    >>> sorted(set(kept.tolist())), 400 < int(np.count_nonzero(kept)) < 600
    ([0.0, 2.0], True)
    """
    limit, scale = np.uint64(round(share * 2**32)), values.dtype.type(1.0 / (1.0 - share))
    flat, new_flat = values.reshape(-1), new_values.reshape(-1)
    run_on_shared_threads(_launch, _drop, WORK * values.size, np.uint64(key), limit, scale, flat, new_flat)


@njit(**JIT)
def _launch(size, *args):
    """Runs the worker on OpenMP threads."""
    start_threads(_drop, size, args)


@njit(**JIT)
def _drop(rank, size, key, limit, scale, values, new_values):
    """Writes the thread's part of the values, two for every hash, without a branch that nobody could guess."""
    count, pairs = np.uint64(values.size), np.int64(values.size >> 1)
    first, last = part(rank, size, pairs)
    zero = values.dtype.type(0)
    for pair in range(np.uint64(first), np.uint64(last)):
        bits, i = hash_number(key, pair), pair << ONE
        one, other = values[i] * scale, values[i + ONE] * scale
        new_values[i] = one if bits >> SHIFT_32 >= limit else zero
        new_values[i + ONE] = other if bits & LOW_32 >= limit else zero
    if rank == 0 and count & ONE != np.uint64(0):
        bits = hash_number(key, np.uint64(pairs))
        new_values[count - ONE] = values[count - ONE] * scale if bits >> SHIFT_32 >= limit else zero
