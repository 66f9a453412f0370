"""Kernels of the cache of hot rows: who is read often, which rows are worth keeping, and keeping them.

Every vertex has two bytes: `hotness`, how often its row was read, and `state`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT

ABSENT, WANTED, CACHED, ELSEWHERE = 0, 1, 2, 3  # states of a row; ELSEWHERE: near anyway, never cached
HOTTEST = 255
ROW_BYTES = 64  # what a cached row needs beside its edges: its number and place, and lists of these while it is taken


@njit(**JIT)
def note_reads(active, state, offsets, hotness):
    """Count one more read of every active row that could be cached; returns how many these are. Writes hotness."""
    count = 0
    for u in range(active.size):
        if active[u] and state[u] != ELSEWHERE and offsets[u + 1] > offsets[u]:
            count += 1
            if hotness[u] < HOTTEST:
                hotness[u] += 1
    return count


@njit(**JIT)
def choose_hotness(hotness, offsets, edge_bytes, coldest, limit):
    """Return a hotness and the bytes that rows which are hotter leave of `limit`; they all fit."""
    num_bytes = np.zeros(HOTTEST + 1, np.int64)
    for u in range(hotness.size):
        num_bytes[hotness[u]] += (offsets[u + 1] - offsets[u]) * edge_bytes + ROW_BYTES
    level = HOTTEST
    while level >= coldest and num_bytes[level] <= limit:
        limit -= num_bytes[level]
        level -= 1
    return level, limit


@njit(**JIT)
def mark_rows(hotness, state, offsets, edge_bytes, coldest, level, left, changes):
    """Return the bytes of rows that are worth keeping and are not cached, and of all that are worth keeping.

    Worth keeping are those hotter than `level`, and just as hot ones, in order, that fit into the bytes `left`. With
    `changes`, writes state: such rows are wanted unless they are cached, all others are absent.
    """
    new, total = 0, 0
    for u in range(hotness.size):
        size = (offsets[u + 1] - offsets[u]) * edge_bytes + ROW_BYTES
        chosen = hotness[u] > level
        if hotness[u] == level and level >= coldest and size <= left:
            chosen = True
            left -= size
        if state[u] == ELSEWHERE:
            continue
        if chosen:
            total += size
            new += size if state[u] != CACHED else 0
        if changes and not chosen:
            state[u] = ABSENT
        elif changes and state[u] != CACHED:
            state[u] = WANTED
    return new, total


@njit(**JIT)
def drop_rows(state, rows, starts, num_rows, offsets, neighbors, weights):
    """Close the gaps of rows that are no longer cached; returns how many rows and edges are left.

    Writes rows, starts, neighbors and weights (which may be empty); rows lie there in their order.
    """
    kept, end = 0, 0
    for i in range(num_rows):
        u, start = rows[i], starts[i]
        if state[u] != CACHED:
            continue
        count = offsets[u + 1] - offsets[u]
        for k in range(count):
            neighbors[end + k] = neighbors[start + k]
        if weights.size:
            for k in range(count):
                weights[end + k] = weights[start + k]
        rows[kept], starts[kept] = u, end
        kept, end = kept + 1, end + count
    return kept, end


@njit(**JIT)
def keep_rows(state, offsets, listed, first_row, last_row, counts, begins, weight_begins, from_neighbors,
              from_weights, rows, starts, num_rows, end, neighbors, weights):  # fmt: skip
    """Copy wanted rows into the cache; returns how many rows and edges are there then.

    They are the `listed` vertices, whose edges begin at `begins` in from_neighbors (`counts` of them, which may be a
    part of a row), or else those from first_row to last_row, one behind the other. Writes state, rows, starts,
    neighbors and weights (which may be empty).
    """
    for i in range(listed.size if listed.size else last_row - first_row):
        u = listed[i] if listed.size else first_row + i
        count = offsets[u + 1] - offsets[u]
        if state[u] != WANTED or num_rows == rows.size or end + count > neighbors.size:
            continue
        if listed.size and counts[i] != count:
            continue
        begin = begins[i] if listed.size else offsets[u] - offsets[first_row]
        for k in range(count):
            neighbors[end + k] = from_neighbors[begin + k]
        if weights.size:
            begin = weight_begins[i] if listed.size else begin
            for k in range(count):
                weights[end + k] = from_weights[begin + k]
        state[u] = CACHED
        rows[num_rows], starts[num_rows] = u, end
        num_rows, end = num_rows + 1, end + count
    return num_rows, end
