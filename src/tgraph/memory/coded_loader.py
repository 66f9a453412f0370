"""Blocks whose neighbours are coded: threads that read them decode them, and those that stay near stay coded.

Near memory then holds several times as many edges. A block is decoded into one of the buffers whenever it is used,
which takes less time than reading it would; weights are as they are elsewhere. Where all blocks stay and there is room
left, the first ones stay decoded: the next ones are decoded while these are computed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tgraph.layout.partition import Block
from tgraph.memory.coded_array import CodedArray, CodedRanges
from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, PendingRead, aligned_bytes, make_buffer
from tgraph.memory.loader import BlockLoader
from tgraph.runtime import Array


@dataclass(frozen=True)
class _NearBlock:
    """A block that stays near."""

    coded: Array
    weights: list[PendingRead]  # none or one


class CodedLoader(BlockLoader):
    """Moves blocks of one direction of a graph with coded neighbours."""

    def __init__(self, file: FarFile, arrays: tuple[CodedArray, FarArray | None], *rest: Any) -> None:
        self._ids, self._weights = arrays[0], [array for array in arrays[1:] if array is not None]
        self._near: dict[int, _NearBlock] = {}
        self._decoded: set[int] = set()
        super().__init__(file, arrays, *rest)

    def is_kept(self, number: int) -> bool:
        """Say whether a block is near already."""
        return number in self._near or super().is_kept(number)

    def _choose_kept(self, kept_bytes: int) -> set[int]:
        """Return the first blocks that fit; if all do, choose the first ones that also fit decoded."""
        chosen = super()._choose_kept(kept_bytes)
        room = kept_bytes - sum(self._near_bytes(self.blocks[number]) for number in chosen)
        for number, block in enumerate(self.blocks) if len(chosen) == len(self.blocks) else ():
            room -= self._ids.buffer_bytes(block.num_edges) - self._coded_bytes(block)
            if room < 0:
                break
            self._decoded.add(number)
        return chosen

    def _near_bytes(self, block: Block) -> int:
        weights = sum(array.buffer_bytes(block.num_edges) for array in self._weights)
        return self._coded_bytes(block) + weights

    def _coded_bytes(self, block: Block) -> int:
        """Return the bytes of memory for coded neighbours that stay near, and for what is read behind them."""
        return aligned_bytes(self._ids.moved_bytes(block.first_edge, block.last_edge)) + ALIGNMENT

    def _passes(self, number: int) -> bool:
        """Say whether a block needs a buffer: every one does that does not stay decoded."""
        return number not in self._decoded

    def _read_block(self, number: int, free: list[list[Array]]) -> tuple[list[Array], list[PendingRead]]:
        """Begin to read and decode a block; one that can stay is read into memory of its own."""
        if number in self._decoded:
            return super()._read_block(number, free)
        block, buffers = self.blocks[number], free.pop()
        edges, file = (block.first_edge, block.last_edge), self._file
        near, read = self._near.get(number), PendingRead.ended()
        if near is not None:
            self._moved.num_blocks["kept"] += 1
            return buffers, [self._ids.start_decode(file, read, *edges, near.coded, buffers[0]), *near.weights]
        self._note_moved(block)
        if number not in self._to_keep:
            pairs = zip(self._arrays, buffers, strict=True)
            return buffers, [array.start_read(file, *edges, room) for array, room in pairs]
        rooms = [make_buffer(array.buffer_bytes(block.num_edges)) for array in self._weights]
        weights = [array.start_read(file, *edges, room) for array, room in zip(self._weights, rooms, strict=True)]
        near = self._near[number] = _NearBlock(make_buffer(self._coded_bytes(block)), weights)
        read = self._ids.start_bytes(file, *edges, near.coded)
        return buffers, [self._ids.start_decode(file, read, *edges, near.coded, buffers[0]), *weights]

    def _plan(self, array: Any, firsts: Array, lasts: Array) -> Any:
        return array.plan_rows(firsts, lasts) if array is self._ids else super()._plan(array, firsts, lasts)

    def _join_plans(self, place: int, parts: list[Any], rows: Any) -> Any:
        """Plan anew: two parts may have rows in the same frame."""
        return super()._join_plans(place, parts, rows) if place else self._ids.plan_rows(rows.firsts, rows.lasts)

    def _start_plan(self, array: Any, planned: Any, buffer: Array) -> PendingRead:
        if isinstance(planned, CodedRanges):
            return self._ids.start_rows(self._file, planned, buffer)
        return super()._start_plan(array, planned, buffer)
