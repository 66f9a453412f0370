"""Monotonic programs on the blocks of a far graph: who changed pushes, or receivers pull where that is less work."""

from __future__ import annotations

import time

import numpy as np

from tgraph.engine.far_runs import FarRun
from tgraph.kernels.cpu.fused.block_push import BlockPush, MarkedRows, can_push_blocks
from tgraph.kernels.cpu.fused.bounded_pull import BoundedPull, can_pull_bounded
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.memory import BlockLoader, EdgeStream, FarFile, FarGraph, LoadedBlock
from tgraph.memory.transfer.compact import JOINED_BYTES
from tgraph.memory.vertex_cache import VertexCache
from tgraph.program import Plan, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array

TIMES_WHILE_NEAR = 8  # that the vertices of a block send
AGAIN_PART = 0.1  # of those that sent first: with fewer vertices that became active, the block waits for its next turn
CACHED_PART = 0.5  # of near memory for edges, with cache="rows"; the rest is for blocks that stay
SECONDS_PER_EDGE = 4e-9  # whose other end lies anywhere; on R-MAT 22 with two threads
SECONDS_PER_MARK = 1e-9  # of a vertex, and counting the marks
EDGES_LEFT_OUT = 15  # of so many a receiver looks at one (Beamer's alpha)


class FarPush(FarRun):
    """Vertices that changed are active: an iteration goes through the blocks that have some, or those of receivers."""

    schedule = "changed"

    def __init__(
        self,
        planned: Plan,
        graph: FarGraph,
        state: State,
        active: Array | None,
        wanted_direction: str,
        transfer: str,
        cache: str,
    ) -> None:
        direction = "out" if planned.program.along == "out" else "in"
        super().__init__(planned, graph, state, direction, transfer, opens_blocks=True)
        if not can_push_blocks(self._kernel_program):
            raise NotTranslatableError(
                "update does more than the reduction, or a message asks what the receiver has so far"
            )
        self._budget.take("activity", BlockPush.scratch_bytes(graph.num_vertices))
        mask = np.ones(graph.num_vertices, np.bool_) if active is None else np.array(active)
        rows = self._edges.offsets, self._edges.no_edges
        self._kernel = BlockPush(self._kernel_program, *rows, self._fields, mask)
        self._pull: BoundedPull | None = None
        if not graph.directed and can_pull_bounded(self._kernel_program) and wanted_direction != "push":
            values = self._fields[self._kernel_program.main_field]
            self._pull = BoundedPull(self._kernel_program, self._edges.offsets, self._edges.no_edges[0], values)
        self._cut(transfer, CACHED_PART if cache == "rows" else 0.0)
        self._whole_blocks, self._times_sent = 0, 0  # blocks that were near whole, and how often their vertices sent

    def _text(self) -> str:
        return self._kernel.text

    def _arrays(self) -> dict[str, Array]:
        return {**self._fields, "active vertices": self._kernel.active}

    def run(self, file: FarFile, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until nobody is active (True) or the limit is reached (False)."""
        loader = self._edges.loader(file)
        cache = self._edges.cache(loader)
        while self._kernel.active.any():
            if max_iterations is not None and self._state.iteration >= max_iterations:
                return False
            started = time.perf_counter()
            found = self._push_cached(cache)
            counts = self._count(self._kernel.active)
            receivers = self._find_receivers(loader, counts) if cache is None else None
            if receivers is not None:
                touched = self._pull_blocks(loader, receivers)
                self._kernel.end()
                direction, vertices, edges = "pull", counts.num_vertices, counts.num_edges
            else:
                touched = self._push_blocks(loader, counts, cache)
                direction, vertices, edges = "push", *self._kernel.end()
            if cache is not None:
                cache.refresh()
            did, seconds = loader.take_moved(), time.perf_counter() - started
            moved, blocks = {**did.num_bytes, **touched}, {**did.num_blocks, **found}
            self._record(trace, progress, Iteration(direction, vertices, edges, seconds, None, moved, blocks))
        return True

    def _count(self, marks: Array) -> MarkedRows:
        return count_rows(self._kernel, marks, self._edges)

    def _push_blocks(self, loader: BlockLoader, counts: MarkedRows, cache: VertexCache | None) -> dict[str, int]:
        """Let the active vertices send; return what the system will have read in place."""
        times = self._times_sent / max(self._whole_blocks, 1)
        blocks, touched = self._transfers.stream(loader, counts, self._kernel.active, max(times, 1.0))
        for loaded in blocks:
            self._times_sent += push_loaded(self._kernel, loaded)
            self._whole_blocks += loaded.rows is None
            if cache is not None:
                cache.offer(loaded)
        return touched

    def _pull_blocks(self, loader: BlockLoader, counts: MarkedRows) -> dict[str, int]:
        """Let those who are marked as active look at their neighbours; return what the system will have read."""
        assert self._pull is not None
        blocks, touched = self._transfers.stream(loader, counts, self._kernel.active)
        for loaded in blocks:
            if loaded.rows is None:
                self._pull.pull(loaded.block, loaded.ids, self._kernel.coming)
            else:
                self._pull.pull_rows(loaded.rows, loaded.ids, self._kernel.coming)
        return touched

    def _find_receivers(self, loader: BlockLoader, senders: MarkedRows) -> MarkedRows | None:
        """Return what the rows of all who may still receive take, and mark these instead of the active vertices.

        None, and nothing is changed, if pushing takes less time.
        """
        if self._pull is None:
            return None
        active, coming = self._kernel.active, self._kernel.coming
        push_seconds = self._seconds_to_move(loader, senders) + senders.num_edges * SECONDS_PER_EDGE
        mark_seconds = active.size * SECONDS_PER_MARK
        if push_seconds <= mark_seconds:
            return None
        self._pull.aim(active)
        self._pull.mark(coming)
        receivers = self._count(coming)
        look_seconds = receivers.num_edges / EDGES_LEFT_OUT * SECONDS_PER_EDGE
        pays = self._seconds_to_move(loader, receivers) + look_seconds + mark_seconds < push_seconds
        if pays:
            active[:] = coming
        coming[:] = False
        return receivers if pays else None

    def _seconds_to_move(self, loader: BlockLoader, counts: MarkedRows) -> float:
        """Return about how long these rows are on their way: of blocks that are not near, the whole or the pages."""
        numbers = [number for number in np.flatnonzero(counts.edges).tolist() if not loader.is_kept(number)]
        whole, pages, _ = self._edges.bytes_to_move(numbers, counts.requests[numbers], counts.page_bytes[numbers])
        moved = np.minimum(whole, pages) if self._edges.moves_rows else whole
        return float(moved.sum()) / self._transfers.link.bytes_per_second

    def _push_cached(self, cache: VertexCache | None) -> dict[str, int]:
        """Let the active vertices whose rows are cached send; return how many these are."""
        if cache is None:
            return {}
        rows, neighbors, weights = cache.take(self._kernel.active)
        if rows.rows.size:
            self._kernel.push_rows(rows, neighbors, weights)
        return {"cached_rows": rows.rows.size}


def count_rows(kernel: BlockPush, marks: Array, edges: EdgeStream) -> MarkedRows:
    """Return what the rows of marked vertices would take, for every block."""
    return kernel.count(marks, edges.blocks, *edges.place_of_rows, JOINED_BYTES)


def push_loaded(kernel: BlockPush, loaded: LoadedBlock) -> int:
    """Let the active vertices of what has come near send; of whole blocks also those that they make active, while these
    are many. Return how often the vertices of a whole block sent, 0 for rows.
    """
    if loaded.rows is not None:
        kernel.push_rows(loaded.rows, loaded.ids, loaded.weights)
        return 0
    most = TIMES_WHILE_NEAR if loaded.block.is_whole else 1
    sent, times = kernel.push(loaded.block, loaded.ids, loaded.weights), 1
    while times < most and kernel.num_coming(loaded.block) > sent * AGAIN_PART:
        kernel.push(loaded.block, loaded.ids, loaded.weights)
        times += 1
    return times
