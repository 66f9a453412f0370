"""Blocks whose neighbours are coded: they stay near, and are computed on, as they are stored.

Near memory then holds several times as many edges. Kernels that look at a block once decode what they look at; for
others it is opened here, decoded into one buffer by all threads, and stays so where there is room left. Rows that move
alone are decoded by those that read them, in buffers that are large enough for that where there are such rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tgraph.kernels.cpu.coded_edges import CodedBlock, open_block
from tgraph.layout.partition import Block
from tgraph.memory.coded_array import CodedArray, CodedRanges
from tgraph.memory.far_file import FarFile, PendingRead, make_buffer
from tgraph.memory.loader import BlockLoader, EdgeArrays, LoadedBlock
from tgraph.runtime import Array


class CodedLoader(BlockLoader):
    """Moves blocks of one direction of a graph with coded neighbours."""

    def __init__(
        self,
        file: FarFile,
        arrays: EdgeArrays,
        offsets: Array,
        blocks: Sequence[Block],
        kept_bytes: int,
        row_bytes: int,
        *,
        opens_blocks: bool,
    ) -> None:
        """Move these blocks; with `opens_blocks` they come decoded, and those for which there is room stay so."""
        super().__init__(file, arrays, offsets, blocks, kept_bytes, row_bytes)
        self._opens_blocks, self._opened = opens_blocks, dict[Block, Array]()
        self._to_stay_open = self._choose_open(kept_bytes)
        passing = [block.num_edges for block in blocks if block not in self._to_stay_open]
        self._room = self._make_room(max(passing, default=0)) if opens_blocks else np.empty(0, np.int32)

    def stream(
        self, numbers: Sequence[int], ways: Sequence[str] | None = None, active: Array | None = None
    ) -> Iterator[LoadedBlock]:
        """Yield these blocks as `BlockLoader` does, opened if that was asked for."""
        for loaded in super().stream(numbers, ways, active):
            if self._opens_blocks and isinstance(loaded.neighbors, CodedBlock):
                yield replace(loaded, neighbors=self._open(loaded.block, loaded.neighbors))
            else:
                yield loaded

    def _open(self, block: Block, coded: CodedBlock) -> Array:
        """Return the decoded neighbours of a block, which may be there already."""
        if block in self._opened:
            return self._opened[block]
        stays = block in self._to_stay_open
        room = self._make_room(block.num_edges) if stays else self._room
        ids = open_block(coded, block.first_edge, block.last_edge, room)
        if stays:
            self._opened[block] = ids
        return ids

    def _choose_open(self, kept_bytes: int) -> set[Block]:
        """Return the first blocks that fit, decoded, beside all that stay as they are stored."""
        chosen, neighbors = set[Block](), self._arrays[0]
        room = kept_bytes - sum(self.bytes_near(self._arrays, self.blocks[number]) for number in self._to_keep)
        for number in sorted(self._to_keep) if self._opens_blocks else ():
            assert isinstance(neighbors, CodedArray)
            room -= neighbors.opened_bytes(self.blocks[number].num_edges)
            if room < 0:
                break
            chosen.add(self.blocks[number])
        return chosen

    def _make_room(self, num_edges: int) -> Array:
        neighbors = self._arrays[0]
        assert isinstance(neighbors, CodedArray)
        return make_buffer(neighbors.opened_bytes(num_edges)).view(neighbors.dtype)

    def _plan(self, array: Any, firsts: Array, lasts: Array) -> Any:
        if isinstance(array, CodedArray):
            return array.plan_rows(firsts, lasts)
        return super()._plan(array, firsts, lasts)

    def _join_plans(self, place: int, parts: list[Any], rows: Any) -> Any:
        """Plan anew: two parts may have rows in the same frame."""
        array: Any = self._arrays[place]
        if isinstance(array, CodedArray):
            return array.plan_rows(rows.firsts, rows.lasts)
        return super()._join_plans(place, parts, rows)

    def _start_plan(self, array: Any, planned: Any, buffer: Array) -> PendingRead:
        if isinstance(planned, CodedRanges):
            return array.start_rows(self._file, planned, buffer)
        return super()._start_plan(array, planned, buffer)
