"""Hubs and authorities: cycles of Lanczos' recurrence, two sweeps per iteration, in one worker.

Hubs are the first eigenvector of M = A A', where A' takes authorities from hubs and A hubs from authorities. The first
iteration of a cycle is a step of the power method in float64: it gives hubs, authorities and how much the hubs change,
as they are defined, and everything ends there. If they change too much, more products with M follow. The vectors
v(j+1) = M q(j) - a(j) q(j) - b(j-1) q(j-1), where q is v divided by its length b, are orthogonal, and a small matrix
says which combination of them is best (see `lanczos`). When that should change little enough, or there is no room for
another vector, it begins the next cycle. a(j) = |A' q(j)|^2 is known between the two sweeps, so that the second one
writes v(j+1) at once. A cycle of one iteration is the power method.

Where there are no weights and hubs change little already, products after the first of a cycle read float32: what is
lost by that is a small share of the little that they add to the hubs. More would be too much, for where several
singular values are equal nothing brings the hubs back to their share of the start.

Sums are made per chunk of vertices and then in the order of chunks, and rows of hubs in pieces, so no answer depends on
the number of threads. On a compressed graph the values of virtual vertices are behind those of vertices, and are summed
first, layer by layer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load, store
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.layers import LayeredSide
from tgraph.kernels.cpu.fused.pull import advance_traced
from tgraph.kernels.cpu.lanczos import BESIDE, DIAGONAL, LENGTH, SHARE, first_eigenvector
from tgraph.kernels.cpu.neighbor_sums import lengths_vary, sum_pieces, sum_weighted_row
from tgraph.kernels.cpu.shares import begin_turn, take
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

TINY = float(np.finfo(np.float64).tiny)  # avoids 0 / 0 where there are no edges
FEWEST_VECTORS, MOST_VECTORS = 3, 8  # of a cycle; more than the fewest where both directions are the same rows
SAFE_PART = 0.25  # of the tolerance: what a cycle should reach to be ended, for its products are rounded
SHORT_CHANGE = 1e-3  # of the hubs in the first iteration of a cycle, from which on the others read float32
ROUNDING = 2.0**-22  # of the change at the beginning of a cycle: less is not to be had from products in float32
NUM_COUNTERS = 4  # of an iteration: pieces and virtual chunks of both sweeps
HALT = COUNTERS + 2 * 8 * NUM_COUNTERS
INWARD, OUTWARD, COMPARED, HUBS = range(4)  # what is summed over; nobody reads one of them while another writes it
TOTALS, SQUARES, SIZES, CHANGES = range(4)  # sums of values, of their squares, of their absolute values; of changes
TOTAL = 4  # of every step, behind the rows of the small matrix: the sum of its vector
ONE = np.uint64(1)
WITHIN = {**JIT, "inline": "always"}  # compiled within their caller alone: else all of it takes 23 s, not 14

Rows = tuple[Array, Array, "Array | None"]  # offsets, neighbours, weights


class HitsRun:
    """Hubs and authorities on the rows of both directions, from `hubs [V]` on.

    No weight times `scale` should be much above 1. With `is_power` every iteration is one of the power method.

    >>> rows = np.array([0, 0, 2]), np.array([0, 1], np.int32), None  # into 1 from 0 and from itself
    >>> back = np.array([0, 1, 2]), np.array([1, 1], np.int32), None
    >>> run = HitsRun(rows, back, np.full(2, 0.5))
    >>> residuals, *_ = run.advance(5, 0.0, Watch())
    >>> run.authorities.tolist(), residuals.tolist()
    ([0.0, 1.0], [0.0])
    """

    def __init__(
        self,
        inward: Rows | LayeredSide,
        outward: Rows | LayeredSide,
        hubs: Array,
        scale: float = 1.0,
        is_power: bool = False,
    ) -> None:
        self._sides = tuple(_cut(side) for side in (inward, outward))
        num_rows = max(side[0].size - 1 for side in self._sides)
        self._count, self._scale, self._scores = hubs.size, scale, [np.zeros(num_rows) for _ in range(2)]
        self._scores[0][: hubs.size] = hubs
        (_, neighbors, weights, *_), (_, others, *_) = self._sides
        room = neighbors.nbytes // (8 * max(num_rows, 1)) if np.may_share_memory(neighbors, others) else 0
        num_vectors = 1 if is_power else min(FEWEST_VECTORS + room, MOST_VECTORS)
        self._vectors = np.empty((num_vectors, num_rows))  # touched as they are needed
        num_short = num_rows if num_vectors > 1 and not weights.size else 0
        self._short = [np.zeros(num_short, np.float32) for _ in range(2)]  # of hubs and of authorities
        num_chunks, num_pieces = (max(len(side[place]) for side in self._sides) for place in (3, 4))
        self._partials, self._sums = np.empty(num_pieces), np.zeros((4, 4, num_chunks))
        self._size = team_size(sum(side[1].size for side in self._sides) + hubs.size)

    @property
    def hubs(self) -> Array:
        """The hubs as they are now, `[V]`."""
        return self._scores[0][: self._count]

    @property
    def authorities(self) -> Array:
        """The authorities as they are now, `[V]`."""
        return self._scores[1][: self._count]

    def advance(self, limit: int, tolerance: float, watch: Watch) -> tuple[Array, Array, bool]:
        """Iterate until the hubs change by no more than `tolerance`, at most `limit` times; hubs then sum to 1.

        Returns the change of the hubs in every iteration that was done (that to be expected, in those that are not the
        first of a cycle), its ticks, and whether the user interrupted.
        """
        values = *self._scores, self._vectors, *self._short

        def arguments(*traces: Array) -> tuple[Any, ...]:
            return self._scale, *self._sides, *values, self._partials, self._sums, *traces

        return advance_traced(_iterate, self._size, limit, tolerance, arguments, watch)


def _cut(rows: Rows | LayeredSide) -> tuple[Any, ...]:
    """Return what a sweep takes: rows, chunks of vertices, pieces of long rows, the order of rows, if lengths vary.

    The order is that of vertices, none where they are taken as they are, and then that of virtual vertices.
    """
    if isinstance(rows, LayeredSide):
        cuts, order = rows.vertex_order
        no_pieces = np.empty((0, 4), np.uint64), np.zeros(cuts.size, np.int64)
        layered = rows.rows()
        return *layered, np.empty(0), cuts, *no_pieces, order, *rows.virtual_order, lengths_vary(layered[0])
    offsets, neighbors, weights = rows
    none = np.empty(0) if weights is None else weights
    no_order = np.empty(0, np.uint32), np.empty(0, np.uint32), np.zeros(1, np.uint64), np.empty(0, np.int64)
    plain = as_unsigned(offsets), as_unsigned(neighbors), none
    return *plain, *cut_by_work([offsets]), *no_order, lengths_vary(offsets)


@njit(**JIT)
def _iterate(
    rank, size, shared, limit, tolerance, scale, inward, outward, hubs, authorities, vectors, short_hubs,
    short_authorities, partials, sums, residuals, times,
):  # fmt: skip
    """Writes scores, vectors and sums by chunks, one thread per chunk; rank 0 writes residuals, times and DONE."""
    if rank == 0:
        times[0] = ticks()
    small = np.zeros((5, vectors.shape[0] + 1))  # every thread has its own, the same
    _measure(rank, size, outward, hubs, sums[HUBS])
    meeting, step, enough, reads_short = meet(shared, 1, size), np.int64(0), 0.0, False
    _begin_cycle(small, sums[HUBS], outward)
    for iteration in range(limit):
        counters = COUNTERS + 8 * NUM_COUNTERS * (iteration % 2)
        work = (rank, size, shared), 2 * iteration, counters, inward, outward, partials, sums
        if step == 0:
            meeting = _multiply_hubs(work, meeting, scale, small, hubs, authorities, vectors[0])
        elif reads_short:
            sent = short_hubs, short_authorities
            meeting = _multiply_vector(work, meeting, scale, step, small, sent, hubs, vectors, short_hubs)
        else:
            full = vectors[step - 1], authorities
            meeting = _multiply_vector(work, meeting, scale, step, small, full, hubs, vectors, short_hubs)
        if rank == 0:  # everyone has left the iteration before
            for number in range(NUM_COUNTERS):
                store(shared, COUNTERS + 8 * NUM_COUNTERS * ((iteration + 1) % 2) + 8 * number, 0)
            shared[HALT] = load(shared, STOP)
        is_power = vectors.shape[0] == 1
        if step == 0:
            _compare(rank, size, outward, is_power, small, hubs, vectors[0], short_hubs, sums)
        meeting = meet(shared, meeting, size)
        written = sums[COMPARED] if step == 0 else sums[OUTWARD]
        small[BESIDE, step] = small[LENGTH, step + 1] = math.sqrt(_in_order(written[SQUARES], outward))
        small[TOTAL, step + 1] = _in_order(written[TOTALS], outward)
        eigenvalue = first_eigenvector(step + 1, small)
        expected = _expected_change(step, eigenvalue, small, written, outward)
        residual = _in_order(sums[COMPARED, CHANGES], outward) if step == 0 else expected
        if step == 0:
            reads_short = short_hubs.size > 0 and residual <= SHORT_CHANGE
            enough = max(SAFE_PART * tolerance, ROUNDING * residual if reads_short else 0.0)
        if rank == 0:
            residuals[iteration] = residual
            times[iteration + 1] = ticks()
            store(shared, DONE, iteration + 1)
        is_halted = shared[HALT] != 0
        is_last = step == 0 and (residual <= tolerance or is_halted or iteration + 1 == limit)
        is_full = step + 1 == vectors.shape[0] or iteration + 2 == limit  # the last must be the first of a cycle
        if is_last or is_full or is_halted or expected <= enough:
            _combine(rank, size, outward, is_power, step, eigenvalue, small, hubs, vectors, sums[HUBS])
            meeting, step = meet(shared, meeting, size), np.int64(0)
            _begin_cycle(small, sums[HUBS], outward)
        else:
            step += 1
        if is_last:
            _scale(rank, size, hubs, 1.0 / max(small[TOTAL, 0], TINY))
            _scale(rank, size, authorities, 1.0 / max(_in_order(sums[INWARD, TOTALS], inward), TINY))
            break


@njit(**WITHIN)
def _begin_cycle(small, sums, side):
    """Makes the hubs the first vector."""
    small[LENGTH, 0], small[TOTAL, 0] = math.sqrt(_in_order(sums[SQUARES], side)), _in_order(sums[TOTALS], side)


@njit(**WITHIN)
def _multiply_hubs(work, meeting, scale, small, hubs, authorities, vector):
    """The first step of a cycle: as `_multiply_vector`, but the vector still has its share of the hubs."""
    team, turn, counters, _, outward, partials, sums = work
    meeting = _collect_authorities(work, meeting, scale, np.int64(0), small, hubs, authorities)
    written = sums[OUTWARD]
    return _collect(team, turn + 1, meeting, counters + 16, outward, scale, authorities, vector, partials, written)


@njit(**WITHIN)
def _multiply_vector(work, meeting, scale, step, small, sent, hubs, vectors, short):
    """Writes authorities, vectors[step] and the diagonal of this step; ends with a meeting.

    `sent` is where the hubs of this step are read, and where the authorities between the two sweeps are.
    """
    team, turn, counters, _, outward, partials, sums = work
    meeting = _collect_authorities(work, meeting, scale, step, small, sent[0], sent[1])
    own, before = vectors[step - 1], hubs if step == 1 else vectors[step - 2]
    own_share = small[DIAGONAL, step] / max(small[LENGTH, step], TINY)
    before_share = small[BESIDE, step - 1] / max(small[LENGTH, step - 1], TINY)
    known, written = (own, own_share, before, before_share), sums[OUTWARD]
    return _collect_vector(
        team, turn + 1, meeting, counters + 16, outward, scale, sent[1], known, vectors[step], short, partials, written
    )


@njit(**WITHIN)
def _collect_authorities(work, meeting, scale, step, small, hubs, authorities):
    """Writes authorities, what reaches them of the hubs of this step, and the diagonal of this step."""
    team, turn, counters, inward, _, partials, sums = work
    factor = scale / max(small[LENGTH, step], TINY)
    meeting = _collect(team, turn, meeting, counters, inward, factor, hubs, authorities, partials, sums[INWARD])
    small[DIAGONAL, step] = _in_order(sums[INWARD, SQUARES], inward)
    return meeting


@njit(**JIT)
def _collect(team, turn, meeting, counters, side, factor, sent, received, partials, sums):
    """Writes received[u], `factor` times the sum of `sent` over the row of u, and sums of each chunk; then meets."""
    cuts, order, (rank, size, shared) = side[3], side[6], team
    meeting = _collect_ahead(size, shared, meeting, counters, side, factor, sent, partials)
    begin_turn(shared, turn, rank, size)
    chunk, owner = take(shared, turn, rank, size, cuts.size - 1, rank)
    while chunk < cuts.size - 1:
        _sum_rows(chunk, side, factor, sent, partials, received)
        total, squares = 0.0, 0.0
        for place in range(cuts[chunk], cuts[chunk + 1]):
            value = np.float64(received[np.uint64(order[place]) if order.size else place])
            total += value
            squares += value * value
        sums[TOTALS, chunk], sums[SQUARES, chunk] = total, squares
        chunk, owner = take(shared, turn, rank, size, cuts.size - 1, owner)
    return meet(shared, meeting, size)


@njit(**JIT)
def _collect_vector(team, turn, meeting, counters, side, factor, sent, known, new, short, partials, sums):
    """Writes new[u], as `_collect` but without its shares of two known vectors, the same in short, and sums."""
    cuts, order, (rank, size, shared) = side[3], side[6], team
    own, own_share, before, before_share = known
    meeting = _collect_ahead(size, shared, meeting, counters, side, factor, sent, partials)
    begin_turn(shared, turn, rank, size)
    chunk, owner = take(shared, turn, rank, size, cuts.size - 1, rank)
    while chunk < cuts.size - 1:
        _sum_rows(chunk, side, factor, sent, partials, new)
        _subtract(chunk, cuts, order, own, own_share, before, before_share, new, short, sums)
        chunk, owner = take(shared, turn, rank, size, cuts.size - 1, owner)
    return meet(shared, meeting, size)


@njit(**JIT)
def _subtract(chunk, cuts, order, own, own_share, before, before_share, new, short, sums):
    """Takes shares of two vectors from new[u] of a chunk; writes short and sums too."""
    total, squares, sizes = 0.0, 0.0, 0.0
    for place in range(cuts[chunk], cuts[chunk + 1]):
        u = np.uint64(order[place]) if order.size else place
        value = new[u] - own_share * own[u] - before_share * before[u]
        new[u] = value
        if short.size:
            short[u] = value
        total += value
        squares += value * value
        sizes += abs(value)
    sums[TOTALS, chunk], sums[SQUARES, chunk], sums[SIZES, chunk] = total, squares, sizes


@njit(**JIT)
def _collect_ahead(size, shared, meeting, counters, side, factor, sent, partials):
    """Writes what rows need: sent[u] of virtual vertices, and partials, the pieces of long rows."""
    neighbors, weights, pieces = side[1], side[2], side[4]
    meeting = _collect_virtual(size, shared, meeting, counters + 8, side, sent)
    return sum_pieces(size, shared, meeting, counters, pieces, neighbors, weights, factor, sent, partials)


@njit(**JIT)
def _sum_rows(chunk, side, factor, sent, partials, received):
    """Writes received[u] of a chunk, `factor` times the sum of `sent` over the row of u."""
    offsets, neighbors, weights, cuts, _, piece_of, order = side[:7]
    if piece_of[chunk + 1] > piece_of[chunk]:
        total = 0.0
        for piece in range(piece_of[chunk], piece_of[chunk + 1]):
            total += partials[piece]
        received[cuts[chunk]] = total
    else:
        for place in range(cuts[chunk], cuts[chunk + 1]):
            u = np.uint64(order[place]) if order.size else place
            first, last = np.uint64(offsets[u]), np.uint64(offsets[u + ONE])
            received[u] = sum_weighted_row(side[10], first, last, neighbors, weights, factor, sent)


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
                sent[u] = sum_weighted_row(side[10], first, last, neighbors, weights, 1.0, sent)
            chunk = fetch_add(shared, counter, 1)
        meeting = meet(shared, meeting, size)
    return meeting


@njit(**WITHIN)
def _compare(rank, size, side, is_power, small, hubs, vector, short, sums):
    """Writes per chunk how much the first step of a cycle changes the hubs, where both sum to 1.

    Unless this is the power method, takes its share of the hubs from the vector; writes short and sums too.
    """
    share, cuts, order = small[DIAGONAL, 0] / max(small[LENGTH, 0], TINY), side[3], side[6]
    new_factor = 1.0 / max(_in_order(sums[OUTWARD, TOTALS], side), TINY)
    factor = 1.0 / max(small[TOTAL, 0], TINY)
    first, last = part(rank, size, cuts.size - 1)
    for chunk in range(first, last):
        changes = 0.0
        for place in range(cuts[chunk], cuts[chunk + 1]):
            u = np.uint64(order[place]) if order.size else place
            changes += abs(vector[u] * new_factor - hubs[u] * factor)
        sums[COMPARED, CHANGES, chunk] = changes
        if not is_power:
            _subtract(chunk, cuts, order, hubs, share, hubs, 0.0, vector, short, sums[COMPARED])


@njit(**WITHIN)
def _expected_change(step, eigenvalue, small, sums, side):
    """Return how much one more iteration would change the best hubs of this cycle so far."""
    total = 0.0
    for earlier in range(step + 1):
        total += small[SHARE, earlier] * small[TOTAL, earlier] / max(small[LENGTH, earlier], TINY)
    return abs(small[SHARE, step]) * _in_order(sums[SIZES], side) / max(eigenvalue * total, TINY)


@njit(**WITHIN)
def _combine(rank, size, side, is_power, step, eigenvalue, small, hubs, vectors, sums):
    """Writes hubs, what one product makes of the best of this cycle; none is negative. Sums them per chunk."""
    cuts = side[3]
    first, last = part(rank, size, cuts.size - 1)
    for chunk in range(first, last):
        own_share = 0.0 if is_power else small[SHARE, 0] * eigenvalue / max(small[LENGTH, 0], TINY)
        for u in range(cuts[chunk], cuts[chunk + 1]):
            hubs[u] *= own_share
        for earlier in range(1, step + 1):
            share = small[SHARE, earlier] * eigenvalue / max(small[LENGTH, earlier], TINY)
            for u in range(cuts[chunk], cuts[chunk + 1]):
                hubs[u] += share * vectors[earlier - 1, u]
        for u in range(cuts[chunk], cuts[chunk + 1]):
            hubs[u] = max(hubs[u] + small[SHARE, step] * vectors[step, u], 0.0)
        _sum_chunk(chunk, cuts, hubs, sums)


@njit(**WITHIN)
def _measure(rank, size, side, hubs, sums):
    """Writes the sums of the hubs per chunk."""
    first, last = part(rank, size, side[3].size - 1)
    for chunk in range(first, last):
        _sum_chunk(chunk, side[3], hubs, sums)


@njit(**WITHIN)
def _sum_chunk(chunk, cuts, hubs, sums):
    """Writes the sums of the hubs of a chunk."""
    total, squares = 0.0, 0.0
    for u in range(cuts[chunk], cuts[chunk + 1]):
        total += hubs[u]
        squares += hubs[u] * hubs[u]
    sums[TOTALS, chunk], sums[SQUARES, chunk] = total, squares


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
