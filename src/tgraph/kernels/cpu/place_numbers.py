"""Numbering what was sampled: places 0, 1, 2, ... in the order in which they are met first.

Without times a place is a vertex, and a table of 4 bytes per vertex of the graph holds its number. Numbers of later
batches are larger than all numbers of earlier ones, so the table is not cleared between them: an entry below the
batch's first number is of the past. With times a place is a vertex and a time, and a hash table as large as the sample
is built. One thread goes through the list in order, asking for memory ahead: that takes less time than starting
threads, needs no lock, and gives the same numbers always.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.counter_random import hash_number
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

AHEAD = 24  # entries of the table that are asked for before they are read
LARGEST = np.iinfo(np.int32).max
NOBODY = -1

ONE = np.uint64(1)


class VertexTable:
    """The numbers of vertices in the batch at hand; 4 bytes per vertex of the graph."""

    def __init__(self, num_vertices: int) -> None:
        self._numbers = np.full(num_vertices, NOBODY, np.int32)  # [V], below _base = not in this batch
        self._base, self._count = 0, 0
        self._end = 0  # above all entries, also if an interrupt came between numbering and counting

    def begin(self) -> None:
        """Begin a batch: no vertex has a number."""
        self._base, self._count = self._end, 0

    def add(self, items: Array, new_vertices: Array, new_numbers: Array) -> int:
        """Write the number of every item, `[N] int32`; new vertices follow in `new_vertices`; return their count.

        `new_vertices` int64 has room for the vertices so far and all items.
        """
        if self._base > LARGEST - self._count - items.size:  # once in 2^31 vertices
            self._numbers[:] = NOBODY
            self._numbers[new_vertices[: self._count]] = np.arange(self._count)
            self._base = 0
        self._end = self._base + self._count + items.size
        self._count = _number_vertices(self._numbers, self._base, self._count, items, new_vertices, new_numbers)
        return self._count


class TimedTable:
    """The numbers of vertices with times in the batch at hand."""

    def __init__(self) -> None:
        self._slots = np.full(1, NOBODY, np.int32)
        self._count = 0

    def begin(self) -> None:
        """Begin a batch: no place has a number."""
        self._count = 0

    def add(self, items: Array, times: Array, new_vertices: Array, new_times: Array, new_numbers: Array) -> int:
        """Write the number of every item with its time; new ones follow in the places; return their count."""
        size = 1 << int(2 * (self._count + items.size)).bit_length()
        if size > self._slots.size:
            self._slots = np.empty(size, np.int32)
        slots = self._slots[:size]
        slots[:] = NOBODY
        places = (new_vertices, new_times)
        _number_places(slots, 0, new_vertices[: self._count], new_times, *places, np.empty(self._count, np.int32))
        self._count = _number_places(slots, self._count, items, times, *places, new_numbers)
        return self._count


@njit(**JIT)
def _number_vertices(numbers, base, count, items, new_vertices, new_numbers):
    """Writes new_numbers, new_vertices from `count` on and entries of the table; returns the new count."""
    for i in range(items.size):
        if i + AHEAD < items.size:
            prefetch(numbers, np.uint64(items[i + AHEAD]))
        vertex = np.uint64(items[i])
        number = numbers[vertex] - base
        if number < 0:
            number = count
            numbers[vertex] = base + count
            new_vertices[count] = vertex
            count += 1
        new_numbers[i] = number
    return count


@njit(**JIT)
def _number_places(slots, count, items, times, new_vertices, new_times, new_numbers):
    """Writes new_numbers, the places from `count` on and slots, a power of two and at most half full."""
    mask = np.uint64(slots.size - 1)
    for i in range(items.size):
        slot = hash_number(np.uint64(times[i]), np.uint64(items[i])) & mask
        number = slots[slot]
        while number != NOBODY and (new_vertices[number] != items[i] or new_times[number] != times[i]):
            slot = (slot + ONE) & mask
            number = slots[slot]
        if number == NOBODY:
            number = count
            slots[slot] = count
            new_vertices[count], new_times[count] = items[i], times[i]
            count += 1
        new_numbers[i] = number
    return count
