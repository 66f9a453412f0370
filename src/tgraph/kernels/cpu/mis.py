"""The first maximal independent set in a random order, by sweeps.

Every vertex has a number of its own that is random; the set is the one that taking vertices in the order of their
numbers gives (Luby 1986; that it takes few rounds: Blelloch, Fineman, Shun 2012). A sweep takes a vertex into the set
when all its earlier neighbours are out, and puts it out when a neighbour is in. Both stay true once they are found, so
threads need no order among them and the answer does not depend on them. Needs 9 bytes per vertex.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.counter_random import hash_number, stream_key
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.kernels.cpu.watch import COUNTERS, DONE, STOP, Watch, is_stopped
from tgraph.runtime.protocol import Array

CHUNK = 1 << 9  # vertices
OPEN, MEMBER, OUT = np.uint8(0), np.uint8(1), np.uint8(2)
ONE = np.uint64(1)
_WORDS = COUNTERS  # three sets in turn: the next vertex and whether to stop, vertices left open


def random_order(num_vertices: int, seed: int) -> Array:
    """Return distinct numbers from 0 to 2^63 - 1, `[V] int64`: random bits, and below them the vertex number.

    >>> numbers = random_order(1000, seed=0)
    >>> np.unique(numbers).size, bool((numbers >= 0).all())
    (1000, True)
    """
    numbers = np.empty(num_vertices, np.int64)
    bits = np.uint64(max(num_vertices - 1, 0).bit_length())
    run_team(_fill_order, team_size(num_vertices), stream_key(seed, 0), bits, numbers)
    return numbers


def first_independent(sides: tuple[tuple[Array, Array], ...], order: Array, watch: Watch | None = None) -> Array:
    """Return the mask of the vertices that are taken when all are asked in this order; loops do not count.

    sides: offsets and neighbours of one direction where every edge is stored both ways, else of both directions.

    >>> sides = ((np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)),)
    >>> first_independent(sides, np.array([5, 3, 4])).tolist()
    [False, True, False]
    """
    states = np.zeros(order.size, np.uint8)
    rows = [as_unsigned(array) for side in (sides[0], sides[-1]) for array in side]
    size = team_size(sum(neighbors.size for _, neighbors in sides) + order.size)
    (watch or Watch()).run(_take, size, *rows, len(sides) == 2, order, states)
    return states == MEMBER


@njit(**JIT)
def _fill_order(rank, size, key, bits, numbers):
    """Writes the thread's part of the numbers."""
    first, last = part(rank, size, numbers.size)
    for vertex in range(first, last):
        random = (hash_number(key, np.uint64(vertex)) >> (bits + ONE)) << bits
        numbers[vertex] = np.int64(random | np.uint64(vertex))


@njit(**JIT)
def _take(rank, size, shared, offsets, targets, in_offsets, in_sources, is_directed, order, states):
    """Writes states, one thread per vertex and sweep, while others read them."""
    num_vertices = np.int64(states.size)
    meeting, turn = 1, 0
    while True:
        words = _WORDS + 16 * turn
        left = 0
        while True:
            chunk = fetch_add(shared, words, CHUNK)
            if chunk >= num_vertices or is_stopped(shared):
                break
            decided = 0
            for vertex in range(np.uint64(chunk), np.uint64(min(chunk + CHUNK, num_vertices))):
                if states[vertex] != OPEN:
                    continue
                state = _decide(vertex, offsets, targets, order, states)
                if is_directed and state != OUT:
                    other = _decide(vertex, in_offsets, in_sources, order, states)
                    state = other if other != MEMBER else state
                states[vertex] = state
                left += state == OPEN
                decided += state != OPEN
            fetch_add(shared, DONE, decided)
        fetch_add(shared, words + 8, left)
        if rank == 0:
            shared[words + 1] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        if shared[words + 8] == 0 or shared[words + 1]:
            break
        turn = (turn + 1) % 3
        if rank == 0:
            following = _WORDS + 16 * ((turn + 1) % 3)
            shared[following], shared[following + 8] = 0, 0


@njit(**JIT)
def _decide(vertex, offsets, neighbors, order, states):
    """Return the state of a vertex as far as the neighbours on one side say."""
    own, result = order[vertex], MEMBER
    for edge in range(offsets[vertex], offsets[vertex + ONE]):
        neighbor = neighbors[edge]
        state = states[neighbor]
        if state == MEMBER:
            return OUT
        if state == OPEN and order[neighbor] < own:
            result = OPEN
    return result
