"""What the kernels for compressed graphs share: rows with virtual vertices, and the lines that go through the layers.

A side is rows of vertices and virtual vertices. Where every row pulls from its neighbours, virtual vertices come before
whoever has them in its row: layer by layer, upward in the rows of a graph and downward in turned ones. Their values lie
behind those of vertices in one array, so a neighbour is read in the same way whatever it is. The last value is that of
no message, for neighbours that do not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.gathering import REDUCE
from tgraph.kernels.cpu.fused.pieces import KernelProgram, block
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.runtime.protocol import Array

SMALL_LAYER = 1 << 16  # neighbours in all its rows: a tenth of a millisecond of one thread
WITHOUT_BRANCH = 3  # neighbours of a row that are read whether or not they exist: rows are short, and tests would fail

# Truth values are bytes in arrays: any of them is the largest.
_REDUCE_STORED = {**REDUCE, "any": "acc = maximum(acc, m)\nif acc:\n    break"}

_GATHER = """
e, end = np.uint64(offsets{side}[u]), np.uint64(offsets{side}[u + ONE])
{first}
for e in range(e + np.uint64({count}), end):
    m = values{side}[neighbors{side}[e]]
    {reduce}
"""

_FIRST = """
v = np.uint64(neighbors{side}[min(e + np.uint64({place}), np.uint64(neighbors{side}.size) - ONE)])
m = values{side}[v if e + np.uint64({place}) < end else np.uint64(values{side}.size) - ONE]
{reduce}
"""

_THROUGH_LAYERS = """
chunk = fetch_add(shared, {counter}, 1)
for layer in range(ends{side}.size):
    while chunk < ends{side}[layer]:
        for i in range(spans{side}[chunk, 1] - spans{side}[chunk, 0]):
            u = spans{side}[chunk, 0] + i if upward{side} else spans{side}[chunk, 1] - ONE - i
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
        some = self.neighbors if self.neighbors.size else np.zeros(1, self.neighbors.dtype)  # one can always be read
        return [as_unsigned(self.offsets), as_unsigned(some)]

    def values(self, nothing: np.generic) -> Array:
        """Return room for the values of vertices and virtual vertices, and for that of no message, `[V+R+1]`."""
        return np.full(self.offsets.size, nothing)

    @cached_property
    def row_sizes(self) -> Array:
        """How many neighbours are stored in the row of each vertex, `[V] int64`."""
        return np.diff(self.offsets[: self.num_vertices + 1].astype(np.int64))

    @cached_property
    def cuts(self) -> Array:
        """The cuts of vertices into chunks of about equal work."""
        return cut_by_work([self.offsets[: self.num_vertices + 1].astype(np.int64)])[0]

    @cached_property
    def order(self) -> list[Array | bool]:
        """The spans of virtual vertices that are taken one after the other, where threads meet, and the way.

        Threads meet after each large layer. Small ones that follow each other are one span, which a thread goes
        through in the order of layers: meeting takes longer than they do.
        """
        numbers = list(range(len(self.layers) - 1))
        groups: list[tuple[int, int, bool]] = []  # first and last virtual vertex, and whether they are all of one layer
        for layer in numbers if self.is_upward else reversed(numbers):
            first, last = int(self.layers[layer]), int(self.layers[layer + 1])
            is_large = int(self.offsets[last] - self.offsets[first]) > SMALL_LAYER
            if groups and not is_large and not groups[-1][2]:
                first, last = min(first, groups[-1][0]), max(last, groups.pop()[1])
            groups.append((first, last, is_large))
        spans = [self._spans(*group) for group in groups]
        ends = np.cumsum(np.array([len(span) for span in spans], np.int64))
        return [np.concatenate([np.empty((0, 2), np.uint64), *spans]), ends, self.is_upward]

    def _spans(self, first: int, last: int, is_large: bool) -> Array:
        if not is_large:
            return np.array([[first, last]], np.uint64)
        local = self.offsets[first : last + 1].astype(np.int64)
        cuts = cut_by_work([local - local[0]])[0] + np.uint64(first)
        return np.stack([cuts[:-1], cuts[1:]], axis=1)


def gather_text(program: KernelProgram, side: int) -> str:
    """Return the loop over a row of values that are made."""
    reduce = _REDUCE_STORED[program.reduce]
    bare = reduce.partition("\nif ")[0]  # outside of the loop there is nothing to leave
    first = (_FIRST.format(side=side, place=place, reduce=bare).strip("\n") for place in range(WITHOUT_BRANCH))
    return _GATHER.format(side=side, first="\n".join(first), count=WITHOUT_BRANCH, reduce=block(reduce, 1)).strip("\n")


def through_layers(program: KernelProgram, side: int, counter: str) -> str:
    """Return the lines that make the values of all virtual vertices of a side."""
    return _THROUGH_LAYERS.format(side=side, counter=counter, gather=block(gather_text(program, side), 3)).strip("\n")


def stored_dtype(program: KernelProgram) -> np.dtype[np.generic]:
    """Return the type of values in arrays: that of reductions, with truth values as bytes."""
    reduced = reduced_dtype(program.reduce, program.message_dtype)
    return np.dtype(np.uint8) if reduced.kind == "b" else reduced


def all_cuts(sides: list[LayeredSide]) -> Array:
    """Return the cuts of vertices by the work of all sides."""
    if len(sides) == 1:
        return sides[0].cuts
    return cut_by_work([side.offsets[: side.num_vertices + 1].astype(np.int64) for side in sides])[0]


def make_message(program: KernelProgram, names: dict[str, str]) -> str:
    """Return the text of a message in the type of values; an edge without weight weighs 1."""
    return f"Acc(Message({program.text_of_call('message', {'weight': '1', **names})}))"
