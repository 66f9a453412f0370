"""A binary heap of (length, number): the least length comes first, among equals the least number.

It is two arrays, whose first `size` places are used; `push` and `pop` move what is in them. What a number stands for is
kept by the caller.
"""

from __future__ import annotations

from numba import njit

from tgraph.kernels.cpu.team import JIT


@njit(**JIT)
def push(lengths, numbers, size, length, number):
    """Add an entry to a heap of `size`; its number is larger than all in it."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if length >= lengths[above]:
            break
        lengths[place], numbers[place] = lengths[above], numbers[above]
        place = above
    lengths[place], numbers[place] = length, number


@njit(**JIT)
def pop(lengths, numbers, size):
    """Remove the first entry of a heap of `size` and return it."""
    first = lengths[0], numbers[0]
    last = size - 1
    length, number = lengths[last], numbers[last]
    place, below = 0, 1
    while below < last:
        if below + 1 < last and (
            lengths[below + 1] < lengths[below]
            or (lengths[below + 1] == lengths[below] and numbers[below + 1] < numbers[below])
        ):
            below += 1
        if length < lengths[below] or (length == lengths[below] and number < numbers[below]):
            break
        lengths[place], numbers[place] = lengths[below], numbers[below]
        place, below = below, 2 * below + 1
    lengths[place], numbers[place] = length, number
    return first
