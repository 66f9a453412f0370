"""Work that is divided into shares: everything is taken once, by its owner as long as the owner is there."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.shares import begin_turn, take
from tgraph.kernels.cpu.team import JIT
from tgraph.kernels.cpu.watch import Watch

TURNS = 7


@njit(**JIT)
def _count(rank, size, shared, idle, taken, takers):
    """Counts how often each place is taken in each turn; writes who took it. Rank `idle` takes nothing."""
    meeting = 1
    for turn in range(TURNS):
        count = taken.shape[1]
        begin_turn(shared, turn, rank, size)
        if rank != idle:
            place, owner = take(shared, turn, rank, size, count, rank)
            while place < count:
                taken[turn, place] += 1
                takers[turn, place] = rank
                place, owner = take(shared, turn, rank, size, count, owner)
        meeting = meet(shared, meeting, size)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 4, 1000])
def test_every_place_is_taken_once_in_every_turn(size: int, count: int) -> None:
    taken, takers = np.zeros((2, TURNS, count), np.int64)
    Watch().run(_count, size, -1, taken, takers)
    assert (taken == 1).all()
    assert ((takers >= 0) & (takers < size)).all()


def test_others_take_the_share_of_one_who_does_nothing() -> None:
    taken, takers = np.zeros((2, TURNS, 100), np.int64)
    Watch().run(_count, 3, 1, taken, takers)
    assert (taken == 1).all()
    assert (takers != 1).all()


def test_a_thread_begins_with_its_own_share() -> None:
    shared = Watch().run(_count, 3, -1, *np.zeros((2, TURNS, 90), np.int64))
    shared[:] = 0
    assert [take(shared, 4, rank, 3, 90, rank) for rank in range(3)] == [(0, 0), (30, 1), (60, 2)]
    assert take(shared, 4, 1, 3, 90, 1) == (31, 1)
