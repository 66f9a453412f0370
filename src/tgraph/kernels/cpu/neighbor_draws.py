"""Which edges of one row are sampled: every way of choosing, from inside a worker.

All write the positions of the edges into `new_edges`. The i-th random number of a row is a hash of the row's key and i,
so a draw depends on nothing else. `first` and `degree` say where the row is; nothing is read but weights where given.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.counter_random import below, hash_number, unit
from tgraph.kernels.cpu.random_walks import draw_edge
from tgraph.kernels.cpu.team import JIT

FEW = 48  # draws, up to which those before are looked through one by one
FREE = -1  # a slot without a number

ZERO, ONE, SIX_BITS = np.uint64(0), np.uint64(1), np.uint64(63)


@njit(**JIT)
def take_all(first, degree, new_edges):
    """Write every edge of the row, in its order."""
    for i in range(degree):
        new_edges[i] = first + np.uint64(i)


@njit(**JIT)
def draw_with_replacement(key, first, degree, sums, new_edges):
    """Draw each edge on its own; by weight where running sums of the weights are given (all weights above 0)."""
    last = first + np.uint64(degree)
    for i in range(new_edges.size):
        new_edges[i] = draw_edge(hash_number(key, np.uint64(i)), first, last, sums)


@njit(**JIT)
def draw_few(key, first, degree, new_edges):
    """Draw different edges by Floyd's method (Bentley, Floyd 1987). Needs degree > new_edges.size.

    One bit for each six low bits that occurred tells most new edges from all before; else those are looked through.
    """
    count = new_edges.size
    met = ZERO
    for i in range(count):
        top = np.uint64(degree - count + i)
        edge = first + below(hash_number(key, np.uint64(i)), top + ONE)
        bit = ONE << (edge & SIX_BITS)
        if met & bit:
            for j in range(i):
                if np.uint64(new_edges[j]) == edge:
                    edge = first + top
                    bit = ONE << (edge & SIX_BITS)
                    break
        met |= bit
        new_edges[i] = edge


@njit(**JIT)
def draw_many(key, first, degree, scratch_slots, new_edges):
    """Draw different edges by Floyd's method, with those before in a hash table. Needs degree > new_edges.size.

    `scratch_slots` has a power of two of elements, at least twice as many as there are draws.
    """
    count = new_edges.size
    scratch_slots[:] = FREE
    for i in range(count):
        top = np.uint64(degree - count + i)
        number = below(hash_number(key, np.uint64(i)), top + ONE)
        if not _insert(scratch_slots, number):
            number = top
            _insert(scratch_slots, number)
        new_edges[i] = first + number


@njit(**JIT)
def _insert(slots, number):
    """Put a number into the table unless it is there; say whether it was not."""
    mask = np.uint64(slots.size - 1)
    slot = hash_number(ZERO, number) & mask
    while slots[slot] != FREE:
        if np.uint64(slots[slot]) == number:
            return False
        slot = (slot + ONE) & mask
    slots[slot] = np.int64(number)
    return True


@njit(**JIT)
def draw_by_weight(key, first, degree, weights, scratch_keys, new_edges):
    """Draw different edges, each time by weight among those left. Needs degree > new_edges.size, weights above 0.

    Every edge gets an exponential number with its weight as rate; the smallest win (Efraimidis, Spirakis 2006). They
    are kept in a heap with the largest in front.
    """
    count = new_edges.size
    for i in range(degree):
        edge = first + np.uint64(i)
        time = -np.log1p(-unit(hash_number(key, np.uint64(i)))) / np.float64(weights[edge])
        if i < count:
            _sift_up(scratch_keys, new_edges, i, time, edge)
        elif time < scratch_keys[0]:
            _sift_down(scratch_keys, new_edges, count, time, edge)


@njit(**JIT)
def _sift_up(keys, edges, place, key, edge):
    """Put a key at the end of the heap and move it to where no key above it is smaller."""
    while place > 0 and keys[(place - 1) >> 1] < key:
        above = (place - 1) >> 1
        keys[place], edges[place] = keys[above], edges[above]
        place = above
    keys[place], edges[place] = key, edge


@njit(**JIT)
def _sift_down(keys, edges, count, key, edge):
    """Put a key in the place of the largest and move it to where no key below it is larger."""
    place = 0
    while 2 * place + 1 < count:
        below_it = 2 * place + 1
        if below_it + 1 < count and keys[below_it + 1] > keys[below_it]:
            below_it += 1
        if not keys[below_it] > key:
            break
        keys[place], edges[place] = keys[below_it], edges[below_it]
        place = below_it
    keys[place], edges[place] = key, edge
