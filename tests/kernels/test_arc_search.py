"""Cells below a target are counted at once, whatever is deleted and whatever lies behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from tgraph.kernels.cpu.arc_search import LANES, count_below
from tgraph.kernels.cpu.team import JIT


@njit(**{**JIT, "cache": False})
def count(cells: Any, first: Any, num_cells: Any, target: Any) -> Any:
    return count_below(cells, np.uint64(first), np.uint64(num_cells), target)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_cells_below_a_target_are_counted(dtype: str) -> None:
    rng = np.random.default_rng(3)
    largest = int(np.iinfo(dtype).max >> 1)
    dead = np.dtype(dtype).type(largest + 1)
    cells = rng.choice([0, 1, 5, 6, 7, largest - 1, largest], 40).astype(dtype)
    cells[rng.random(40) < 0.3] |= dead
    for first in range(cells.size):
        for num_cells in range(min(LANES, cells.size - first) + 1):
            for target in (0, 1, 6, largest):
                expected = np.count_nonzero((cells[first : first + num_cells] & ~dead) < target)
                assert count(cells, first, num_cells, np.dtype(dtype).type(target)) == expected
