"""Weakly connected components by linking trees, with most edges never looked at.

Every vertex points to a smaller one of its component or to itself. Linking an edge hangs the larger of two roots under
the smaller; compressing makes every vertex point to its root. A few edges of every vertex are linked first; then most
vertices are in one large component, and only the others link the rest of their edges (Afforest: Sutton, Ben-Nun, Barak
2018). Needs 4 bytes per vertex. The root is the smallest vertex, so the answer depends on neither threads nor chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.coded_edges import (
    DAMAGED,
    Neighbors,
    as_edges,
    block_team_size,
    near_ids,
    rows_at_a_time,
    run_on_block,
    window_end,
)
from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.kernels.cpu.shares import take
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, Watch, brief_team_size, is_stopped, run_briefly
from tgraph.runtime.protocol import Array

FIRST_EDGES = 2  # edges per vertex that are linked before looking for the largest component
SAMPLES = 1024
CHUNK = 1 << 12  # vertices
BLOCK_CHUNK = 1 << 8  # vertices of a block, which are fewer
_LARGEST = COUNTERS + 8


def smallest_connected(offsets: Array, neighbors: Array, is_symmetric: bool, watch: Watch | None = None) -> Array:
    """Return the smallest vertex that each vertex is connected with, in the type of the neighbours.

    `is_symmetric` says that every edge is stored both ways; otherwise no edge can be left out. Deterministic.

    >>> smallest_connected(np.array([0, 0, 1, 1]), np.array([0], np.int32), False).tolist()
    [0, 0, 2]
    """
    num_vertices = offsets.size - 1
    labels = np.empty(num_vertices, neighbors.dtype)
    size = team_size(neighbors.size + num_vertices)
    arrays = (as_unsigned(offsets), as_unsigned(neighbors), as_unsigned(labels))
    (watch or Watch()).run(_connect, size, *arrays, is_symmetric)
    return labels


class BlockLinks:
    """The same answer from edges that come in blocks: every edge is linked when it is seen, once.

    >>> links = BlockLinks(3, np.dtype("int32"))
    >>> links.add(np.array([0, 0, 1, 1]), Block(0, 3, 0, 1), np.array([0], np.int32), is_symmetric=False)
    >>> links.finish().tolist()
    [0, 0, 2]
    """

    def __init__(self, num_vertices: int, dtype: np.dtype[Any], labels: Array | None = None) -> None:
        """Begin with vertices by themselves, or with what `smallest_connected` found, which is overwritten."""
        self._labels = np.arange(num_vertices, dtype=dtype) if labels is None else labels

    def add(self, offsets: Array, block: Block, neighbors: Neighbors, is_symmetric: bool) -> None:
        """Link the edges of a block; of a symmetric graph only those to smaller vertices, the others are the same."""
        bounds = [np.uint64(n) for n in (block.first_row, block.last_row, block.first_edge, block.last_edge)]
        chunk = rows_at_a_time(neighbors, BLOCK_CHUNK, block.last_row - block.first_row, block.num_edges)
        arrays = (as_unsigned(offsets), as_edges(neighbors), as_unsigned(self._labels))
        size = block_team_size(block.num_edges, neighbors)
        run_on_block(_link_block, size, neighbors, [*bounds, chunk, *arrays, is_symmetric])

    def add_parts(self, vertices: Array, firsts: Array, lasts: Array, neighbors: Array) -> None:
        """Link each of these vertices with the neighbours from `firsts[i]` to `lasts[i]` (not included)."""
        arrays = [vertices, as_unsigned(firsts), as_unsigned(lasts), as_unsigned(neighbors), as_unsigned(self._labels)]
        run_briefly(_link_parts, brief_team_size(neighbors.size), arrays)

    def finish(self) -> Array:
        """Return the smallest vertex that each vertex is connected with."""
        run_team(_compress_all, team_size(self._labels.size), as_unsigned(self._labels))
        return self._labels


@njit(**JIT)
def _link_block(
    rank, size, shared, first_row, last_row, first_edge, last_edge, chunk, offsets, edges, labels, is_symmetric
):
    """Writes labels, all threads anywhere by compare-and-swap on roots."""
    one = np.uint64(1)
    while True:
        row = first_row + np.uint64(fetch_add(shared, COUNTERS, chunk))
        if row >= last_row or is_stopped(shared):
            break
        end_row = min(row + np.uint64(chunk), last_row)
        begin, end = max(offsets[row], first_edge), min(offsets[end_row], last_edge)
        while begin < end:
            until = window_end(edges, begin, end)
            neighbors, base, damaged = near_ids(edges, rank, first_edge, begin, until)
            if damaged >= 0:
                shared[DAMAGED] = damaged + 1
                break
            while row < end_row and offsets[row] < until:
                for edge in range(max(offsets[row], begin) - base, min(offsets[row + one], until) - base):
                    neighbor = np.uint64(neighbors[edge])
                    if neighbor < row or not is_symmetric:
                        _link(row, neighbor, labels)
                if offsets[row + one] > until:
                    break
                row += one
            begin = until


@njit(**JIT)
def _link_parts(rank, size, shared, vertices, firsts, lasts, neighbors, labels):
    """Writes labels, all threads anywhere by compare-and-swap on roots."""
    while True:
        place = fetch_add(shared, COUNTERS, 1)
        if place >= vertices.size or is_stopped(shared):
            break
        for edge in range(firsts[place], lasts[place]):
            _link(np.uint64(vertices[place]), np.uint64(neighbors[edge]), labels)


@njit(**JIT)
def _compress_all(rank, size, labels):
    """Writes its part of labels; roots do not change any more."""
    first, last = part(rank, size, np.int64(labels.size))
    _compress(np.uint64(first), np.uint64(last), labels)


@njit(**JIT)
def _link(left, right, labels):
    """Hang the larger root above `left` and `right` under the smaller one. Several threads may link at once."""
    low, high = labels[left], labels[right]
    while low != high:
        if low > high:
            low, high = high, low
        above = labels[high]
        if above == low or (above == high and compare_swap(labels, high, high, low)):
            break
        high, low = labels[labels[high]], labels[low]


@njit(**JIT)
def _compress(first, last, labels):
    """Writes labels[first:last]: every vertex points to its root."""
    for vertex in range(first, last):
        above = labels[vertex]
        root = labels[above]
        while above != root:
            above = root
            root = labels[above]
        labels[vertex] = root


@njit(**JIT)
def _most_frequent(labels):
    """Return the label that most of some evenly spread vertices have."""
    sample = np.empty(SAMPLES, labels.dtype)
    for i in range(SAMPLES):
        spread = (np.uint64(i) * np.uint64(11400714819323198485)) >> np.uint64(32)
        sample[i] = labels[(spread * np.uint64(labels.size)) >> np.uint64(32)]
    sample.sort()
    best, longest, run = sample[0], 1, 1
    for i in range(1, SAMPLES):
        run = run + 1 if sample[i] == sample[i - 1] else 1
        if run > longest:
            best, longest = sample[i], run
    return best


@njit(**JIT)
def _connect(rank, size, shared, offsets, neighbors, labels, is_symmetric):
    """Writes labels, all threads anywhere by compare-and-swap on roots."""
    one, skipped = np.uint64(1), np.uint64(FIRST_EDGES if is_symmetric else 0)
    num_vertices = np.int64(labels.size)
    first, last = part(rank, size, num_vertices)
    for vertex in range(np.uint64(first), np.uint64(last)):
        labels[vertex] = vertex
    meeting = meet(shared, 1, size)
    for turn in range(skipped):
        for vertex in range(np.uint64(first), np.uint64(last)):
            edge = offsets[vertex] + np.uint64(turn)
            if edge < offsets[vertex + one]:
                _link(vertex, neighbors[edge], labels)
        meeting = meet(shared, meeting, size)
        _compress(np.uint64(first), np.uint64(last), labels)
        meeting = meet(shared, meeting, size)
    if rank == 0 and is_symmetric and num_vertices > 0:
        shared[_LARGEST] = np.int64(_most_frequent(labels))
    meeting = meet(shared, meeting, size)
    largest = labels.dtype.type(shared[_LARGEST])
    num_chunks = (num_vertices + CHUNK - 1) // CHUNK
    chunk, owner = take(shared, 0, rank, size, num_chunks, rank)
    while chunk < num_chunks and not is_stopped(shared):
        for vertex in range(np.uint64(chunk * CHUNK), np.uint64(min((chunk + 1) * CHUNK, num_vertices))):
            if is_symmetric and labels[vertex] == largest:
                continue
            for edge in range(offsets[vertex] + skipped, offsets[vertex + one]):
                _link(vertex, neighbors[edge], labels)
        fetch_add(shared, DONE, CHUNK)
        chunk, owner = take(shared, 0, rank, size, num_chunks, owner)
    meeting = meet(shared, meeting, size)
    _compress(np.uint64(first), np.uint64(last), labels)
