"""What NetworkX draws with a random state, drawn faster, and the state as it leaves it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tgraph.kernels.cpu.ordered.shuffle import shuffled
from tgraph.runtime import Array

LEAST_COMPILED = 1000  # below, Python's own shuffle takes less than a millisecond


def shuffled_numbers(count: int, state: Any) -> Array:
    """Return 0 to count - 1 in the order that `state.shuffle` gives them."""
    if type(state) is not random.Random or count < LEAST_COMPILED:
        numbers = list(range(count))
        state.shuffle(numbers)
        return np.array(numbers, np.int64)
    version, words, gauss = state.getstate()
    twister = np.random.MT19937()
    begin: Any = {"bit_generator": "MT19937", "state": {"key": np.array(words[:-1], np.uint32), "pos": words[-1]}}
    order, used, room = np.empty(0, np.int64), -1, 2 * count  # about 1.4 words per number are used
    while used < 0:
        twister.state = begin
        order, used = shuffled(count, twister.random_raw(room))
        room *= 2
    twister.state = begin
    twister.random_raw(used, output=False)
    after = twister.state["state"]
    state.setstate((version, (*after["key"].tolist(), int(after["pos"])), gauss))
    return order
