"""The kernel for programs in which every vertex is active: one sweep over all incoming edges per iteration.

Each iteration, every thread: makes the messages that depend on their sender alone for its part of the vertices; meets
the others; takes chunks of vertices (`shares`) and reduces, updates, measures the change of each and adds up the next
`total`; meets the others; decides like all of them whether to go on. A vertex is written by the thread that took its
chunk. A vertex with very many edges is a chunk of its own, whose edges were reduced in pieces before, by all threads.
What is summed over vertices is summed per chunk and then in the order of chunks, and pieces have their order too, so no
answer depends on the number of threads.

Rows may have gaps (`GappedSide`): then they begin where `places` says, and deleted neighbours are passed over.

An asynchronous program goes through the vertices in blocks, one after the other; a block sees the new values of those
before it (Gauss-Seidel by blocks). A block has chunks from all over the graph: where vertices are in the order of their
degrees, blocks of neighbouring ones would need more sweeps than none at all (PageRank on R-MAT 17: 29, 16 without
blocks, 11 so). Where its equations are those of an undirected graph (`KernelProgram.symmetric`) and residuals fall
slowly, all vertices see the old values instead and their steps are made longer (`momentum`): about half the iterations
on roads, mail and web pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.gathering import ASKS, REDUCE, begin_lines, gather_lines, row_lines
from tgraph.kernels.cpu.fused.momentum import TOO_SLOW, accelerated_lines, can_accelerate
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, Side, block, listed, type_lines, type_name
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.gapped_layout import START, UNIT, USED
from tgraph.kernels.cpu.gapped_rows import GappedRows
from tgraph.kernels.cpu.neighbor_sums import BEYOND_CACHE, lengths_vary
from tgraph.kernels.cpu.team import MIN_WORK_PER_THREAD, team_size
from tgraph.kernels.cpu.watch import DONE, Watch
from tgraph.runtime.protocol import Array

BLOCKS = 64  # of chunks, one after the other, in an asynchronous sweep, unless they become smaller than BLOCK_WORK
FEWEST_BLOCKS = 8
BLOCK_WORK = 1 << 18  # edges and vertices: threads meet twice per block, and one of them may have to wait for a core

_TEXT = """
{types}

{functions}

@njit(**JIT)
def worker(rank, size, shared, limit, tolerance, num_blocks, cuts, pieces, piece_of, partials, messages, new_messages,
           totals, changes, residuals, times, nothing{arrays}{constants}):
    if limit == 0:
        return
    meeting, turn, omega, previous = 1, 0, 1.0, inf
    {course}
    num_chunks, num_pieces = cuts.size - 1, np.int64(pieces.shape[0])
    if rank == 0:
        times[0] = ticks()
    first, last = part(rank, size, num_chunks)
    for chunk in range(first, last):
        subtotal = 0.0
        for v in range(cuts[chunk], cuts[chunk + 1]):
            {prepare}
        totals[1, chunk] = subtotal
    meeting = meet(shared, meeting, size)
    total_sum = 0.0
    for chunk in range(num_chunks):
        total_sum += totals[1, chunk]
    for iteration in range(limit):
        now, counter, halt = iteration % 2, 24 + 8 * (iteration % 3), 72 + 8 * (iteration % 2)
        asks = {asks}
        while num_pieces > 0:
            piece = fetch_add(shared, counter, 1)
            if piece >= num_pieces:
                meeting = meet(shared, meeting, size)
                break
            u, side = pieces[piece, 0], pieces[piece, 1]
            acc = nothing
            {gather_piece}
            partials[piece] = acc
        for block in range(num_blocks):
            turn, count = turn + 1, (num_chunks - block - 1) // num_blocks + 1
            begin_turn(shared, turn, rank, size)
            place, owner = take(shared, turn, rank, size, count, rank)
            while place < count:
                chunk = block + place * num_blocks
                changed, subtotal = 0.0, 0.0
                if piece_of[chunk + 1] > piece_of[chunk]:
                    u = cuts[chunk]
                    acc = nothing
                    for piece in range(piece_of[chunk], piece_of[chunk + 1]):
                        m = partials[piece]
                        {reduce_piece}
                    {finish}
                else:
                    {begin}
                    for u in range(cuts[chunk], cuts[chunk + 1]):
                        acc = nothing
                        {gather}
                        {finish_inner}
                changes[now, chunk], totals[now, chunk] = changed, subtotal
                place, owner = take(shared, turn, rank, size, count, owner)
            {refresh}
        if rank == 0:
            shared[24 + 8 * ((iteration + 2) % 3)] = 0
            shared[halt] = load(shared, 8)
        meeting = meet(shared, meeting, size)
        residual, total_sum = 0.0, 0.0
        for chunk in range(num_chunks):
            residual += changes[now, chunk]
            total_sum += totals[now, chunk]
        if rank == 0:
            residuals[iteration] = residual
            times[iteration + 1] = ticks()
            store(shared, 16, iteration + 1)
        {swap}
        if (residual <= tolerance and omega == 1.0) or shared[halt] != 0:
            break
        {next_step}
"""

_GAPS = f"""
UNIT = np.uint64({UNIT})
DEAD = np.uint64(1) << np.uint64(%d)
"""

_REFRESH = """
meeting = meet(shared, meeting, size)
first, last = part(rank, size, count)
for own in range(first, last):
    chunk = block + own * num_blocks
    for v in range(cuts[chunk], cuts[chunk + 1]):
        {take}
meeting = meet(shared, meeting, size)
"""


_NEXT_STEP = {
    "plain": "",
    "until_slow": f"if residual > {TOO_SLOW} * previous:\n    break\nprevious = residual",
    "accelerated": "omega = next_omega(course, residual, tolerance, iteration + 2 >= limit)",
}


def _write_text(
    program: KernelProgram, num_sides: int, prefetches: bool, varies: bool, cell_bits: int, steps: str
) -> str:
    """Return the kernel; `cell_bits` are those of a cell of rows with gaps, 0 = without gaps."""
    accelerates = steps == "accelerated"
    gapped = cell_bits > 0
    rows_of = partial(gather_lines, gapped=True) if gapped else partial(row_lines, varies=varies)
    new_arrays = [f"N_{name}" for name in program.updated] if has_new_fields(program) else []
    parts = ("places" if gapped else "offsets", "neighbors", *program.edge_arrays)
    rows = [f"{part}{side}" for side in range(num_sides) for part in parts]
    finish = "\n".join(finish_lines(program, num_sides, accelerates=accelerates))
    return HEAD + _TEXT.format(
        types=(_GAPS % (cell_bits - 1) if gapped else "") + _types(program),
        functions=program.text_of_functions(("message", "update", "total", "change")),
        arrays=listed([*rows, *(f"F_{name}" for name in program.field_dtypes), *new_arrays, *["before"] * accelerates]),
        course="course = new_course()" if accelerates else "",
        next_step=block(_NEXT_STEP[steps], 2),
        constants=listed(program.constants),
        asks=ASKS,
        prepare=_prepare(program),
        gather_piece=block(_gather_piece(program, num_sides, prefetches, gapped), 3),
        reduce_piece=block(REDUCE[program.reduce], 6),
        begin=block("" if gapped else begin_lines(num_sides), 5),
        gather=block("\n".join(rows_of(program, side, prefetches) for side in range(num_sides)), 6),
        finish=block(finish, 5),
        finish_inner=block(finish, 6),
        refresh=block(_refresh(program), 3),
        swap=block(_swap(program), 2),
    )


def _types(program: KernelProgram) -> str:
    return type_lines(Acc=reduced_dtype(program.reduce, program.message_dtype), Message=program.message_dtype)


def _swap(program: KernelProgram) -> str:
    """The lines after an iteration: what is new takes the place of what is old."""
    if program.asynchronous or not program.feeds_back:
        return ""
    pairs = [(f"F_{name}", f"N_{name}") for name in program.updated]
    if program.is_message_per_vertex:
        pairs = [("messages", "new_messages")]
    return "\n".join(f"{old}, {new} = {new}, {old}" for old, new in pairs)


def has_new_messages(program: KernelProgram) -> bool:
    """Whether the messages of the next iteration are made at the end of each vertex, beside those in use."""
    return program.feeds_back and program.is_message_per_vertex and not program.asynchronous


def has_new_fields(program: KernelProgram) -> bool:
    """Whether new values have arrays of their own, because others still read the old ones."""
    return program.feeds_back and not program.is_message_per_vertex


def _refresh(program: KernelProgram) -> str:
    """The lines after a block: its vertices send their new values from now on."""
    if not program.asynchronous or not program.feeds_back:
        return ""
    if program.is_message_per_vertex:
        names = {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
        take = f"messages[v] = {program.text_of_call('message', names)}"
    else:
        take = "\n".join(f"F_{name}[v] = N_{name}[v]" for name in program.updated)
    return _REFRESH.format(take=block(take, 2))


def _prepare(program: KernelProgram) -> str:
    names = {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    lines = []
    if program.is_message_per_vertex and program.sent_field is None:
        lines.append(f"messages[v] = {program.text_of_call('message', names)}")
    if "total" in program.functions:
        lines.append(f"subtotal += {program.text_of_call('total', names)}")
    return block("\n".join(lines or ["pass"]), 3)


def _gather_piece(program: KernelProgram, num_sides: int, prefetches: bool, gapped: bool) -> str:
    lines = []
    for side in range(num_sides):
        loop = gather_lines(program, side, prefetches, "pieces[piece, 2]", "pieces[piece, 3]", gapped=gapped)
        lines.append(f"if side == {side}:\n    {block(loop, 1)}")
    return "\n".join(lines)


def finish_lines(
    program: KernelProgram,
    num_sides: int,
    makes_next: bool = True,
    degree: str = "",
    incoming: str = "acc",
    accelerates: bool = False,
) -> list[str]:
    """The lines that end a vertex: what came in, the new fields, how much changed, and what is sent next if wanted.

    `degree` is the text of the number of messages that reach a vertex, where the length of its rows does not say it,
    and `incoming` that of their reduction. With `accelerates` the step is made longer after it was measured.
    """
    lengths = (f"np.int64(offsets{side}[u + ONE] - offsets{side}[u])" for side in range(num_sides))
    degree = degree or " + ".join(lengths)
    lines = {"count": [f"acc = {degree}"], "mean": [f"acc = Acc(acc / max({degree}, 1))"]}.get(program.reduce, [])
    names = {"incoming": incoming, "total": "total_sum", **{name: f"F_{name}[u]" for name in program.field_dtypes}}
    lines.append(f"result = {program.text_of_call('update', names)}")
    single = program.translations["update"].returned is None
    for position, name in enumerate(program.updated):
        value = "result" if single else f"result[{position}]"
        lines.append(f"new_{name} = np.{type_name(program.field_dtypes[name])}({value})")
        names[f"new_{name}"] = f"new_{name}"
    for name in program.field_dtypes:
        names.setdefault(f"new_{name}", f"F_{name}[u]")
    if "change" in program.functions:
        lines.append(f"changed += {program.text_of_call('change', names)}")
    else:
        lines.append(f"changed += default_change(F_{program.main_field}[u], {names['new_' + program.main_field]})")
    if accelerates:
        lines += accelerated_lines(program)
    place = "N" if has_new_fields(program) else "F"
    lines += [f"{place}_{name}[u] = new_{name}" for name in program.updated]
    after = {"source": "np.int64(u)", **{name: names[f"new_{name}"] for name in program.field_dtypes}}
    if "total" in program.functions and makes_next:
        lines.append(f"subtotal += {program.text_of_call('total', after)}")
    if has_new_messages(program) and makes_next:
        lines.append(f"new_messages[u] = {program.text_of_call('message', after)}")
    return lines


class GappedSide:
    """One way that messages take, along rows with gaps."""

    def __init__(self, rows: GappedRows) -> None:
        self._gapped = rows
        offsets = np.zeros(rows.num_vertices + 1, np.int64)  # as if the rows lay one behind the other
        np.cumsum(rows.places[:, USED], out=offsets[1:])
        self.rows = offsets, rows.neighbors, rows.weights
        self.num_edges = int(offsets[-1])

    def arrays(self, program: KernelProgram) -> list[Array | None]:
        """Return what a kernel takes of it."""
        weights = [self._gapped.weights] if program.weighted else []
        return [self._gapped.places, self._gapped.neighbors, *weights]

    def put_in_place(self, pieces: Array, number: int) -> None:
        """Change the pieces of this side from offsets to cells."""
        mine = pieces[:, 1] == number
        hubs = pieces[mine, 0].astype(np.int64)
        moved = self._gapped.places[hubs, START].astype(np.int64) * UNIT - self.rows[0][hubs]
        pieces[mine, 2:] = (pieces[mine, 2:].astype(np.int64) + moved[:, None]).astype(np.uint64)


class PullRun:
    """A program on one graph: fields are read and written in place, iteration by iteration.

    Where steps can be made longer, new values are used at once for as long as that brings much: on graphs with short
    ways it needs fewer iterations than longer steps do, on others more. A second kernel goes on from there.
    """

    def __init__(self, program: KernelProgram, sides: list[Side] | list[GappedSide], fields: dict[str, Array]) -> None:
        self._program, self._sides, self._fields = program, sides, fields
        self._cuts = cut_by_work([side.rows[0] for side in sides])
        is_gapped = isinstance(sides[0], GappedSide)
        self._may_accelerate = can_accelerate(program) and not is_gapped
        self._sweeps = _Sweeps(program, sides, fields, self._cuts, "until_slow" if self._may_accelerate else "plain")

    def advance(
        self, limit: int, tolerance: float, look: Callable[[int], None] | None = None
    ) -> tuple[Array, Array, bool]:
        """Do up to `limit` iterations; return their residuals and ticks, and whether the user interrupted.

        `look(n)` is called now and then while the kernel runs, with the number of iterations done.
        """
        residuals, times, interrupted = self._sweeps.advance(limit, tolerance, look)
        done = residuals.size
        if not self._may_accelerate or interrupted or done == limit or residuals[-1] <= tolerance:
            return residuals, times, interrupted
        self._may_accelerate = False
        del self._sweeps  # its arrays are as large as those that come
        program = replace(self._program, asynchronous=False)
        self._sweeps = _Sweeps(program, self._sides, self._fields, self._cuts, "accelerated")
        found = self._sweeps.advance(limit - done, tolerance, look and (lambda more: look(done + more)))
        return np.concatenate([residuals, found[0]]), np.concatenate([times, found[1]]), found[2]


class _Sweeps:
    """One kernel on one graph; `steps` is one of `_NEXT_STEP`."""

    def __init__(
        self,
        program: KernelProgram,
        sides: list[Side] | list[GappedSide],
        fields: dict[str, Array],
        cut: tuple[Array, Array, Array],
        steps: str,
    ) -> None:
        num_vertices = sides[0].rows[0].size - 1
        prefetches = num_vertices * program.message_dtype.itemsize >= BEYOND_CACHE
        cell_bits = sides[0].rows[1].dtype.itemsize * 8 if isinstance(sides[0], GappedSide) else 0
        varies = not prefetches and any(lengths_vary(side.rows[0]) for side in sides)
        text = _write_text(program, len(sides), prefetches, varies, cell_bits, steps)
        self._worker = load_kernel(text).worker
        self._fields = fields
        work = sum(int(side.rows[0][-1]) for side in sides) + num_vertices
        self._size = team_size(work)
        cuts, pieces, piece_of = cut
        for number, side in enumerate(sides):
            if isinstance(side, GappedSide):
                side.put_in_place(pieces, number)
        partials = np.empty(len(pieces), reduced_dtype(program.reduce, program.message_dtype))
        has_messages = program.is_message_per_vertex and program.sent_field is None
        messages = np.empty(num_vertices if has_messages else 0, program.message_dtype)
        new_messages = np.empty(num_vertices if has_new_messages(program) else 0, program.message_dtype)
        sums = [np.zeros((2, cuts.size - 1)) for _ in range(2)]  # of this iteration and of the one before
        num_blocks = count_blocks(work) if program.asynchronous and program.feeds_back else 1
        self._before = (num_blocks, cuts, pieces, piece_of, partials, messages, new_messages, *sums)
        self._nothing = program.nothing
        rows = [array for side in sides for array in side.arrays(program)]
        has_new = has_new_fields(program)
        self._new = {name: np.empty_like(fields[name]) for name in program.updated} if has_new else {}
        self._swaps = has_new and not program.asynchronous
        self._values_before = [np.empty_like(fields[program.main_field])] * (steps == "accelerated")
        self._rows, self._constants = rows, program.constants
        compile_worker(self._worker, [0, 0.0, *self._arguments(*traced(0))])

    def advance(self, limit: int, tolerance: float, look: Callable[[int], None] | None) -> tuple[Array, Array, bool]:
        """As `PullRun.advance`; fewer iterations than `limit` also where they became slow."""
        found = advance_traced(self._worker, self._size, limit, tolerance, self._arguments, Watch(look))
        if self._swaps and found[0].size % 2:
            for name, new in self._new.items():
                self._fields[name][:] = new
        return found

    def _arguments(self, residuals: Array, times: Array) -> tuple[Any, ...]:
        """Return what the worker takes; the fields are looked up anew, for the caller may have put others there."""
        vertices = (*self._fields.values(), *self._new.values(), *self._values_before)
        arrays = (*self._rows, *vertices, *self._constants.values())
        return (*self._before, residuals, times, self._nothing, *arrays)


def count_blocks(work: int) -> int:
    """Return into how many blocks an asynchronous sweep over so many edges and vertices is divided.

    More of them need fewer sweeps; it is no question of threads, so that the answer is the same on any number of them.

    >>> count_blocks(1000), count_blocks(1 << 20), count_blocks(1 << 23), count_blocks(1 << 30)
    (64, 8, 32, 64)
    """
    if work < 2 * MIN_WORK_PER_THREAD:  # there is but one thread
        return BLOCKS
    return min(max(work // BLOCK_WORK, FEWEST_BLOCKS), BLOCKS)


def traced(limit: int) -> tuple[Array, Array]:
    """Return room for the residual of every iteration and for the ticks around them."""
    return np.zeros(limit), np.zeros(limit + 1, np.int64)


def advance_traced(
    worker: Callable[..., None],
    size: int,
    limit: int,
    tolerance: float,
    arguments: Callable[[Array, Array], tuple[Any, ...]],
    watch: Watch,
) -> tuple[Array, Array, bool]:
    """Let a worker do up to `limit` iterations; return their residuals and ticks, and whether the user interrupted."""
    residuals, times = traced(limit)
    interrupted = False
    try:
        watch.run(worker, size, limit, float(tolerance), *arguments(residuals, times))
    except KeyboardInterrupt:
        interrupted = True
    done = int(watch.shared[DONE])
    return residuals[:done], np.diff(times[: done + 1]), interrupted
