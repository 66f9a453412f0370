"""Linear programs on the blocks of a far graph: only changes travel, and they go where most of them wait.

A round lets blocks that are near send first, since that moves nothing. Then those blocks are moved in which most is
pending, most first. The vertices of a block send several times: what they sent each other is on its way too. As many
rounds as follow the edges of the whole graph once count as an iteration.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any

import numpy as np

from tgraph.engine.far_runs import FarRun
from tgraph.kernels.cpu.fused.block_delta import BlockDelta, Pending, can_send_changes
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.team import team_size
from tgraph.layout.partition import Block
from tgraph.memory import BlockLoader, FarFile, FarGraph
from tgraph.memory.transfer.compact import JOINED_BYTES
from tgraph.program import Plan, Program, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array

TIMES_WHILE_NEAR = 4  # that a block sends after it was moved, if its vertices send to each other
WAITING_PART = 0.5  # of the most that is pending in a block: blocks with less wait
WAITING_NEAR = 0.5  # times that part: near blocks with less wait, which saves time but no bytes
ROUNDS_AT_MOST = 64  # in an iteration, however few edges they follow
THRESHOLD_PART = 0.3  # of the mean that is pending in a block: vertices with less wait


def why_no_changes(planned: Plan, graph: FarGraph) -> str | None:
    """Return why a program cannot be run by its changes, None if it can."""
    program = planned.program
    obstacles = {
        "it does not say that it is linear": not program.linear,
        "it counts its iterations": not (program.asynchronous and program.tolerance > 0),
        "it has an end of its own": type(program).is_done is not Program.is_done,
        "the neighbours in the file are not sorted": not graph.is_sorted,
    }
    return next((reason for reason, stands in obstacles.items() if stands), None)


class FarDelta(FarRun):
    """Vertices with something pending are active."""

    schedule = "delta"

    def __init__(self, planned: Plan, graph: FarGraph, state: State, transfer: str) -> None:
        direction = "out" if planned.program.along == "out" else "in"
        super().__init__(planned, graph, state, direction, transfer, opens_blocks=True)
        if not can_send_changes(self._kernel_program):
            raise NotTranslatableError("update does more than to add up what comes in")
        self._budget.take("changes", BlockDelta.scratch_bytes(self._kernel_program, graph.num_vertices))
        main = self._fields[self._kernel_program.main_field]
        self._kernel = BlockDelta(
            self._kernel_program,
            self._edges.offsets,
            self._edges.no_edges,
            self._fields,
            np.zeros(graph.num_vertices, main.dtype),
            _split_receivers(graph, direction, self._edges.offsets),
        )
        self._cut(transfer)
        self._is_spread = False
        self._units = _units(self._edges.blocks)
        rows = [(self._edges.blocks[one[0]].first_row, self._edges.blocks[one[-1]].last_row) for one in self._units]
        self._unit_rows = np.array(rows, np.uint64).reshape(-1, 2)

    def _text(self) -> str:
        return self._kernel.text

    def _arrays(self) -> dict[str, Array]:
        return {**self._fields, "pending changes": self._kernel.pending}

    def _numbers(self) -> dict[str, float]:
        return {"total change": self._kernel.total_change}

    def _take_up(self, noted: dict[str, Any]) -> None:
        self._kernel.total_change, self._is_spread = noted["total change"], True

    def run(self, file: FarFile, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Send changes until less than the tolerance is pending (True) or the limit is reached (False)."""
        loader = self._edges.loader(file)
        if max_iterations == 0:
            return False
        if not self._is_spread:
            self._spread(loader, trace, progress)
        pending = self._measure()
        while self._goes_on:
            if max_iterations is not None and self._state.iteration >= max_iterations:
                return False
            started, counts, rounds = time.perf_counter(), np.zeros(2, np.int64), 0
            moved, blocks = Counter[str](), Counter[str]()
            while self._goes_on and counts[1] < max(self._graph.num_arcs, 1) and rounds < ROUNDS_AT_MOST:
                moved.update(self._round(loader, pending))
                did = loader.take_moved()
                moved.update(did.num_bytes)
                blocks.update(did.num_blocks)
                counts += self._kernel.take_sums()
                pending, rounds = self._measure(), rounds + 1
            seconds, (vertices, edges) = time.perf_counter() - started, counts.tolist()
            done = Iteration("push", vertices, edges, seconds, self._state.residual, dict(moved), dict(blocks))
            self._record(trace, progress, done)
        return self._state.residual <= self._program.tolerance

    @property
    def _goes_on(self) -> bool:
        return self._program.tolerance < self._state.residual < math.inf

    def _spread(self, loader: BlockLoader, trace: Trace, progress: Progress) -> None:
        """Let all vertices send their values along all edges: what comes in tells what is pending."""
        started, values = time.perf_counter(), self._fields[self._kernel_program.main_field]
        every = enumerate(self._edges.blocks)
        numbers = [number for number, block in every if values[block.first_row : block.last_row].any()]
        for loaded in loader.stream(numbers):
            self._kernel.push(loaded.block, loaded.ids, loaded.weights, everything=True)
        self._kernel.take_sums()
        self._measure(is_first=True)
        did, seconds = loader.take_moved(), time.perf_counter() - started
        moved, blocks = dict(did.num_bytes), dict(did.num_blocks)
        everyone = self._graph.num_vertices, self._graph.num_arcs
        self._record(trace, progress, Iteration("push", *everyone, seconds, self._state.residual, moved, blocks))

    def _measure(self, is_first: bool = False) -> Pending:
        least = self._program.tolerance / (4 * self._graph.num_vertices)
        where = self._edges.place_of_rows
        pending = self._kernel.measure(is_first, (THRESHOLD_PART, least), self._unit_rows, (*where, JOINED_BYTES))
        self._state.residual = float(np.cumsum(pending.amounts)[-1])
        return pending

    def _round(self, loader: BlockLoader, pending: Pending) -> dict[str, int]:
        """Let near blocks send, then move those in which most waits; return the bytes that were read in place."""
        is_near = np.array([loader.stays(unit[0]) for unit in self._units])
        is_active = pending.vertices > 0
        least = WAITING_NEAR * WAITING_PART * pending.amounts[is_active].max(initial=0.0)
        near = np.flatnonzero(is_near & is_active & (pending.amounts >= least))
        far = np.flatnonzero(~is_near & is_active)
        far = far[np.argsort(-pending.amounts[far], kind="stable")]
        if far.size:
            far = far[pending.amounts[far] >= WAITING_PART * pending.amounts[far[0]]]
        firsts = [self._units[unit][0] for unit in far.tolist()]
        ways = self._transfers.ways(loader, firsts, pending.requests[far], pending.page_bytes[far])
        ways = [way if len(self._units[unit]) == 1 else "filter" for way, unit in zip(ways, far.tolist(), strict=True)]
        touched = self._transfers.touched(loader, firsts, ways, pending.page_bytes[far])
        self._send(loader, pending, np.concatenate([near, far]), ["filter"] * near.size + ways)
        return touched

    def _send(self, loader: BlockLoader, pending: Pending, units: Array, ways: list[str]) -> None:
        numbers = [number for unit in units.tolist() for number in self._units[unit]]
        all_ways = [way for unit, way in zip(units.tolist(), ways, strict=True) for _ in self._units[unit]]
        thresholds = {number: pending.thresholds[unit] for unit in units.tolist() for number in self._units[unit]}
        blocks = {self._edges.blocks[number]: number for number in numbers}
        for loaded in loader.stream(numbers, all_ways, self._kernel.active):
            if loaded.rows is None:
                threshold = float(thresholds[blocks[loaded.block]])
                turns = TIMES_WHILE_NEAR if loaded.block.is_whole else 1
                self._kernel.push(loaded.block, loaded.ids, loaded.weights, threshold, turns)
            else:
                self._kernel.push_rows(loaded.rows, loaded.ids, loaded.weights)


def _units(blocks: list[Block]) -> list[list[int]]:
    """Return the numbers of blocks that belong together: one each, or all pieces of a row."""
    units: list[list[int]] = []
    for number, block in enumerate(blocks):
        if block.opens:
            units.append([number])
        else:
            units[-1].append(number)
    return units


def _split_receivers(graph: FarGraph, direction: str, near_offsets: Array) -> Array:
    """Return the ranges of receivers, `[threads + 1]`: about as many edges end in each, if the file knows how many."""
    size, count = team_size(graph.num_arcs), graph.num_vertices
    other = "in" if direction == "out" else "out"
    if not graph.directed or other == "out" or graph.has_in_edges:
        offsets = graph.runtime.to_numpy(graph.adjacency(other).offsets) if graph.directed else near_offsets
        inner = np.searchsorted(offsets, graph.num_arcs * np.arange(1, size) // size)
    else:
        inner = count * np.arange(1, size) // size
    return np.concatenate([[0], inner, [count]]).astype(np.uint64)
