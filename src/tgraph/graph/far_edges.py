"""What a changing graph has whose edges are far: files, a budget of near memory, and the hot subgraph."""

from __future__ import annotations

import os
import weakref
from typing import Any

from tgraph.budget import Budget, parse_bytes
from tgraph.graph.far_arrays import FarArrays
from tgraph.kernels.cpu.gapped_rows import ArcChanges, GappedRows
from tgraph.kernels.cpu.hot_subgraph import BYTES_PER_VERTEX, HotSubgraph


class FarEdges:
    """Near memory of a graph with far edges: what vertices and kept results need, the hot subgraph has what is left."""

    def __init__(self, memory: int | str, folder: str | os.PathLike[str] | None, hot: bool | int | str) -> None:
        self.budget = Budget(parse_bytes("memory", memory))
        self._most_hot = self.budget.limit * hot if isinstance(hot, bool) else parse_bytes("hot", hot)
        self._per_vertex: dict[str, int] = {}  # bytes
        self._needed: tuple[int, int] = 0, 0  # places and bytes of labels
        self.hot: HotSubgraph | None = None
        self.arrays = FarArrays(folder)

    def take(self, purpose: str, bytes_per_vertex: int, owner: Any = None) -> None:
        """Take bytes for a purpose as long as its owner lives, or raise `MemoryBudgetError`."""
        self._check({**self._per_vertex, purpose: bytes_per_vertex}, *self._needed)
        self._per_vertex[purpose] = bytes_per_vertex
        if owner is not None:
            weakref.finalize(owner, self._per_vertex.pop, purpose, None)
        self._fit()

    def check(self, num_places: int, label_bytes: int) -> None:
        """Raise `MemoryBudgetError` unless a graph of this size fits with all that is kept."""
        self._check(self._per_vertex, num_places, label_bytes)

    def resize(self, num_places: int, label_bytes: int) -> None:
        """Note how large the graph is; a hot subgraph that has become too large begins anew."""
        added, self._needed = num_places - self._needed[0], (num_places, label_bytes)
        if self.hot is not None and added:
            self.hot.add_vertices(added)
        self._fit()

    def watch(self, sides: list[GappedRows], weighted: bool) -> HotSubgraph:
        """Return the hot subgraph of these rows, with weights if anyone needs them."""
        if self.hot is None:
            self.take("reads of rows", BYTES_PER_VERTEX * len(sides))
            self.hot = HotSubgraph(sides, self._left())
        if weighted:
            self.hot.hold_weights()
        self._fit()
        return self.hot

    def follow(self, changed: list[ArcChanges]) -> None:
        """Follow a batch that changed rows, and see to what is hot."""
        if self.hot is not None:
            self.hot.follow(changed)

    def _check(self, per_vertex: dict[str, int], num_places: int, label_bytes: int) -> Budget:
        needed = Budget(self.budget.limit)
        for purpose, num_bytes in per_vertex.items():
            needed.take(purpose, num_bytes * num_places)
        needed.take("ids", label_bytes)
        return needed

    def _left(self) -> int:
        return min(self.budget.free, self._most_hot)

    def _fit(self) -> None:
        """Make the hot subgraph smaller if it is larger than what is left."""
        self.budget = self._check(self._per_vertex, *self._needed)
        if self.hot is not None and self.hot.limit > self._left():
            self.hot.set_limit(self._left())
        if self.hot is not None:
            self.budget.take("hot subgraph", self.hot.num_bytes)
