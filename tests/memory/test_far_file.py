"""Reading parts of a file past the page cache."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgraph.errors import StoreReadError
from tgraph.memory import far_file
from tgraph.memory.far_file import (
    ALIGNMENT,
    FarArray,
    FarFile,
    aligned_bytes,
    give_back_freed,
    make_buffer,
    make_buffers,
)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("far") / "numbers"
    content = np.random.default_rng(1).integers(0, 1 << 30, 12345, dtype=np.int32)
    path.write_bytes(b"headline" + content.tobytes())
    return path, content


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def read(file: FarFile, array: FarArray, first: int, last: int) -> np.ndarray:
    buffer = make_buffer(aligned_bytes((last - first) * array.dtype.itemsize))
    return file.start_read(array, first, last, buffer).wait()


@pytest.mark.parametrize("direct", [True, False])
@given(bounds=st.tuples(st.integers(0, 12345), st.integers(0, 12345)))
def test_any_part_is_what_was_written(numbers: tuple[Path, np.ndarray], direct: bool, bounds: tuple[int, int]) -> None:
    path, content = numbers
    first, last = sorted(bounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(far_file, "REQUEST_BYTES", 4096)
        if not direct:
            patch.delattr(os, "O_DIRECT", raising=False)
        with FarFile(path) as file:
            found = read(file, FarArray(8, np.dtype(np.int32), content.size), first, last)
            np.testing.assert_array_equal(found, content[first:last])
            file.check_unchanged()


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 15, 100])
def test_parts_overlap_by_one(numbers: tuple[Path, np.ndarray], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path, content = numbers
    monkeypatch.setattr(far_file, "PART_SIZE", 8)
    with FarFile(path) as file:
        parts = [part.copy() for part in file.parts(FarArray(8, np.dtype(np.int32), size))]
    assert all(0 < part.size <= 8 for part in parts)
    assert all(before[-1] == after[0] for before, after in pairwise(parts))
    whole = [parts[0], *(part[1:] for part in parts[1:])] if parts else [content[:0]]
    np.testing.assert_array_equal(np.concatenate(whole), content[:size])


def test_a_file_that_is_too_short_is_an_error_with_the_position(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(bytes(10_000))
    with FarFile(path) as file, pytest.raises(StoreReadError, match="ends at byte 10000; it is too short"):
        read(file, FarArray(0, np.dtype(np.int64), 4000), 0, 4000)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "changing"
    path.write_bytes(bytes(100))
    with FarFile(path) as file:
        with path.open("ab") as other:
            other.write(b"more")
        with pytest.raises(StoreReadError, match="was changed"):
            file.check_unchanged()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FarFile(tmp_path / "nothing")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems say otherwise how much memory is used")
def test_freed_memory_goes_back_to_the_system() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("the C library keeps no freed memory")

    pieces = [np.ones(100_000, np.uint8) for _ in range(800)]  # each too small for memory of its own
    last = pieces[-1]
    del pieces  # but for the last one, so that the heap cannot end before it
    before = resident_bytes()
    give_back_freed()
    assert resident_bytes() < before - 40_000_000
    assert last.all()


def test_buffers_in_one_piece_begin_on_pages_and_do_not_overlap() -> None:
    buffers = [buffer for one in make_buffers([[5000, 0, 8192, 1]] * 3) for buffer in one]
    for number, buffer in enumerate(buffers, 1):
        assert buffer.ctypes.data % ALIGNMENT == 0
        buffer[:] = number
    assert [set(buffer.tolist()) for buffer in buffers] == [
        {number} if buffer.size else set() for number, buffer in enumerate(buffers, 1)
    ]


def of_mapping(address: int, what: str) -> int:
    """Return the bytes that the system says about the mapped memory at an address."""
    is_there = False
    with Path("/proc/self/smaps").open() as lines:  # which are many: not all at once
        for line in lines:
            first, _, rest = line.partition(" ")
            if "-" in first and not first.endswith(":"):
                begin, end = (int(bound, 16) for bound in first.split("-"))
                is_there = begin <= address < end
            elif is_there and first == what + ":":
                return int(rest.split()[0]) << 10
    raise AssertionError(f"nothing is mapped at {address}")


@pytest.fixture
def huge_pages() -> None:
    if not hasattr(mmap, "MADV_HUGEPAGE") or not Path("/proc/self/smaps").exists():
        pytest.skip("this system has no huge pages, or does not say which are")
    tried = make_buffer(far_file.HUGE_BYTES)
    tried[:] = 1
    if not of_mapping(tried.ctypes.data + tried.size // 2, "AnonHugePages"):
        pytest.skip("this system gives no huge pages")


@pytest.mark.usefixtures("huge_pages")
@pytest.mark.parametrize("num_bytes", [2 << 20, (2 << 20) + 4096, (4 << 20) - 4096, 5 << 20, 11 << 20])
def test_buffers_that_are_busy_lie_in_huge_pages_that_end_within_their_piece(num_bytes: int) -> None:
    busy, before = 3 * (500 << 10), resident_bytes()
    buffers = make_buffers([[200 << 10, 300 << 10]] * 3 + [[num_bytes - busy]], num_busy=3)
    at = buffers[0][0].ctypes.data
    assert at % far_file.HUGE_PAGE_BYTES == 0
    assert resident_bytes() - before < (2 << 20) + (1 << 20)  # the system counts pages in batches
    assert of_mapping(at, "AnonHugePages") >= 2 << 20
    for number, buffer in enumerate(buffer for one in buffers for buffer in one):
        buffer[:] = number
    assert resident_bytes() - before < num_bytes + (1 << 20)
    assert [int(buffer.max()) for one in buffers for buffer in one] == [*range(7)]


@pytest.mark.usefixtures("huge_pages")
def test_a_piece_that_is_smaller_than_a_huge_page_asks_for_none() -> None:
    buffers = make_buffers([[1 << 20], [(1 << 20) - 4096]], num_busy=1)
    for one in buffers:
        one[0][:] = 1
    assert of_mapping(buffers[0][0].ctypes.data, "AnonHugePages") == 0
