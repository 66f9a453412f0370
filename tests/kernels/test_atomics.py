"""Atomics and the barrier under contention: several threads, also more than there are cores."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from tgraph.kernels.cpu.atomics import compare_swap, fetch_add, fetch_min, fetch_or, load, store, trailing_zeros
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.team import run_team

TEAMS = (1, 2, 5)
ROUNDS = 20_000


@njit(nogil=True)
def _add(rank, size, array, value):
    for i in range(ROUNDS):
        fetch_add(array, i % array.size, value)


@pytest.mark.parametrize("size", TEAMS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "float32", "float64"])
def test_no_addition_is_lost(size, dtype):
    array = np.zeros(3, dtype)
    run_team(_add, size, array, array.dtype.type(1))
    assert array.sum() == size * ROUNDS


@njit(nogil=True)
def _lower(rank, size, array):
    for i in range(ROUNDS):
        fetch_min(array, 0, (i * 7919 + rank) % ROUNDS - 5)


@pytest.mark.parametrize("size", TEAMS)
def test_the_smallest_value_wins(size):
    array = np.array([10**9])
    run_team(_lower, size, array)
    assert array[0] == -5


@njit(nogil=True)
def _set_bits(rank, size, words, news):
    for bit in range(64 * words.size):
        mask = np.uint64(1) << np.uint64(bit % 64)
        if not fetch_or(words, bit // 64, mask) & mask:
            news[rank] += 1


@pytest.mark.parametrize("size", TEAMS)
def test_each_bit_is_new_to_exactly_one_thread(size):
    words, news = np.zeros(200, np.uint64), np.zeros(size, np.int64)
    run_team(_set_bits, size, words, news)
    assert (words == np.iinfo(np.uint64).max).all()
    assert news.sum() == 200 * 64


@njit(nogil=True)
def _add_by_swap(rank, size, array):
    for _ in range(ROUNDS):
        old = load(array, 0)
        while not compare_swap(array, 0, old, old + 1):
            old = load(array, 0)


@pytest.mark.parametrize("size", TEAMS)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_compare_swap_never_overwrites(size, dtype):
    array = np.zeros(1, dtype)
    run_team(_add_by_swap, size, array)
    assert array[0] == size * ROUNDS


@njit(nogil=True)
def _shift_right(rank, size, arrivals, values, rounds):
    """Each round every thread takes its left neighbour's value of the round before."""
    meeting = 1
    for _ in range(rounds):
        taken = values[(rank - 1) % size]
        meeting = meet(arrivals, meeting, size)
        values[rank] = taken
        meeting = meet(arrivals, meeting, size)


@pytest.mark.parametrize("size", TEAMS)
def test_nobody_passes_the_barrier_early(size):
    values, rounds = np.arange(size), 2001
    run_team(_shift_right, size, np.zeros(1, np.int64), values, rounds)
    assert values.tolist() == [(rank - rounds) % size for rank in range(size)]


@njit
def _lowest_bit(word):
    return trailing_zeros(np.uint64(word))


@njit
def _store(array, value):
    store(array, 1, value)


def test_trailing_zeros_and_store():
    assert [_lowest_bit(np.uint64(1) << np.uint64(bit)) for bit in (0, 3, 63)] == [0, 3, 63]
    array = np.zeros(3, np.int64)
    _store(array, 7)
    assert array.tolist() == [0, 7, 0]
