"""A binary heap of (length, number, vertex, parent): the least length comes first, among equals the least number.

It is four arrays, whose first `size` places are used; `push` and `pop` move what is in them.
"""

from __future__ import annotations

from numba import njit

from tgraph.kernels.cpu.team import JIT


@njit(**JIT)
def _is_before(lengths, numbers, length, number, other):
    return length < lengths[other] or (length == lengths[other] and number < numbers[other])


@njit(**JIT)
def push(lengths, numbers, vertices, parents, size, length, number, vertex, parent):
    """Add an entry to a heap of `size`."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if not _is_before(lengths, numbers, length, number, above):
            break
        _move(lengths, numbers, vertices, parents, above, place)
        place = above
    lengths[place], numbers[place], vertices[place], parents[place] = length, number, vertex, parent


@njit(**JIT)
def pop(lengths, numbers, vertices, parents, size):
    """Remove the first entry of a heap of `size` and return its length, vertex and parent."""
    first = lengths[0], vertices[0], parents[0]
    last = size - 1
    length, number, vertex, parent = lengths[last], numbers[last], vertices[last], parents[last]
    place, below = 0, 1
    while below < last:
        if below + 1 < last and _is_before(lengths, numbers, lengths[below + 1], numbers[below + 1], below):
            below += 1
        if _is_before(lengths, numbers, length, number, below):
            break
        _move(lengths, numbers, vertices, parents, below, place)
        place, below = below, 2 * below + 1
    lengths[place], numbers[place], vertices[place], parents[place] = length, number, vertex, parent
    return first


@njit(**JIT)
def _move(lengths, numbers, vertices, parents, place, new_place):
    lengths[new_place], numbers[new_place] = lengths[place], numbers[place]
    vertices[new_place], parents[new_place] = vertices[place], parents[place]
