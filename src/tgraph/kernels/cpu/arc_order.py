"""The order of a batch of arcs by source, then target: a radix sort, since a batch is small against the vertices.

A word holds both ends of an arc above the arc's position, so that a pass reads and writes words one after another and
no arc has to be looked up for its digit. Where both do not fit, words are sorted by target, then, in that order, by
source.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array

DIGIT_BITS = 11  # at most
WORD_BITS = 64


def arc_order(sources: Array, targets: Array, num_vertices: int) -> Array:
    """Return the positions of arcs in ascending order of source and target, `[N] int64`. Stable, deterministic.

    >>> arc_order(np.array([2, 0, 2, 0]), np.array([1, 5, 0, 5]), 6).tolist()
    [1, 3, 2, 0]
    """
    return _radix_order(as_unsigned(sources), as_unsigned(targets), *_bits(sources, num_vertices))


def order_arcs(sources: Array, targets: Array, weights: Array, kinds: Array, num_vertices: int) -> tuple[Array, ...]:
    """Return arcs in this order, what belongs to them, the order, and where the arcs of each source begin, `[R + 1]`.

    `weights` may be empty.
    """
    return _order(as_unsigned(sources), as_unsigned(targets), weights, kinds, *_bits(sources, num_vertices))


def _bits(sources: Array, num_vertices: int) -> tuple[int, int]:
    """Return how many bits an end and a position need."""
    id_bits, position_bits = (max(count - 1, 1).bit_length() for count in (num_vertices, sources.size))
    if id_bits + position_bits > WORD_BITS:
        raise OverflowError(f"{sources.size} arcs of {num_vertices} vertices do not fit into words of {WORD_BITS} bits")
    return id_bits, position_bits


@njit(**JIT)
def _order(sources, targets, weights, kinds, id_bits, position_bits):
    order = _radix_order(sources, targets, id_bits, position_bits)
    new_sources, new_targets = np.empty_like(sources), np.empty_like(targets)
    new_weights, new_kinds = np.empty_like(weights), np.empty_like(kinds)
    rows = np.empty(order.size + 1, np.int64)
    num_rows = 0
    for k in range(order.size):
        i = order[k]
        new_sources[k], new_targets[k], new_kinds[k] = sources[i], targets[i], kinds[i]
        if weights.size:
            new_weights[k] = weights[i]
        if k == 0 or new_sources[k] != new_sources[k - 1]:
            rows[num_rows] = k
            num_rows += 1
    rows[num_rows] = order.size
    return new_sources, new_targets, new_weights, new_kinds, order, rows[: num_rows + 1]


@njit(**JIT)
def _radix_order(sources, targets, id_bits, position_bits):
    words, moved = np.empty(sources.size, np.uint64), np.empty(sources.size, np.uint64)
    above, both = np.uint64(position_bits), np.uint64(position_bits + id_bits)
    is_position = (np.uint64(1) << above) - np.uint64(1)
    if 2 * id_bits + position_bits <= WORD_BITS:
        for i in range(words.size):
            words[i] = (np.uint64(sources[i]) << both) | (np.uint64(targets[i]) << above) | np.uint64(i)
        words, moved = _sort_by_bits(words, moved, position_bits, 2 * id_bits)
    else:
        for i in range(words.size):
            words[i] = (np.uint64(targets[i]) << above) | np.uint64(i)
        words, moved = _sort_by_bits(words, moved, position_bits, id_bits)
        for i in range(words.size):
            position = words[i] & is_position
            words[i] = (np.uint64(sources[position]) << above) | position
        words, moved = _sort_by_bits(words, moved, position_bits, id_bits)
    order = np.empty(words.size, np.int64)
    for i in range(words.size):
        order[i] = np.int64(words[i] & is_position)
    return order


@njit(**JIT)
def _sort_by_bits(words, moved, first_bit, num_bits):
    """Sort words by `num_bits` from a bit on, in passes of equal digits. Stable. Return sorted words and scratch."""
    num_passes = (num_bits + DIGIT_BITS - 1) // DIGIT_BITS
    digit_bits = (num_bits + num_passes - 1) // num_passes
    counts = np.empty(1 << digit_bits, np.int64)
    for bit in range(0, num_bits, digit_bits):
        _sort_by_digit(words, moved, counts, np.uint64(first_bit + bit))
        words, moved = moved, words
    return words, moved


@njit(**JIT)
def _sort_by_digit(words, moved, counts, shift):
    """Write words to `moved` in ascending order of the digit from bit `shift` on. Stable."""
    is_digit = np.uint64(counts.size - 1)
    counts[:] = 0
    for word in words:
        counts[(word >> shift) & is_digit] += 1
    place = 0
    for digit in range(counts.size):
        count = counts[digit]
        counts[digit] = place
        place += count
    for word in words:
        digit = (word >> shift) & is_digit
        moved[counts[digit]] = word
        counts[digit] += 1
