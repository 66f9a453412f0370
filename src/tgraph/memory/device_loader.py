"""Edges on their way from host memory to a device: the next ones are copied while some are computed on.

Blocks are moved whole (`filter`), active rows of many blocks are gathered and moved together (`compact`), or the device
reads them in host memory (`zero_copy`). A few buffers serve in turn; each has a twin in host memory in which small
things and gathered rows are packed, so that they travel in one copy. Blocks that were moved whole stay near as far as
their bytes allow, the first ones of the graph, and come first.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.layout.partition import Block, cut_by_edges
from tgraph.memory.device import Copy, Device
from tgraph.memory.far_file import make_buffer
from tgraph.memory.host_edges import LINE_BYTES, DeviceLink, HostRows
from tgraph.memory.near_rows import NearBlock, NearRows, all_rows, listed_rows, read_rows, some_rows
from tgraph.memory.transfer import TRANSFERS, choose_transfers
from tgraph.runtime import Array, Tensor

BUFFERS = 3  # one is computed on, the others are filled
PART_ALIGNMENT = 16  # of parts in a buffer
_SIZES, _STARTS = np.dtype(np.int32), np.dtype(np.int64)
_MOST_PARTS = 5  # sizes, vertices, starts, neighbours, weights


def bytes_per_edge(columns: Sequence[Array]) -> int:
    """Return the bytes of a buffer for one edge and one row."""
    return sum(column.itemsize for column in columns) + _SIZES.itemsize + columns[0].itemsize + _STARTS.itemsize


def buffer_bytes(columns: Sequence[Array], size: int) -> int:
    """Return the bytes of a buffer for `size` edges and as many rows."""
    return size * bytes_per_edge(columns) + _MOST_PARTS * PART_ALIGNMENT


class Buffer:
    """Memory of the device and of the host for what is on its way."""

    def __init__(self, device: Device, num_bytes: int) -> None:
        self.device, self.near, self._staging = device, device.allocate(num_bytes), make_buffer(num_bytes)
        self._pin = device.pin(self._staging)
        self.used = device.mark()  # the device must pass it before the buffer is filled again
        self._copy: Copy | None = None  # out of the staging memory

    def pack(self, parts: Sequence[tuple[np.dtype[Any], int]]) -> tuple[list[Array], list[Tensor], int]:
        """Return places for parts one behind the other, in host memory and near, and the bytes of all.

        Waits until the host's memory is free.
        """
        if self._copy is not None:
            self._copy.wait_for_source()
        places = np.cumsum([0, *(_aligned(dtype.itemsize * count) for dtype, count in parts)]).tolist()
        staged, near = [], []
        for (dtype, count), first in zip(parts, places, strict=False):
            staged.append(self._staging[first : first + count * dtype.itemsize].view(dtype))
            near.append(self.device.section(self.near, first, dtype, count))
        return staged, near, places[-1]

    def start_copy(self, staged: Array, near: Tensor, after: Any) -> Copy:
        """Begin to copy what was put into the host's memory, once the device has passed a mark."""
        self._copy = self.device.start_copy(staged, near, after)
        return self._copy

    def start_packed_copy(self, num_bytes: int) -> Copy:
        """Begin to copy all parts at once."""
        return self.start_copy(self._staging[:num_bytes], self.near[:num_bytes], self.used)


@dataclass(frozen=True)
class _Started:
    """Something that is on its way into a buffer."""

    buffer: Buffer
    copies: list[Copy]
    finish: Callable[[], NearRows]


@dataclass(frozen=True)
class _Job:
    """What to move: a block, with its active rows (None = all), or rows of several blocks."""

    way: str
    number: int = -1  # of the block
    rows: Array | None = None
    firsts: Array = field(default_factory=lambda: np.empty(0, np.int64))  # of the rows' edges
    sizes: Array = field(default_factory=lambda: np.empty(0, np.int64))


class DeviceLoader:
    """Moves the edges of one direction of a graph to a device."""

    def __init__(
        self, host_rows: HostRows, columns: int, buffers: list[Buffer], edges_per_block: int, kept_bytes: int
    ) -> None:
        """Cut the rows into blocks; `columns` is how many of the host's are moved: neighbours, or weights too."""
        self._buffers, self._device = buffers, buffers[0].device
        self._offsets, self._columns = host_rows.offsets, host_rows.columns[:columns]
        self._mapped = None if host_rows.mapped is None else host_rows.mapped[:columns]
        self._limit, self._moved = edges_per_block, Counter[str]()
        self.blocks = cut_rows(host_rows.offsets, edges_per_block)
        self._bounds = np.array(
            [(one.first_row, one.last_row, one.first_edge, one.last_edge) for one in self.blocks], np.int64
        ).reshape(-1, 4)
        self._to_keep, self._kept = self._choose_kept(kept_bytes), dict[int, NearBlock]()

    @property
    def edge_bytes(self) -> int:
        """The bytes of one edge in host memory."""
        return sum(column.itemsize for column in self._columns)

    def take_moved(self) -> Counter[str]:
        """Return the bytes that went to the device since the last call, by way of transfer."""
        moved, self._moved = self._moved, Counter()
        return moved

    def stream(self, rows: Array | None, transfer: str, link: DeviceLink | None) -> Iterator[NearRows]:
        """Yield the edges of these rows (ascending; None = all); each may be used until the next is asked for.

        A link is needed for `transfer="hybrid"`, which takes the cheapest way for every block.
        """
        jobs, started = deque(self._plan(rows, transfer, link)), deque[_Started]()
        free = deque(self._buffers)
        while jobs or started:
            while jobs and free:
                started.append(self._start(jobs.popleft(), free.popleft()))
            arriving = started.popleft()
            for copy in arriving.copies:
                copy.wait()
            yield arriving.finish()
            arriving.buffer.used = self._device.mark()
            free.append(arriving.buffer)

    # --- what to move ------------------------------------------------------------------------------------------------
    def _plan(self, rows: Array | None, transfer: str, link: DeviceLink | None) -> list[_Job]:
        if rows is None:
            numbers = [number for number, block in enumerate(self.blocks) if block.num_edges]
            return [_Job("filter", number) for number in sorted(numbers, key=self._is_missing)]
        begins, ends = np.searchsorted(rows, self._bounds[:, 0]), np.searchsorted(rows, self._bounds[:, 1])
        degrees = self._offsets[rows + 1] - self._offsets[rows]
        sums = np.concatenate([[0], np.cumsum(degrees)])
        active_edges = np.minimum(sums[ends] - sums[begins], self._bounds[:, 3] - self._bounds[:, 2])
        selected = {
            number: self._select(number, rows[begins[number] : ends[number]])
            for number in np.flatnonzero(active_edges).tolist()
        }
        ways = self._choose_ways(selected, transfer, link)
        whole = [self._filter(number, selected[number]) for number, way in ways.items() if way == "filter"]
        jobs = sorted(whole, key=lambda job: self._is_missing(job.number))
        for way in ("compact", "zero_copy"):
            jobs += self._join_blocks(way, [selected[number] for number, chosen in ways.items() if chosen == way])
        return jobs

    def _is_missing(self, number: int) -> bool:
        return number not in self._kept and number not in self._to_keep

    def _select(self, number: int, rows: Array) -> _Job:
        """Return the active rows of a block that have edges in it."""
        _, _, first_edge, last_edge = self._bounds[number]
        firsts = np.maximum(self._offsets[rows], first_edge)
        sizes = np.minimum(self._offsets[rows + 1], last_edge) - firsts
        has_edges = sizes > 0
        return _Job("", number, rows[has_edges], firsts[has_edges], sizes[has_edges])

    def _choose_ways(self, selected: dict[int, _Job], transfer: str, link: DeviceLink | None) -> dict[int, str]:
        """Return the way of each block; those that are near stay where they are."""
        missing = [number for number in selected if number not in self._kept]
        ways = dict.fromkeys(selected, "filter")
        if transfer == "zero_copy" and self._mapped is None:
            raise InvalidArgumentError(
                f"transfer='zero_copy' needs pinned memory that {self._device.runtime.device} reads in place, which is "
                "not there; use transfer='hybrid', or tgraph.offload on a device that can"
            )
        if transfer != "hybrid":
            return ways | dict.fromkeys(missing, transfer)
        if not missing:
            return ways
        assert link is not None
        edges = np.array([selected[number].sizes.sum() for number in missing])
        compact_bytes = edges * self.edge_bytes * (1 + link.bytes_per_second / link.gather_bytes_per_second)
        touched_bytes = np.array([self._touched_bytes(selected[number]) for number in missing])
        block_bytes = (self._bounds[missing, 3] - self._bounds[missing, 2]) * self.edge_bytes
        requests = np.full(len(missing), 1 / len(missing))  # rows of all blocks travel together
        chosen = choose_transfers(link, block_bytes, requests, compact_bytes, touched_bytes)
        return ways | {number: TRANSFERS[way] for number, way in zip(missing, chosen.tolist(), strict=True)}

    def _touched_bytes(self, job: _Job) -> float:
        """Return the bytes of all lines of host memory that hold edges of these rows; inf if it cannot read them."""
        lines = 0.0 if self._mapped is not None else math.inf
        for column in self._columns:
            first, last = job.firsts * column.itemsize, (job.firsts + job.sizes) * column.itemsize - 1
            lines += int((last // LINE_BYTES - first // LINE_BYTES + 1).sum())
        return lines * LINE_BYTES

    def _filter(self, number: int, job: _Job) -> _Job:
        """Return the move of a whole block; where all its edges are active, its rows need not be named."""
        is_whole = job.sizes.sum() == self.blocks[number].num_edges
        return _Job("filter", number, None if is_whole else job.rows, job.firsts, job.sizes)

    def _join_blocks(self, way: str, jobs: list[_Job]) -> Iterator[_Job]:
        """Put the rows of several blocks together while they fit into a buffer.

        Two pieces of one row never do: all but the last fill a buffer.
        """
        cuts, edges, rows = [0], 0, 0
        for position, job in enumerate(jobs):
            assert job.rows is not None
            edges, rows = edges + int(job.sizes.sum()), rows + job.rows.size
            if position and max(edges, rows) > self._limit:
                cuts.append(position)
                edges, rows = int(job.sizes.sum()), job.rows.size
        for first, last in pairwise([*cuts, len(jobs)]):
            joined = [(job.rows, job.firsts, job.sizes) for job in jobs[first:last]]
            if joined:
                yield _Job(way, -1, *(np.concatenate(parts) for parts in zip(*joined, strict=True)))

    def _choose_kept(self, kept_bytes: int) -> set[int]:
        """Return the first blocks that fit."""
        chosen = set()
        for number, block in enumerate(self.blocks):
            size = self._kept_bytes(block)
            if block.num_edges and size <= kept_bytes:
                chosen.add(number)
                kept_bytes -= size
        return chosen

    def _kept_bytes(self, block: Block) -> int:
        rows = block.last_row - block.first_row
        return rows * _SIZES.itemsize + block.num_edges * self.edge_bytes + _MOST_PARTS * PART_ALIGNMENT

    # --- moving ------------------------------------------------------------------------------------------------------
    def _start(self, job: _Job, buffer: Buffer) -> _Started:
        if job.way == "filter":
            return self._start_block(job, buffer)
        return self._start_rows(job, buffer) if job.way == "compact" else self._start_listing(job, buffer)

    def _start_block(self, job: _Job, buffer: Buffer) -> _Started:
        """Begin to move a block, unless it is near, and the positions of its active rows."""
        runtime, copies, index = self._device.runtime, list[Copy](), self._columns[0].dtype
        block, positions = self.blocks[job.number], np.empty(0, index)
        if job.rows is not None:
            positions = (job.rows - block.first_row).astype(index)
        staged, near, _ = buffer.pack([(index, positions.size), *self._block_parts(block)])
        if job.number not in self._kept:
            copies += self._move_block(job.number, buffer, staged[1], near[1:])
        near_block = self._kept.get(job.number) or NearBlock(block.first_row, near[1], tuple(near[2:]))
        if job.rows is None:
            return _Started(buffer, copies, lambda: all_rows(runtime, near_block))
        staged[0][:] = positions
        copies.append(buffer.start_copy(staged[0], near[0], buffer.used))
        self._moved["filter"] += positions.nbytes
        total = int(job.sizes.sum())
        return _Started(buffer, copies, lambda: some_rows(runtime, near_block, near[0], total))

    def _block_parts(self, block: Block) -> list[tuple[np.dtype[Any], int]]:
        """Return what a block consists of: the sizes of its rows, and its edges."""
        columns = [(column.dtype, block.num_edges) for column in self._columns]
        return [(_SIZES, block.last_row - block.first_row), *columns]

    def _move_block(self, number: int, buffer: Buffer, staged_sizes: Array, near: list[Tensor]) -> list[Copy]:
        """Begin to move a block into the buffer, or into memory of its own if it can stay."""
        block, after = self.blocks[number], buffer.used
        if number in self._to_keep:
            near, after = self._allocate(block), self._device.mark()
            self._kept[number] = NearBlock(block.first_row, near[0], tuple(near[1:]))
        bounds = np.clip(self._offsets[block.first_row : block.last_row + 1], block.first_edge, block.last_edge)
        staged_sizes[:] = np.diff(bounds)
        copies = [buffer.start_copy(staged_sizes, near[0], after)]
        for column, place in zip(self._columns, near[1:], strict=True):
            copies.append(self._device.start_copy(column[block.first_edge : block.last_edge], place, after))
        self._moved["filter"] += staged_sizes.nbytes + block.num_edges * self.edge_bytes
        return copies

    def _allocate(self, block: Block) -> list[Tensor]:
        """Return memory of its own for a block that stays."""
        memory, tensors, first = self._device.allocate(self._kept_bytes(block)), [], 0
        for dtype, count in self._block_parts(block):
            tensors.append(self._device.section(memory, first, dtype, count))
            first += _aligned(dtype.itemsize * count)
        return tensors

    def _start_rows(self, job: _Job, buffer: Buffer) -> _Started:
        """Gather rows in host memory and begin to move them in one copy."""
        assert job.rows is not None
        total, runtime = int(job.sizes.sum()), self._device.runtime
        columns = [(column.dtype, total) for column in self._columns]
        parts = [(_SIZES, job.rows.size), (self._columns[0].dtype, job.rows.size), *columns]
        staged, near, num_bytes = buffer.pack(parts)
        staged[0][:], staged[1][:] = job.sizes, job.rows
        ends = np.cumsum(job.sizes)
        positions = np.arange(total) + np.repeat(job.firsts - (ends - job.sizes), job.sizes)
        for column, place in zip(self._columns, staged[2:], strict=True):
            np.take(column, positions, out=place)
        self._moved["compact"] += num_bytes
        copies = [buffer.start_packed_copy(num_bytes)]
        return _Started(buffer, copies, lambda: listed_rows(runtime, near[1], near[0], tuple(near[2:])))

    def _start_listing(self, job: _Job, buffer: Buffer) -> _Started:
        """Tell the device where rows lie in host memory; it reads them when they are asked for."""
        assert job.rows is not None
        assert self._mapped is not None
        total, runtime, mapped = int(job.sizes.sum()), self._device.runtime, self._mapped
        parts = [(_SIZES, job.rows.size), (self._columns[0].dtype, job.rows.size), (_STARTS, job.rows.size)]
        staged, near, num_bytes = buffer.pack(parts)
        staged[0][:], staged[1][:], staged[2][:] = job.sizes, job.rows, job.firsts
        self._moved["zero_copy"] += num_bytes + total * self.edge_bytes
        copies = [buffer.start_packed_copy(num_bytes)]
        return _Started(buffer, copies, lambda: read_rows(runtime, near[1], near[2], near[0], mapped, total))


def cut_rows(offsets: Array, size: int) -> list[Block]:
    """Return blocks of at most `size` edges and `size` rows, in order.

    >>> [(block.first_row, block.last_row) for block in cut_rows(np.array([0, 2, 2, 2, 2, 2, 4]), 3)]
    [(0, 3), (3, 5), (5, 6)]
    """
    blocks = []
    for block in cut_by_edges(offsets, size):
        if block.last_row - block.first_row <= size:
            blocks.append(block)
            continue
        for first in range(block.first_row, block.last_row, size):
            last = min(first + size, block.last_row)
            blocks.append(Block(first, last, int(offsets[first]), int(offsets[last])))
    return blocks


def _aligned(num_bytes: int) -> int:
    return -(-num_bytes // PART_ALIGNMENT) * PART_ALIGNMENT
