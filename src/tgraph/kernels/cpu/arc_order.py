"""The order of a batch of arcs by source, then target: a radix sort, since a batch is small against the vertices.

A word holds an end of an arc above the arc's position, so that a pass reads and writes words one after another and no
arc has to be looked up for its digit. The words are sorted by target, then, in that order, by source.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array

DIGIT_BITS = 11
NUM_DIGITS = 1 << DIGIT_BITS
WORD_BITS = 64


def arc_order(sources: Array, targets: Array, num_vertices: int) -> Array:
    """Return the positions of arcs in ascending order of source and target, `[N] int64`. Stable, deterministic.

    >>> arc_order(np.array([2, 0, 2, 0]), np.array([1, 5, 0, 5]), 6).tolist()
    [1, 3, 2, 0]
    """
    id_bits, position_bits = (max(count - 1, 1).bit_length() for count in (num_vertices, sources.size))
    if id_bits + position_bits > WORD_BITS:
        raise OverflowError(f"{sources.size} arcs of {num_vertices} vertices do not fit into words of {WORD_BITS} bits")
    return _radix_order(as_unsigned(sources), as_unsigned(targets), id_bits, np.uint64(position_bits))


@njit(**JIT)
def _radix_order(sources, targets, id_bits, position_bits):
    words, moved = np.empty(sources.size, np.uint64), np.empty(sources.size, np.uint64)
    counts = np.empty(NUM_DIGITS, np.int64)
    is_position = (np.uint64(1) << position_bits) - np.uint64(1)
    for i in range(words.size):
        words[i] = np.uint64(i)
    for ends in (targets, sources):
        for i in range(words.size):
            position = words[i] & is_position
            words[i] = (np.uint64(ends[position]) << position_bits) | position
        for bit in range(0, id_bits, DIGIT_BITS):
            _sort_by_digit(words, moved, counts, position_bits + np.uint64(bit))
            words, moved = moved, words
    order = np.empty(words.size, np.int64)
    for i in range(words.size):
        order[i] = np.int64(words[i] & is_position)
    return order


@njit(**JIT)
def _sort_by_digit(words, moved, counts, shift):
    """Write words to `moved` in ascending order of the digit from bit `shift` on. Stable."""
    is_digit = np.uint64(NUM_DIGITS - 1)
    counts[:] = 0
    for word in words:
        counts[(word >> shift) & is_digit] += 1
    place = 0
    for digit in range(NUM_DIGITS):
        count = counts[digit]
        counts[digit] = place
        place += count
    for word in words:
        digit = (word >> shift) & is_digit
        moved[counts[digit]] = word
        counts[digit] += 1
