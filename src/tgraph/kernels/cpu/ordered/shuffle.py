"""Python's `Random.shuffle` of 0 to n - 1, from the words of its generator."""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array


def shuffled(count: int, words: Array) -> tuple[Array, int]:
    """Return 0 to count - 1 shuffled, and how many of the 32-bit `words` that took; -1 if they were too few.

    >>> import random
    >>> words = np.array([random.Random(7).getrandbits(32)] * 9, np.uint64)
    >>> shuffled(2, words)[1]
    1
    """
    order = np.arange(count)
    return order, _shuffle(order, words)


@njit(**JIT)
def _shuffle(order, words):
    """Writes order; returns the number of words used, -1 = too few."""
    used, bits = 0, 0
    while (1 << bits) <= order.size:
        bits += 1
    for place in range(order.size - 1, 0, -1):
        while (1 << (bits - 1)) > place + 1:
            bits -= 1
        chosen = place + 1
        while chosen > place:
            if used == words.size:
                return -1
            chosen = np.int64(words[used] >> np.uint64(32 - bits))
            used += 1
        order[place], order[chosen] = order[chosen], order[place]
    return used
