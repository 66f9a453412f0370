"""The pages of a file that some bytes of it lie on."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT

PAGE = 4096


@njit(**JIT)
def add_pages(begin, end, read_to, joined):
    """Return how many requests and bytes it takes to also read from `begin` to `end`, and where that ends.

    `read_to` is where the request before ends, -1 if there was none; one that begins less than `joined` bytes behind
    it is read along.
    """
    first, last = np.int64(begin) // PAGE * PAGE, (np.int64(end) + PAGE - 1) // PAGE * PAGE
    if read_to < 0 or first > read_to + joined:
        return 1, last - first, last
    return 0, max(last - read_to, 0), last


@njit(**JIT)
def place_rows(position, itemsize, firsts, lasts, joined):
    """Return the ranges of bytes to read for the elements `firsts[i]` to `lasts[i]`, and where each row begins then.

    Rows ascend and are not empty. `ranges [N, 2]` are whole pages of the file, which are read one behind the other;
    `starts [R]` are in elements. The file's array begins at byte `position`.
    """
    ranges, starts = np.empty((firsts.size, 2), np.int64), np.empty(firsts.size, np.int64)
    count, read_to, num_bytes = 0, np.int64(-1), 0
    place_of_range = 0  # its first byte in what is read, less that in the file
    for i in range(firsts.size):
        begin, end = position + firsts[i] * itemsize, position + lasts[i] * itemsize
        requests, more_bytes, read_to = add_pages(begin, end, read_to, joined)
        if requests:
            ranges[count, 0] = begin // PAGE * PAGE
            place_of_range = num_bytes - ranges[count, 0]
            count += 1
        num_bytes += more_bytes
        ranges[count - 1, 1] = read_to
        starts[i] = (begin + place_of_range) // itemsize
    return ranges[:count], starts
