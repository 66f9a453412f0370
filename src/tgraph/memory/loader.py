"""Blocks of edges on their way to near memory: the next ones are read while one is computed on.

Some blocks stay near once they were read whole, the first ones that their bytes allow, and come first in every round.
The others pass through a few buffers in turn. The order is the same in every round and every run.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tgraph.kernels.cpu.coded_edges import CodedBlock, Neighbors
from tgraph.kernels.cpu.fused.block_push import ListedRows
from tgraph.layout.partition import Block
from tgraph.memory.coded_array import CodedArray
from tgraph.memory.far_file import HUGE_PAGE_BYTES, FarArray, FarFile, PendingRead, make_buffers
from tgraph.memory.transfer import TRANSFERS, CompactRows, list_rows, plan_compact
from tgraph.runtime import Array

BUFFERS = 3  # one is computed on, the others are filled
BYTES_PER_ROW = 320  # that is moved alone: where it lies, in every load under way, and while that is found out

EdgeArrays: TypeAlias = tuple[FarArray | CodedArray, FarArray | None]  # neighbours, and weights if they are wanted


@dataclass(frozen=True)
class LoadedBlock:
    """A block whose edges are near, or those of some of its rows."""

    block: Block
    neighbors: Neighbors
    weights: Array | None
    rows: ListedRows | None = None  # None = all rows, one behind the other

    @property
    def ids(self) -> Array:
        """The neighbours of rows that were moved alone, and those of blocks that were opened: never coded."""
        assert not isinstance(self.neighbors, CodedBlock)
        return self.neighbors


@dataclass
class Moved:
    """What a loader has done since it was asked last."""

    num_bytes: Counter[str] = field(default_factory=Counter)  # read from far memory, by way of transfer
    num_blocks: Counter[str] = field(default_factory=Counter)  # used, by way of transfer; "kept" were near already
    wait_seconds: float = 0.0  # in which there was nothing to compute on


class BlockLoader:
    """Moves blocks of one direction of a graph."""

    def __init__(
        self,
        file: FarFile,
        arrays: EdgeArrays,
        offsets: Array,
        blocks: Sequence[Block],
        kept_bytes: int,
        row_bytes: int = 1 << 40,
    ) -> None:
        """Move these blocks; `kept_bytes` are for those that stay, `row_bytes` for lists of rows that move alone."""
        self.blocks, self._moved = blocks, Moved()
        self._most_rows = max(row_bytes // BYTES_PER_ROW, 64)  # in a load
        self._file, self._offsets, self._arrays = file, offsets, [array for array in arrays if array is not None]
        self._to_keep, self._kept = self._choose_kept(kept_bytes), dict[int, LoadedBlock]()
        passing = [block for number, block in enumerate(blocks) if number not in self._to_keep]
        sizes = self.buffer_sizes(arrays, passing or blocks, moves_rows=row_bytes > 0)
        self._buffers = self._make_memory([sizes] * min(BUFFERS, len(blocks)), bool(passing))

    @staticmethod
    def buffer_sizes(arrays: EdgeArrays, blocks: Sequence[Block], moves_rows: bool) -> list[int]:
        """Return the bytes that each array needs for any of these blocks, or for rows of one that move alone."""

        def size(array: FarArray | CodedArray, block: Block) -> int:
            if moves_rows:
                return array.buffer_bytes(block.num_edges)
            return array.block_bytes(block.first_edge, block.last_edge)

        return [max((size(array, block) for block in blocks), default=0) for array in arrays if array is not None]

    @staticmethod
    def bytes_near(arrays: Sequence[FarArray | CodedArray | None], block: Block) -> int:
        """Return the bytes of a block that stays near."""
        return sum(array.block_bytes(block.first_edge, block.last_edge) for array in arrays if array is not None)

    def _make_memory(self, sizes: list[list[int]], has_passing: bool) -> list[list[Array]]:
        """Return buffers; behind them is room for the first blocks that stay, so that whole huge pages hold buffers."""
        numbers, missing = [], -sum(map(sum, sizes)) % HUGE_PAGE_BYTES if has_passing else 0
        for number in sorted(self._to_keep):
            if missing <= 0:
                break
            numbers.append(number)
            missing -= sum(self._own_sizes(number))
        made = make_buffers([*sizes, *map(self._own_sizes, numbers)], num_busy=len(sizes) if has_passing else 0)
        self._rooms = dict(zip(numbers, made[len(sizes) :], strict=True))
        return made[: len(sizes)]

    def _own_sizes(self, number: int) -> list[int]:
        """Return the bytes that each array of a block needs."""
        block = self.blocks[number]
        return [array.block_bytes(block.first_edge, block.last_edge) for array in self._arrays]

    def _room_of(self, number: int) -> list[Array]:
        """Return memory of its own for a block that stays."""
        return self._rooms[number] if number in self._rooms else make_buffers([self._own_sizes(number)])[0]

    def take_moved(self) -> Moved:
        """Return what was done since the last call."""
        moved, self._moved = self._moved, Moved()
        return moved

    def is_kept(self, number: int) -> bool:
        """Say whether a block is near already."""
        return number in self._kept

    def stays(self, number: int) -> bool:
        """Say whether a block stays near once it was read whole."""
        return number in self._to_keep

    def stream_all(self, transfer: str = "hybrid") -> Iterator[LoadedBlock]:
        """Yield every block whole: with `zero_copy` in place; the rows of all vertices are what `filter` moves."""
        way = "zero_copy" if transfer == "zero_copy" else "filter"
        return self.stream(range(len(self.blocks)), [way] * len(self.blocks))

    def stream(
        self, numbers: Sequence[int], ways: Sequence[str] | None = None, active: Array | None = None
    ) -> Iterator[LoadedBlock]:
        """Yield these blocks, kept ones first; each may be used until the next one is asked for.

        `ways` says how each is moved, `filter` unless given; whole blocks come before rows. With `compact` and
        `zero_copy` come only the `active [V]` rows: those of blocks that are moved in the same way together, ascending,
        as many as fit; without `active`, `zero_copy` gives whole blocks.
        """
        wanted = zip(numbers, ways or ["filter"] * len(numbers), strict=True)
        missing = [
            part for number, way in wanted if number not in self._kept for part in self._parts(number, way, active)
        ]
        coming = deque(sorted(missing, key=self._turn))
        free, pending = list(self._buffers), deque[_Load]()
        while coming and coming[0].way == "filter" and free:
            pending.extend(self._start(coming, free, active))
        for number in numbers:
            if number in self._kept:
                self._moved.num_blocks["kept"] += 1
                yield self._kept[number]
        while True:
            while coming and free:
                pending.extend(self._start(coming, free, active))
            if not pending:
                break
            load = pending.popleft()
            started = time.perf_counter()
            loaded = load.wait()
            self._moved.wait_seconds += time.perf_counter() - started
            yield loaded
            if load.is_kept:
                self._kept[load.number] = loaded
            elif load.buffers:
                free.append(load.buffers)
        self._file.check_unchanged()

    def _turn(self, part: _Part) -> tuple[bool, int]:
        """Return when a part comes: blocks that stay first, then other whole blocks, then rows, alike ones together."""
        return part.number not in self._to_keep, TRANSFERS.index(part.way)

    def _parts(self, number: int, way: str, active: Array | None) -> Iterator[_Part]:
        """Yield a block whole, or ranges of its rows if too many for a load are to be moved alone."""
        block = self.blocks[number]
        num_rows = block.last_row - block.first_row
        rows = None if way == "filter" or active is None else active[block.first_row : block.last_row]
        if rows is not None and np.count_nonzero(rows) > self._most_rows:
            num_rows = self._most_rows
        for first in range(block.first_row, block.last_row, num_rows):
            yield _Part(number, first, min(first + num_rows, block.last_row), way)

    def _start(self, coming: deque[_Part], free: list[list[Array]], active: Array | None) -> list[_Load]:
        """Begin to move what comes next; where only rows are moved, all that fits, which may turn out to be none."""
        way = coming[0].way
        if way == "filter":
            return [self._start_block(coming.popleft().number, free)]
        if active is None:
            return [self._map_block(coming.popleft().number)]
        joined = self._join(coming, way, active)
        if not joined:
            return []
        return [self._start_rows(joined, free.pop()) if way == "compact" else self._map(_Rows.join(joined))]

    def _join(self, coming: deque[_Part], way: str, active: Array) -> list[_Rows]:
        """Take parts that ascend and are moved in the same way, as many as fit; return the active rows of each."""
        joined, last, num_rows = list[_Rows](), (-1, -1), 0
        room = [buffer.size for buffer in self._buffers[0]] if way == "compact" else []
        while coming and coming[0].way == way and coming[0][:2] > last:
            more = self._active_rows(coming[0], active)
            if more.rows.size:
                room = [left - plan.near_bytes for left, plan in zip(room, more.plans, strict=False)]
                num_rows += more.rows.size
                if joined and (num_rows > self._most_rows or any(left < 0 for left in room)):
                    break
                joined.append(more)
            part = coming.popleft()
            last = part[:2]
            self._moved.num_blocks[way] += part.first_row == self.blocks[part.number].first_row
        return joined

    def _start_block(self, number: int, free: list[list[Array]]) -> _Load:
        """Begin to read a block, into memory of its own if it can stay."""
        buffers, reads = self._read_block(number, free)
        return _Load(number, self.blocks[number], buffers, reads, is_kept=number in self._to_keep)

    def _read_block(self, number: int, free: list[list[Array]]) -> tuple[list[Array], list[PendingRead]]:
        block = self.blocks[number]
        self._note_moved(block)
        edges = block.first_edge, block.last_edge
        buffers = self._room_of(number) if number in self._to_keep else free.pop()
        pairs = zip(self._arrays, buffers, strict=True)
        return buffers, [array.start_read(self._file, *edges, buffer) for array, buffer in pairs]

    def _note_moved(self, block: Block, way: str = "filter") -> None:
        self._moved.num_blocks[way] += 1
        self._moved.num_bytes[way] += sum(a.moved_bytes(block.first_edge, block.last_edge) for a in self._arrays)

    def _active_rows(self, part: _Part, active: Array) -> _Rows:
        block = replace(self.blocks[part.number], first_row=part.first_row, last_row=part.last_row)
        rows, firsts, lasts = list_rows(active, self._offsets, block)
        is_planned = part.way == "compact" and rows.size > 0
        plans = [self._plan(array, firsts, lasts) for array in self._arrays] if is_planned else []
        return _Rows(part.number, self.blocks[part.number], rows, firsts, lasts, plans)

    def _plan(self, array: Any, firsts: Array, lasts: Array) -> Any:
        """Plan to read the edges `firsts[i]` to `lasts[i]` of an array: what is read, and where each row will begin."""
        return plan_compact(array, firsts, lasts)

    def _join_plans(self, place: int, parts: list[_Rows], rows: _Rows) -> Any:
        """Return one plan for the rows of all parts, of the array at a place."""
        return CompactRows.join([part.plans[place] for part in parts], self._arrays[place].dtype.itemsize)

    def _start_plan(self, array: Any, planned: Any, buffer: Array) -> PendingRead:
        end = array.position + array.num_bytes
        return self._file.start_ranges(planned.ranges, end, buffer, array.dtype)

    def _start_rows(self, parts: list[_Rows], buffers: list[Array]) -> _Load:
        """Begin to read the pages of some rows."""
        rows, reads, starts = _Rows.join(parts), [], []
        for place, (array, buffer) in enumerate(zip(self._arrays, buffers, strict=True)):
            planned = self._join_plans(place, parts, rows)
            reads.append(self._start_plan(array, planned, buffer))
            starts.append(planned.starts)
            self._moved.num_bytes["compact"] += planned.num_bytes
        return _Load(rows.number, rows.block, buffers, reads, rows.listed(starts[0], starts[-1]))

    def _map_block(self, number: int) -> _Load:
        """Give a block as the file has it; the system reads all its pages."""
        block = self.blocks[number]
        self._note_moved(block, "zero_copy")
        mapped = [self._file.mapped(array) for array in self._arrays if isinstance(array, FarArray)]
        reads = [PendingRead([], array[block.first_edge : block.last_edge]) for array in mapped]
        return _Load(number, block, [], reads)

    def _map(self, rows: _Rows) -> _Load:
        """Give some rows as the file has them; their pages come when they are touched."""
        reads = [PendingRead([], self._file.mapped(array)) for array in self._arrays if isinstance(array, FarArray)]
        return _Load(rows.number, rows.block, [], reads, rows.listed(rows.firsts, rows.firsts))

    def _choose_kept(self, kept_bytes: int) -> set[int]:
        """Return the first blocks that fit; pieces of a long row pass by in order."""
        chosen = set()
        for number, block in enumerate(self.blocks):
            size = self.bytes_near(self._arrays, block)
            if block.is_whole and size <= kept_bytes:
                chosen.add(number)
                kept_bytes -= size
        return chosen


class _Part(NamedTuple):
    """Some rows of a block that is to be moved."""

    number: int
    first_row: int
    last_row: int  # not included
    way: str


@dataclass(frozen=True)
class _Rows:
    """Rows of one or more blocks, and which edges are theirs."""

    number: int  # of the first block
    block: Block
    rows: Array
    firsts: Array
    lasts: Array
    plans: list[Any] = field(default_factory=list)  # one per array, where the rows are to be read

    @staticmethod
    def join(parts: list[_Rows]) -> _Rows:
        first, last = parts[0].block, parts[-1].block
        block = Block(first.first_row, last.last_row, first.first_edge, last.last_edge, first.opens, last.closes)
        columns = zip(*((part.rows, part.firsts, part.lasts) for part in parts), strict=True)
        rows, firsts, lasts = (np.concatenate(column) for column in columns)
        return _Rows(parts[0].number, block, rows, firsts, lasts)

    def listed(self, starts: Array, weight_starts: Array) -> ListedRows:
        return ListedRows(self.rows, self.lasts - self.firsts, starts, weight_starts)


@dataclass(frozen=True)
class _Load:
    number: int
    block: Block
    buffers: list[Array]
    reads: list[PendingRead]
    rows: ListedRows | None = None
    is_kept: bool = False

    def wait(self) -> LoadedBlock:
        neighbors, *weights = [read.wait() for read in self.reads]
        return LoadedBlock(self.block, neighbors, weights[0] if weights else None, self.rows)
