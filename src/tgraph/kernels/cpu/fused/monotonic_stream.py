"""The kernel that keeps a monotonic program current while edges come and go.

Every vertex has a value and a parent: the neighbour whose message gave it that value, or nobody where it is the value
with which the program begins. A batch is followed up in three steps (Vora, Gupta, Xu 2017; Feng and others 2021;
Grapin):

1. Whose parent edge is gone is doubtful. It looks for another neighbour that sends the same value and does not hang on
   it: one whose own value is better cannot; of others, one thread follows the parents. Who finds none is invalid, and
   its children are doubtful.
2. Invalid vertices begin anew, take the best message of their valid neighbours, and are active.
3. New edges are followed, and active vertices send until nobody changes.

A value and its parent are written under a lock, only for the better: parents form a forest also where edges weigh 0.
The values are those of the fixed point, on any number of threads; which of several equally good neighbours is the
parent may differ. If a message was ever better than its sender's value (a negative weight), a better neighbour may hang
on the doubtful vertex too, and its parents are followed.

Memory beside the values: their start, a parent, a byte, and lists of 12 bytes and a value per vertex of which only what
is used becomes memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.errors import InvalidProgramError
from tgraph.kernels.cpu.fused.monotonic_text import REDUCE, write_text
from tgraph.kernels.cpu.fused.pieces import KernelProgram
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.gapped_rows import GappedRows, grown
from tgraph.kernels.cpu.hot_subgraph import HotSubgraph, RowReads
from tgraph.kernels.cpu.team import run_team, team_size
from tgraph.kernels.cpu.watch import new_shared
from tgraph.runtime.protocol import Array

WAVES, INVALID, NEXT, LISTED, FOLLOWED = 120, 136, 144, 152, 160  # counters in `shared`
FAR_ROWS, FAR_CELLS, NEAR_ROWS, NEAR_CELLS, COPIED = 168, 176, 184, 192, 200
QUEUED = 4
WORK_PER_CHANGE = (
    2  # following a changed arc takes as long as going through so many edges; threads meet often meanwhile
)
NUM_LOCKS = 1024


def why_not_kept(program: KernelProgram) -> str:
    """Return what stands in the way of this kernel for a monotonic program, empty if nothing does."""
    checks = {
        f"reduce={program.reduce!r} is not min, max or any": program.reduce not in REDUCE,
        "update does more than the reduction": not program.takes_over,
        "it has more than one field": len(program.field_dtypes) > 1,
        "message asks for more than the sender's value, its number and the weight": not set(
            program.parameters["message"]
        )
        <= {program.main_field, "weight", "source"},
    }
    return next((reason for reason, stands in checks.items() if stands), "")


class EndlessError(InvalidProgramError):
    """A program and a graph have no fixed point. The kept result is of no use any more."""


@dataclass(frozen=True)
class Followed:
    """What keeping a program current took. The arrays are overwritten by the next batch."""

    vertices: Array  # whose values were written
    old: Array  # their values before
    num_invalid: int
    num_edges: int  # looked at
    num_waves: int
    reads: RowReads | None = None  # None = all cells are near


class MonotonicStream:
    """A monotonic program on rows with gaps: values that follow the changes of arcs, and their parents."""

    def __init__(
        self,
        program: KernelProgram,
        send: list[GappedRows],
        pull: list[GappedRows],
        values: Array,
        starts: Array,
        hot: HotSubgraph | None = None,
    ) -> None:
        self._program, self._sides, self._hot = program, [*send, *pull], hot
        self._cell = send[0].neighbors.dtype
        self._module = load_kernel(write_text(program, len(send), self._cell, hot is not None))
        self._nobody = np.iinfo(self._cell).max
        self.values, self.starts = values, starts
        self.parents = np.full(values.size, self._nobody, self._cell)
        self._begins = np.zeros(values.size, np.bool_)  # whether a vertex is active at the start
        self._states = np.zeros(values.size, np.uint8)
        self._locks, self._improves = np.zeros(NUM_LOCKS, np.int64), np.zeros(1, np.int64)
        self._make_lists()
        no_arcs = np.empty(0, self._cell), np.empty(0, self._cell)
        compile_worker(self._module.update, [*self._updated(no_arcs, (*no_arcs, send[0].weights[:0]))])
        if hot is None:
            compile_worker(self._module.attach, [*self._attached(0)])

    def begin(self, active: Array | None) -> int:
        """Find the parents of values that a run has found; return how many vertices lack one.

        `active` says who was active at the start of the run, None = everyone.
        """
        self._begins[:] = True if active is None else active
        self.parents[:] = self._nobody
        self._improves[:] = 0
        roots = np.flatnonzero(self._begins & (self.values == self.starts))
        self._active[: roots.size] = roots
        size = team_size(self.values.size)
        shared = new_shared(size)
        run_team(self._module.attach, size, shared, *self._attached(roots.size))
        return int(np.count_nonzero(self.values != self.starts)) - int(shared[LISTED])

    def run(self, active: Array | None) -> Followed:
        """Compute values and parents from the start, by this kernel alone; `active` as in `begin`."""
        self._begins[:] = True if active is None else active
        self.values[:] = self.starts
        self.parents[:] = self._nobody
        self._improves[:] = 0
        senders = np.flatnonzero(self._begins)
        self._coming[: senders.size] = senders
        self._states[senders] = QUEUED
        if self._hot is not None:
            self._hot.fill()
            self._hot.close()  # every row is read, and that says nothing about batches
        nothing = np.empty(0, self._cell), np.empty(0, self._cell)
        size = team_size(sum(side.num_cells for side in self._sides))
        return self._follow(nothing, (*nothing, self._sides[0].weights[:0]), size, senders.size)

    def grow(self, starts: Array, active: Array | None) -> None:
        """Add vertices, with their values at the start and who of them is active then."""
        first, count = self.values.size, starts.size
        self.values, self.starts = grown(self.values, count), grown(self.starts, count)
        self.parents, self._states = grown(self.parents, count), grown(self._states, count)
        self._begins = grown(self._begins, count)
        self.values[first:] = self.starts[first:] = starts
        self.parents[first:] = self._nobody
        self._begins[first:] = True if active is None else active
        self._make_lists()

    def follow(self, gone: tuple[Array, Array], new: tuple[Array, Array, Array]) -> Followed:
        """Follow arcs that are gone (senders, receivers) and new (senders, receivers, weights)."""
        return self._follow(gone, new, team_size((gone[0].size + new[0].size) * WORK_PER_CHANGE), 0)

    def _follow(
        self, gone: tuple[Array, Array], new: tuple[Array, Array, Array], size: int, num_coming: int
    ) -> Followed:
        shared = new_shared(size)
        shared[NEXT] = num_coming
        run_team(self._module.update, size, shared, *self._updated(gone, new))
        count = int(shared[LISTED])
        counts = int(shared[INVALID]), int(shared[FOLLOWED]), int(shared[WAVES])
        if counts[2] > self.values.size:
            raise EndlessError("values do not settle: edges form a cycle along which they get better and better")
        return Followed(self._listed[:count], self._old_values[:count], *counts, self._note_reads(shared))

    def _note_reads(self, shared: Array) -> RowReads | None:
        """Return what was read of rows, and add it to what the hot subgraph knows."""
        if self._hot is None:
            return None
        rows = self._sides[0]
        per_read, per_copy = (
            rows.bytes_per_cell(weighted) for weighted in (self._program.weighted, self._hot.weighted)
        )
        reads = RowReads(
            far_bytes=int(shared[FAR_CELLS]) * per_read + int(shared[COPIED]) * per_copy + self._hot.loaded_bytes,
            near_bytes=int(shared[NEAR_CELLS]) * per_read,
            far_rows=int(shared[FAR_ROWS]),
            near_rows=int(shared[NEAR_ROWS]),
        )
        self._hot.loaded_bytes = 0
        self._hot.reads.add(reads)
        return reads

    def _make_lists(self) -> None:
        """Make room for lists of vertices; it becomes memory where it is used."""
        size = self.values.size
        self._doubts, self._more_doubts, self._invalid, self._listed, self._active, self._coming = (
            np.empty(size, self._cell) for _ in range(6)
        )
        self._old_values = np.empty(size, self.values.dtype)

    def _updated(self, gone: tuple[Array, Array], new: tuple[Array, Array, Array]) -> tuple[Any, ...]:
        return (
            *(np.ascontiguousarray(ends, self._cell) for ends in (*gone, *new[:2])),
            *([np.ascontiguousarray(new[2])] if self._program.weighted else []),
            *(self._locks, self._states, self.parents, self.starts, self._begins, self._improves),
            *(self._doubts, self._more_doubts, self._invalid, self._listed, self._old_values),
            *(self._active, self._coming, *self._rows()),
        )

    def _attached(self, num_active: int) -> tuple[Any, ...]:
        vertices = self.parents, self.starts, self._improves, self._active, self._coming
        return (num_active, *vertices, *self._rows())

    def _rows(self) -> tuple[Any, ...]:
        sides: list[tuple[Array, ...]] = [(side.places, side.neighbors, side.weights) for side in self._sides]
        hot = self._hot
        if hot is not None:
            numbers = [hot.number_of(side) for side in self._sides]
            sides = [(*side, hot.slots[k], hot.counts[k]) for side, k in zip(sides, numbers, strict=True)]
            sides.append((hot.pool, hot.chunk_ends, hot.cells, hot.weights))
        elif not self._program.weighted:
            sides = [side[:2] for side in sides]
        return (*(array for side in sides for array in side), self.values, *self._program.constants.values())
