"""Pages of a mapped file come into memory when they are asked for, and arrays of a file are told from others."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tgraph.kernels.cpu.page_requests import ask_for_rows, is_of_file

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are asked for on Linux alone")

PAGE = mmap.PAGESIZE


@pytest.fixture
def mapped(tmp_path: Path) -> Any:
    """A file of 256 pages, whose content is on the disk, mapped."""
    path = tmp_path / "table"
    path.write_bytes(np.arange(256 * PAGE, dtype=np.uint32).astype(np.uint8).tobytes())
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    memory.madvise(mmap.MADV_RANDOM)
    return np.frombuffer(memory, np.uint8)


def resident(array: Any) -> Any:
    """Return which pages of an array are in memory."""
    found = np.zeros(array.nbytes // PAGE, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), ctypes.c_void_p(found.ctypes.data)
    assert libc.mincore(*arguments) == 0
    return (found & 1).astype(bool)


@pytest.mark.parametrize("row_bytes", [PAGE // 4, PAGE, 3 * PAGE // 2, 4 * PAGE])
def test_the_pages_of_rows_are_read(mapped: Any, row_bytes: int) -> None:
    table = mapped[: mapped.size // row_bytes * row_bytes].reshape(-1, row_bytes)
    rows = np.array([1, 2, 2, 40, 17] + 30 * [5, 6])
    wanted = np.unique([[row * row_bytes // PAGE, ((row + 1) * row_bytes - 1) // PAGE] for row in rows])
    before = resident(mapped).copy()
    assert ask_for_rows(table, rows) or before[wanted].all()
    until = time.monotonic() + 20
    while not resident(mapped)[wanted].all() and time.monotonic() < until:
        time.sleep(0.01)
    now = resident(mapped)
    assert now[wanted].all()
    assert not ask_for_rows(table, rows)
    if not before.any():  # a file system in memory has all of them
        assert now.sum() < 64
    expected = np.arange(256 * PAGE, dtype=np.uint32).astype(np.uint8)
    np.testing.assert_array_equal(mapped, expected)


def test_no_rows_ask_for_nothing(mapped: Any) -> None:
    before = resident(mapped).sum()
    assert not ask_for_rows(mapped.reshape(-1, PAGE), np.empty(0, np.int64))
    assert resident(mapped).sum() == before


def test_arrays_of_files_are_told_from_others(mapped: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.ones((300, 100)))
    assert is_of_file(mapped)
    assert is_of_file(mapped[PAGE + 1 :])
    assert is_of_file(np.load(tmp_path / "table.npy", mmap_mode="c"))
    assert not is_of_file(np.load(tmp_path / "table.npy"))
    assert not is_of_file(np.ones(1 << 20))
    assert not is_of_file(np.empty(0))
