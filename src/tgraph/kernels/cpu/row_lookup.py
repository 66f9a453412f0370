"""Copying rows of a table, wherever they lie, into a small table: the lookup of features.

Rows are bytes, moved as the widest words that fit. Rows lie at random places, so the first bytes of a row are asked
for some rows before it is copied. A table may be memory that is mapped from a file: a thread that waits for a page
holds nothing that others need. Deterministic.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.openmp import run_on_shared_threads, start_threads
from tgraph.kernels.cpu.prefetch import prefetch
from tgraph.kernels.cpu.team import JIT, part
from tgraph.runtime.protocol import Array

AHEAD = 8  # rows
LINE_BYTES = 64
LINES_AHEAD = 8  # of a row; the processor fetches on by itself what is read in order
BYTES_PER_WORK = 100  # in the units of `team_size`: 10 MB, or two milliseconds, deserve a second thread


def copy_rows(table: Array, rows: Array, new_rows: Array) -> None:
    """Write row `rows[i]` of a table of bytes `[R, B]` to `new_rows[i]`. Needs 0 <= rows < R, contiguous arrays.

    >>> table, copied = np.arange(12, dtype=np.uint8).reshape(4, 3), np.empty((2, 3), np.uint8)
    >>> copy_rows(table, np.array([3, 1]), copied)
    >>> copied.tolist()
    [[9, 10, 11], [3, 4, 5]]
    """
    word = _widest_word(table, new_rows)
    work = new_rows.size // BYTES_PER_WORK
    run_on_shared_threads(_launch, _copy, work, table.view(word), rows, new_rows.view(word))


@njit(**JIT)
def _launch(size, *args):
    """Runs the worker on OpenMP threads."""
    start_threads(_copy, size, args)


def _widest_word(*arrays: Array) -> str:
    """Return the widest unsigned type that rows are whole multiples of, and begin at whole multiples of."""
    for num_bytes in (8, 4, 2):
        if all(array.shape[1] % num_bytes == 0 and array.ctypes.data % num_bytes == 0 for array in arrays):
            return f"u{num_bytes}"
    return "u1"


@njit(**JIT)
def _copy(rank, size, table, rows, new_rows):
    """Writes the thread's part of the new rows."""
    first, last = part(rank, size, rows.size)
    width = table.shape[1]
    words_per_line = LINE_BYTES // table.itemsize
    flat = table.reshape(table.size)
    for i in range(first, last):
        if i + AHEAD < last:
            begin = rows[i + AHEAD] * width
            for word in range(0, min(width, LINES_AHEAD * words_per_line), words_per_line):
                prefetch(flat, np.uint64(begin + word))
        row = np.uint64(rows[i])
        for word in range(width):
            new_rows[i, word] = table[row, word]
