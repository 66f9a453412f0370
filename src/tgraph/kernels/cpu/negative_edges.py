"""Drawing vertices that a source has no edge to, for learning which edges there are.

A candidate is drawn evenly and looked for in the source's row by bisection, for which rows must ascend; one that is
found, or is the source itself, is drawn again, up to a number of tries. The k-th try of the j-th draw is a hash of the
key, j and k. Deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.counter_random import below, hash_number
from tgraph.kernels.cpu.random_walks import has_edge
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.runtime.protocol import Array

WORK_PER_DRAW = 10  # in the units of `team_size`


def draw_negatives(
    offsets: Array, neighbors: Array, sources: Array, candidates: Array, num_negatives: int, tries: int, key: np.uint64
) -> Array:
    """Return `[S, num_negatives] int64`: candidates that are no neighbours of the source, as far as tries find some.

    Where all tries fail, the last one drawn stays. Needs ascending rows and at least one candidate.

    >>> offsets, neighbors = np.array([0, 2, 2, 2, 2]), np.array([1, 2], np.int32)
    >>> draw_negatives(offsets, neighbors, np.array([0]), np.arange(4), 3, 100, np.uint64(1)).tolist()
    [[3, 3, 3]]
    """
    negatives = np.empty((sources.size, num_negatives), np.int64)
    rows = as_unsigned(offsets), as_unsigned(neighbors)
    size = team_size(negatives.size * WORK_PER_DRAW)
    run_team(_draw, size, *rows, sources, candidates, tries, key, negatives)
    return negatives


@njit(**JIT)
def _draw(rank, size, offsets, neighbors, sources, candidates, tries, key, negatives):
    """Writes negatives[i] for the thread's sources i."""
    first, last = part(rank, size, sources.size)
    count = np.uint64(candidates.size)
    for i in range(first, last):
        source = np.uint64(sources[i])
        for j in range(negatives.shape[1]):
            draw_key = hash_number(key, np.uint64(i * negatives.shape[1] + j))
            for attempt in range(tries):
                drawn = np.uint64(candidates[below(hash_number(draw_key, np.uint64(attempt)), count)])
                negatives[i, j] = drawn
                if drawn != source and not has_edge(source, drawn, offsets, neighbors):
                    break
