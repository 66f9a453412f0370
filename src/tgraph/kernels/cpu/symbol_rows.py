"""Rows of symbols that become shorter, and which of them are still looked at.

A symbol is the number of a vertex or, above those, the number of a pair of earlier symbols. Rows lie where those of the
graph were; what a row no longer needs stays unused behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add
from tgraph.kernels.cpu.team import JIT
from tgraph.kernels.cpu.watch import COUNTERS, DONE, is_stopped
from tgraph.runtime.protocol import Array

ROWS_PER_CHUNK = 1 << 10


@dataclass
class SymbolRows:
    """Rows of symbols: those of row r are `sizes[r]` from `starts[r]` on.

    Only pairs in `open_rows` that are not marked are looked at: all others are known to be rare.
    """

    symbols: Array  # [E] uint32
    starts: Array  # [V] int64
    sizes: Array  # [V] int64
    open_rows: Array = field(init=False)  # [R] int64, ascending
    rare_mask: Array = field(init=False)  # [E] bool, of the pair that begins with a symbol
    num_pairs: int = field(init=False)  # that are looked at

    def __post_init__(self) -> None:
        self.open_all()

    @property
    def num_symbols(self) -> int:
        """How many there are now."""
        return int(self.sizes.sum())

    def open_all(self) -> None:
        """Look at all pairs."""
        self.open_rows, self.rare_mask = np.flatnonzero(self.sizes > 1), np.zeros(self.symbols.size, np.bool_)
        self.num_pairs = int(self.sizes[self.open_rows].sum()) - self.open_rows.size

    def close_unchanged(self, sizes: Array, num_pairs: int) -> None:
        """Look only at those open rows that are shorter than their `sizes` were; in these, at so many pairs."""
        new_sizes = self.sizes[self.open_rows]
        self.open_rows = self.open_rows[(new_sizes < sizes) & (new_sizes > 1)]
        self.num_pairs = num_pairs


@njit(**JIT)
def take_rows(shared, num_rows):
    """Return which of the rows a thread works on next, none when all are taken or the user stops."""
    first = fetch_add(shared, COUNTERS, ROWS_PER_CHUNK)
    if first >= num_rows or is_stopped(shared):
        return num_rows, num_rows
    fetch_add(shared, DONE, min(ROWS_PER_CHUNK, num_rows - first))
    return first, min(first + ROWS_PER_CHUNK, num_rows)


@njit(**JIT)
def sort_small(values, start, end):
    """Sort values[start:end], in place."""
    if end - start > 32:
        values[start:end] = np.sort(values[start:end])
        return
    for i in range(start + 1, end):
        value, j = values[i], i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
