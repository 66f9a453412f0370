"""Asking the system for the pages of rows in a mapped file, so that it reads many at once and in the background.

A thread that touches a page that is not in memory waits for it, so that as many requests are under way as there are
threads; a disk needs dozens to be busy. Asked before, pages are read while threads do something else. Asking takes half
a microsecond for a row that is in memory already, longer than copying it may take, so a few rows are looked at first:
if all of them are in memory, so the others are taken to be. (Linux says of a file that the user neither owns nor may
write that all of it is: then nothing is asked for.) Nothing is written, and answers do not depend on it.
"""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
from numba import njit, types

from tgraph.kernels.cpu.team import JIT
from tgraph.runtime.protocol import Array

RANDOM, WILL_NEED = getattr(mmap, "MADV_RANDOM", 1), getattr(mmap, "MADV_WILLNEED", 3)
PAGE_BYTES = mmap.PAGESIZE
LOOKED_AT = 16  # rows

_madvise = types.ExternalFunction("madvise", types.int32(types.intp, types.uintp, types.int32))
_mincore = types.ExternalFunction("mincore", types.int32(types.intp, types.uintp, types.intp))


def is_of_file(array: Array) -> bool:
    """Say whether an array is memory that is mapped from a file; where that cannot be found out, it is not.

    >>> is_of_file(np.zeros(10))
    False
    """
    if not sys.platform.startswith("linux") or not array.nbytes:
        return False
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, *_, name = line.split(maxsplit=5)
        first, last = (int(address, 16) for address in addresses.split("-"))
        if first <= array.ctypes.data < last:
            return name.startswith("/")
    return False


def read_at_random(array: Array) -> None:
    """Say that pages of a mapped file are touched here and there.

    Otherwise a page that is missing brings 32 with it, which may put out of memory what was asked for.
    """
    _madvise_all(array.ctypes.data, array.nbytes)


def ask_for_rows(table: Array, rows: Array) -> bool:
    """Ask for the pages of some rows of a table of bytes `[R, B]` that is mapped from a file; say if one was missing.

    Needs 0 <= rows < R.
    """
    return bool(_ask(table.ctypes.data, table.shape[1], rows))


@njit(**JIT)
def _ask(address, row_bytes, rows):
    """Asks for all rows if one of a few was not in memory. One thread: the disk is slower."""
    if _are_there(address, row_bytes, rows):
        return False
    asked_first = asked_last = np.intp(0)
    for row in rows:
        first, last = _pages(address, row_bytes, row)
        if first < asked_first or last > asked_last:
            _request(first, last)
            asked_first, asked_last = first, last
    return True


@njit(**JIT)
def _are_there(address, row_bytes, rows):
    """Say whether the first pages of some rows are in memory."""
    is_there = np.ones(1, np.uint8)
    for i in range(0, rows.size, max(rows.size // LOOKED_AT, 1)):
        _mincore(_pages(address, row_bytes, rows[i])[0], np.uintp(PAGE_BYTES), is_there.ctypes.data)
        if not is_there[0] & 1:
            return False
    return True


@njit(**JIT)
def _pages(address, row_bytes, row):
    """Return where the pages of a row begin and end."""
    begin = np.intp(address + row * row_bytes)
    return begin - begin % PAGE_BYTES, (begin + row_bytes + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES


@njit(**JIT)
def _request(first, last):
    _madvise(first, np.uintp(last - first), np.int32(WILL_NEED))


@njit(**JIT)
def _madvise_all(address, num_bytes):
    first, last = _pages(address, num_bytes, 0)
    _madvise(first, np.uintp(last - first), np.int32(RANDOM))
