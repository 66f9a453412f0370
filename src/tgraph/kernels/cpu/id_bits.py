"""A set of vertex numbers as one bit each: the numbers in it, and the place of each among them.

A fifth of a byte per vertex: the bits, and how many are set before every word of 64. For ids that are dense enough
that a list of them would not be smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_or, trailing_zeros
from tgraph.kernels.cpu.bit_count import bit_count
from tgraph.kernels.cpu.team import JIT, as_unsigned, part, run_team, team_size
from tgraph.runtime.protocol import Array

ZERO, ONE, SIX, LOW_BITS = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


class IdBits:
    """Ids from 0 to `limit - 1`.

    >>> bits = IdBits(100)
    >>> bits.add(np.array([70, 3, 70, 99]))
    >>> bits.listed(np.dtype(np.int32)).tolist()
    [3, 70, 99]
    """

    def __init__(self, limit: int) -> None:
        self._words = np.zeros(-(-limit // 64), np.uint64)
        self._before: Array | None = None  # how many are set before every word, once somebody has asked

    @staticmethod
    def bytes_for(limit: int) -> int:
        """Return about how many bytes such a set takes, with what `renumber` holds."""
        return limit // 5 + limit // 64 + 64

    def add(self, ids: Array) -> None:
        """Put ids into the set."""
        self._before = None
        run_team(_set_bits, team_size(ids.size), as_unsigned(ids), self._words)

    def remove_range(self, first: int, last: int) -> None:
        """Take the ids from `first` to `last - 1` out of the set."""
        self._before = None
        _clear_bits(self._words, np.uint64(first), np.uint64(last))

    @property
    def count(self) -> int:
        """The number of ids in the set."""
        return int(np.bitwise_count(self._words).sum(dtype=np.int64))

    def listed(self, dtype: np.dtype[Any]) -> Array:
        """Return the ids in ascending order."""
        new_ids = np.empty(self.count, dtype)
        _list_bits(self._words, new_ids)
        return new_ids

    def renumber(self, ids: Array, first: int, num_own: int, new_ids: Array) -> None:
        """Write for every id from `first` to `first + num_own - 1` what it is beyond `first`, for others their place.

        Places begin at `num_own` and are those among the ids of the set, in which these others must be. `new_ids` may
        be the same memory as `ids`.
        """
        if self._before is None:
            counts = np.bitwise_count(self._words)
            self._before = np.cumsum(counts, dtype=np.uint32 if self._words.size < 1 << 25 else np.uint64)
            np.subtract(self._before, counts, out=self._before)
        own, words = (np.uint64(first), np.uint64(num_own)), (self._words, self._before)
        run_team(_renumber, team_size(ids.size), as_unsigned(ids), *words, *own, as_unsigned(new_ids))


@njit(**JIT)
def _set_bits(rank, size, ids, words):
    """Sets the bits of the thread's part of the ids; a bit that is there already is only looked at."""
    first, last = part(rank, size, ids.size)
    for i in range(first, last):
        word, bit = np.uint64(ids[i]) >> SIX, ONE << (np.uint64(ids[i]) & LOW_BITS)
        if words[word] & bit == ZERO:
            fetch_or(words, word, bit)


@njit(**JIT)
def _clear_bits(words, first, last):
    """Clears the bits from `first` to `last - 1`."""
    for i in range(first, last):
        words[i >> SIX] &= ~(ONE << (i & LOW_BITS))


@njit(**JIT)
def _list_bits(words, new_ids):
    """Writes the positions of all set bits."""
    place = 0
    for word in range(words.size):
        bits = words[word]
        while bits != ZERO:
            new_ids[place] = 64 * word + np.int64(trailing_zeros(bits))
            bits &= bits - ONE
            place += 1


@njit(**JIT)
def _renumber(rank, size, ids, words, before, own_first, num_own, new_ids):
    """Writes the thread's part of the new ids."""
    first, last = part(rank, size, ids.size)
    for i in range(first, last):
        old = np.uint64(ids[i])
        beyond = old - own_first
        if beyond < num_own:  # smaller ones have wrapped around
            new_ids[i] = beyond
        else:
            word = old >> SIX
            lower = words[word] & ((ONE << (old & LOW_BITS)) - ONE)
            new_ids[i] = num_own + np.uint64(before[word]) + np.uint64(bit_count(lower))
