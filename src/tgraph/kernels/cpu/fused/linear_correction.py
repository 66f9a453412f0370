"""The kernel that corrects the values of a linear program after a batch, from what every vertex has yet to send.

A vertex has a value and `pending`, the part of the value that its neighbours do not know of yet. In a sweep every
vertex sends its part, as a short float; what rounding withholds stays pending, so nothing is lost. Then each adds up
what its neighbours sent: its value changes by that, and its neighbours have yet to hear of it. Where all pending
parts add up to no more than the tolerance, values are as near to the fixed point as after a sweep that changed no more.

Each sweep, every thread: shortens the messages of its part of the vertices; meets the others; takes chunks of vertices
and adds up for each. A vertex is written by the thread that took its chunk; one with very many edges is a chunk of its
own, whose edges were added up in pieces before, by all threads. Sums over vertices are made per chunk and then in the
order of chunks, so that no answer depends on the number of threads.

Memory beside the fields: `pending`, and 2 bytes per vertex for what is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.cuts import cut_by_work
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.pull import GappedSide, advance_traced, traced
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.gapped_layout import UNIT
from tgraph.kernels.cpu.team import team_size
from tgraph.kernels.cpu.watch import Watch
from tgraph.runtime.protocol import Array

_TEXT = """
from tgraph.kernels.cpu.short_floats import lengthen, shorten

UNIT = np.uint64({unit})
{types}
DEAD = Cell(1 << (np.iinfo(Cell).bits - 1))

{functions}

@njit(**BORROWING)
def worker(rank, size, shared, limit, tolerance, cuts, pieces, piece_of, partials, totals, amounts, residuals, times,
           sent, pending{rows}{fields}{constants}):
    meeting = 1
    num_chunks, num_pieces = cuts.size - 1, np.int64(pieces.shape[0])
    first, last = part(rank, size, num_chunks)
    if rank == 0:
        times[0] = ticks()
    for iteration in range(limit):
        counter, halt = 24 + 8 * (iteration % 3), 72 + 8 * (iteration % 2)
        for chunk in range(first, last):
            subtotal = 0.0
            for v in range(cuts[chunk], cuts[chunk + 1]):
                d = pending[v]
                whole = Value({whole})
                short = shorten({sent})
                taken = Value(lengthen(short)) / whole
                if not abs(taken) < inf:
                    taken = d
                sent[v], pending[v] = short, d - taken
                subtotal += {total}
            totals[chunk] = subtotal
        meeting = meet(shared, meeting, size)
        total_sum = 0.0
        for chunk in range(num_chunks):
            total_sum += totals[chunk]
        while num_pieces > 0:
            piece = fetch_add(shared, counter, 1)
            if piece >= num_pieces:
                meeting = meet(shared, meeting, size)
                break
            u, side = pieces[piece, 0], pieces[piece, 1]
            acc = Acc(0)
            {gather_piece}
            partials[piece] = acc
        begin_turn(shared, iteration, rank, size)
        chunk, owner = take(shared, iteration, rank, size, num_chunks, rank)
        while chunk < num_chunks:
            amount = 0.0
            for u in range(cuts[chunk], cuts[chunk + 1]):
                acc = Acc(0)
                if piece_of[chunk + 1] > piece_of[chunk]:
                    for piece in range(piece_of[chunk], piece_of[chunk + 1]):
                        acc += partials[piece]
                else:
                    {gather}
                d = Value({received} - {nothing})
                F_{main}[u] += d
                pending[u] += d
                amount += abs(np.float64(pending[u]))
            amounts[chunk] = amount
            chunk, owner = take(shared, iteration, rank, size, num_chunks, owner)
        if rank == 0:
            shared[24 + 8 * ((iteration + 2) % 3)] = 0
            shared[halt] = load(shared, 8)
        meeting = meet(shared, meeting, size)
        residual = 0.0
        for chunk in range(num_chunks):
            residual += amounts[chunk]
        if rank == 0:
            residuals[iteration] = residual
            times[iteration + 1] = ticks()
            store(shared, 16, iteration + 1)
        if residual <= tolerance or shared[halt] != 0:
            break
"""

_GATHER = """
for e in range({first}, {last}):
    v = neighbors{side}[e]
    if v & DEAD:
        continue
    acc += Acc({message})
"""


class LinearCorrection:
    """Corrections of one program's values on rows with gaps; the main field and `pending` are written in place."""

    def __init__(
        self, program: KernelProgram, sides: list[GappedSide], fields: dict[str, Array], pending: Array
    ) -> None:
        num_vertices = pending.size
        self._worker = load_kernel(_write_text(program, sides[0].rows[1].dtype, len(sides))).worker
        self._size = team_size(sum(side.num_edges for side in sides) + num_vertices)
        cuts, pieces, piece_of = cut_by_work([side.rows[0] for side in sides])
        for number, side in enumerate(sides):
            side.put_in_place(pieces, number)
        partials = np.empty(len(pieces), reduced_dtype(program.reduce, program.message_dtype))
        self._before = cuts, pieces, piece_of, partials, *(np.zeros(cuts.size - 1) for _ in range(2))
        rows = [array for side in sides for array in side.arrays(program)]
        sent = np.zeros(num_vertices, np.uint16)
        self._after = sent, pending, *rows, *fields.values(), *program.constants.values()
        compile_worker(self._worker, [0, 0.0, *self._arguments(*traced(0))])

    def advance(self, limit: int, tolerance: float, look: Callable[[int], None]) -> tuple[Array, Array, bool]:
        """Do up to `limit` sweeps; return what was pending after each and their ticks, and whether Ctrl-C was pressed.

        `look(n)` is called now and then while the kernel runs, with the number of sweeps done.
        """
        return advance_traced(self._worker, self._size, limit, tolerance, self._arguments, Watch(look))

    def _arguments(self, residuals: Array, times: Array) -> tuple[Any, ...]:
        return (*self._before, residuals, times, *self._after)


def _write_text(program: KernelProgram, cell: np.dtype[Any], num_sides: int) -> str:
    main = program.main_field

    def sender(value: str) -> dict[str, str]:
        return {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}, main: value}

    def message_of(value: str) -> str:
        return program.text_of_call("message", sender(value))

    def gather(side: int, first: str, last: str) -> str:
        if program.is_message_per_vertex:
            return f"acc += sum_gapped_row(Acc, places{side}[u, 3], {first}, {last}, neighbors{side}, sent)"
        names = {**sender("Value(lengthen(sent[v]))"), "weight": f"weights{side}[e]" if program.weighted else "1"}
        return _GATHER.format(
            side=side,
            first=first,
            last=last,
            message=f"Message({program.text_of_call('message', names)})",
        ).strip("\n")

    def whole_row(side: int) -> str:
        begin = f"np.uint64(places{side}[u, 0]) * UNIT"
        return gather(side, begin, f"{begin} + np.uint64(places{side}[u, 1])")

    pieces = [
        f"if side == {side}:\n    {block(gather(side, 'pieces[piece, 2]', 'pieces[piece, 3]'), 1)}"
        for side in range(num_sides)
    ]
    receiver = {"incoming": "acc", "total": "total_sum", **{name: f"F_{name}[u]" for name in program.field_dtypes}}
    arrays = ("places", "neighbors", "weights") if program.weighted else ("places", "neighbors")
    return HEAD + _TEXT.format(
        unit=UNIT,
        types=type_lines(
            Value=program.field_dtypes[main],
            Message=program.message_dtype,
            Acc=reduced_dtype(program.reduce, program.message_dtype),
            Cell=cell,
        ),
        functions=program.text_of_functions(("message", "update", "total")),
        main=main,
        rows=listed(f"{array}{side}" for side in range(num_sides) for array in arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        constants=listed(program.constants),
        whole=message_of("Value(1)") if program.is_message_per_vertex else "1",
        sent=message_of("d") if program.is_message_per_vertex else "d",
        total=program.text_of_call("total", sender("taken")) if "total" in program.functions else "0.0",
        gather_piece=block("\n".join(pieces), 3),
        gather=block("\n".join(whole_row(side) for side in range(num_sides)), 5),
        received=program.text_of_call("update", receiver),
        nothing=program.text_of_call("update", {**receiver, "incoming": "Acc(0)", "total": "0.0"}),
    )
