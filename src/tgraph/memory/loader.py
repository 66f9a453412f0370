"""Blocks of edges on their way to near memory: the next ones are read while one is computed on.

Some blocks stay near once they were read, as many as their bytes allow, and are used first in every later round. The
others pass through a few buffers in turn. Which blocks stay is settled by the order in which they are first asked for,
so that the order of computing is the same in every run.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tgraph.layout.partition import Block
from tgraph.memory.far_file import FarArray, FarFile, PendingRead, aligned_bytes, make_buffer
from tgraph.runtime import Array

BUFFERS = 3  # one is computed on, the others are filled


@dataclass(frozen=True)
class LoadedBlock:
    """A block whose edges are near."""

    block: Block
    neighbors: Array
    weights: Array | None


@dataclass
class Moved:
    """What a loader has done since it was asked last."""

    num_bytes: int = 0  # read from far memory
    num_blocks: int = 0  # used
    num_kept: int = 0  # of those, near already
    wait_seconds: float = 0.0  # in which there was nothing to compute on


class BlockLoader:
    """Moves blocks of one direction of a graph."""

    def __init__(
        self, file: FarFile, arrays: tuple[FarArray, FarArray | None], blocks: Sequence[Block], kept_bytes: int
    ) -> None:
        self.blocks, self._moved = blocks, Moved()
        self._file, self._arrays = file, [array for array in arrays if array is not None]
        self._kept_bytes, self._kept = kept_bytes, dict[int, LoadedBlock]()
        largest = max((block.num_edges for block in blocks), default=0)
        self._buffers = [self._make_buffers(largest) for _ in range(min(BUFFERS, len(blocks)))]

    @staticmethod
    def bytes_for(arrays: tuple[FarArray, FarArray | None], num_edges: int) -> int:
        """Return the bytes of near memory for a block with so many edges."""
        return sum(aligned_bytes(num_edges * array.dtype.itemsize) for array in arrays if array is not None)

    def take_moved(self) -> Moved:
        """Return what was done since the last call."""
        moved, self._moved = self._moved, Moved()
        return moved

    def stream(self, numbers: Sequence[int]) -> Iterator[LoadedBlock]:
        """Yield these blocks, kept ones first; each may be used until the next one is asked for."""
        self._moved.num_blocks += len(numbers)
        for number in numbers:
            if number in self._kept:
                self._moved.num_kept += 1
                yield self._kept[number]
        coming = deque(number for number in numbers if number not in self._kept)
        free, pending = list(self._buffers), deque[_Load]()
        while coming or pending:
            while coming and free:
                pending.append(self._start(coming.popleft(), free))
            load = pending.popleft()
            started = time.perf_counter()
            loaded = load.wait()
            self._moved.wait_seconds += time.perf_counter() - started
            yield loaded
            if load.is_kept:
                self._kept[load.number] = loaded
            else:
                free.append(load.buffers)
        self._file.check_unchanged()

    def _start(self, number: int, free: list[list[Array]]) -> _Load:
        """Begin to read a block, into memory of its own if it can stay."""
        block = self.blocks[number]
        own_bytes = sum(aligned_bytes(block.num_edges * array.dtype.itemsize) for array in self._arrays)
        is_kept = block.is_whole and own_bytes <= self._kept_bytes
        if is_kept:
            self._kept_bytes -= own_bytes
        buffers = self._make_buffers(block.num_edges) if is_kept else free.pop()
        reads = []
        for array, buffer in zip(self._arrays, buffers, strict=True):
            reads.append(self._file.start_read(array, block.first_edge, block.last_edge, buffer))
            self._moved.num_bytes += block.num_edges * array.dtype.itemsize
        return _Load(number, block, buffers, reads, is_kept)

    def _make_buffers(self, num_edges: int) -> list[Array]:
        return [make_buffer(aligned_bytes(num_edges * array.dtype.itemsize)) for array in self._arrays]


@dataclass(frozen=True)
class _Load:
    number: int
    block: Block
    buffers: list[Array]
    reads: list[PendingRead]
    is_kept: bool

    def wait(self) -> LoadedBlock:
        neighbors, *weights = [read.wait() for read in self.reads]
        return LoadedBlock(self.block, neighbors, weights[0] if weights else None)
