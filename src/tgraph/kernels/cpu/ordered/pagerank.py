"""PageRank by one team from the first iteration to the last; every sum is added in the order of its row.

Of an iteration, sums over incoming edges come first, chunk by chunk; the last thread adds up what sinks hold before it
takes chunks. Then every thread makes new ranks of its part. All depends on the rows alone, not on the threads, but for
the change of all ranks, which is added part by part.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import COUNTERS, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 1024  # vertices


def iterate(
    incoming: tuple[Array, Array, Array | None],
    shares: Array,
    start: Array,
    jumps: Array,
    sink_shares: Array,
    damping: float,
    tol_l1: float,
    max_iterations: int,
) -> Array | None:
    """Return ranks `[V] float64` once all together change by less than `tol_l1`, None if they do not.

    Args:
        incoming: Offsets, sources and weights of incoming edges; weights None = all 1.
        shares: 1 / the weight that leaves a vertex, 0 = it is a sink.
        start: The first ranks.
        jumps: Where what is not damped goes.
        sink_shares: Where the ranks of sinks go.
        damping: The part that follows edges.
        tol_l1: See above.
        max_iterations: See above.

    >>> rows, even = (np.array([0, 1, 2]), np.array([1, 0], np.int32), None), np.array([0.5, 0.5])
    >>> iterate(rows, np.ones(2), np.array([1.0, 0.0]), even, even, 0.5, 1e-9, 100).round(6).tolist()
    [0.5, 0.5]
    """
    offsets, sources, weights = incoming
    ranks, size = start.copy(), team_size(sources.size)
    changes = np.full((2, size), np.inf)
    rows = as_unsigned(offsets), as_unsigned(sources), weights
    shared = Watch().run(
        _iterate, size, *rows, shares, as_unsigned(np.flatnonzero(shares == 0)), jumps, sink_shares, damping, tol_l1,
        max_iterations, ranks, ranks * shares, np.empty(ranks.size), np.empty(1), changes,
    )  # fmt: skip
    return ranks if shared[_CONVERGED] else None


_CONVERGED = COUNTERS + 8


@njit(**JIT)
def _iterate(
    rank, size, shared, offsets, sources, weights, shares, sinks, jumps, sink_shares, damping, tol_l1, max_iterations,
    ranks, values, sums, lost, changes,
):  # fmt: skip
    """Writes sums of the chunks taken; ranks, values (ranks times shares) and changes of its part; lost by the last."""
    first, last = part(rank, size, np.int64(ranks.size))
    meeting, change = 1, math.inf
    for number in range(max_iterations):
        if rank == size - 1:
            lost[0] = _sum_of(sinks, ranks)
        _take_chunks(shared, offsets, sources, weights, values, sums)
        meeting = meet(shared, meeting, size)
        if rank == 0:
            shared[COUNTERS] = 0
        change = 0.0
        for vertex in range(np.uint64(first), np.uint64(last)):
            value = damping * (sums[vertex] + lost[0] * sink_shares[vertex]) + (1 - damping) * jumps[vertex]
            change += abs(value - ranks[vertex])
            ranks[vertex], values[vertex] = value, value * shares[vertex]
        changes[number & 1, rank] = math.nan if rank == 0 and is_stopped(shared) else change
        meeting = meet(shared, meeting, size)
        change = changes[number & 1].sum()
        if change < tol_l1 or math.isnan(change):
            break
    if rank == 0:
        shared[_CONVERGED] = change < tol_l1


@njit(**JIT)
def _sum_of(places, values):
    """Return the sum of some values, added one by one."""
    total = 0.0
    for place in places:
        total += values[place]
    return total


@njit(**JIT)
def _take_chunks(shared, offsets, sources, weights, values, sums):
    """Writes sums of chunks until there are none."""
    num_vertices = np.int64(sums.size)
    while True:
        chunk = fetch_add(shared, COUNTERS, CHUNK)
        if chunk >= num_vertices:
            break
        for vertex in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
            total = 0.0
            for edge in range(offsets[vertex], offsets[vertex + np.uint64(1)]):
                value = values[sources[edge]]
                total += value if weights is None else value * weights[edge]
            sums[vertex] = total
