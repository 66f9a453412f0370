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

from tgraph.memory.far_file import ALIGNMENT, FarArray
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
        return self.num_bytes + JOINED_BYTES


def plan_compact(array: FarArray, firsts: Array, lasts: Array) -> CompactRows:
    """Plan to read the elements `firsts[i]` to `lasts[i]` of an array; rows ascend and are not empty.

    >>> rows = plan_compact(FarArray(0, np.dtype(np.int32), 1 << 20), np.array([0, 100_000]), np.array([8, 100_010]))
    >>> rows.ranges.tolist(), rows.starts.tolist()
    ([[0, 4096], [397312, 401408]], [0, 1696])
    """
    size = array.dtype.itemsize
    begins, ends = array.position + firsts * size, array.position + lasts * size
    first_pages, last_pages = begins // ALIGNMENT * ALIGNMENT, -(-ends // ALIGNMENT) * ALIGNMENT
    breaks = np.flatnonzero(first_pages[1:] > last_pages[:-1] + JOINED_BYTES) + 1
    run_of_row = np.zeros(firsts.size, np.int64)
    run_of_row[breaks] = 1
    run_of_row = np.cumsum(run_of_row)
    ranges = np.stack([first_pages[np.append(0, breaks)], last_pages[np.append(breaks - 1, firsts.size - 1)]], axis=1)
    places = np.cumsum(ranges[:, 1] - ranges[:, 0]) - (ranges[:, 1] - ranges[:, 0])
    return CompactRows(ranges, (begins - ranges[run_of_row, 0] + places[run_of_row]) // size)
