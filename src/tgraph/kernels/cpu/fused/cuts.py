"""How a sweep is cut: the vertices into chunks of about equal work, the edges of a hub into pieces."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

WORK_PER_CHUNK = 1 << 14  # edges and vertices, at most
CHUNKS = 1 << 12  # that a sweep is cut into, unless they become larger than that or smaller than SMALLEST_CHUNK
SMALLEST_CHUNK = 1 << 10
HUB_EDGES = 1 << 17  # from which a vertex is reduced in pieces of WORK_PER_CHUNK


def chunk_work(work: int, smallest: int = SMALLEST_CHUNK) -> int:
    """Return how many edges and vertices a chunk has, of so many in all."""
    return min(max(work // CHUNKS, smallest), WORK_PER_CHUNK)


def cut_by_work(sides: list[Array], smallest: int = SMALLEST_CHUNK) -> tuple[Array, Array, Array]:
    """Cut the vertices into chunks of about equal work, from the offsets of every side; `smallest` as in chunk_work.

    Returns the first vertex of every chunk and the number of vertices, `[C+1]`; the pieces of vertices with very many
    edges, `[P, 4]`: vertex, side, first and last edge; the first piece of every chunk and their number, `[C+1]`.
    """
    num_vertices = sides[0].size - 1
    work = sum(int(offsets[-1]) for offsets in sides) + num_vertices
    per_chunk = chunk_work(work, smallest)
    inner = np.concatenate([_even_cuts(offsets, per_chunk) for offsets in sides])
    passed = _distinct(inner)  # a hub is among them: it passes several multiples
    hubs = passed[np.max([offsets[passed + 1] - offsets[passed] for offsets in sides], axis=0) >= HUB_EDGES]
    cuts = _distinct(np.concatenate([[0, num_vertices], passed, hubs, hubs + 1]).astype(np.int64))
    pieces = [
        (hub, side, first, min(first + WORK_PER_CHUNK, int(offsets[hub + 1])))
        for hub in hubs.tolist()
        for side, offsets in enumerate(sides)
        for first in range(int(offsets[hub]), int(offsets[hub + 1]), WORK_PER_CHUNK)
    ]
    table = np.array(pieces, np.uint64).reshape(-1, 4)
    return cuts.astype(np.uint64), table, np.searchsorted(table[:, 0], cuts.astype(np.uint64)).astype(np.int64)


def _distinct(vertices: Array) -> Array:
    """Return every vertex once, ascending; faster than `np.unique`, which hashes."""
    ascending = np.sort(vertices)
    return ascending[np.diff(ascending, prepend=-1) > 0]


@njit(**JIT)
def _even_cuts(offsets, work):
    """Return the vertices at which the work of all vertices up to them passes a multiple of `work`."""
    num_vertices = offsets.size - 1
    cuts = np.empty((offsets[num_vertices] + num_vertices) // work, np.int64)
    low = 0
    for i in range(cuts.size):
        step = 1  # the next one is not far: double the step until it is passed, then halve what is between
        while low + step < num_vertices and offsets[low + step] + low + step < (i + 1) * work:
            low += step
            step *= 2
        high = min(low + step, num_vertices)
        while low < high:
            middle = (low + high) // 2
            if offsets[middle + 1] + middle + 1 < (i + 1) * work:
                low = middle + 1
            else:
                high = middle
        cuts[i] = low
    return cuts
