"""What the kernels for compressed graphs share: rows with virtual vertices, and the lines that go through the layers.

A side is rows of vertices and virtual vertices. Where every row pulls from its neighbours, virtual vertices come before
whoever has them in its row: layer by layer, upward in the rows of a graph and downward in turned ones. Their values lie
behind those of vertices in one array, so a neighbour is read in the same way whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.pieces import KernelProgram, block
from tgraph.kernels.cpu.fused.pull import REDUCE, cut_by_work
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.runtime.protocol import Array

# Truth values are bytes in arrays: any of them is the largest.
_REDUCE_STORED = {**REDUCE, "any": "acc = maximum(acc, m)\nif acc:\n    break"}

_GATHER = """
for e in range(offsets{side}[u], offsets{side}[u + ONE]):
    m = values{side}[neighbors{side}[e]]
    {reduce}
"""

_THROUGH_LAYERS = """
chunk = fetch_add(shared, {counter}, 1)
for layer in range(ends{side}.size):
    while chunk < ends{side}[layer]:
        for u in range(spans{side}[chunk, 0], spans{side}[chunk, 1]):
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

    def order(self) -> list[Array]:
        """Return the spans of virtual vertices that are taken one after the other, and the last span of each layer."""
        spans, ends = [np.empty((0, 2), np.uint64)], []
        numbers = range(len(self.layers) - 1)
        for layer in numbers if self.is_upward else reversed(numbers):
            first, last = int(self.layers[layer]), int(self.layers[layer + 1])
            local = self.offsets[first : last + 1].astype(np.int64)
            cuts = cut_by_work([local - local[0]])[0] + np.uint64(first)
            spans.append(np.stack([cuts[:-1], cuts[1:]], axis=1))
            ends.append(len(cuts) - 1)
        return [np.concatenate(spans), np.cumsum(np.array(ends, np.int64))]


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


def all_cuts(sides: list[LayeredSide]) -> Array:
    """Return the cuts of vertices by the work of all sides."""
    return cut_by_work([side.offsets[: side.num_vertices + 1].astype(np.int64) for side in sides])[0]


def make_message(program: KernelProgram, names: dict[str, str]) -> str:
    """Return the text of a message in the type of values; an edge without weight weighs 1."""
    return f"Acc(Message({program.text_of_call('message', {'weight': '1', **names})}))"
