"""How much of the shortest paths from some sources passes through each vertex (Brandes 2001), without atomic sums.

Forward, level by level: the paths to a vertex are the sum of the paths to its incoming neighbours one level closer.
Backward: the share of a vertex is its paths times the sum of (1 + share) / paths over its outgoing neighbours one level
further. Both sums run over whole rows without asking for levels: even and odd levels have arrays of their own, and in
the one that is read a neighbour has a number, not 0, only if it is one level closer (or further). Every vertex adds up
its own row in the order in which it is stored, and sources are added one after the other, so the answer is the same to
the last bit on any number of threads.

Levels are found by pushing, in an undirected graph in the same scan as the sums, or, from a large frontier, by pulling
with early exit (Beamer, Asanovic, Patterson 2012). A large level is in the order of ids, so that its rows are read one
after the other, which takes half the time. Small levels are left to one thread. The number of paths can exceed
any float (a grid of 1000 x 1000 has 10^600): a level is scaled down where the one before has 2^512 paths. Where some
counts of a level then become too small beside the others, the search is done again with a power of 2^512 per vertex.

Several sources at once, one per thread, are searched where memory allows; else all threads share one search. Needs 37
bytes per vertex for every source searched at once (46 where nearly every vertex has a level of its own), and 8 per
vertex for the scores. Rows must ascend: the second of two equal neighbours is left out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.path_counts import (
    BUFFER,
    BYTES_PER_SEARCH,
    CHUNK,
    CONTROL_SIZE,
    DEPTH,
    ENDS,
    FAILS,
    FIRST,
    FRONTIER_EDGES,
    HUGE,
    LAST,
    MEETING,
    ONE,
    REACHED,
    SET_SIZE,
    SETS,
    SIX,
    STATE_SIZE,
    STOPS,
    TOLD,
    TURN,
    WIDE,
    ZERO,
    begin,
    fill_zero,
    forward,
    make_scratch,
    meet_team,
    width,
    words_of,
)
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, team_size
from tgraph.kernels.cpu.watch import DONE, Watch
from tgraph.runtime.protocol import Array

SMALL = 2048  # a level with fewer edges is left to one thread
CACHE_BYTES = 1 << 22  # counts of all searches within this stay in the cache
FEW_EDGES = 8  # per vertex: then levels may be too small to be shared by threads


def path_shares(
    out_rows: tuple[Array, Array], in_rows: tuple[Array, Array], sources: Array, watch: Watch | None = None
) -> Array:
    """Return, per vertex, the sum over the sources of the share of shortest paths that it lies inside of.

    Rows are offsets and neighbours; both directions are the same arrays if the graph is undirected. Deterministic.

    >>> rows = np.array([0, 1, 2, 2]), np.array([1, 2], np.int32)
    >>> path_shares(rows, (np.array([0, 0, 1, 2]), np.array([0, 1], np.int32)), np.array([0])).tolist()
    [0.0, 1.0, 0.0]
    """
    num_vertices = out_rows[0].size - 1
    searches, size = _plan(out_rows, sources.size)
    scores = np.zeros(num_vertices)
    rows = tuple(as_unsigned(array) for array in (*out_rows, *in_rows))
    scratch = make_scratch(searches, num_vertices, rows[1].dtype, size)
    controls = np.zeros((searches, CONTROL_SIZE), np.int64)
    is_symmetric = out_rows[1] is in_rows[1]
    (watch or Watch()).run(_run, size, rows, is_symmetric, as_unsigned(sources), scratch, controls, scores, SMALL)
    return scores


def _plan(rows: tuple[Array, Array], num_sources: int) -> tuple[int, int]:
    """Return how many sources are searched at once, and the number of threads: one for each, or all for one.

    Threads that share a search also share what it keeps in the cache; they gain nothing where levels are small.
    """
    num_vertices, num_arcs = rows[0].size - 1, rows[1].size
    size = min(team_size(num_arcs * num_sources), num_sources)
    spare = rows[0].nbytes + rows[1].nbytes + (64 - 8) * num_vertices  # bytes: as much as the graph, and 64 per vertex
    searches = min(size, spare // max(1, BYTES_PER_SEARCH * num_vertices))
    is_better_alone = 8 * num_vertices * searches <= CACHE_BYTES or num_arcs < FEW_EDGES * num_vertices
    if searches > 1 and 2 * searches > size and is_better_alone:
        return searches, searches
    return 1, team_size(num_arcs)


@njit(**JIT)
def _run(rank, size, shared, rows, is_symmetric, sources, scratch, controls, scores, small):
    """Writes scores, the own part of the vertices."""
    searches = controls.shape[0]
    mine, team_rank, team = (rank, 0, 1) if searches > 1 else (0, rank, size)
    queue, starts, even_counts, odd_counts, even_flows, odd_flows, blocks, seen, found, scaled, peaks = scratch
    own = (
        (queue[mine], starts[mine], even_counts[mine], odd_counts[mine], even_flows[mine], odd_flows[mine]),
        (blocks[mine], seen[mine], found[mine], scaled[mine], peaks[mine], np.empty(BUFFER, queue.dtype)),
    )
    control, state, meeting = controls[mine], np.zeros(STATE_SIZE, np.int64), 1
    state[MEETING] = 1
    for first in range(0, sources.size, searches):
        if first + mine < sources.size:
            source = sources[first + mine]
            _search(team_rank, team, shared, control, state, source, rows, is_symmetric, own, small)
        if team_rank == 0:
            control[REACHED], control[ENDS] = state[LAST] if first + mine < sources.size else 0, state[STOPS]
        if rank == 0:
            shared[DONE] += searches
        meeting = meet(shared, meeting, size)
        _add_up(rank, size, controls, queue, even_counts, odd_counts, scores)
        is_last = controls[0, ENDS] != 0
        meeting = meet(shared, meeting, size)
        if is_last:
            break


@njit(**JIT)
def _add_up(rank, size, controls, queue, even_counts, odd_counts, scores):
    """Add the shares that every search left in the place of its counts, in order, to the scores; they are 0 then."""
    reached = 0
    for search in range(controls.shape[0]):
        reached += controls[search, REACHED]
    if 2 * reached > scores.size:
        first, last = part(rank, size, scores.size)
        for search in range(controls.shape[0]):
            for vertex in range(np.uint64(first), np.uint64(last)):
                scores[vertex] += even_counts[search, vertex] + odd_counts[search, vertex]
                even_counts[search, vertex], odd_counts[search, vertex] = 0.0, 0.0
    elif rank == 0:
        for search in range(controls.shape[0]):
            for position in range(np.uint64(controls[search, REACHED])):
                vertex = queue[search, position]
                scores[vertex] += even_counts[search, vertex] + odd_counts[search, vertex]
                even_counts[search, vertex], odd_counts[search, vertex] = 0.0, 0.0


@njit(**JIT)
def _search(rank, size, shared, control, state, source, rows, is_symmetric, own, small):
    """Leave the shares of one source in the place of its counts, unless the user stops it."""
    starts, even_counts = own[0][1], own[0][2]
    is_wide = False
    while True:
        _clean(rank, size, state, own, is_wide)
        meet_team(control, state, size)
        begin(rank, control, state, source, is_wide, rows[0], own)
        meet_team(control, state, size)
        _find_levels(rank, size, shared, control, state, rows, is_symmetric, own, small)
        if state[STOPS] != 0:
            return
        if state[FAILS] == 0:
            break
        is_wide = True
    meet_team(control, state, size)
    if rank == 0:
        fill_zero(control, SETS, SETS + 3 * SET_SIZE)
        even_counts[source] = 0.0
    meet_team(control, state, size)
    few = small * starts.size // max(rows[1].size, 1)  # vertices, with about so many edges
    depth = state[DEPTH] - 1
    while depth > 0:
        is_alone = size > 1 and width(starts, depth) < few
        if rank == 0 or not is_alone:
            _backward(rank, 1 if is_alone else size, control, state, depth, rows, own)
        depth -= 1
        if is_alone and (depth == 0 or width(starts, depth) >= few):
            meet_team(control, state, size)


@njit(**JIT)
def _find_levels(rank, size, shared, control, state, rows, is_symmetric, own, small):
    """Go forward to the last level, or until counts become too small to go on without blocks."""
    while _goes_on(state):
        is_alone = size > 1 and state[FRONTIER_EDGES] < small
        if is_alone:
            meet_team(control, state, size)  # all have read the words of the last level
        while rank == 0 or not is_alone:
            forward(rank, 1 if is_alone else size, shared, control, state, rows, is_symmetric, own)
            if not (is_alone and _goes_on(state) and state[FRONTIER_EDGES] < small):
                break
        if is_alone:
            if rank == 0:
                for i in range(WIDE):
                    control[TOLD + i] = state[i]
            meet_team(control, state, size)
            for i in range(WIDE):
                state[i] = control[TOLD + i]


@njit(**JIT)
def _goes_on(state):
    """Say whether there is another level to count."""
    return state[FIRST] < state[LAST] and state[FAILS] == 0 and state[STOPS] == 0


@njit(**JIT)
def _clean(rank, size, state, own, has_counts):
    """Set to 0 what the search before has written; its counts only if nobody added them up."""
    (queue, _, even_counts, odd_counts, even_flows, odd_flows), (blocks, seen, _, _, _, _) = own
    reached = state[LAST]
    if 4 * reached > queue.size:
        low, high = part(rank, size, queue.size)
        fill_zero(even_flows, low, high)
        fill_zero(odd_flows, low, high)
        if state[WIDE] != 0:
            fill_zero(blocks, low, high)
        if has_counts:
            fill_zero(even_counts, low, high)
            fill_zero(odd_counts, low, high)
        low, high = part(rank, size, seen.size)
        fill_zero(seen, low, high)
    elif rank == 0:
        for position in range(np.uint64(reached)):
            vertex = queue[position]
            even_flows[vertex], odd_flows[vertex], blocks[vertex], seen[vertex >> SIX] = 0.0, 0.0, 0, ZERO
            if has_counts:
                even_counts[vertex], odd_counts[vertex] = 0.0, 0.0


@njit(**JIT)
def _backward(rank, size, control, state, depth, rows, own):
    """Find the shares of one level. Writes flows of this level, and the shares in the place of its counts."""
    (queue, starts, even_counts, odd_counts, even_flows, odd_flows), (blocks, _, _, scaled, _, _) = own
    borders = (words_of(depth), np.int64(starts[depth]), np.int64(starts[depth + 1]))
    scale = 1.0 / HUGE if scaled[depth] != 0 else 1.0
    if rank == 0:
        control[words_of(depth + 2) + TURN] = 0
    if depth % 2 == 0:
        counts, behind, flows = even_counts, odd_flows, even_flows
    else:
        counts, behind, flows = odd_counts, even_flows, odd_flows
    if state[WIDE] == 0:
        _share(control, borders, rows[0], rows[1], queue, counts, behind, flows, scale)
    else:
        _share_wide(control, borders, rows[0], rows[1], queue, counts, behind, flows, blocks)
    meet_team(control, state, size)


@njit(**JIT)
def _share(control, borders, offsets, targets, queue, counts, behind, flows, scale):
    """Write flows and shares of the vertices between two queue positions, from the flows behind them."""
    place, first, last = borders
    while True:
        chunk = first + fetch_add(control, place + TURN, CHUNK)
        if chunk >= last:
            break
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, last))):
            vertex = queue[position]
            previous, total = vertex, 0.0
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                target = targets[edge]
                total += behind[target] if target != previous else 0.0
                previous = target
            share = counts[vertex] * total
            flows[vertex] = scale * (1.0 + share) / counts[vertex]
            counts[vertex] = share


@njit(**JIT)
def _share_wide(control, borders, offsets, targets, queue, counts, behind, flows, blocks):
    """The same for counts with blocks: those behind have as many as the vertex, or more."""
    place, first, last = borders
    while True:
        chunk = first + fetch_add(control, place + TURN, CHUNK)
        if chunk >= last:
            break
        for position in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, last))):
            vertex = queue[position]
            previous, total = vertex, 0.0
            for edge in range(offsets[vertex], offsets[vertex + ONE]):
                target = targets[edge]
                if behind[target] != 0.0 and target != previous:
                    previous = target
                    if blocks[target] == blocks[vertex]:
                        total += behind[target]
                    elif blocks[target] == blocks[vertex] + 1:
                        total += behind[target] / HUGE
            share = counts[vertex] * total
            flows[vertex] = (1.0 + share) / counts[vertex]
            counts[vertex] = share
