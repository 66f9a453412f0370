"""The pages of some rows, one behind the other: which bytes to read, and where each row lies in what was read.

rows          3        7 8              of a block; each row's bytes lie on some pages of the file
pages         10-11    14, 14-15
ranges        10-11    14-15            neighbours in the file become one request
buffer        ##       ##
starts        of rows 3, 7, 8 in the buffer, in elements
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tgraph.kernels.cpu.pages import place_rows
from tgraph.layout.partition import Block
from tgraph.memory.far_file import FarArray
from tgraph.runtime import Array

JOINED_BYTES = 16 << 10  # a gap that is read along, rather than making another request


@dataclass(frozen=True)
class CompactRows:
    """Rows whose elements lie in a buffer with gaps."""

    ranges: Array  # [N, 2] first and last byte in the file, aligned
    starts: Array  # [R] of every row in the buffer, in elements

    @property
    def num_bytes(self) -> int:
        """The bytes that are read."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())

    @property
    def near_bytes(self) -> int:
        """The bytes of a buffer that this needs, behind others."""
        return self.num_bytes

    @staticmethod
    def join(plans: list[CompactRows], itemsize: int) -> CompactRows:
        """Return one plan that reads what several do, behind each other; elements have `itemsize` bytes.

        >>> one = CompactRows(np.array([[0, 4096]]), np.array([8]))
        >>> both = CompactRows.join([one, one], itemsize=4)
        >>> both.num_bytes, both.starts.tolist()
        (8192, [8, 1032])
        """
        begins = np.cumsum([0] + [plan.num_bytes // itemsize for plan in plans[:-1]])
        starts = [plan.starts + begin for plan, begin in zip(plans, begins.tolist(), strict=True)]
        return CompactRows(np.concatenate([plan.ranges for plan in plans]), np.concatenate(starts))


def list_rows(active: Array, offsets: Array, block: Block) -> tuple[Array, Array, Array]:
    """Return the active rows of a block that have edges there, and the first and last of these edges.

    >>> list_rows(np.array([True, True, False, True]), np.array([0, 2, 2, 5, 9]), Block(0, 4, 0, 9))
    (array([0, 3]), array([0, 5]), array([2, 9]))
    """
    rows = np.flatnonzero(active[block.first_row : block.last_row]) + block.first_row
    firsts = np.maximum(offsets[rows], block.first_edge)
    lasts = np.minimum(offsets[rows + 1], block.last_edge)
    has_edges = lasts > firsts
    return rows[has_edges], firsts[has_edges], lasts[has_edges]


def plan_compact(array: FarArray, firsts: Array, lasts: Array) -> CompactRows:
    """Plan to read the elements `firsts[i]` to `lasts[i]` of an array; rows ascend and are not empty.

    >>> rows = plan_compact(FarArray(0, np.dtype(np.int32), 1 << 20), np.array([0, 100_000]), np.array([8, 100_010]))
    >>> rows.ranges.tolist(), rows.starts.tolist()
    ([[0, 4096], [397312, 401408]], [0, 1696])
    """
    return CompactRows(*place_rows(array.position, array.dtype.itemsize, firsts, lasts, JOINED_BYTES))
