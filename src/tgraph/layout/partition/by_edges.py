"""Blocks of consecutive rows with about equally many edges, found by binary search in the offsets (TGraph, Alg. 6).

    offsets   0  2  3  6  7  8 10 10        at most 4 edges per block
    blocks    rows 0-1   2-3    4-6
    edges     0-2        3-6    7-9

A row with more edges than a block may have is a sequence of blocks of its own, each with a piece of it.
"""

from __future__ import annotations

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.runtime import Array


def cut_by_edges(offsets: Array, edges_per_block: int, first_row: int = 0, last_row: int | None = None) -> list[Block]:
    """Return blocks of at most `edges_per_block` edges, which together hold all rows of `offsets [V+1]`, in order.

    Those from `first_row` to `last_row`, not included, if not all are wanted.

    >>> blocks = cut_by_edges(np.array([0, 2, 3, 6, 7, 8, 10, 10]), 4)
    >>> [(block.first_row, block.last_row, block.num_edges) for block in blocks]
    [(0, 2, 3), (2, 4, 4), (4, 7, 3)]
    """
    blocks, row = [], first_row
    end_row = offsets.size - 1 if last_row is None else last_row
    while row < end_row:
        first = int(offsets[row])
        end = min(int(np.searchsorted(offsets, first + edges_per_block, "right")) - 1, end_row)
        if end > row:
            blocks.append(Block(row, end, first, int(offsets[end])))
            row = end
            continue
        last = int(offsets[row + 1])
        for edge in range(first, last, edges_per_block):
            stop = min(edge + edges_per_block, last)
            blocks.append(Block(row, row + 1, edge, stop, opens=edge == first, closes=stop == last))
        row += 1
    return blocks


def parts_by_edges(offsets: Array, num_parts: int) -> Array:
    """Return the part of every row `[V] int32`: that of its middle edge, where all parts have equally many edges.

    >>> parts_by_edges(np.array([0, 2, 3, 6, 7, 8, 10, 10]), 3).tolist()
    [0, 0, 1, 2, 2, 2, 2]
    """
    ends = 2 * int(offsets[-1]) * np.arange(1, num_parts) // num_parts
    return np.searchsorted(ends, offsets[:-1] + offsets[1:], "right").astype(index_dtype(num_parts))
