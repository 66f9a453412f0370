"""The edges of an R-MAT (Kronecker) graph.

Each edge starts in the whole adjacency matrix and chooses one of its four quarters `scale` times (Chakrabarti, Zhan,
Faloutsos 2004). Choice `level` of edge i is random number `i * scale + level`: the same seed gives the same edges on
any number of threads.
"""

from __future__ import annotations

from math import fsum

import numpy as np
from numba import njit

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.counter_random import hash_number, scramble, scramble_constants, stream_key
from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

EDGE_STREAM, VERTEX_STREAM = 0, 1
ONE = np.uint64(1)


def rmat_edges(
    scale: int, num_edges: int, probabilities: tuple[float, ...], seed: int, permute: bool = True, first: int = 0
) -> tuple[Array, Array]:
    """Return sources and targets, `[num_edges]`, of a graph with 2^scale vertices, from edge `first` of it on.

    `probabilities` are those of the four quarters: first and second half of the sources, of the targets within each.
    With `permute`, vertices are renamed by a random permutation, so that an id says nothing about a degree.
    Deterministic.

    >>> sources, targets = rmat_edges(4, 100, (0.57, 0.19, 0.19, 0.05), seed=1)
    >>> len(sources), int(max(sources.max(), targets.max())) < 16
    (100, True)
    """
    dtype = index_dtype(1 << scale)
    sources, targets = np.empty(num_edges, dtype), np.empty(num_edges, dtype)
    limits = np.asarray([_limit(fsum(probabilities[:k])) for k in (1, 2, 3)], np.uint64)
    constants = scramble_constants(seed, VERTEX_STREAM)
    size = team_size(num_edges)
    numbers = stream_key(seed, EDGE_STREAM), np.uint64(first), np.uint64(scale)
    run_team(_fill_edges, size, *numbers, limits, permute, constants, sources, targets)
    return sources, targets


def _limit(share: float) -> int:
    """Return the 64-bit number below which this share of all 64-bit numbers lies."""
    return min(int(share * 2.0**64), 2**64 - 1)


@njit(**JIT)
def _fill_edges(rank, size, key, first_edge, scale, limits, permute, constants, sources, targets):
    """Writes the thread's part of the edges. The comparisons are added up: a branch would be mispredicted."""
    first, last = part(rank, size, sources.size)
    first_limit, second_limit, third_limit = limits[0], limits[1], limits[2]
    for i in range(first, last):
        source, target = np.uint64(0), np.uint64(0)
        counter = (first_edge + np.uint64(i)) * scale
        for level in range(scale):
            bits = hash_number(key, counter + np.uint64(level))
            lower = np.uint64(bits >= second_limit)
            quarter = np.uint64(bits >= first_limit) + lower + np.uint64(bits >= third_limit)
            source = (source << ONE) | lower
            target = (target << ONE) | (quarter & ONE)
        if permute:
            source, target = scramble(source, scale, constants), scramble(target, scale, constants)
        sources[i], targets[i] = source, target
