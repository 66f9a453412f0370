"""`edges.aggregate` for programs that override `compute`, on a graph whose edges are far: one pass over its blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.engine.edges import InMemoryEdges, join
from tgraph.engine.fused import describe
from tgraph.engine.gather import Gather
from tgraph.errors import MemoryBudgetError
from tgraph.kernels.cpu.fused.block_sweep import BlockSweep
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.memory import BlockLoader, Budget, EdgeStream, FarFile, FarGraph, release_stream
from tgraph.program import State, plan
from tgraph.runtime import Array, Tensor


class FarEdges(InMemoryEdges):
    """The edges of a far graph, as `Program.compute` sees them. What cannot be compiled reads the mapped file in place.

    The near memory that vertex data leaves is divided among the directions that the graph has. Where it is not enough
    for two, they take turns: what one holds near is given back, and read again when it is needed.
    """

    def __init__(
        self,
        graph: FarGraph,
        file: FarFile,
        vertex_bytes: int,
        transfer: str,
        direction: str,
        edge_data: Mapping[str, Tensor],
    ) -> None:
        super().__init__(graph, direction, edge_data)
        self._file, self._far_graph, self._transfer = file, graph, transfer
        self._streams: dict[str, tuple[EdgeStream, BlockLoader]] = {}
        self._takes_turns, self._given_back = False, Counter[str]()  # bytes moved that no loader counts any more
        self._budget = Budget(graph.memory)
        self._budget.take("vertex data", vertex_bytes)

    def aggregate(
        self, values: Tensor, reduce: str, *, along: str = "out", message: Callable[..., Tensor] | None = None
    ) -> Tensor:
        """Send `values [V]` along every edge and return what reaches each vertex, `[V]`."""
        sides = [side if self.graph.directed else "out" for side, _ in self.sides(along, "pull")]
        if reduce == "mean" and len(sides) > 1:
            return super().aggregate(values, reduce, along=along, message=message)
        try:
            parts = [self._gather(values, reduce, side, message or _unchanged) for side in sides]
        except NotTranslatableError:
            return super().aggregate(values, reduce, along=along, message=message)
        runtime = self.graph.runtime
        gathered = runtime.asarray(parts[0])
        for part in parts[1:]:
            gathered = join(runtime, reduce, gathered, runtime.asarray(part))
        return gathered

    def take_moved(self) -> dict[str, int] | None:
        """Return the bytes moved from the file since the last call."""
        moved, self._given_back = self._given_back, Counter[str]()
        for _, loader in self._streams.values():
            moved.update(loader.take_moved().num_bytes)
        return dict(moved) or {"filter": 0}

    def _gather(self, values: Tensor, reduce: str, side: str, message: Callable[..., Any]) -> Array:
        """Let every row of one side collect from its neighbours."""
        runtime, count = self.graph.runtime, self.graph.num_vertices
        value = np.ascontiguousarray(runtime.to_numpy(values))
        planned = plan(Gather(reduce, "out", message), ("gathered", "value"))
        state = State({"gathered": runtime.asarray(np.empty(0, value.dtype)), "value": runtime.asarray(value)})
        weighted = self.graph.weighted and "weight" in planned.parameters["message"]
        program = replace(describe(planned, InMemoryEdges(self.graph), state), weighted=weighted)
        dtype = reduced_dtype(reduce, program.message_dtype)
        program = replace(program, field_dtypes={"gathered": dtype, "value": value.dtype})
        edges, loader = self._stream(side, weighted)
        fields = {"gathered": np.empty(count, dtype), "value": value}
        sweep = BlockSweep(program, edges.offsets, edges.no_block, fields)
        sweep.prepare()
        for loaded in loader.stream_all(self._transfer):
            sweep.sweep(loaded.block, loaded.neighbors, loaded.weights)
        return fields["gathered"]

    def _stream(self, side: str, weighted: bool) -> tuple[EdgeStream, BlockLoader]:
        """Return the blocks of one side; they are cut once, or again when weights are needed for the first time."""
        if side in self._streams and (not weighted or self._streams[side][0].has_weights):
            return self._streams[side]
        self._give_back(side)
        if not self._takes_turns:
            try:
                return self._open(side, weighted, 0.5 if self.graph.directed and not self._streams else 1.0)
            except MemoryBudgetError:
                if not self._streams:
                    raise
                self._takes_turns = True
        for other in [*self._streams]:
            self._give_back(other)
        return self._open(side, weighted, 1.0)

    def _open(self, side: str, weighted: bool, part: float) -> tuple[EdgeStream, BlockLoader]:
        """Return the blocks of one side, in a part of what is left of the budget."""
        try:
            edges = EdgeStream.of_graph(self._far_graph, side, weighted, self._budget, self._transfer == "zero_copy")
            edges.cut(part)
        except MemoryBudgetError:
            release_stream(self._budget, side)
            raise
        if self._takes_turns:
            self._given_back["filter"] += edges.offsets.nbytes  # read not once, but every time
        self._streams[side] = edges, edges.loader(self._file)
        return self._streams[side]

    def _give_back(self, side: str) -> None:
        """Release what a side holds near, if it does."""
        if side in self._streams:
            edges, loader = self._streams.pop(side)
            self._given_back.update(loader.take_moved().num_bytes)
            edges.release()


def _unchanged(value: Tensor) -> Tensor:
    return value
