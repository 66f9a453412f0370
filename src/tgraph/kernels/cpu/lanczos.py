"""The first eigenvector of a symmetric matrix without negative entries, by Lanczos' recurrence, in one worker.

Vectors q with q(j+1) ~ A q(j) - a(j) q(j) - b(j-1) q(j-1) are orthogonal, and A looks on them like a matrix with a(j)
on its diagonal and b(j) beside it. If s is the first eigenvector of that small matrix and t its eigenvalue, then
x = s(0) q(0) + s(1) q(1) + ... has A x - t x = s(j) b(j) q(j+1): the best of all that so many products with A can give,
and how far it is from an eigenvector is known without another one (Lanczos 1950; Paige 1971 on what rounding does).
Where the basis is full, x becomes its first vector. The scores are what one more step with A + I makes of x.

Vectors stay as the recurrence leaves them; what each is divided by to have length 1 is a number. Sums are made per
chunk or block of vertices and then in their order, and rows of hubs in pieces, so no answer depends on the number of
threads.

A product may be rounded the more, the smaller the share of its vector in x is. So from some step on without weights
products read float32, which takes two thirds of the time; a bound of what x loses by that is part of the residual.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import load, store
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.pull import advance_traced
from tgraph.kernels.cpu.neighbor_sums import lengths_vary, sum_pieces, sum_weighted_row
from tgraph.kernels.cpu.shares import begin_turn, take
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

FEWEST_VECTORS, MOST_VECTORS = 8, 16  # of the basis: as many as 64 bytes per vertex and the rows again have room for
BLOCK = 1 << 12  # vertices, whose part of a sum is made by itself
ROUNDING = 2.0**-24  # of a float32, relative
SHORT_PART = 2.0**20  # float32 serves when the residual is below so many times the tolerance
HALVINGS = 100  # to find an eigenvalue of the small matrix to the last bit
HALT = COUNTERS + 8 * 4  # behind two sets of two counters
DOTS, DEGREES, SQUARES, CHANGES, LENGTHS = range(5)  # sums over vertices; nobody reads one while another writes it
DIAGONAL, BESIDE, LENGTH, SHARE = range(4)  # of every step: the small matrix, what its vector is divided by, its s
ONE = np.uint64(1)


class LanczosRun:
    """The first eigenvector of the rows of an undirected graph, of length 1 and without negative scores.

    It begins with what one step makes of equal scores, or with weights, with equal scores.

    >>> rows = np.array([0, 3, 4, 5, 6]), np.array([1, 2, 3, 0, 0, 0], np.int32), None
    >>> run = LanczosRun(rows)
    >>> residuals, *_ = run.advance(10, 1e-12, Watch())
    >>> len(residuals), run.scores.round(4).tolist()
    (2, [0.7071, 0.4082, 0.4082, 0.4082])
    """

    def __init__(self, rows: tuple[Array, Array, Array | None]) -> None:
        offsets, neighbors, weights = rows
        count = offsets.size - 1
        self.scores = np.empty(count)
        self._begins = True
        room = FEWEST_VECTORS + neighbors.nbytes // (8 * max(count, 1))
        self._vectors = np.empty((min(room, MOST_VECTORS), count))  # touched as they are needed
        self._short = np.empty(count if weights is None else 0, np.float32)
        none = np.empty(0) if weights is None else weights
        cuts = cut_by_work([offsets])
        self._rows = as_unsigned(offsets), as_unsigned(neighbors), none, *cuts, lengths_vary(offsets)
        self._partials = np.empty(len(cuts[1]))
        self._sums = np.zeros((5, max(cuts[0].size - 1, -(-count // BLOCK))))
        self._size = team_size(neighbors.size + count)

    def advance(self, limit: int, tolerance: float, watch: Watch) -> tuple[Array, Array, bool]:
        """Multiply until a step changes the scores by no more than `tolerance`, at most `limit` times.

        Returns that change after every product, its ticks, and whether the user interrupted.
        """
        arrays = self._rows, self.scores, self._vectors, self._short, self._partials, self._sums

        def arguments(*traces: Array) -> tuple[Any, ...]:
            return self._begins, *arrays, *traces

        found = advance_traced(_iterate, self._size, limit, tolerance, arguments, watch)
        self._begins = False
        return found


@njit(**JIT)
def _iterate(
    rank, size, shared, limit, tolerance, begins, rows, scores, vectors, short, partials, sums, residuals, times
):
    """Writes scores, vectors, short and sums by chunks and blocks, one thread each; rank 0 writes the rest."""
    if rank == 0:
        times[0] = ticks()
    _begin(rank, size, begins, rows, scores, sums[LENGTHS])
    meeting, step, residual = meet(shared, 1, size), 0, math.inf
    small, lost = np.zeros((4, vectors.shape[0])), np.zeros(vectors.shape[0])  # every thread has its own, the same
    small[LENGTH, 0] = math.sqrt(_in_order(sums[LENGTHS]))
    for iteration in range(limit):
        counter, other = COUNTERS + 8 * (iteration % 2), COUNTERS + 8 * ((iteration + 1) % 2)
        is_short = short.size > 0 and step > 0 and residual <= SHORT_PART * tolerance
        work = (rank, size, shared, iteration, counter, rows, partials, sums)
        meeting = _multiply(work, meeting, step, small, scores, vectors, short, is_short)
        if rank == 0:  # everyone has left the iteration before
            store(shared, other, 0)
            shared[HALT] = load(shared, STOP)
        small[DIAGONAL, step] = _in_order(sums[DOTS]) / small[LENGTH, step]
        lost[step] = ROUNDING * _in_order(sums[DEGREES]) / small[LENGTH, step] if is_short else 0.0
        _subtract(rank, size, step, small, scores, vectors, short, sums)
        meeting = meet(shared, meeting, size)
        small[BESIDE, step] = math.sqrt(_in_order(sums[SQUARES]))
        eigenvalue = first_eigenvector(step + 1, small)
        change = small[SHARE, step] * _in_order(sums[CHANGES])
        for earlier in range(step + 1):
            change += small[SHARE, earlier] * lost[earlier]
        residual = change / (eigenvalue + 1.0)
        if rank == 0:
            residuals[iteration] = residual
            times[iteration + 1] = ticks()
            store(shared, DONE, iteration + 1)
        is_last = residual <= tolerance or shared[HALT] != 0 or iteration + 1 == limit
        step += 1
        if is_last or step == vectors.shape[0] or small[BESIDE, step - 1] == 0.0:
            _combine(rank, size, step, eigenvalue, small, scores, vectors, sums[LENGTHS])
            meeting = meet(shared, meeting, size)
            step, small[LENGTH, 0] = 0, math.sqrt(_in_order(sums[LENGTHS]))
        else:
            small[LENGTH, step] = small[BESIDE, step - 1]
        if is_last:
            _divide(rank, size, scores, small[LENGTH, 0])
            break


@njit(**JIT)
def _begin(rank, size, begins, rows, scores, squares):
    """Writes the first scores, unless they are there already, and their squares' sum per block."""
    offsets, weights = rows[0], rows[2]
    first, last = part(rank, size, squares.size)
    for block in range(first, last):
        squares[block] = 0.0
        for u in range(np.uint64(block * BLOCK), np.uint64(min((block + 1) * BLOCK, scores.size))):
            if begins:
                scores[u] = 1.0 if weights.size else 1.0 + np.float64(offsets[u + ONE] - offsets[u])
            squares[block] += scores[u] * scores[u]


@njit(**JIT)
def _multiply(work, meeting, step, small, scores, vectors, short, is_short):
    """Writes vectors[step], A times the vector of this step without its share of the one before; then meets."""
    sent = scores if step == 0 else vectors[step - 1]
    before = scores if step < 2 else vectors[step - 2]
    share = 0.0 if step == 0 else small[BESIDE, step - 1] / small[LENGTH, step - 1]
    factor = 1.0 / small[LENGTH, step]
    if is_short:
        return _collect(work, meeting, factor, short, sent, share, before, vectors[step])
    return _collect(work, meeting, factor, sent, sent, share, before, vectors[step])


@njit(**JIT)
def _collect(work, meeting, factor, sent, own, share, before, new):
    """Writes new, and per chunk its product with own, and own's absolute values times the lengths of rows."""
    rank, size, shared, turn, counter, rows, partials, sums = work
    offsets, neighbors, weights, cuts, pieces, piece_of, varies = rows
    num_chunks = cuts.size - 1
    meeting = sum_pieces(size, shared, meeting, counter, pieces, neighbors, weights, factor, sent, partials)
    begin_turn(shared, turn, rank, size)
    chunk, owner = take(shared, turn, rank, size, num_chunks, rank)
    while chunk < num_chunks:
        dot, degrees = 0.0, 0.0
        for u in range(cuts[chunk], cuts[chunk + 1]):
            if piece_of[chunk + 1] > piece_of[chunk]:
                value = 0.0
                for piece in range(piece_of[chunk], piece_of[chunk + 1]):
                    value += partials[piece]
            else:
                value = sum_weighted_row(varies, offsets[u], offsets[u + ONE], neighbors, weights, factor, sent)
            value -= share * before[u]
            new[u] = value
            dot += value * own[u]
            degrees += abs(own[u]) * np.float64(offsets[u + ONE] - offsets[u])
        sums[DOTS, chunk], sums[DEGREES, chunk] = dot, degrees
        chunk, owner = take(shared, turn, rank, size, num_chunks, owner)
    return meet(shared, meeting, size)


@njit(**JIT)
def _subtract(rank, size, step, small, scores, vectors, short, sums):
    """Takes its share of this step's vector from vectors[step]; writes short, and sums of squares and absolutes."""
    own, new = scores if step == 0 else vectors[step - 1], vectors[step]
    share = small[DIAGONAL, step] / small[LENGTH, step]
    first, last = part(rank, size, -(-scores.size // BLOCK))
    for block in range(first, last):
        squares, changes = 0.0, 0.0
        for u in range(np.uint64(block * BLOCK), np.uint64(min((block + 1) * BLOCK, scores.size))):
            value = new[u] - share * own[u]
            new[u] = value
            squares += value * value
            changes += abs(value)
            if short.size:
                short[u] = value
        sums[SQUARES, block], sums[CHANGES, block] = squares, changes


@njit(**JIT)
def first_eigenvector(count, small):
    """Writes the shares, the first eigenvector of the small matrix of so many steps; returns its eigenvalue."""
    diagonal, beside, shares = small[DIAGONAL], small[BESIDE], small[SHARE]
    pivots = np.empty(count)
    low, high = -math.inf, -math.inf
    for i in range(count):
        around = (beside[i - 1] if i > 0 else 0.0) + (beside[i] if i + 1 < count else 0.0)
        low, high = max(low, diagonal[i]), max(high, diagonal[i] + around)
    high += 1e-15 * abs(high)
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2.0
        if _is_above(middle, count, diagonal, beside, pivots):
            high = middle
        else:
            low = middle
    if count == 1 or not _is_above(high, count, diagonal, beside, pivots):
        for i in range(count):
            shares[i] = 0.0
        shares[count - 1] = 1.0
        return diagonal[count - 1]
    for i in range(count):  # loops, because slices take seconds to compile
        shares[i] = 1.0
    for _ in range(3):  # (high - T) shares becomes shares: what is not of the first eigenvalue is gone after two
        for i in range(1, count):
            shares[i] += beside[i - 1] / pivots[i - 1] * shares[i - 1]
        shares[count - 1] /= pivots[count - 1]
        for i in range(count - 2, -1, -1):
            shares[i] = (shares[i] + beside[i] * shares[i + 1]) / pivots[i]
        squares = 0.0
        for i in range(count):
            squares += shares[i] * shares[i]
        for i in range(count):
            shares[i] /= math.sqrt(squares)
    return high


@njit(**JIT)
def _is_above(value, count, diagonal, beside, pivots):
    """Say whether all eigenvalues of the small matrix are below a value: then all pivots are positive."""
    for i in range(count):
        pivots[i] = value - diagonal[i] - (beside[i - 1] * beside[i - 1] / pivots[i - 1] if i > 0 else 0.0)
        if not pivots[i] > 0.0:
            return False
    return True


@njit(**JIT)
def _combine(rank, size, count, eigenvalue, small, scores, vectors, lengths):
    """Writes scores, x of so many steps and one step with A + I from there; none is negative. Sums their squares."""
    first, last = part(rank, size, -(-scores.size // BLOCK))
    for block in range(first, last):
        begin, end = np.uint64(block * BLOCK), np.uint64(min((block + 1) * BLOCK, scores.size))
        for u in range(begin, end):
            scores[u] *= small[SHARE, 0] / small[LENGTH, 0]
        for step in range(1, count):
            share = small[SHARE, step] / small[LENGTH, step]
            for u in range(begin, end):
                scores[u] += share * vectors[step - 1, u]
        share, squares = small[SHARE, count - 1] / (eigenvalue + 1.0), 0.0
        for u in range(begin, end):
            scores[u] = max(scores[u] + share * vectors[count - 1, u], 0.0)
            squares += scores[u] * scores[u]
        lengths[block] = squares


@njit(**JIT)
def _in_order(sums):
    """Return the sum over all chunks or blocks, in their order."""
    total = 0.0
    for place in range(sums.size):
        total += sums[place]
    return total


@njit(**JIT)
def _divide(rank, size, scores, length):
    """Writes the own part of the scores."""
    first, last = part(rank, size, scores.size)
    for u in range(first, last):
        scores[u] /= length
