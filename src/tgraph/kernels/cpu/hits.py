"""Hubs and authorities: the two sweeps of an iteration, what scores are divided by, and the change, in one worker.

Scores stay as the sweeps leave them; what they are to be divided by travels along as a number and is put into the next
sweep, so that only the change needs a pass over the vertices of its own. Sums are made per chunk of vertices and then
in the order of chunks, and rows of hubs in pieces, so no answer depends on the number of threads.

On a compressed graph the scores of virtual vertices are behind those of vertices, and are summed first, layer by layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load, store
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.layers import LayeredSide
from tgraph.kernels.cpu.fused.pull import advance_traced
from tgraph.kernels.cpu.neighbor_sums import sum_pieces, sum_weighted_row
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

TINY = float(np.finfo(np.float64).tiny)  # avoids 0 / 0 where there are no edges
NUM_COUNTERS = 6  # of an iteration: chunks, pieces and virtual chunks of both sweeps
HALT = COUNTERS + 2 * 8 * NUM_COUNTERS
ONE = np.uint64(1)

Rows = tuple[Array, Array, "Array | None"]  # offsets, neighbours, weights


class HitsRun:
    """Hubs and authorities on the rows of both directions, from `hubs [V]` on.

    >>> rows = np.array([0, 0, 2]), np.array([0, 1], np.int32), None  # into 1 from 0 and from itself
    >>> back = np.array([0, 1, 2]), np.array([1, 1], np.int32), None
    >>> run = HitsRun(rows, back, np.full(2, 0.5))
    >>> residuals, *_ = run.advance(5, 0.0, Watch())
    >>> run.authorities.tolist(), residuals.tolist()
    ([0.0, 1.0], [0.0])
    """

    def __init__(self, inward: Rows | LayeredSide, outward: Rows | LayeredSide, hubs: Array) -> None:
        self._sides = tuple(_cut(side) for side in (inward, outward))
        num_rows = max(side[0].size - 1 for side in self._sides)
        self._count, self._scores = hubs.size, [np.zeros(num_rows) for _ in range(3)]  # hubs, new hubs, authorities
        self._scores[0][: hubs.size] = hubs
        num_chunks, num_pieces = (max(len(side[place]) for side in self._sides) for place in (3, 4))
        self._partials, self._sums = np.empty(num_pieces), np.zeros((3, num_chunks))
        self._size = team_size(sum(side[1].size for side in self._sides) + hubs.size)

    @property
    def hubs(self) -> Array:
        """The hubs as they are now, `[V]`."""
        return self._scores[0][: self._count]

    @property
    def authorities(self) -> Array:
        """The authorities as they are now, `[V]`."""
        return self._scores[2][: self._count]

    def advance(self, limit: int, tolerance: float, watch: Watch) -> tuple[Array, Array, bool]:
        """Iterate until the hubs change by no more than `tolerance`, at most `limit` times; hubs then sum to 1.

        Returns the change of the hubs in every iteration that was done, its ticks, and whether the user interrupted.
        """

        def arguments(*traces: Array) -> tuple[Any, ...]:
            return *self._sides, *self._scores, self._partials, self._sums, *traces

        found = advance_traced(_iterate, self._size, limit, tolerance, arguments, watch)
        if found[0].size % 2:
            self._scores[:2] = reversed(self._scores[:2])
        return found


def _cut(rows: Rows | LayeredSide) -> tuple[Array, ...]:
    """Return what a sweep takes: rows, chunks of vertices, pieces of long rows, and the order of rows.

    The order is that of vertices, none where they are taken as they are, and then that of virtual vertices.
    """
    if isinstance(rows, LayeredSide):
        cuts, order = rows.vertex_order
        no_pieces = np.empty((0, 4), np.uint64), np.zeros(cuts.size, np.int64)
        return *rows.rows(), np.empty(0), cuts, *no_pieces, order, *rows.virtual_order
    offsets, neighbors, weights = rows
    none = np.empty(0) if weights is None else weights
    no_order = np.empty(0, np.uint32), np.empty(0, np.uint32), np.zeros(1, np.uint64), np.empty(0, np.int64)
    return as_unsigned(offsets), as_unsigned(neighbors), none, *cut_by_work([offsets]), *no_order


@njit(**JIT)
def _iterate(
    rank, size, shared, limit, tolerance, inward, outward, hubs, new_hubs, authorities, partials, sums, residuals, times
):
    """Writes scores and sums by chunks, one thread per chunk; rank 0 writes residuals, times and DONE.

    After an even number of iterations the last hubs are in `hubs`, after an odd one in `new_hubs`.
    """
    meeting, hub_factor = 1, 1.0
    if rank == 0:
        times[0] = ticks()
    for iteration in range(limit):
        counters = COUNTERS + 8 * NUM_COUNTERS * (iteration % 2)
        others = COUNTERS + 8 * NUM_COUNTERS * ((iteration + 1) % 2)
        meeting = _collect(size, shared, meeting, counters, inward, hub_factor, hubs, authorities, partials, sums[0])
        if rank == 0:  # everyone has left the iteration before
            for number in range(NUM_COUNTERS):
                store(shared, others + 8 * number, 0)
        authority_factor = 1.0 / max(_in_order(sums[0], inward), TINY)
        meeting = _collect(
            size, shared, meeting, counters + 24, outward, authority_factor, authorities, new_hubs, partials, sums[1]
        )
        new_factor = 1.0 / max(_in_order(sums[1], outward), TINY)
        _measure(rank, size, outward, hubs, hub_factor, new_hubs, new_factor, sums[2])
        if rank == 0:
            shared[HALT] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        residual = _in_order(sums[2], outward)
        if rank == 0:
            residuals[iteration] = residual
            times[iteration + 1] = ticks()
            store(shared, DONE, iteration + 1)
        hubs, new_hubs, hub_factor = new_hubs, hubs, new_factor
        if residual <= tolerance or shared[HALT] != 0 or iteration + 1 == limit:
            _scale(rank, size, hubs, hub_factor)
            _scale(rank, size, authorities, authority_factor)
            break


@njit(**JIT)
def _collect(size, shared, meeting, counters, side, factor, sent, received, partials, sums):
    """Writes received[u], `factor` times the sum of `sent` over the row of u, and the sum of each chunk; then meets."""
    offsets, neighbors, weights, cuts, pieces, piece_of, order = side[:7]
    meeting = _collect_virtual(size, shared, meeting, counters + 16, side, sent)
    num_chunks = cuts.size - 1
    meeting = sum_pieces(size, shared, meeting, counters + 8, pieces, neighbors, weights, factor, sent, partials)
    chunk = fetch_add(shared, counters, 1)
    while chunk < num_chunks:
        subtotal = 0.0
        if piece_of[chunk + 1] > piece_of[chunk]:
            for piece in range(piece_of[chunk], piece_of[chunk + 1]):
                subtotal += partials[piece]
            received[cuts[chunk]] = subtotal
        else:
            for place in range(cuts[chunk], cuts[chunk + 1]):
                u = np.uint64(order[place]) if order.size else place
                first, last = np.uint64(offsets[u]), np.uint64(offsets[u + ONE])
                value = sum_weighted_row(first, last, neighbors, weights, factor, sent)
                received[u] = value
                subtotal += value
        sums[chunk] = subtotal
        chunk = fetch_add(shared, counters, 1)
    return meet(shared, meeting, size)


@njit(**JIT)
def _collect_virtual(size, shared, meeting, counter, side, sent):
    """Writes sent[u] of virtual vertices, the sums over their rows; threads meet where a layer needs the one before."""
    offsets, neighbors, weights, virtual, begins, meets = side[0], side[1], side[2], side[7], side[8], side[9]
    chunk = fetch_add(shared, counter, 1)
    for layer in range(meets.size):
        while chunk < meets[layer]:
            for place in range(begins[chunk], begins[chunk + 1]):
                u = np.uint64(virtual[place])
                first, last = np.uint64(offsets[u]), np.uint64(offsets[u + ONE])
                sent[u] = sum_weighted_row(first, last, neighbors, weights, 1.0, sent)
            chunk = fetch_add(shared, counter, 1)
        meeting = meet(shared, meeting, size)
    return meeting


@njit(**JIT)
def _measure(rank, size, side, old, old_factor, new, new_factor, changes):
    """Writes changes[chunk], how much the scores of a chunk differ, each times its factor."""
    cuts = side[3]
    first, last = part(rank, size, cuts.size - 1)
    for chunk in range(first, last):
        changed = 0.0
        for u in range(cuts[chunk], cuts[chunk + 1]):
            changed += abs(new[u] * new_factor - old[u] * old_factor)
        changes[chunk] = changed


@njit(**JIT)
def _in_order(sums, side):
    """Return the sum over all chunks of a side, in their order."""
    total = 0.0
    for chunk in range(side[3].size - 1):
        total += sums[chunk]
    return total


@njit(**JIT)
def _scale(rank, size, scores, factor):
    """Writes the own part of the scores."""
    first, last = part(rank, size, scores.size)
    for u in range(first, last):
        scores[u] *= factor
