"""The kernel that finds what a batch leaves pending in a linear program: what vertices have yet to hear of each other.

A vertex whose edges changed, or whose other fields did (its number of edges), sends the difference between its new
message and its old one along its edges; along edges that are gone it takes the old one back, along new ones it sends
all. Receivers change their values by that, and have it pending: their own neighbours do not know of it yet. What a
vertex has sent before is its value without what is pending, which the main field holds meanwhile. One thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import load_kernel
from tgraph.kernels.cpu.gapped_layout import UNIT
from tgraph.kernels.cpu.gapped_rows import GappedRows
from tgraph.runtime.protocol import Array

_TEXT = """
UNIT = np.uint64({unit})

{types}
DEAD = Cell(1 << (np.iinfo(Cell).bits - 1))

{functions}

@njit(**BORROWING)
def follow(pending, senders, gone_from, gone_to, new_from, new_to{arc_weights}{sides}{fields}{old_fields}{constants}):
    for v in range(pending.size):
        F_{main}[v] -= pending[v]
    change_of_total = 0.0
    for i in range(senders.size):
        u = np.uint64(senders[i])
        change_of_total += {total_new} - {total_old}
        {rows}
    for i in range(gone_to.size):
        u, v = np.uint64(gone_from[i]), np.uint64(gone_to[i])
        pending[v] += Value({nothing} - {old_gone})
    for i in range(new_to.size):
        u, v = np.uint64(new_from[i]), np.uint64(new_to[i])
        pending[v] += Value({old_new} - {nothing})
    for v in range(pending.size):
        pending[v] += Value({carried} - {nothing})
        F_{main}[v] += pending[v]
"""

_ROW = """
{sent}
begin = np.uint64({side}_places[u, 0]) * UNIT
for e in range(begin, begin + np.uint64({side}_places[u, 1])):
    if {side}_cells[e] & DEAD:
        continue
    v = np.uint64({side}_cells[e])
    pending[v] += Value({new} - {old})
"""


class LinearFollower:
    """Follows the batches of one program on rows with gaps."""

    def __init__(self, program: KernelProgram, num_sides: int, cell: np.dtype[Any]) -> None:
        self._program = program
        self._module = load_kernel(_write_text(program, num_sides, cell))

    def follow(
        self,
        pending: Array,
        senders: Array,
        gone: tuple[Array, Array, Array],
        new: tuple[Array, Array, Array],
        sides: list[GappedRows],
        fields: dict[str, Array],
        old_fields: dict[str, Array],
    ) -> None:
        """Change `pending` and the main field; `old_fields` are the others before the batch."""
        weights = [gone[2], new[2]] if self._program.weighted else []
        rows = [(side.places, side.neighbors, side.weights)[: 3 if self._program.weighted else 2] for side in sides]
        self._module.follow(
            *(pending, senders, *gone[:2], *new[:2], *weights),
            *(array for side in rows for array in side),
            *(*fields.values(), *old_fields.values(), *self._program.constants.values()),
        )


def _write_text(program: KernelProgram, num_sides: int, cell: np.dtype[Any]) -> str:
    main = program.main_field
    others = [name for name in program.field_dtypes if name != main]
    receiver = {"total": "0.0", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    nothing = program.text_of_call("update", {**receiver, "incoming": "Acc(0)"})

    def sender(others_of: str) -> dict[str, str]:
        return {"source": "np.int64(u)", main: f"F_{main}[u]", **{name: f"{others_of}_{name}[u]" for name in others}}

    def total(others_of: str) -> str:
        return program.text_of_call("total", sender(others_of)) if "total" in program.functions else "0.0"

    def message(weight: str, others_of: str) -> str:
        names = {**sender(others_of), "weight": weight if program.weighted else "1"}
        return f"Message({program.text_of_call('message', names)})"

    def received(message: str) -> str:
        return program.text_of_call("update", {**receiver, "incoming": f"Acc({message})"})

    def row(side: str) -> str:
        texts = {name: message(f"{side}_weights[e]", others_of) for name, others_of in (("new", "F"), ("old", "O"))}
        once = program.is_message_per_vertex
        return _ROW.format(
            side=side,
            sent="; ".join(f"{name} = {text}" for name, text in texts.items()) if once else "",
            **{name: received(name if once else text) for name, text in texts.items()},
        ).strip("\n")

    arrays = ("places", "cells", "weights") if program.weighted else ("places", "cells")
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
        arc_weights=", gone_weights, new_weights" if program.weighted else "",
        sides=listed(f"side{number}_{array}" for number in range(num_sides) for array in arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        old_fields=listed(f"O_{name}" for name in others),
        constants=listed(program.constants),
        rows=block("\n".join(row(f"side{number}") for number in range(num_sides)), 2),
        old_gone=received(message("gone_weights[i]", "O")),
        old_new=received(message("new_weights[i]", "O")),
        nothing=nothing,
        carried=program.text_of_call("update", {**receiver, "incoming": "Acc(0)", "total": "change_of_total"}),
        total_new=total("F"),
        total_old=total("O"),
    )
