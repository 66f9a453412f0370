"""The edges of one rank, as programs on its rows go through them: in its memory, or streamed from a file of its own.

Both have the same rows and give blocks in the same order in every iteration. Where edges are streamed, rows of hubs are
whole, and pushing lets vertices send early while their block is near, as on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tgraph.engine.far_push import count_rows, push_loaded
from tgraph.engine.transfers import Transfers
from tgraph.graph.hubs import HubPieces, SplitRows
from tgraph.graph.local_rows import RowEnds
from tgraph.kernels.cpu.fused.block_push import BlockPush
from tgraph.layout.partition import Block, cut_by_edges
from tgraph.memory import Budget, FarRows, LoadedBlock
from tgraph.runtime import Array


class NearEdges:
    """All edges are in memory."""

    is_streamed = False

    def __init__(self, divided: SplitRows, weighted: bool) -> None:
        self.rows: RowEnds = divided.rows
        self.pieces: HubPieces | None = divided.pieces
        self.no_edges = divided.rows.no_edges
        self._edges = divided.rows.neighbors, divided.rows.weights if weighted else None
        self.cut(1)

    def cut(self, count: int) -> None:
        """Cut the edges into about so many blocks, which leave out the rows of own hubs."""
        offsets = self.rows.offsets
        self._blocks = cut_by_edges(offsets, max(-(-self.rows.num_arcs // count), 1))
        if self.pieces is not None:
            self._blocks = cut_out(self._blocks, offsets, self.pieces.own_rows)

    def blocks(self) -> Iterator[LoadedBlock]:
        """Yield all edges but those of hubs, block by block."""
        neighbors, weights = self._edges
        for block in self._blocks:
            edges = slice(block.first_edge, block.last_edge)
            yield LoadedBlock(block, neighbors[edges], None if weights is None else weights[edges])

    def push(self, kernel: BlockPush) -> None:
        """Let all active vertices send."""
        kernel.push(Block(0, self.rows.num_own, 0, self.rows.num_arcs), *self._edges)


class StreamedEdges:
    """The edges are in a file; what is near stays within the rank's budget."""

    is_streamed = True
    pieces: HubPieces | None = None

    def __init__(self, rows: FarRows, weighted: bool, near_bytes: dict[str, int], transfer: str) -> None:
        """Cut the edges into blocks that fit what `near_bytes`, by purpose, leave of the budget."""
        self.rows: RowEnds = rows
        budget = Budget(rows.memory)
        for purpose, num_bytes in near_bytes.items():
            budget.take(purpose, num_bytes)
        self._stream = rows.stream(weighted, budget)
        self._transfers = Transfers(self._stream, rows.link, transfer)
        self._loader, self.no_edges = self._stream.loader(rows.file), self._stream.no_edges

    def blocks(self) -> Iterator[LoadedBlock]:
        """Yield all edges, in the blocks that the budget allows."""
        return self._loader.stream_all()

    def push(self, kernel: BlockPush) -> None:
        """Let the active vertices of all blocks that have some send."""
        counts = count_rows(kernel, kernel.active, self._stream)
        for loaded in self._transfers.stream(self._loader, counts, kernel.active)[0]:
            push_loaded(kernel, loaded)

    def take_read(self) -> int:
        """Return the bytes that were read from the file since the last call."""
        return sum(self._loader.take_moved().num_bytes.values())


def cut_out(blocks: list[Block], offsets: Array, rows: Array) -> list[Block]:
    """Return blocks without some rows, ascending, that are empty.

    >>> import numpy as np
    >>> some = cut_out([Block(0, 3, 0, 5)], np.array([0, 2, 2, 5]), np.array([1]))
    >>> [(block.first_row, block.last_row, block.first_edge, block.last_edge) for block in some]
    [(0, 1, 0, 2), (2, 3, 2, 5)]
    """
    left = []
    for block in blocks:
        inside = rows[(rows >= block.first_row) & (rows < block.last_row)].tolist()
        if not inside:
            left.append(block)
            continue
        for first, last in pairwise([block.first_row - 1, *inside, block.last_row]):
            if last > first + 1:
                left.append(Block(first + 1, last, int(offsets[first + 1]), int(offsets[last])))
    return left
