"""The edges of one direction of a far graph, cut into blocks that fit what a budget leaves for them."""

from __future__ import annotations

import numpy as np

from tgraph.layout.partition import Block, cut_by_edges
from tgraph.memory.budget import Budget
from tgraph.memory.far_file import FarArray, FarFile
from tgraph.memory.far_graph import FarGraph
from tgraph.memory.loader import BUFFERS, BlockLoader
from tgraph.runtime import Array

BLOCK_BYTES = 32 << 20  # at most
SMALLEST_BLOCK_BYTES = 16 << 10
SLACK = 16  # one part in so many stays free, for what the interpreter allocates meanwhile
BLOCKS_IN_BUDGET = 16  # blocks are made so small that near memory for edges holds as many


class EdgeStream:
    """Offsets near, neighbours and weights in blocks. Whoever uses it takes what it needs first, then calls `cut`."""

    def __init__(self, graph: FarGraph, direction: str, with_weights: bool, budget: Budget) -> None:
        neighbors, weights = graph.far_rows(direction)
        self._arrays = neighbors, weights if with_weights else None
        self._budget, self._direction, self._kept_bytes = budget, direction, 0
        mapped = graph.adjacency(direction).to_numpy()[0]
        budget.take(f"{direction} offsets", mapped.nbytes)
        self.offsets: Array = mapped.copy()
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

    def cut(self, part: float = 1.0) -> None:
        """Divide what is left of the budget, or a part of that, among buffers and blocks that stay near."""
        budget = self._budget
        available = int((budget.free - budget.limit // SLACK) * part)
        block_bytes = min(BLOCK_BYTES, max(available // BLOCKS_IN_BUDGET, SMALLEST_BLOCK_BYTES))
        self.blocks = cut_by_edges(self.offsets, block_bytes // self.edge_bytes)
        largest = max((block.num_edges for block in self.blocks), default=0)
        buffer_bytes = BUFFERS * BlockLoader.bytes_for(self._arrays, largest)
        budget.take(f"{self._direction} buffers", buffer_bytes)
        self._kept_bytes = max(available - buffer_bytes, 0)
        budget.take(f"{self._direction} kept blocks", self._kept_bytes)

    def release(self) -> None:
        """Give back what was taken of the budget; the stream is of no use then."""
        for purpose in ("offsets", "buffers", "kept blocks"):
            self._budget.release(f"{self._direction} {purpose}")

    def loader(self, file: FarFile) -> BlockLoader:
        """Return what moves the blocks near."""
        return BlockLoader(file, self._arrays, self.offsets, self.blocks, self._kept_bytes)
