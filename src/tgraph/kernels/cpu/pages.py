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
