"""Coded neighbours on their way near: blocks come as they are stored, and kernels decode them a few frames at a time.

Rows that move alone are decoded by the thread that reads them: their bytes come to the end of a buffer and are decoded
towards its beginning.

    buffer   |ids of frames 0 1 2 ...                        |
             |                    bytes of frames  0 1 2 3 4 |    page by page, as they lie in the file

Frames are decoded in order, and no frame has more bytes than its place in the buffer, so the ids of a frame end before
its bytes begin. Where each frame begins in the file is near memory: 8 bytes for 1,024 neighbours.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from tgraph.io.coded_store import CODED_DTYPE
from tgraph.kernels.cpu.coded_edges import CodedBlock, damaged_frame
from tgraph.kernels.cpu.coded_ids import FRAME_IDS, PADDING_BYTES, decode_frames, encode_ids, last_frame_ids, num_frames
from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, PendingRead, aligned_bytes
from tgraph.memory.link import Link
from tgraph.memory.transfer.compact import JOINED_BYTES, CompactRows, plan_compact
from tgraph.runtime import Array

FRAME_BYTES = FRAME_IDS * CODED_DTYPE.itemsize  # of decoded ids
SPARE_BYTES = 4 * ALIGNMENT  # of a buffer: the first and the last page of what is read, a frame, and what follows it
SAMPLED_IDS, SAMPLED_TIMES = 1 << 17, 3  # to measure how fast decoding is


@cache
def decoded_ids_per_second() -> float:
    """Return how fast one thread decodes, measured once in a process; takes a millisecond or two."""
    gaps = np.random.default_rng(1).geometric(0.02, SAMPLED_IDS)
    coded, begins = encode_ids(np.cumsum(gaps).astype(CODED_DTYPE))
    coded, ids = np.append(coded, np.zeros(PADDING_BYTES, np.uint8)), np.empty(SAMPLED_IDS, np.uint32)
    seconds = []
    for _ in range(SAMPLED_TIMES):
        started = time.perf_counter()
        decode_frames(coded, begins[:-1], begins[1:], FRAME_IDS, 1 << 31, ids)
        seconds.append(time.perf_counter() - started)
    return SAMPLED_IDS / min(seconds)


def is_faster_coded(link: Link, num_ids: int, plain_bytes: int, coded_bytes: int, ids_per_second: float) -> bool:
    """Say whether moving coded neighbours and decoding them, on all threads, takes less time than moving plain ones.

    >>> disk, wire = Link(2e9, 1e-4, 1e-4, 1e-4), Link(2e10, 1e-5, 1e-5, 1e-4)
    >>> [is_faster_coded(link, 1000, 4000, 1500, ids_per_second=1e9) for link in (disk, wire)]
    [True, False]
    """
    return num_ids / ids_per_second < (plain_bytes - coded_bytes) / link.bytes_per_second


@dataclass(frozen=True)
class CodedRanges:
    """What is read for some rows: frames, and where they and the rows will lie."""

    pages: CompactRows  # of the coded bytes; a frame is a row there
    frames: Array  # [N] numbers, ascending
    starts: Array  # [R] of every row among the decoded ids

    @property
    def num_bytes(self) -> int:
        """The bytes that are read."""
        return self.pages.num_bytes

    @property
    def near_bytes(self) -> int:
        """The bytes of a buffer that this needs, behind others."""
        return self.pages.num_bytes + FRAME_BYTES * self.frames.size + JOINED_BYTES


@dataclass(frozen=True)
class CodedArray:
    """Coded ids in a file. `begins` says where each frame begins among their bytes."""

    coded: FarArray
    begins: Array  # [F+1] int64, near
    size: int
    limit: int  # ids are below it
    path: str
    scratch: Array  # for the threads that decode

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a decoded id."""
        return CODED_DTYPE

    @cached_property
    def _largest_frame_bytes(self) -> int:
        """The bytes of the largest frame, coded or decoded."""
        return max(int(np.diff(self.begins).max(initial=0)), FRAME_BYTES)

    @property
    def bytes_per_id(self) -> float:
        """The coded bytes of an id, on average."""
        return int(self.begins[-1]) / self.size if self.size else self.dtype.itemsize

    @property
    def no_edges(self) -> CodedBlock:
        """The neighbours of no edge."""
        return self._block(np.empty(0, np.uint8), 0)

    def buffer_bytes(self, num_ids: int) -> int:
        """Return the bytes of a buffer for so many ids that follow each other, coded and decoded."""
        return aligned_bytes((num_frames(num_ids) + 1) * self._largest_frame_bytes) + SPARE_BYTES

    def opened_bytes(self, num_ids: int) -> int:
        """Return the bytes of so many decoded ids that follow each other, with those beside them in their frames."""
        return (num_frames(num_ids) + 1) * FRAME_BYTES

    def moved_bytes(self, first: int, last: int) -> int:
        """Return the bytes of the frames that hold the ids from `first` to `last` (not included)."""
        begin, end = self._bytes_of(first, last)
        return end - begin

    def block_bytes(self, first: int, last: int) -> int:
        """Return the bytes of a buffer for the ids from `first` to `last` (not included) as they are stored."""
        return aligned_bytes(self.moved_bytes(first, last)) + ALIGNMENT

    def start_read(self, file: FarFile, first: int, last: int, buffer: Array) -> PendingRead:
        """Begin to read the bytes of the ids from `first` to `last` (not included) into a buffer of `block_bytes`."""
        begin, end = self._bytes_of(first, last)
        read = file.start_read(self.coded, begin, end, buffer)
        return PendingRead(read.futures, self._block(buffer, (self.coded.position + begin) % ALIGNMENT - begin))

    def plan_rows(self, firsts: Array, lasts: Array) -> CodedRanges:
        """Plan to read the ids `firsts[i]` to `lasts[i]`; rows ascend and are not empty."""
        first_frames, last_frames = firsts // FRAME_IDS, (lasts - 1) // FRAME_IDS
        counts = last_frames - first_frames + 1
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        frames = np.unique(np.repeat(first_frames, counts) + within)
        starts = np.searchsorted(frames, first_frames) * FRAME_IDS + firsts % FRAME_IDS
        return CodedRanges(plan_compact(self.coded, self.begins[frames], self.begins[frames + 1]), frames, starts)

    def start_rows(self, file: FarFile, planned: CodedRanges, buffer: Array) -> PendingRead:
        """Begin to read and decode what was planned."""
        pages = planned.pages
        tail = (buffer.size - pages.num_bytes) // ALIGNMENT * ALIGNMENT - ALIGNMENT
        end = self.coded.position + self.coded.num_bytes
        read = file.start_ranges(pages.ranges, end, buffer[tail:], self.coded.dtype)
        frames, ids = planned.frames, buffer[: planned.frames.size * FRAME_BYTES].view(CODED_DTYPE)

        def decode() -> None:
            ends = pages.starts + self.begins[frames + 1] - self.begins[frames]
            count = last_frame_ids(int(frames[-1]), int(frames[-1]) + 1, self.size)
            room = buffer[: frames.size * FRAME_BYTES].view(np.uint32)
            damaged = decode_frames(buffer[tail:], pages.starts, ends, count, self.limit, room)
            if damaged is not None:
                raise damaged_frame(self.path, int(frames[damaged]))

        return file.start_then(read, decode, ids)

    def _bytes_of(self, first: int, last: int) -> tuple[int, int]:
        if last <= first:
            return 0, 0
        return int(self.begins[first // FRAME_IDS]), int(self.begins[num_frames(last)])

    def _block(self, near: Array, shift: int) -> CodedBlock:
        return CodedBlock.build(near, self.begins, shift, self.size, self.limit, self.scratch, self.path)
