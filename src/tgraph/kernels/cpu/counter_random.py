"""Random numbers by counting: number i of a stream is a hash of (stream, i).

No state passes from one number to the next, so every thread makes its own part and the result does not depend on how
many threads there are. The hash is the finaliser of SplitMix64 (Steele, Lea, Flood 2014). `scramble` is a random
permutation of 0 to 2^bits - 1 made in the same way: rounds of steps that can each be undone, so no two numbers meet.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, part, run_team, team_size
from tgraph.runtime.protocol import Array

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd: consecutive counters land far apart
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53  # the spacing of the numbers in [0, 1)
SCRAMBLE_ROUNDS = 4

ZERO, ONE = np.uint64(0), np.uint64(1)
SHIFT_11, SHIFT_27, SHIFT_30, SHIFT_31, SHIFT_32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
LOW_32 = np.uint64(2**32 - 1)


def stream_key(seed: int, stream: int) -> np.uint64:
    """Return the key of one of the independent streams that belong to a seed.

    >>> len({int(stream_key(seed, stream)) for seed in range(10) for stream in range(10)})
    100
    """
    return np.uint64(hash_number(np.uint64(hash_number(np.uint64(seed), ZERO)), np.uint64(stream + 1)))


def uniform(count: int, seed: int, stream: int) -> Array:
    """Return float64 numbers in [0, 1), `[count]`, the same on any number of threads."""
    numbers = np.empty(count, np.float64)
    run_team(_fill_uniform, team_size(count), stream_key(seed, stream), numbers)
    return numbers


def scramble_constants(seed: int, stream: int) -> Array:
    """Return the factors (odd) and summands of `scramble`, `[2, rounds] uint64`."""
    key = stream_key(seed, stream)
    constants = np.asarray([hash_number(key, np.uint64(i)) for i in range(2 * SCRAMBLE_ROUNDS)], np.uint64)
    constants = constants.reshape(2, SCRAMBLE_ROUNDS)
    constants[0] |= ONE
    return constants


@njit(**JIT)
def hash_number(key, counter):
    """Return 64 random bits, from inside a worker. Both arguments are uint64."""
    bits = key + (counter + ONE) * STEP
    bits = (bits ^ (bits >> SHIFT_30)) * FIRST_FACTOR
    bits = (bits ^ (bits >> SHIFT_27)) * SECOND_FACTOR
    return bits ^ (bits >> SHIFT_31)


@njit(**JIT)
def unit(bits):
    """Turn 64 random bits into a number in [0, 1), from inside a worker."""
    return np.float64(bits >> SHIFT_11) * UNIT


@njit(**JIT)
def below(bits, count):
    """Turn 64 random bits into a whole number below `count` (uint64); even up to one part in 2^64 / count."""
    high, low = bits >> SHIFT_32, bits & LOW_32
    if count >> SHIFT_32:
        return bits % count
    return (high * count + ((low * count) >> SHIFT_32)) >> SHIFT_32


@njit(**JIT)
def scramble(number, bits, constants):
    """Return the place of `number` (uint64, below 2^bits) in the permutation, from inside a worker."""
    mask = (ONE << bits) - ONE
    shift = (bits + ONE) >> ONE
    for i in range(SCRAMBLE_ROUNDS):
        number = (number * constants[0, i] + constants[1, i]) & mask
        number ^= number >> shift
    return number


@njit(**JIT)
def _fill_uniform(rank, size, key, numbers):
    """Writes the thread's part of the numbers."""
    first, last = part(rank, size, numbers.size)
    for i in range(first, last):
        numbers[i] = unit(hash_number(key, np.uint64(i)))
