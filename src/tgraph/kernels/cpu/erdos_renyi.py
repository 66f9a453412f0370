"""Distinct random pairs of vertices, for the Erdős–Rényi graph.

All pairs are numbered; a random permutation of these numbers, cut off after the wanted count, gives pairs that are
distinct without a table of those already taken.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.counter_random import scramble, scramble_constants
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

PAIR_STREAM = 0
ONE = np.uint64(1)


def distinct_pairs(num_vertices: int, num_pairs: int, num_possible: int, seed: int) -> tuple[Array, Array]:
    """Return `num_pairs` different pairs of different vertices, out of `num_possible` numbered ones.

    `num_possible` is V * (V - 1) for ordered pairs and half of that for unordered ones: pair k is the vertex c = k mod
    V and the one k // V + 1 places after it, round the circle. The first half of the distances meets every unordered
    pair once. Deterministic.

    >>> sources, targets = distinct_pairs(3, 3, 3, seed=5)
    >>> sorted({tuple(sorted(pair)) for pair in zip(sources.tolist(), targets.tolist())})
    [(0, 1), (0, 2), (1, 2)]
    """
    dtype = index_dtype(num_vertices)
    sources, targets = np.empty(num_pairs, dtype), np.empty(num_pairs, dtype)
    bits = np.uint64(max(num_possible - 1, 0).bit_length())
    constants = scramble_constants(seed, PAIR_STREAM)
    limits = np.uint64(num_vertices), np.uint64(num_possible), bits
    run_team(_fill_pairs, team_size(num_pairs), *limits, constants, sources, targets)
    return sources, targets


@njit(**JIT)
def _fill_pairs(rank, size, num_vertices, num_possible, bits, constants, sources, targets):
    """Writes the thread's part of the pairs. A number beyond the last pair is scrambled again, less than once each."""
    first, last = part(rank, size, sources.size)
    for i in range(first, last):
        number = scramble(np.uint64(i), bits, constants)
        while number >= num_possible:
            number = scramble(number, bits, constants)
        source = number % num_vertices
        target = source + number // num_vertices + ONE
        if target >= num_vertices:
            target -= num_vertices
        sources[i], targets[i] = source, target
