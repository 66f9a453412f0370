"""Monotonic programs on one rank's rows: pushing from those that changed, or pulling by those that may change.

In push, what is for a ghost is reduced in its place, so that one value travels however many edges lead there, and only
if it became better. In pull, owners first spread what ghosts have, and a vertex looks at its own incoming edges. Where
one value travels at a time (breadth-first search), all ranks know it, and marks of a bit travel instead of values.

Rows of hubs are divided among all ranks. In push all learn what hubs have and each sends along its piece; in pull each
looks through its piece, and the owner takes the best of what they found.

All ranks take the same direction: it follows from the active vertices and edges of all, which they add up anyway.
"""

from __future__ import annotations

import time

import numpy as np

from tgraph.dtypes import identity
from tgraph.engine.schedule import WaveDirection, choose_direction
from tgraph.engine.shard_runs import MOVED, VERTEX_NUMBERS, ShardRun, with_room
from tgraph.graph.boundary import Boundary, improve
from tgraph.graph.hubs import SplitRows
from tgraph.graph.local_rows import RowEnds
from tgraph.graph.sharded import PULLED, ShardedGraph
from tgraph.kernels.cpu.fused.block_pull import ValuePull, WavePull, as_bitmap, count_marked, is_wave_program
from tgraph.kernels.cpu.fused.block_push import BlockPush, ListedRows, can_push_blocks
from tgraph.kernels.cpu.fused.pieces import KernelProgram
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.program import Plan, State
from tgraph.results import Iteration, Trace
from tgraph.results.progress import Progress
from tgraph.runtime import Array


class ShardSearch(ShardRun):
    """Vertices that changed are active: they send along their own edges, or others look at them."""

    def __init__(
        self,
        planned: Plan,
        graph: ShardedGraph,
        state: State,
        active: Array | None,
        direction: str,
        transfer: str,
    ) -> None:
        super().__init__(planned, graph, state, planned.program.along, transfer)
        if not can_push_blocks(self._kernel_program):
            raise NotTranslatableError(
                "update does more than the reduction, or a message asks what the receiver has so far"
            )
        rows = self._rows
        mask = np.zeros(rows.num_local, np.bool_)
        mask[: rows.num_own] = True if active is None else active
        self._kernel = BlockPush(self._kernel_program, rows.offsets, self._edges.no_edges, self._fields, mask)
        self._main = self._fields[self._kernel_program.main_field]
        self._pulled_side = PULLED[planned.program.along]
        may_pull = graph.has_rows(self._pulled_side) and not self._edges.is_streamed
        self._direction = direction if direction != "auto" or may_pull else "push"
        self._num_arcs = graph.num_arcs * (2 if planned.program.along == "both" and graph.directed else 1)
        self._schedule = WaveDirection(graph.num_vertices, self._num_arcs)
        self._wave: WavePull | None = None
        self._pulled: tuple[SplitRows, Boundary] | None = None
        self._pulled_values: PulledValues | None = None

    def _scratch_bytes(self, rows: RowEnds) -> int:
        return BlockPush.scratch_bytes(rows.num_local)

    def _own_arrays(self) -> dict[str, Array]:
        return {**super()._own_arrays(), "active vertices": self._kernel.active[: self._rows.num_own]}

    def run(self, max_iterations: int | None, trace: Trace, progress: Progress) -> bool:
        """Iterate until nobody is active on any rank."""
        for name, field in self._fields.items():
            if name != VERTEX_NUMBERS and field is not self._main:
                self._boundary.spread(field, None)
        self._main[self._rows.num_own :] = identity(self._program.reduce, self._main.dtype)  # anything is better
        self._wave = self._find_wave()
        self._take_moved()
        vertices, edges = self._sums(*self._count_active())
        while vertices:
            started = time.perf_counter()
            if self._wave is not None and not self._wave.advance():
                self._wave = None
            direction = self._choose(vertices, edges)
            if direction == "pull":
                self._pull()
            else:
                self._push()
            self._kernel.end()
            counts, before = self._count_active(), (vertices, edges)
            vertices, edges, saves, *sums = self._sums(*counts, self._wants_to_save, *self._take_moved())
            moved, seconds = dict(zip(MOVED, sums, strict=False)), time.perf_counter() - started
            self._record(trace, progress, Iteration(direction, *before, seconds, None, moved), saves > 0)
        return True

    def _choose(self, num_active: int, num_edges: int) -> str:
        """Return the direction of an iteration, from numbers that all ranks have."""
        if self._direction != "auto":
            return self._direction
        if self._wave is not None:
            return self._schedule.choose(num_active, num_edges)
        return choose_direction("auto", num_edges, self._num_arcs, self._graph.num_vertices)

    def _push(self) -> None:
        """Let active vertices send, and ghosts that became better tell their owners."""
        rows, kernel = self._rows, self._kernel
        active_hubs = self._spread_hubs()
        self._edges.push(kernel)
        if self._pieces is not None and active_hubs is not None:
            kernel.push_rows(active_hubs, self._pieces.neighbors, self._pieces.weights)
        ghosts = kernel.coming[rows.num_own :]
        if self._wave is None:
            changed_own = self._boundary.collect(self._main, ghosts, self._program.reduce)
        else:
            marked = self._boundary.collect_marks(ghosts)
            changed_own = improve(self._main, marked, self._wave.message, self._program.reduce)
        ghosts[:] = False
        kernel.coming[changed_own] = True

    def _spread_hubs(self) -> ListedRows | None:
        """Let all ranks know what hubs have and which of them are active; return their pieces on this rank."""
        pieces, group = self._pieces, self._group
        if pieces is None:
            return None
        values, active = (
            group.join(array[pieces.own_rows], pieces.counts) for array in (self._main, self._kernel.active)
        )
        self._boundary.modelled_bytes += pieces.own_rows.size * (values.itemsize + 1) * (group.size - 1)
        self._main[pieces.local] = values
        hubs, firsts, lasts = pieces.parts[active[pieces.parts[:, 0]]].T
        return ListedRows(pieces.local[hubs], lasts - firsts, firsts, firsts)

    def _pull(self) -> None:
        """Let every vertex that may change look at its neighbours; ghosts learn from their owners what these have."""
        kernel, num_own = self._kernel, self._rows.num_own
        if self._wave is None:
            pulled = self._find_values()
            pulled.pull(kernel.coming)
            if pulled.pieces is not None:
                found = self._to_owners(pulled.pieces, pulled.reduce_hubs(), self._program.reduce)
                self._improve_hubs(pulled.pieces.own_rows, found)
            return
        divided, boundary = self._find_pulled()
        rows, pieces = divided.rows, divided.pieces
        marks = np.empty(rows.num_local, np.bool_)
        marks[:num_own] = kernel.active[:num_own]
        boundary.spread_marks(marks)
        front = as_bitmap(marks)
        self._wave.pull(rows.offsets, rows.neighbors, front, kernel.coming)
        if pieces is not None:
            _, firsts, lasts = pieces.parts.T
            is_hit = self._wave.reduce_parts(pieces.receivers, firsts, lasts, pieces.neighbors, front)
            is_hit = self._to_owners(pieces, pieces.reduced(is_hit, "any"), "any")
            self._improve_hubs(pieces.own_rows[is_hit], self._wave.message)

    def _improve_hubs(self, rows: Array, new: Array) -> None:
        """Give own hubs what was found in the pieces of their rows."""
        self._kernel.coming[improve(self._main, rows, new, self._program.reduce)] = True

    def _find_pulled(self) -> tuple[SplitRows, Boundary]:
        """Return the rows by which vertices receive, and their boundary; all ranks ask in the same iteration."""
        if self._pulled is None:
            before = self._group.sent_bytes
            divided = self._graph.split_rows(self._pulled_side)
            self._sent_before += self._group.sent_bytes - before  # reading is no part of the iteration
            if divided.rows is not self._rows:
                self._boundaries.append(Boundary(self._group, divided.rows))
            self._pulled = divided, self._boundaries[-1]
        return self._pulled

    def _find_values(self) -> PulledValues:
        """Return the values of neighbours in these rows; all ranks ask in the same iteration."""
        if self._pulled_values is None:
            divided, boundary = self._find_pulled()
            shares = divided.rows is self._rows
            fields = self._fields if shares else self._spread_fields(divided.rows, boundary)
            self._pulled_values = PulledValues(self._kernel_program, divided, boundary, fields, self._main)
        return self._pulled_values

    def _spread_fields(self, rows: RowEnds, boundary: Boundary) -> dict[str, Array]:
        """Return the fields with other ghosts behind the own vertices; the main one is spread before every pull."""
        fields = {}
        for name, field in self._fields.items():
            if name == VERTEX_NUMBERS:
                fields[name] = rows.vertex_numbers(self._graph.first)
                continue
            fields[name] = with_room(field[: rows.num_own], rows)
            if field is not self._main:
                boundary.spread(fields[name], None)
        return fields

    def _find_wave(self) -> WavePull | None:
        """Return the kernel for one value that travels at a time, if that is what the program does from here on."""
        if self._edges.is_streamed or not is_wave_program(self._kernel_program):
            return None  # where edges are streamed, vertices send early
        values = self._main[: self._rows.num_own][self._kernel.active[: self._rows.num_own]]
        first = values[:1] if values.size else np.zeros(1, self._main.dtype)
        firsts, counts = self._share(first), self._share(np.array([values.size, np.any(values != first)]))
        present = firsts[counts[:, 0] > 0, 0]
        if not present.size or counts[:, 1].any() or (present != present[0]).any():
            return None
        return WavePull(self._kernel_program, self._main, present[:1])

    def _count_active(self) -> tuple[int, int]:
        """Return the number of own vertices that are active, and of the edges along which they send."""
        vertices, edges = count_marked(self._kernel.active, self._rows.offsets)
        pieces = self._pieces
        if pieces is not None:
            edges += int(pieces.degrees[pieces.own][self._kernel.active[pieces.own_rows]].sum())
        return vertices, edges

    def _sums(self, *numbers: int) -> list[int]:
        return self._share(np.array(numbers, np.int64)).sum(axis=0).tolist()


class PulledValues:
    """Values of own vertices and of the ghosts of the rows by which they receive."""

    def __init__(
        self, program: KernelProgram, divided: SplitRows, boundary: Boundary, fields: dict[str, Array], pushed: Array
    ) -> None:
        """`pushed` are the values that push writes: those of `fields`, unless it has other ghosts behind them."""
        rows, self.pieces = divided.rows, divided.pieces
        self._rows, self._boundary, self._pushed, self._reduce = rows, boundary, pushed, program.reduce
        self._values = fields[program.main_field]
        self._kernel = ValuePull(program, rows.offsets, (rows.neighbors, rows.weights), fields)
        self._last_sent: Array | None = None

    def pull(self, coming: Array) -> None:
        """Let every own vertex take the best message of all its neighbours; mark who became better."""
        values, own = self._values, slice(0, self._rows.num_own)
        if values is not self._pushed:
            values[own] = self._pushed[own]
        self._boundary.spread(values, self._last_sent)
        if self._last_sent is None:
            self._last_sent = values[self._rows.lent]
        self._kernel.pull(coming)
        if values is not self._pushed:
            self._pushed[own] = values[own]

    def reduce_hubs(self) -> Array:
        """Return for every hub the best of what it has and the messages along this rank's piece of its row."""
        pieces = self.pieces
        assert pieces is not None
        _, firsts, lasts = pieces.parts.T
        best = self._kernel.reduce_parts(pieces.receivers, firsts, lasts, pieces.neighbors, pieces.weights)
        return pieces.reduced(best, self._reduce)
