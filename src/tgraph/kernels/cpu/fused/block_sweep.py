"""The sweeps of `fused.pull` for edges that come in blocks, one block of rows after the other.

The offsets are near, whole; a block brings the neighbours and weights of consecutive rows, or of a piece of one long
row, whose reduction is then carried from piece to piece. What is summed over vertices is summed per chunk and then in
the order of chunks, so no answer depends on the number of threads. An asynchronous program sees the new values of the
blocks before; the order of blocks is the caller's.

Memory beside the fields: a message per vertex where it depends on its sender alone, or a second array of each changing
field. Messages of programs that are not asynchronous are made anew after the last block.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.coded_edges import WINDOW_EDGES, CodedBlock, Neighbors, as_edges, block_team_size, run_on_block
from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.kernels.cpu.fused.cuts import SMALLEST_CHUNK, chunk_work, cut_by_work
from tgraph.kernels.cpu.fused.gathering import gather_lines
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.pull import finish_lines, has_new_fields, has_new_messages
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.prefetch import MANY_BYTES, Trial
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.kernels.cpu.watch import brief_team_size, run_briefly
from tgraph.runtime.protocol import Array

_TEXT = """
{types}

{functions}

@njit(**JIT)
def prepare(rank, size, shared, cuts, messages, totals{fields}{constants}):
    first, last = part(rank, size, cuts.size - 1)
    for chunk in range(first, last):
        subtotal = 0.0
        for v in range(cuts[chunk], cuts[chunk + 1]):
            {prepare}
        totals[chunk] = subtotal


@njit(**JIT)
def sweep(rank, size, shared, first_row, last_row, first_edge, last_edge, opens, closes, elsewhere, first_chunk,
          last_chunk, total_sum, cuts, carry, messages, totals, changes, nothing, asks, offsets0, edges0
          {all_edge_arrays}{fields}{new_fields}{constants}):
    while True:
        chunk = first_chunk + fetch_add(shared, 24, 1)
        if chunk >= last_chunk:
            break
        changed, subtotal = 0.0, 0.0
        row, end_row = max(cuts[chunk], first_row), min(cuts[chunk + 1], last_row)
        edge, end_edge = max(offsets0[row], first_edge), min(offsets0[end_row], last_edge)
        acc = nothing if opens else carry[0]
        while row < end_row:
            until = window_end(edges0, edge, end_edge)
            neighbors0, base, damaged = near_ids(edges0, rank, first_edge, edge, until)
            if damaged >= 0:
                shared[DAMAGED] = damaged + 1
                break
            {near_edge_arrays}
            for u in range(row, end_row):
                row = u
                {gather}
                if offsets0[u + ONE] > until:
                    break
                {finish}
                acc, row = nothing, u + ONE
            edge = until
            if until == end_edge:
                break
        if not closes:
            carry[0] = acc
        changes[chunk] += changed
        totals[chunk] += subtotal
    {refresh}


@njit(**JIT)
def reduce_parts(rank, size, shared, receivers, firsts, lasts, partials, messages, nothing, asks, neighbors0
                 {edge_arrays}{fields}{constants}):
    while True:
        place = fetch_add(shared, 24, 1)
        if place >= partials.size:
            break
        u = np.uint64(receivers[place])
        acc = nothing
        {gather_part}
        partials[place] = acc
"""

_DEGREE = "np.int64(offsets0[u + ONE] - offsets0[u]) + elsewhere"

_REFRESH = """
meet(shared, 1, size)
first, last = part(rank, size, np.int64(last_row - first_row))
if closes:
    for v in range(first_row + np.uint64(first), first_row + np.uint64(last)):
        {take}
"""


def _write_text(program: KernelProgram, prefetches: bool) -> str:
    names = {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    message = f"messages[v] = {program.text_of_call('message', names)}" if makes_messages(program) else ""
    total = f"subtotal += {program.text_of_call('total', names)}" if "total" in program.functions else ""
    start, end = "max(offsets0[u], edge) - base", "min(offsets0[u + ONE], until) - base"
    own = [f"{name}0 = all_{name}0[base - first_edge:]" for name in program.edge_arrays]
    return HEAD + _TEXT.format(
        types=type_lines(Acc=reduced_dtype(program.reduce, program.message_dtype), Message=program.message_dtype),
        functions=program.text_of_functions(("message", "update", "total", "change")),
        edge_arrays=listed(f"{name}0" for name in program.edge_arrays),
        all_edge_arrays=listed(f"all_{name}0" for name in program.edge_arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        new_fields=listed(f"N_{name}" for name in program.updated if has_new_fields(program)),
        constants=listed(program.constants),
        prepare=block("\n".join([message, total]).strip() or "pass", 3),
        gather=block(gather_lines(program, 0, prefetches, first=start, last=end), 4),
        near_edge_arrays=block("\n".join(own) or "pass", 3),
        gather_part=block(gather_lines(program, 0, prefetches, first="firsts[place]", last="lasts[place]"), 2),
        finish=block("\n".join(finish_lines(program, 1, not has_new_messages(program), _DEGREE)), 4),
        refresh=block(_refresh(program, message), 1),
    )


def _refresh(program: KernelProgram, message: str) -> str:
    """The lines after a block: its vertices send their new values from now on."""
    if not program.asynchronous or not program.feeds_back:
        return ""
    take = message or "\n".join(f"F_{name}[v] = N_{name}[v]" for name in program.updated)
    return _REFRESH.format(take=block(take, 2))


def makes_messages(program: KernelProgram) -> bool:
    """Whether a sweep reads messages that were made once per sender, instead of the senders' fields."""
    return program.is_message_per_vertex and program.sent_field is None


class BlockSweep:
    """A sweeping program on rows whose edges come in blocks: fields are read and written in place."""

    def __init__(
        self,
        program: KernelProgram,
        offsets: Array,
        no_edges: tuple[Neighbors, Array | None],
        fields: dict[str, Array],
        num_senders: int | None = None,
    ) -> None:
        """Neighbours are below `num_senders`, the number of rows unless given.

        Who sends and has no row keeps its fields and its message, unless the caller changes them.
        """
        num_vertices = offsets.size - 1
        num_senders = num_vertices if num_senders is None else num_senders
        prefetches = num_senders * program.message_dtype.itemsize >= MANY_BYTES
        self._asking = Trial()
        self.text = _write_text(program, prefetches)
        self._module = load_kernel(self.text)
        self._program, self._fields, self._num_vertices = program, fields, num_vertices
        self._offsets = as_unsigned(offsets)
        smallest = WINDOW_EDGES if isinstance(no_edges[0], CodedBlock) else SMALLEST_CHUNK
        self._cuts = cut_by_work([offsets], smallest)[0]
        self.has_messages = makes_messages(program)
        self.messages = np.empty(num_senders if self.has_messages else 0, program.message_dtype)
        names = program.updated if has_new_fields(program) else ()
        self._new = {name: np.empty(num_vertices, fields[name].dtype) for name in names}
        self._totals, self._changes = np.zeros(self._cuts.size - 1), np.zeros(self._cuts.size - 1)
        self._carry = np.full(1, program.nothing)
        self.total = 0.0  # of the program's `total`, before the iteration that comes next
        compile_worker(self._module.prepare, [self._cuts[:1], *self._prepared()])
        compile_worker(self._module.sweep, self._arguments(Block(0, 0, 0, 0), *no_edges))

    @staticmethod
    def scratch_bytes(program: KernelProgram, num_vertices: int, num_edges: int) -> int:
        """Return how many bytes beside the fields such a run will hold."""
        names = program.updated if has_new_fields(program) else ()
        per_vertex = sum(program.field_dtypes[name].itemsize for name in names)
        per_vertex += program.message_dtype.itemsize if makes_messages(program) else 0
        work = num_vertices + num_edges
        return num_vertices * per_vertex + 32 * (work // chunk_work(work) + 1)  # chunks and their sums

    def prepare(self) -> None:
        """Make the first messages and the first total."""
        self._make_messages()
        self._begin()

    def sweep(self, block: Block, neighbors: Neighbors, weights: Array | None, elsewhere: int = 0) -> None:
        """Compute on one block; every row of it has so many more edges `elsewhere`."""
        size = block_team_size(block.num_edges + block.last_row - block.first_row, neighbors)
        arguments = self._arguments(block, neighbors, weights, elsewhere)
        started = time.perf_counter()
        run_on_block(self._module.sweep, size, neighbors, arguments)
        self._asking.note(block.num_edges, time.perf_counter() - started)

    def reduce_parts(
        self, receivers: Array, firsts: Array, lasts: Array, neighbors: Array, weights: Array | None
    ) -> Array:
        """Return the reduction of the messages along parts of rows; the receiver of each is a vertex without that row.

        `close_row` ends such a vertex, in the place of its empty row.
        """
        partials = np.full(receivers.size, self._program.nothing)
        edges = (as_unsigned(neighbors), *([weights] if self._program.weighted else []))
        reduced = partials, self.messages, self._program.nothing, self._asking.asks
        places = (receivers, as_unsigned(firsts), as_unsigned(lasts), *reduced)
        constants = self._program.constants.values()
        size = brief_team_size(neighbors.size)
        run_briefly(self._module.reduce_parts, size, [*places, *edges, *self._fields.values(), *constants])
        return partials

    def close_row(self, row: int, incoming: Any, num_edges: int, no_edges: tuple[Array, Array | None]) -> None:
        """Let a vertex whose row, with so many edges, is elsewhere take what was reduced there."""
        self._carry[0] = incoming
        edge = int(self._offsets[row])
        self.sweep(Block(row, row + 1, edge, edge, opens=False), *no_edges, num_edges)

    def end(self) -> float:
        """End an iteration: what is new takes the place of what is old. Returns the residual."""
        residual = float(np.cumsum(self._changes)[-1]) if self._changes.size else 0.0
        if not self._program.asynchronous:
            for name, new in self._new.items():
                self._fields[name][: self._num_vertices] = new
        if has_new_messages(self._program):
            self._make_messages()
        self._begin()
        return residual

    def _make_messages(self) -> None:
        """Make the messages, and the total per chunk, from the fields as they are."""
        run_briefly(self._module.prepare, brief_team_size(self._num_vertices), [self._cuts, *self._prepared()])

    def _begin(self) -> None:
        """Sum up what was found per chunk, in order, and clear it for the next iteration."""
        self.total = float(np.cumsum(self._totals)[-1]) if self._totals.size else 0.0
        self._totals[:] = 0.0
        self._changes[:] = 0.0

    def _prepared(self) -> list[Any]:
        return [self.messages, self._totals, *self._fields.values(), *self._program.constants.values()]

    def _arguments(self, block: Block, neighbors: Neighbors, weights: Array | None, elsewhere: int = 0) -> list[Any]:
        bounds = [np.uint64(n) for n in (block.first_row, block.last_row, block.first_edge, block.last_edge)]
        first = np.searchsorted(self._cuts, bounds[0], "right") - 1
        last = max(np.searchsorted(self._cuts, bounds[1]), first) if block.last_row else first
        return [
            *(*bounds, block.opens, block.closes, np.int64(elsewhere), np.int64(first), np.int64(last), self.total),
            *(self._cuts, self._carry, self.messages, self._totals, self._changes),
            *(self._program.nothing, self._asking.asks, self._offsets, as_edges(neighbors)),
            *([weights] if self._program.weighted else []),
            *(*self._fields.values(), *self._new.values(), *self._program.constants.values()),
        ]
