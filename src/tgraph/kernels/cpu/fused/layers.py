"""What the kernels for compressed graphs share: rows with virtual vertices, and the lines that go through the layers.

A side is rows of vertices and virtual vertices. Where every row pulls from its neighbours, virtual vertices come before
whoever has them in its row: layer by layer, upward in the rows of a graph and downward in turned ones. Their values lie
behind those of vertices in one array, so a neighbour is read in the same way whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.gathering import REDUCE
from tgraph.kernels.cpu.fused.pieces import KernelProgram, block
from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.runtime.protocol import Array

SMALL_LAYER = 1 << 14  # neighbours in all its rows: less than 20 microseconds of one thread
SMALLEST_CHUNK = 1 << 12  # neighbours and rows: a few microseconds, since rows are taken by length
ROWS_TOGETHER = 512  # are sorted by length: what is read and written for them stays in the nearest cache
LONG_ROW = 64  # neighbours: longer rows are not told apart, their lengths matter little

# Truth values are bytes in arrays: any of them is the largest.
_REDUCE_STORED = {**REDUCE, "any": "acc = maximum(acc, m)\nif acc:\n    break"}

_GATHER = """
for e in range(np.uint64(offsets{side}[u]), np.uint64(offsets{side}[u + ONE])):
    m = values{side}[neighbors{side}[e]]
    {reduce}
"""

_THROUGH_LAYERS = """
chunk = fetch_add(shared, {counter}, 1)
for layer in range(ends{side}.size):
    while chunk < ends{side}[layer]:
        for i in range(spans{side}[chunk], spans{side}[chunk + 1]):
            u = np.uint64(virtual{side}[i])
            acc = nothing
            {gather}
            values{side}[u] = acc
        chunk = fetch_add(shared, {counter}, 1)
    meeting = meet(shared, meeting, size)
"""


@dataclass(frozen=True)
class LayeredSide:
    """One way that messages take: rows of vertices and virtual vertices, and the order of layers."""

    offsets: Array  # [V+R+1]
    neighbors: Array
    layers: Array  # [D+1]
    is_upward: bool  # whether rows have virtual vertices of lower layers

    @property
    def num_vertices(self) -> int:
        """The number of vertices that are not virtual."""
        return int(self.layers[0])

    def rows(self) -> list[Array]:
        """Return offsets and neighbours as kernels take them."""
        return [as_unsigned(self.offsets), as_unsigned(self.neighbors)]

    def values(self, nothing: np.generic) -> Array:
        """Return room for the values of vertices and virtual vertices, `[V+R]`."""
        return np.full(self.offsets.size - 1, nothing)

    @cached_property
    def row_sizes(self) -> Array:
        """How many neighbours are stored in the row of each vertex, `[V] int64`."""
        return np.diff(self.offsets[: self.num_vertices + 1].astype(np.int64))

    @cached_property
    def vertex_order(self) -> tuple[Array, Array]:
        """The cuts of vertices into chunks of about equal work, and the order in which they are taken."""
        return order_vertices([self])

    @cached_property
    def virtual_order(self) -> list[Array]:
        """Virtual vertices in the order in which they are taken, `[R]`; where chunks begin in it; where threads meet.

        Threads meet after each large layer. Small ones that follow each other are one chunk, which a thread goes
        through in the order of layers: meeting takes longer than they do.
        """
        order = np.empty(int(self.layers[-1] - self.layers[0]), np.uint32)
        numbers = list(range(len(self.layers) - 1))
        begins, meets = [0], list[int]()
        place, was_small = 0, False
        for layer in numbers if self.is_upward else reversed(numbers):
            first, last = int(self.layers[layer]), int(self.layers[layer + 1])
            local = self.offsets[first : last + 1].astype(np.int64)
            is_small = int(local[-1] - local[0]) <= SMALL_LAYER
            cuts = (
                np.array([0, last - first], np.uint64)
                if is_small
                else cut_by_work([local - local[0]], SMALLEST_CHUNK)[0]
            )
            order[place : place + last - first] = sort_by_length([local], cuts) + np.uint32(first)
            if is_small and was_small:  # the last chunk goes on
                begins.pop()
                meets.pop()
            begins += (place + cuts[1:].astype(np.int64)).tolist()
            meets.append(len(begins) - 1)
            place, was_small = place + last - first, is_small
        return [order, np.array(begins, np.uint64), np.array(meets, np.int64)]


def order_vertices(sides: list[LayeredSide]) -> tuple[Array, Array]:
    """Return the cuts of vertices into chunks of about equal work of all sides, `[C+1]`, and their order, `[V]`."""
    offsets = [side.offsets[: side.num_vertices + 1].astype(np.int64) for side in sides]
    cuts = cut_by_work(offsets, SMALLEST_CHUNK)[0]
    return cuts, sort_by_length(offsets, cuts)


def sort_by_length(sides: list[Array], cuts: Array) -> Array:
    """Return rows by the number of their neighbours on all sides, a few of a chunk at a time, `uint32`.

    Rows of one length follow each other, so that a processor foresees where each one ends: rows are short, and a wrong
    guess takes longer than a row.

    >>> sort_by_length([np.array([0, 2, 3, 5, 5])], np.array([0, 3, 4], np.uint64)).tolist()
    [1, 0, 2, 3]
    """
    lengths = sum(np.diff(offsets) for offsets in sides)
    order = np.empty(sides[0].size - 1, np.uint32)
    _sort_chunks(cuts.astype(np.int64), ROWS_TOGETHER, np.minimum(lengths, LONG_ROW), order)
    return order


@njit(**JIT)
def _sort_chunks(cuts, together, lengths, order):
    """Writes order: rows by length, equal ones as they are, `together` at a time. One thread."""
    places = np.empty(LONG_ROW + 2, np.int64)
    for chunk in range(cuts.size - 1):
        for first in range(cuts[chunk], cuts[chunk + 1], together):
            last = min(first + together, cuts[chunk + 1])
            places[:] = 0
            places[0] = first
            for row in range(first, last):
                places[lengths[row] + 1] += 1
            for length in range(LONG_ROW + 1):
                places[length + 1] += places[length]
            for row in range(first, last):
                order[places[lengths[row]]] = row
                places[lengths[row]] += 1


def gather_text(program: KernelProgram, side: int) -> str:
    """Return the loop over a row of values that are made."""
    return _GATHER.format(side=side, reduce=block(_REDUCE_STORED[program.reduce], 1)).strip("\n")


def through_layers(program: KernelProgram, side: int, counter: str) -> str:
    """Return the lines that make the values of all virtual vertices of a side."""
    return _THROUGH_LAYERS.format(side=side, counter=counter, gather=block(gather_text(program, side), 3)).strip("\n")


def stored_dtype(program: KernelProgram) -> np.dtype[np.generic]:
    """Return the type of values in arrays: that of reductions, with truth values as bytes."""
    reduced = reduced_dtype(program.reduce, program.message_dtype)
    return np.dtype(np.uint8) if reduced.kind == "b" else reduced


def make_message(program: KernelProgram, names: dict[str, str]) -> str:
    """Return the text of a message in the type of values; an edge without weight weighs 1."""
    return f"Acc(Message({program.text_of_call('message', {'weight': '1', **names})}))"
