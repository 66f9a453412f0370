"""The edges of one direction of a far graph, cut into blocks that fit what a budget leaves for them."""

from __future__ import annotations

import numpy as np

from tgraph.budget import Budget
from tgraph.layout.partition import Block, cut_by_edges
from tgraph.memory.far_file import FarArray, FarFile, aligned_bytes, make_buffer
from tgraph.memory.far_graph import FarGraph
from tgraph.memory.loader import BUFFERS, BlockLoader
from tgraph.memory.vertex_cache import BYTES_PER_VERTEX, VertexCache
from tgraph.runtime import Array

BLOCK_BYTES = 32 << 20  # at most
SMALLEST_BLOCK_BYTES = 16 << 10
SLACK = 10  # one part in so many stays free, for the interpreter, and for pages that the system frees late
SMALLEST_SLACK = 16 << 20  # but at least this, if it is not more than an eighth
BLOCKS_IN_BUDGET = 16  # blocks are made so small that near memory for edges holds as many


class EdgeStream:
    """Offsets near, neighbours and weights in blocks. Whoever uses it takes what it needs first, then calls `cut`."""

    def __init__(self, graph: FarGraph, direction: str, with_weights: bool, budget: Budget) -> None:
        neighbors, weights = graph.far_rows(direction)
        self._arrays = neighbors, weights if with_weights else None
        self._budget, self._direction, self._kept_bytes = budget, direction, 0
        self._cached_bytes = 0
        graph.adjacency(direction)  # raises if the file does not have it
        offsets = graph.far_offsets(direction)
        num_bytes = aligned_bytes(offsets.num_bytes)
        budget.take(f"{direction} offsets", num_bytes)
        with FarFile(graph.path, graph.identity) as file:
            read = file.start_read(offsets, 0, offsets.size, make_buffer(num_bytes))
            self.offsets: Array = read.wait()
        self.blocks: list[Block] = []

    @property
    def arrays(self) -> tuple[FarArray, FarArray | None]:
        """Where neighbours and weights lie in the file; no weights if nobody asked for them."""
        return self._arrays

    @property
    def edge_bytes(self) -> int:
        """The bytes of one edge in the file."""
        return sum(array.dtype.itemsize for array in self._arrays if array is not None)

    @property
    def has_weights(self) -> bool:
        """Whether blocks come with their weights."""
        return self._arrays[1] is not None

    @property
    def no_edges(self) -> tuple[Array, Array | None]:
        """Neighbours and weights of a block without edges."""
        neighbors, weights = self._arrays
        return np.empty(0, neighbors.dtype), None if weights is None else np.empty(0, weights.dtype)

    def cut(self, part: float = 1.0, cached: float = 0.0) -> None:
        """Divide what is left of the budget, or a part of that, among buffers and blocks that stay near.

        A part `cached` of what those would get goes to a cache of hot rows.
        """
        budget = self._budget
        slack = max(budget.limit // SLACK, min(SMALLEST_SLACK, budget.limit // 8))
        available = int((budget.free - slack) * part)
        block_bytes = min(BLOCK_BYTES, max(available // BLOCKS_IN_BUDGET, SMALLEST_BLOCK_BYTES))
        self.blocks = cut_by_edges(self.offsets, block_bytes // self.edge_bytes)
        largest = max((block.num_edges for block in self.blocks), default=0)
        buffer_bytes = BUFFERS * BlockLoader.bytes_for(self._arrays, largest)
        budget.take(f"{self._direction} buffers", buffer_bytes)
        self._kept_bytes = max(available - buffer_bytes, 0)
        self._cached_bytes = self._room_for_cache(cached)
        budget.take(f"{self._direction} kept blocks", self._kept_bytes)

    def _room_for_cache(self, part: float) -> int:
        """Take room for a cache from that of blocks that stay near; return its bytes, 0 for none."""
        beside = BYTES_PER_VERTEX * (self.offsets.size - 1)
        room = int(part * self._kept_bytes) - beside
        if room <= 0 or self._kept_bytes >= self.offsets[-1] * self.edge_bytes:
            return 0
        self._budget.take(f"{self._direction} cache", room + beside)
        self._kept_bytes -= room + beside
        return room

    def cache(self, loader: BlockLoader) -> VertexCache | None:
        """Return a cache of hot rows of blocks that do not stay near, if `cut` left room for one."""
        if not self._cached_bytes:
            return None
        dtypes = [array.dtype for array in self._arrays if array is not None]
        cache = VertexCache(self.offsets, dtypes, self._cached_bytes)
        for number, block in enumerate(self.blocks):
            if loader.stays(number):
                cache.leave_out(block.first_row, block.last_row)
        return cache

    def release(self) -> None:
        """Give back what was taken of the budget; the stream is of no use then."""
        for purpose in ("offsets", "buffers", "cache", "kept blocks"):
            self._budget.release(f"{self._direction} {purpose}")

    def loader(self, file: FarFile) -> BlockLoader:
        """Return what moves the blocks near."""
        return BlockLoader(file, self._arrays, self.offsets, self.blocks, self._kept_bytes)
