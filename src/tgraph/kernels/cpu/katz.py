"""Katz scores of an undirected graph: what walks of k edges add is sent, not the scores, in one worker.

Scores are x = beta + alpha A x. A sweep sends a step p that was added to x before; then x lacks alpha A p, and what was
lacking before and is not in p (`rests`). The next step is all of that, or more of it (`momentum`), rounded to float32:
steps are read at random, and half the bytes take three quarters of the time. Since rests stay, rounding loses nothing.

A is symmetric and has no negative entries, so another sweep would change the scores by no more than the sum of
alpha * degree * |p| and of |rest|; where no step is negative and all of it is sent, that is what it would change. So
the run ends before the sweep that would change too little to matter. Sums are made per chunk of vertices and then in
the order of chunks, and rows of hubs in pieces: no answer depends on the number of threads.
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
from tgraph.kernels.cpu.fused.momentum import new_course, next_omega
from tgraph.kernels.cpu.fused.pull import advance_traced
from tgraph.kernels.cpu.neighbor_sums import lengths_vary, sum_row
from tgraph.kernels.cpu.shares import begin_turn, take
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch
from tgraph.runtime.protocol import Array

HALT = COUNTERS + 8 * 3  # two words, behind three counters
LEAST = 1e-30  # what is lacking below this is nothing: scores are 1 or more, and float32 ends at 1e-38
TINY = float(np.finfo(np.float64).tiny)  # avoids a division by a beta of 0
ONE = np.uint64(1)


class KatzRun:
    """Scores on the rows of an undirected graph, before they are normalised; the kernel makes them for beta = 1.

    >>> run = KatzRun((np.array([0, 2, 3, 4]), np.array([1, 2, 0, 0], np.int32)), 0.25, 1.0)
    >>> residuals, *_ = run.advance(100, 1e-12, Watch())
    >>> run.scores.round(6).tolist()
    [1.714286, 1.428571, 1.428571]
    """

    def __init__(self, rows: tuple[Array, Array], alpha: float, beta: float) -> None:
        count = rows[0].size - 1
        cuts = cut_by_work([rows[0]])
        self._begins, self._alpha, self._beta = True, alpha, beta
        self._scores = np.empty(count)
        self._rows = as_unsigned(rows[0]), as_unsigned(rows[1]), *cuts, lengths_vary(rows[0])
        self._rests, self._steps = np.empty(count), np.empty((2, count), np.float32)
        self._partials, self._sums = np.empty(len(cuts[1])), np.zeros((2, 2, cuts[0].size - 1))
        self._size = team_size(rows[1].size + count)

    def advance(self, limit: int, tolerance: float, watch: Watch) -> tuple[Array, Array, bool]:
        """Sweep until another sweep would change the scores by no more than `tolerance`, at most `limit` times.

        Returns after every sweep a bound of what another would change, its ticks, and whether the user interrupted.
        """
        arrays = self._rows, self._scores, self._rests, self._steps, self._partials, self._sums

        def arguments(*traces: Array) -> tuple[Any, ...]:
            return self._alpha, self._begins, *arrays, *traces

        relative = tolerance / max(self._beta, TINY)
        residuals, ticks, interrupted = advance_traced(_iterate, self._size, limit, relative, arguments, watch)
        if residuals.size % 2:
            self._steps = self._steps[::-1].copy()
        self._begins = False
        return residuals * self._beta, ticks, interrupted

    @property
    def scores(self) -> Array:
        """The scores of the vertices."""
        return self._scores if self._beta == 1.0 else self._scores * self._beta


@njit(**JIT)
def _iterate(
    rank, size, shared, limit, tolerance, alpha, begins, rows, scores, rests, steps, partials, sums, residuals, times
):
    """Writes scores, rests, steps and sums by chunks, one thread per chunk; rank 0 writes residuals, times and DONE."""
    meeting, omega, course = 1, 1.0, new_course()
    if rank == 0:
        times[0] = ticks()
    if begins:
        _begin(rank, size, rows[0], alpha, scores, rests, steps[0])
        meeting = meet(shared, meeting, size)
    for iteration in range(limit):
        now, counter = iteration % 2, COUNTERS + 8 * (iteration % 3)
        sent, new_sent, found = steps[now], steps[1 - now], sums[now]
        meeting = _add_pieces(size, shared, meeting, counter, rows, sent, partials)
        begin_turn(shared, iteration, rank, size)
        chunk, owner = take(shared, iteration, rank, size, found.shape[1], rank)
        while chunk < found.shape[1]:
            _take_chunk(chunk, rows, alpha, omega, sent, new_sent, scores, rests, partials, found)
            chunk, owner = take(shared, iteration, rank, size, found.shape[1], owner)
        if rank == 0:
            store(shared, COUNTERS + 8 * ((iteration + 2) % 3), 0)
            shared[HALT + now] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        change, next_change = 0.0, 0.0
        for chunk in range(found.shape[1]):
            change += found[0, chunk]
            next_change += found[1, chunk]
        if rank == 0:
            residuals[iteration] = next_change
            times[iteration + 1] = ticks()
            store(shared, DONE, iteration + 1)
        if next_change <= tolerance or shared[HALT + now] != 0 or not next_change < math.inf:
            break
        omega = next_omega(course, change, tolerance, iteration + 2 >= limit)


@njit(**JIT)
def _begin(rank, size, offsets, alpha, scores, rests, sent):
    """Writes what walks without an edge and with one make of its part of the vertices; the latter are sent first."""
    first, last = part(rank, size, np.int64(scores.size))
    for u in range(np.uint64(first), np.uint64(last)):
        gain = alpha * np.float64(offsets[u + ONE] - offsets[u])
        step = np.float32(gain)
        sent[u], rests[u], scores[u] = step, gain - np.float64(step), 1.0 + np.float64(step)


@njit(**JIT)
def _add_pieces(size, shared, meeting, counter, rows, sent, partials):
    """Writes partials, the sums over pieces of long rows; meets the others if there are any."""
    neighbors, pieces = rows[1], rows[3]
    while pieces.shape[0] > 0:
        piece = fetch_add(shared, counter, 1)
        if piece >= pieces.shape[0]:
            return meet(shared, meeting, size)
        partials[piece] = sum_row(False, np.float64, pieces[piece, 2], pieces[piece, 3], neighbors, sent)
    return meeting


@njit(**JIT)
def _take_chunk(chunk, rows, alpha, omega, sent, new_sent, scores, rests, partials, found):
    """Writes new_sent, scores and rests of a chunk, and what it changes now and at most by another plain sweep."""
    offsets, neighbors, cuts, _, piece_of, varies = rows
    change, next_change = 0.0, 0.0
    for u in range(cuts[chunk], cuts[chunk + 1]):
        if piece_of[chunk + 1] > piece_of[chunk]:
            total = 0.0
            for piece in range(piece_of[chunk], piece_of[chunk + 1]):
                total += partials[piece]
        else:
            total = sum_row(varies, np.float64, offsets[u], offsets[u + ONE], neighbors, sent)
        lacking = rests[u] + alpha * total
        if abs(lacking) < LEAST:
            lacking = 0.0
        step = np.float32(omega * lacking + (omega - 1.0) * np.float64(sent[u]))
        added = np.float64(step)
        new_sent[u], rests[u] = step, lacking - added
        scores[u] += added
        change += abs(lacking)
        next_change += abs(rests[u]) + alpha * np.float64(offsets[u + ONE] - offsets[u]) * abs(added)
    found[0, chunk], found[1, chunk] = change, next_change
