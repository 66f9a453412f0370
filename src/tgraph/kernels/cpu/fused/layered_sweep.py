"""The kernel for programs in which every vertex is active, on a compressed graph.

Each iteration, every thread: takes chunks of virtual vertices, layer by layer, and reduces what reaches them; then
takes chunks of vertices and reduces, updates and measures them, and makes what they send next. All meet after each
large layer. Rows are taken by length (`layers.sort_by_length`). A value is written by the thread that took its chunk.
Messages of the next iteration are beside those in use, so what an iteration reads is what the one before left. What is
summed over vertices is summed per chunk and then in the order of chunks: no answer depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.layers import (
    LayeredSide,
    gather_text,
    make_message,
    order_vertices,
    stored_dtype,
    through_layers,
)
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.pull import finish_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import team_size
from tgraph.kernels.cpu.watch import DONE, Watch
from tgraph.runtime.protocol import Array

_TEXT = """
{types}

{functions}

@njit(**JIT)
def worker(rank, size, shared, limit, tolerance, cuts, order, degrees, totals, changes, residuals, times,
           nothing{arrays}{constants}):
    if limit == 0:
        return
    meeting, num_chunks = 1, cuts.size - 1
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
        now, counter, halt = iteration % 2, 24 + 16 * (iteration % 3), 72 + 8 * (iteration % 2)
        {layers}
        begin_turn(shared, iteration, rank, size)
        chunk, owner = take(shared, iteration, rank, size, num_chunks, rank)
        while chunk < num_chunks:
            changed, subtotal = 0.0, 0.0
            for i in range(cuts[chunk], cuts[chunk + 1]):
                u = np.uint64(order[i])
                acc = nothing
                {gather}
                {finish}
            changes[now, chunk], totals[now, chunk] = changed, subtotal
            chunk, owner = take(shared, iteration, rank, size, num_chunks, owner)
        if rank == 0:
            for word in range(0, 16, 8):
                shared[24 + 16 * ((iteration + 2) % 3) + word] = 0
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
        if residual <= tolerance or shared[halt] != 0:
            break
"""


def _write_text(program: KernelProgram, num_sides: int) -> str:
    sides = range(num_sides)
    arrays = [f"{part}{side}" for side in sides for part in ("offsets", "neighbors", "virtual", "spans", "ends")]
    arrays += [f"{part}{side}" for side in sides for part in ("values", "new_values")]
    layers = "\n".join(through_layers(program, side, f"counter + {8 * side}") for side in sides)
    needs_gather = program.reduce != "count"
    return HEAD + _TEXT.format(
        types=type_lines(Acc=stored_dtype(program), Message=program.message_dtype),
        functions=program.text_of_functions(("message", "update", "total", "change")),
        arrays=listed([*arrays, *(f"F_{name}" for name in program.field_dtypes)]),
        constants=listed(program.constants),
        prepare=block(_prepare(program, num_sides), 3),
        layers=block(layers if needs_gather else "", 2),
        gather=block("\n".join(gather_text(program, side) for side in sides) if needs_gather else "", 4),
        finish=block(_finish(program, num_sides), 4),
        swap=block("\n".join(f"values{s}, new_values{s} = new_values{s}, values{s}" for s in sides), 2)
        if program.feeds_back
        else "",
    )


def _prepare(program: KernelProgram, num_sides: int) -> str:
    names = {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    lines = [f"m = {make_message(program, names)}", *(f"values{side}[v] = m" for side in range(num_sides))]
    if "total" in program.functions:
        lines.append(f"subtotal += {program.text_of_call('total', names)}")
    return "\n".join(lines)


def _finish(program: KernelProgram, num_sides: int) -> str:
    """The lines that end a vertex, and those that make what it sends next."""
    incoming = "(acc != 0)" if program.reduce == "any" else "acc"
    lines = finish_lines(program, num_sides, makes_next=False, degree="degrees[u]", incoming=incoming)
    after = {"source": "np.int64(u)", **{name: f"F_{name}[u]" for name in program.field_dtypes}}
    after |= {name: f"new_{name}" for name in program.updated}
    if "total" in program.functions:
        lines.append(f"subtotal += {program.text_of_call('total', after)}")
    if program.feeds_back:
        lines.append(f"m = {make_message(program, after)}")
        lines += [f"new_values{side}[u] = m" for side in range(num_sides)]
    return "\n".join(lines)


class LayeredSweep:
    """A kernel on one compressed graph: fields are read and written in place, iteration by iteration."""

    def __init__(
        self, program: KernelProgram, sides: list[LayeredSide], fields: dict[str, Array], degrees: Array
    ) -> None:
        program = replace(program, asynchronous=False, is_message_per_vertex=True)
        self._worker = load_kernel(_write_text(program, len(sides))).worker
        self._fields, self._constants = fields, program.constants
        self._size = team_size(sum(side.neighbors.size for side in sides) + sides[0].num_vertices)
        cuts, order = sides[0].vertex_order if len(sides) == 1 else order_vertices(sides)
        sums = [np.zeros((2, cuts.size - 1)) for _ in range(2)]  # of this iteration and of the one before
        self._before = (cuts, order, degrees, *sums)
        dtype = stored_dtype(program)
        self._nothing = dtype.type(program.nothing)
        rows = [array for side in sides for array in (*side.rows(), *side.virtual_order)]
        values = []
        for side in sides:
            values += [
                side.values(self._nothing),
                side.values(self._nothing) if program.feeds_back else np.empty(0, dtype),
            ]
        self._rows = (*rows, *values)
        compile_worker(self._worker, [0, 0.0, *self._arguments(np.zeros(0), np.zeros(1, np.int64))])

    def advance(
        self, limit: int, tolerance: float, look: Callable[[int], None] | None = None
    ) -> tuple[Array, Array, bool]:
        """Do up to `limit` iterations; return their residuals and ticks, and whether the user interrupted.

        `look(n)` is called now and then while the kernel runs, with the number of iterations done.
        """
        residuals, times = np.zeros(limit), np.zeros(limit + 1, np.int64)
        watch, interrupted = Watch(look), False
        try:
            watch.run(self._worker, self._size, limit, float(tolerance), *self._arguments(residuals, times))
        except KeyboardInterrupt:
            interrupted = True
        done = int(watch.shared[DONE])
        return residuals[:done], np.diff(times[: done + 1]), interrupted

    def _arguments(self, residuals: Array, times: Array) -> tuple[Any, ...]:
        """Return what the worker takes; the fields are looked up anew, for the caller may have put others there."""
        arrays = (*self._rows, *self._fields.values(), *self._constants.values())
        return (*self._before, residuals, times, self._nothing, *arrays)
