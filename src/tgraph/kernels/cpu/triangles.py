"""Triangles: how many each vertex is in.

Works on a half graph (`half_graph`), where every triangle has one vertex that keeps the two others. Its row is marked;
the marks are then met along the rows of its row, one load per step and no comparison (Latapy 2008). Most steps would
lead through a few hubs, which are joined with each other densely: their edges are also kept as a matrix of bits, so
that 64 of them are compared at once, or two hubs looked up directly where a row holds few of them.

Where degrees are small and even, ranking costs more than it saves, and ascending rows are merged as they are.

Memory besides the half graph: 16 bytes per vertex, 4 bytes per vertex and thread (at most as much as the half graph),
and the matrix, at most an eighth of it. Counts are sums of integers: the answer does not depend on the threads.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, fetch_or
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.bit_count import bit_count
from tgraph.kernels.cpu.half_graph import HalfGraph, build_half_graph
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 64  # vertices
MERGE_CHUNK = 1 << 12  # vertices
MAX_HUBS = 8192
MERGED_DEGREE = 16  # rows are merged up to this mean degree at the end of an edge
MARK = 1 << 31
_REPEATED = COUNTERS + 8


def count_triangles(
    rows: tuple[Array, Array], reverse: tuple[Array, Array] | None, is_sorted: bool, watch: Watch | None = None
) -> Array:
    """Return the number of triangles that each vertex is in, `[V] int64`.

    Edges have no direction; self-loops and repeated edges do not count. A directed graph gives its reverse rows too;
    without them, `rows` (offsets and neighbours) must hold both directions of every edge.

    >>> count_triangles((np.array([0, 2, 4, 7, 8]), np.array([1, 2, 0, 2, 0, 1, 3, 2], np.int32)), None, True).tolist()
    [1, 1, 1, 0]
    """
    watch = watch or Watch()
    if is_sorted and reverse is None and are_rows_merged(rows[0], watch):
        merged = _merge_rows(rows, watch)
        if merged is not None:
            return merged
    half = build_half_graph(rows, reverse, is_sorted, False, watch)
    return count_by_rank(half, watch)[half.ranks]


def are_rows_merged(offsets: Array, watch: Watch) -> bool:
    """Say whether degrees are so small and even that no half graph is made of ascending rows with these offsets."""
    return _mean_degree_of_ends(offsets, watch) <= MERGED_DEGREE


def count_by_rank(half: HalfGraph, watch: Watch) -> Array:
    """Return the number of triangles of the vertex of each rank, `[V] int64`."""
    num_vertices = half.ranks.size
    counts = np.zeros(num_vertices, np.int64)
    num_words = min(MAX_HUBS, num_vertices, isqrt(half.neighbors.nbytes)) // 64
    hubs = np.zeros(num_words * 64 * num_words, np.uint64)
    watch.run(_count, marking_team(half), half.starts, half.ends, half.neighbors, num_words, hubs, counts)
    return counts


def marking_team(half: HalfGraph) -> int:
    """Return how many threads count: their marks, 4 bytes per vertex each, take no more memory than the half graph."""
    fitting = 1 + half.neighbors.nbytes // (4 * max(half.ranks.size, 1))
    return min(team_size(half.num_arcs), fitting)


def _mean_degree_of_ends(offsets: Array, watch: Watch) -> float:
    """Return the mean number of neighbours over both ends of all edges: large if there are hubs."""
    size = team_size(offsets.size)
    sums = np.zeros(size)
    watch.run(_sum_squares, size, as_unsigned(offsets), sums)
    return float(sums.sum()) / max(int(offsets[-1]), 1)


def _merge_rows(rows: tuple[Array, Array], watch: Watch) -> Array | None:
    """Return the counts, or None if an edge occurs more than once."""
    offsets, neighbors = as_unsigned(rows[0]), as_unsigned(rows[1])
    counts = np.zeros(offsets.size - 1, np.int64)
    shared = watch.run(_merge, team_size(neighbors.size), offsets, neighbors, counts)
    return None if shared[_REPEATED] else counts


@njit(**JIT)
def _sum_squares(rank, size, shared, offsets, sums):
    """Writes sums[rank]."""
    first, last = part(rank, size, np.int64(offsets.size - 1))
    total = 0.0
    for vertex in range(np.uint64(first), np.uint64(last)):
        degree = np.float64(offsets[vertex + np.uint64(1)] - offsets[vertex])
        total += degree * degree
    sums[rank] = total


@njit(**JIT)
def _merge(rank, size, shared, offsets, neighbors, counts):
    """Writes counts, by atomic additions. Needs ascending rows; ends early if a row holds a neighbour twice."""
    one, num_vertices = np.uint64(1), np.int64(counts.size)
    while True:
        chunk = fetch_add(shared, COUNTERS, MERGE_CHUNK)
        if chunk >= num_vertices or is_stopped(shared) or shared[_REPEATED]:
            break
        for high in range(np.uint64(chunk), np.uint64(min(chunk + MERGE_CHUNK, num_vertices))):
            first = offsets[high]
            for i in range(first + one, offsets[high + one]):
                middle = neighbors[i]
                if middle >= high:
                    break
                if middle == neighbors[i - one]:
                    shared[_REPEATED] = 1
                found = _merge_two(first, i, offsets[middle], offsets[np.uint64(middle) + one], neighbors, counts)
                if found:
                    fetch_add(counts, high, found)
                    fetch_add(counts, middle, found)
        fetch_add(shared, DONE, MERGE_CHUNK)


@njit(**JIT)
def _merge_two(left, left_end, right, right_end, neighbors, counts):
    """Add 1 to the counts of the neighbours that two pieces share; return how many they are."""
    found = 0
    while left < left_end and right < right_end:
        low, other = neighbors[left], neighbors[right]
        if low == other:
            fetch_add(counts, low, 1)
            found += 1
        left += np.uint64(low <= other)
        right += np.uint64(other <= low)
    return found


@njit(**JIT)
def _count(rank, size, shared, starts, ends, neighbors, num_words, hubs, counts):
    """Writes hubs, by atomic or, and counts, by atomic additions; each thread has hits, marks included, of its own."""
    num_vertices, num_hubs = np.int64(counts.size), np.uint64(64 * num_words)
    _fill_hubs(rank, size, starts, ends, neighbors, num_words, hubs)
    hits, row = np.zeros(num_vertices, np.uint32), np.zeros(num_words, np.uint64)
    near, sums = np.empty(num_hubs, np.uint64), np.zeros(num_hubs, np.int64)
    meet(shared, 1, size)
    while True:
        chunk = fetch_add(shared, COUNTERS, CHUNK)
        if chunk >= num_vertices or is_stopped(shared):
            break
        for high in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            start, end = starts[high], ends[high]
            if end - start < np.uint64(2):
                continue
            num_near = _mark(start, end, neighbors, num_hubs, hits, near)
            if num_near <= np.uint64(num_words):  # then there are fewer pairs than words to compare
                found = _look_up_pairs(near, num_near, num_words, hubs, hits)
            else:
                found = _compare_words(near, num_near, num_words, hubs, row, hits)
            found += _follow(start, end, starts, ends, neighbors, num_hubs, hits)
            fetch_add(counts, high, np.int64(found))
            _flush(start, end, neighbors, num_hubs, hits, sums, counts)
        fetch_add(shared, DONE, CHUNK)
    for hub in range(num_hubs):
        fetch_add(counts, hub, sums[hub])


@njit(**JIT)
def _fill_hubs(rank, size, starts, ends, neighbors, num_words, hubs):
    """Writes the bits of the edges among the smallest ranks, both ways."""
    six, low_bits, one = np.uint64(6), np.uint64(63), np.uint64(1)
    for hub in range(np.uint64(rank), np.uint64(64 * num_words), np.uint64(size)):
        for i in range(starts[hub], ends[hub]):
            other = np.uint64(neighbors[i])
            fetch_or(hubs, hub * np.uint64(num_words) + (other >> six), one << (other & low_bits))
            fetch_or(hubs, other * np.uint64(num_words) + (hub >> six), one << (hub & low_bits))


@njit(**JIT)
def _mark(start, end, neighbors, num_hubs, hits, near):
    """Writes marks into hits, and the hubs of the row into near; returns their number."""
    num_near = np.uint64(0)
    for i in range(start, end):
        other = neighbors[i]
        hits[other] = MARK
        if other < num_hubs:
            near[num_near] = other
            num_near += np.uint64(1)
    return num_near


@njit(**JIT)
def _look_up_pairs(near, num_near, num_words, hubs, hits):
    """Add to hits of two hubs of the row that are joined; return the number of such pairs."""
    found = np.uint64(0)
    for i in range(num_near):
        first = near[i] * np.uint64(num_words)
        joined = np.uint64(0)
        for j in range(i):
            other = near[j]
            bit = (hubs[first + (other >> np.uint64(6))] >> (other & np.uint64(63))) & np.uint64(1)
            hits[other] += np.uint32(bit)
            joined += bit
        hits[near[i]] += np.uint32(joined)
        found += joined
    return found


@njit(**JIT)
def _compare_words(near, num_near, num_words, hubs, row, hits):
    """As _look_up_pairs; row is zero before and after."""
    for i in range(num_near):
        row[near[i] >> np.uint64(6)] |= np.uint64(1) << (near[i] & np.uint64(63))
    found = np.uint64(0)
    for i in range(num_near):
        first = near[i] * np.uint64(num_words)
        joined = np.uint64(0)
        for word in range(np.uint64(num_words)):
            joined += bit_count(row[word] & hubs[first + word])
        hits[near[i]] += np.uint32(joined)
        found += joined
    row[:] = 0
    return found >> np.uint64(1)


@njit(**JIT)
def _follow(start, end, starts, ends, neighbors, num_hubs, hits):
    """Add to hits what the rows of those neighbours that are no hubs meet; return how often they meet a mark."""
    found = np.uint64(0)
    for i in range(start, end):
        middle = neighbors[i]
        if middle < num_hubs:
            continue
        met = np.uint32(0)
        for j in range(starts[middle], ends[middle]):
            low = neighbors[j]
            is_marked = hits[low] >> np.uint32(31)
            hits[low] += is_marked
            met += is_marked
        hits[middle] += met
        found += np.uint64(met)
    return found


@njit(**JIT)
def _flush(start, end, neighbors, num_hubs, hits, sums, counts):
    """Moves hits to sums (of hubs, the thread's own) and counts, and takes the marks away."""
    for i in range(start, end):
        other = neighbors[i]
        count = np.int64(hits[other]) & np.int64(MARK - 1)
        hits[other] = 0
        if other < num_hubs:
            sums[other] += count
        elif count:
            fetch_add(counts, other, count)
