"""Local clustering coefficients: the share of all possible edges among a vertex's neighbours that are there.

Without directions this is triangles and degrees (`triangles`), counted along ascending rows or taken from the half
graph. With directions each triangle brings to a vertex the
one or two edges between the two others: the half graph then tells, for each edge, whether edges lead both ways, and
marks hold that number. Memory: as for triangles, and 16 bytes per vertex. Counts are sums of integers, and each
coefficient is one division of two of them: the answer does not depend on the threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.half_graph import build_half_graph
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.triangles import count_by_rank, count_triangles, marking_team
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 64  # vertices
COUNT_BITS = 30  # of a hit; the two bits above are the mark: the number of edges from the marking vertex


def clustering_coefficients(
    rows: tuple[Array, Array], reverse: tuple[Array, Array] | None, is_sorted: bool, watch: Watch | None = None
) -> Array:
    """Return the clustering coefficient of every vertex, `[V] float64`: 0 with fewer than two neighbours.

    A directed graph gives its reverse rows too; without them, `rows` (offsets and neighbours) must hold both directions
    of every edge. Self-loops and repeated edges do not count.

    >>> rows = np.array([0, 2, 4, 7, 8]), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.int32)
    >>> clustering_coefficients(rows, None, True).round(3).tolist()
    [1.0, 1.0, 0.333, 0.0]
    """
    watch = watch or Watch()
    if is_sorted and reverse is None:
        counts = count_triangles(rows, None, True, watch)
        in_place: Array = counts.view(np.float64)
        offsets, neighbors = as_unsigned(rows[0]), as_unsigned(rows[1])
        watch.run(_divide, team_size(neighbors.size), offsets, neighbors, counts, in_place)
        return in_place
    half = build_half_graph(rows, reverse, is_sorted, reverse is not None, watch)
    if reverse is None:
        counts = 2 * count_by_rank(half, watch)
    else:
        counts = np.zeros(half.ranks.size, np.int64)
        watch.run(_count_arcs, marking_team(half), half.starts, half.ends, half.neighbors, counts)
    pairs = half.degrees.astype(np.float64)
    pairs *= pairs - 1
    coefficients: Array = counts[half.ranks] / np.maximum(pairs, 1)
    return coefficients


@njit(**JIT)
def _divide(rank, size, shared, offsets, neighbors, counts, coefficients):
    """Writes the coefficients of its part, which may lie where the counts of triangles lie. Needs ascending rows."""
    one = np.uint64(1)
    first, last = part(rank, size, np.int64(counts.size))
    for vertex in range(np.uint64(first), np.uint64(last)):
        begin, degree = offsets[vertex], 0
        for i in range(begin, offsets[vertex + one]):
            degree += neighbors[i] != vertex and (i == begin or neighbors[i] != neighbors[i - one])
        coefficients[vertex] = np.float64(2 * counts[vertex]) / max(np.float64(degree) * np.float64(degree - 1), 1.0)


@njit(**JIT)
def _count_arcs(rank, size, shared, starts, ends, neighbors, counts):
    """Writes counts, by atomic additions; each thread has hits, marks included, of its own."""
    one, num_vertices = np.uint64(1), np.int64(counts.size)
    hits = np.zeros(num_vertices, np.uint32)
    while True:
        chunk = fetch_add(shared, COUNTERS, CHUNK)
        if chunk >= num_vertices or is_stopped(shared):
            break
        for high in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            start, end = starts[high], ends[high]
            if end - start < np.uint64(2):
                continue
            for i in range(start, end):
                entry = np.uint64(neighbors[i])
                hits[entry >> one] = np.uint32((one + (entry & one)) << np.uint64(COUNT_BITS))
            found = _follow(start, end, starts, ends, neighbors, hits)
            fetch_add(counts, high, np.int64(found))
            for i in range(start, end):
                other = np.uint64(neighbors[i]) >> one
                count = np.int64(hits[other]) & np.int64((1 << COUNT_BITS) - 1)
                hits[other] = 0
                if count:
                    fetch_add(counts, other, count)
        fetch_add(shared, DONE, CHUNK)


@njit(**JIT)
def _follow(start, end, starts, ends, neighbors, hits):
    """Add to hits what the triangles of a marked row bring to the two others; return what they bring to its vertex."""
    one = np.uint64(1)
    found = np.uint64(0)
    for i in range(start, end):
        entry = np.uint64(neighbors[i])
        middle, to_middle = entry >> one, np.uint32(one + (entry & one))
        to_lows = np.uint32(0)
        for j in range(starts[middle], ends[middle]):
            entry = np.uint64(neighbors[j])
            to_low = hits[entry >> one] >> np.uint32(COUNT_BITS)
            is_marked = (to_low + np.uint32(1)) >> np.uint32(1)  # 0, 1, 2 -> 0, 1, 1
            hits[entry >> one] += is_marked * to_middle
            to_lows += to_low
            found += np.uint64(is_marked) * (one + (entry & one))
        hits[middle] += to_lows
    return found
