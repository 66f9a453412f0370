"""How the edges of active vertices come near: in whole blocks, or their rows alone; what a link says, or who asks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tgraph.kernels.cpu.fused.block_push import MarkedRows
from tgraph.memory import BlockLoader, EdgeStream, Link, LoadedBlock
from tgraph.memory.transfer import TRANSFERS, choose_transfers, smallest_block_bytes
from tgraph.runtime import Array


class Transfers:
    """The blocks of a stream, cut for a way of transfer; with `hybrid`, for the choice that the link makes."""

    def __init__(self, edges: EdgeStream, link: Link, transfer: str, cached: float = 0.0) -> None:
        self._edges, self._transfer, self.link = edges, transfer, link
        in_rows_from = {"filter": math.inf, "hybrid": smallest_block_bytes(link, edges.num_arrays)}
        all_in_rows = transfer not in in_rows_from
        edges.cut(cached=cached, in_rows_from=in_rows_from.get(transfer, 0.0), all_in_rows=all_in_rows)

    def stream(
        self, loader: BlockLoader, counts: MarkedRows, active: Array, times: float = 1.0
    ) -> tuple[Iterator[LoadedBlock], dict[str, int]]:
        """Move the rows of those that are active, as counted, and say what the system will have read in place.

        `times` is how often the vertices of a block that is moved whole send while it is near.
        """
        numbers = np.flatnonzero(counts.edges)
        named, page_bytes = numbers.tolist(), counts.page_bytes[numbers]
        ways = self.ways(loader, named, counts.requests[numbers], page_bytes, times)
        return loader.stream(named, ways, active), self.touched(loader, named, ways, page_bytes)

    def ways(
        self, loader: BlockLoader, numbers: list[int], requests: Array, page_bytes: Array, times: float = 1.0
    ) -> list[str]:
        """Choose how each of these blocks is moved, if nobody said so; weights are moved like their neighbours.

        `requests` and `page_bytes` are what the active rows of each would take of the neighbours. A block that will
        stay near is moved whole, which happens only once.
        """
        if self._transfer != "hybrid":
            return [self._transfer] * len(numbers)
        if not self._edges.moves_rows:
            return ["filter"] * len(numbers)
        block_bytes, page_bytes, touched = self._edges.bytes_to_move(numbers, requests, page_bytes)
        requests = requests * self._edges.num_arrays
        chosen = choose_transfers(self.link, block_bytes, requests, page_bytes, touched, times)
        return ["filter" if loader.stays(n) else TRANSFERS[way] for n, way in zip(numbers, chosen, strict=True)]

    def touched(self, loader: BlockLoader, numbers: list[int], ways: list[str], page_bytes: Array) -> dict[str, int]:
        """Return the bytes that the system will read for blocks that are used in place."""
        with_weights = page_bytes * (self._edges.edge_bytes / self._edges.place_of_rows[1])
        sizes = zip(numbers, ways, with_weights.tolist(), strict=True)
        touched = sum(int(size) for number, way, size in sizes if way == "zero_copy" and not loader.is_kept(number))
        return {"zero_copy": touched} if touched else {}
