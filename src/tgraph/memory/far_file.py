"""A file whose bytes are read into buffers past the page cache, so that a budget is honest.

Linux reads with O_DIRECT into aligned memory; where the file system or the platform has no such thing, bytes are read
as usual and the page cache is asked to forget them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tgraph.errors import StoreReadError
from tgraph.io.rows import check_parts_of_offsets
from tgraph.io.tensor_file import locate, map_file
from tgraph.runtime import Array

ALIGNMENT = 4096  # of positions in the file, of buffers and of lengths
REQUEST_BYTES = 1 << 20
REQUESTS_IN_FLIGHT = 8
BYTES_PER_READER = 4 << 20  # of a budget: a thread that reads takes 60 KiB, of its own and of the system
HUGE_BYTES = 8 << 20  # buffers from here on ask for huge pages; threads that touch one first may take 2 MiB each
HUGE_PAGE_BYTES = 2 << 20
PART_SIZE = 1 << 16  # elements of an array that is gone through once


FileIdentity: TypeAlias = tuple[int, int, int]  # inode, bytes, time of the last change


def identify(file: str | os.PathLike[str] | int) -> FileIdentity:
    """Return what tells a file, by its name or descriptor, from another one and from a changed one."""
    status = os.stat(file)
    return status.st_ino, status.st_size, status.st_mtime_ns


def aligned_bytes(num_bytes: int) -> int:
    """Return the size of a buffer for any `num_bytes` of a file: what is read begins and ends at aligned positions.

    >>> aligned_bytes(1), aligned_bytes(4096), aligned_bytes(5000)
    (8192, 8192, 12288)
    """
    return (-(-num_bytes // ALIGNMENT) + 1) * ALIGNMENT


def make_buffer(num_bytes: int) -> Array:
    """Return aligned memory `[num_bytes] uint8` that goes back to the system when nobody uses it any more."""
    size = max(num_bytes, ALIGNMENT)
    if hasattr(mmap, "MAP_ANONYMOUS"):
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    else:
        memory = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE") and size >= HUGE_BYTES:
        with suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)[:num_bytes]


def make_buffers(sizes: list[list[int]], num_busy: int = 0) -> list[list[Array]]:
    """Return buffers of these sizes, all in one piece of memory; the first `num_busy` lists are filled again and again.

    These, and large ones, lie in huge pages, as far as whole ones fit into the piece. Small pages lie anywhere, and a
    disk that is told where each of them is takes up to twice the time, how much of it by chance; a request that touches
    more of them than the disk takes at once (254 is common) is cut, too.

    >>> [[buffer.size for buffer in one] for one in make_buffers([[8192, 5000], [100]])]
    [[8192, 5000], [100]]
    """
    ends = np.cumsum([-(-size // ALIGNMENT) * ALIGNMENT for one in sizes for size in one]).tolist()
    busy = sum(len(one) for one in sizes[:num_busy])
    memory = _make_piece(ends[-1] if ends else 0, ends[busy - 1] if busy else 0)
    starts = iter([0, *ends])
    return [[memory[start : start + size] for size, start in zip(one, starts, strict=False)] for one in sizes]


def _make_piece(num_bytes: int, busy_bytes: int) -> Array:
    """Return aligned memory `[num_bytes] uint8`, its first `busy_bytes` in huge pages where whole ones fit into it.

    These are touched here, by one thread: when several do, each may take 2 MiB for a while. Later
    the system is not to make one of small pages, which would be there twice meanwhile.
    """
    whole = num_bytes // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
    busy = min(-(-busy_bytes // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES, whole)
    if not busy or not hasattr(mmap, "MADV_HUGEPAGE"):
        return make_buffer(num_bytes)
    memory = mmap.mmap(-1, num_bytes + HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    everything = np.frombuffer(memory, np.uint8)
    first = -everything.ctypes.data % HUGE_PAGE_BYTES
    piece = everything[first : first + num_bytes]
    with suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE, first, whole if whole - busy >= HUGE_BYTES else busy)
        piece[:busy:HUGE_PAGE_BYTES] = 0
        memory.madvise(mmap.MADV_NOHUGEPAGE, first, busy)
    return piece


def give_back_freed() -> None:
    """Let the C library return freed memory to the system, where it is one that keeps some: it counts as used.

    glibc keeps up to twice the size of the largest freed array, if that has less than 32 MiB.
    """
    trim = _find_trim()
    if trim is not None:
        trim(0)


@cache
def _find_trim() -> Callable[[int], int] | None:
    """Return `malloc_trim` of the C library, if it is there; each library that is looked into takes memory."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class FarArray:
    """Where an array lies in a file."""

    position: int  # of its first byte
    dtype: np.dtype[Any]
    size: int

    @property
    def num_bytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def buffer_bytes(self, num_elements: int) -> int:
        """Return the bytes of a buffer for so many elements that follow each other."""
        return aligned_bytes(num_elements * self.dtype.itemsize)

    def block_bytes(self, first: int, last: int) -> int:
        """Return the bytes of a buffer for the elements from `first` to `last` (not included)."""
        return self.buffer_bytes(last - first)

    def moved_bytes(self, first: int, last: int) -> int:
        """Return the bytes of the elements from `first` to `last` (not included)."""
        return (last - first) * self.dtype.itemsize

    def start_read(self, file: FarFile, first: int, last: int, buffer: Array) -> PendingRead:
        """Begin to read the elements from `first` to `last` (not included) into a buffer of `buffer_bytes`."""
        return file.start_read(self, first, last, buffer)


class PendingRead:
    """A read under way; `wait` returns the elements."""

    def __init__(self, futures: list[Future[None]], view: Any) -> None:
        self.futures, self._view = futures, view

    def wait(self) -> Any:
        """Return the elements, or what stands for them, when they are there, or raise what went wrong."""
        for future in self.futures:
            future.result()
        return self._view


class FarFile:
    """An open file, read by several threads. Use it as a context manager."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: FileIdentity | None = None,
        requests_in_flight: int = REQUESTS_IN_FLIGHT,
    ) -> None:
        """Open a file; `identity` is what it was when something else was learned from it."""
        self.path = os.fspath(path)
        self._descriptor, self._is_direct = _open(self.path)
        self._identity = identity or identify(self._descriptor)
        try:
            self._compare(identify(self._descriptor))
        except StoreReadError:
            os.close(self._descriptor)
            raise
        self._mapping: Array | None = None
        self._requests_in_flight = requests_in_flight
        self._readers = ThreadPoolExecutor(requests_in_flight, "tgraph-read")

    def __enter__(self) -> FarFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all reads and close the file."""
        self._readers.shutdown(wait=True, cancel_futures=True)
        os.close(self._descriptor)

    def start_read(self, array: FarArray, first: int, last: int, buffer: Array) -> PendingRead:
        """Begin to read the elements from `first` to `last` (not included) into a buffer of `aligned_bytes`."""
        begin = array.position + first * array.dtype.itemsize
        end = array.position + last * array.dtype.itemsize
        start = begin // ALIGNMENT * ALIGNMENT
        view = buffer[begin - start : end - start].view(array.dtype)
        length = -(-(end - start) // ALIGNMENT) * ALIGNMENT if end > begin else 0
        pieces = [(first, min(first + REQUEST_BYTES, length)) for first in range(0, length, REQUEST_BYTES)]
        futures = [
            self._readers.submit(self._read_piece, buffer[first:last], start + first, end) for first, last in pieces
        ]
        return PendingRead(futures, view)

    def parts(self, array: FarArray) -> Iterator[Array]:
        """Yield an array in parts, each until the next; each begins with the element that the one before ends with."""
        buffer = make_buffer(aligned_bytes(PART_SIZE * array.dtype.itemsize))
        for first in range(0, max(array.size - 1, min(array.size, 1)), PART_SIZE - 1):
            yield self.start_read(array, first, min(first + PART_SIZE, array.size), buffer).wait()

    def start_ranges(self, ranges: Array, end: int, buffer: Array, dtype: np.dtype[Any]) -> PendingRead:
        """Begin to read aligned ranges of bytes `[N, 2]` one behind the other; none is needed beyond `end`."""
        places = np.concatenate([[0], np.cumsum(ranges[:, 1] - ranges[:, 0])])
        batches = np.array_split(np.arange(len(ranges)), self._requests_in_flight)
        futures = [
            self._readers.submit(self._read_ranges, ranges[batch], places[batch], end, buffer)
            for batch in batches
            if batch.size
        ]
        return PendingRead(futures, buffer[: int(places[-1])].view(dtype))

    def start_then(self, read: PendingRead, finish: Callable[[], None], view: Array) -> PendingRead:
        """Let the thread that ends a read call `finish`, before anybody gets the elements; these are `view` then."""
        if not read.futures:
            return PendingRead([self._readers.submit(finish)], view)
        finished, lock, left = Future[None](), threading.Lock(), len(read.futures)

        def end_one(_: Future[None]) -> None:
            nonlocal left
            with lock:
                left -= 1
                if left:
                    return
            try:
                read.wait()
                finish()
                finished.set_result(None)
            except BaseException as error:
                finished.set_exception(error)
            finally:
                read.futures.clear()  # they know this function, which knows them: a circle would keep buffers alive

        for future in [*read.futures]:
            future.add_done_callback(end_one)
        return PendingRead([finished], view)

    def mapped(self, array: FarArray) -> Array:
        """Return an array as mapped memory: the system reads the pages that are touched, and no others."""
        if self._mapping is None:
            self._mapping = map_file(self.path, at_random=True)
            self._compare(identify(self.path))  # the name may have gone to another file since this one was opened
        return self._mapping[array.position : array.position + array.num_bytes].view(array.dtype)

    def check_unchanged(self) -> None:
        """Raise `StoreReadError` if the file is not, or no longer, what it was."""
        self._compare(identify(self._descriptor))

    def _compare(self, found: FileIdentity) -> None:
        if found != self._identity:
            raise StoreReadError(f"{self.path} was changed while it was used; open it again with tgraph.open")

    def _read_ranges(self, ranges: Array, places: Array, end: int, buffer: Array) -> None:
        for (first, last), place in zip(ranges.tolist(), places.tolist(), strict=True):
            self._read_piece(buffer[place : place + last - first], first, end)

    def _read_piece(self, piece: Array, position: int, end: int) -> None:
        """Fill a piece of a buffer; bytes at and behind `end` are not needed and may be missing."""
        done, wanted = 0, min(piece.size, end - position)
        while done < wanted:
            try:
                count = os.preadv(self._descriptor, [piece[done:].data], position + done)
            except OSError as error:
                raise StoreReadError(f"{self.path} cannot be read at byte {position + done}: {error}") from error
            if count == 0:
                raise StoreReadError(f"{self.path} ends at byte {position + done}; it is too short: write it again")
            done += count
        if not self._is_direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, position, piece.size, os.POSIX_FADV_DONTNEED)


def _open(path: str) -> tuple[int, bool]:
    if hasattr(os, "O_DIRECT"):
        try:
            return os.open(path, os.O_RDONLY | os.O_DIRECT), True
        except OSError:
            pass  # the file system cannot; or the file is missing, which the next line says
    return os.open(path, os.O_RDONLY), False


def readers_for(memory: int) -> int:
    """Return how many threads read a file for a run with such a budget."""
    return min(max(memory // BYTES_PER_READER, 2), REQUESTS_IN_FLIGHT)


def check_far_offsets(path: str | os.PathLike[str], name: str, _mapped: Array, num_arcs: int) -> None:
    """Check offsets past the page cache: pages of a mapped file come with megabytes that nobody asked for."""
    with FarFile(path, requests_in_flight=1) as file:
        check_parts_of_offsets(path, name, file.parts(FarArray(*locate(path)[name])), num_arcs)
