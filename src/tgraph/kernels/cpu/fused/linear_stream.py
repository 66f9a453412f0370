"""The kernel that makes a first guess of how a linear program's values change with a batch.

A vertex whose edges changed, or whose other fields did (its number of edges), sends the difference between its new
message and its old one along its edges; along edges that are gone it takes the old one back, along new ones it sends
all. What follows from that for others is left to sweeps, which also mend what is not exact here. One thread.
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

@njit(**JIT)
def guess(senders, gone_from, gone_to, new_from, new_to{arc_weights}{sides}{fields}{old_fields}{constants}):
    for i in range(senders.size):
        u = np.uint64(senders[i])
        {rows}
    for i in range(gone_to.size):
        u, v = np.uint64(gone_from[i]), np.uint64(gone_to[i])
        F_{main}[v] -= Value({old_gone} - {nothing})
    for i in range(new_to.size):
        u, v = np.uint64(new_from[i]), np.uint64(new_to[i])
        F_{main}[v] += Value({old_new} - {nothing})
"""

_ROW = """
begin = np.uint64({side}_places[u, 0]) * UNIT
for e in range(begin, begin + np.uint64({side}_places[u, 1])):
    if {side}_cells[e] & DEAD:
        continue
    v = np.uint64({side}_cells[e])
    F_{main}[v] += Value({new} - {old})
"""


class LinearGuess:
    """The first guess for one program on rows with gaps."""

    def __init__(self, program: KernelProgram, num_sides: int, cell: np.dtype[Any]) -> None:
        self._program = program
        self._module = load_kernel(_write_text(program, num_sides, cell))

    def make(
        self,
        senders: Array,
        gone: tuple[Array, Array, Array],
        new: tuple[Array, Array, Array],
        sides: list[GappedRows],
        fields: dict[str, Array],
        old_fields: dict[str, Array],
    ) -> None:
        """Change the main field; `old_fields` are the others before the batch."""
        weights = [gone[2], new[2]] if self._program.weighted else []
        rows = [(side.places, side.neighbors, side.weights)[: 3 if self._program.weighted else 2] for side in sides]
        self._module.guess(
            *(senders, *gone[:2], *new[:2], *weights),
            *(array for side in rows for array in side),
            *(*fields.values(), *old_fields.values(), *self._program.constants.values()),
        )


def _write_text(program: KernelProgram, num_sides: int, cell: np.dtype[Any]) -> str:
    main = program.main_field
    others = [name for name in program.field_dtypes if name != main]
    receiver = {"total": "0.0", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    nothing = program.text_of_call("update", {**receiver, "incoming": "Acc(0)"})

    def received(weight: str, others_of: str) -> str:
        names = {"source": "np.int64(u)", "weight": weight if program.weighted else "1", main: f"F_{main}[u]"}
        names |= {name: f"{others_of}_{name}[u]" for name in others}
        message = f"Message({program.text_of_call('message', names)})"
        return program.text_of_call("update", {**receiver, "incoming": f"Acc({message})"})

    rows = [
        _ROW.format(
            side=f"side{number}",
            main=main,
            new=received(f"side{number}_weights[e]", "F"),
            old=received(f"side{number}_weights[e]", "O"),
        ).strip("\n")
        for number in range(num_sides)
    ]
    arrays = ("places", "cells", "weights") if program.weighted else ("places", "cells")
    return HEAD + _TEXT.format(
        unit=UNIT,
        types=type_lines(
            Value=program.field_dtypes[main],
            Message=program.message_dtype,
            Acc=reduced_dtype(program.reduce, program.message_dtype),
            Cell=cell,
        ),
        functions=program.text_of_functions(("message", "update")),
        main=main,
        arc_weights=", gone_weights, new_weights" if program.weighted else "",
        sides=listed(f"side{number}_{array}" for number in range(num_sides) for array in arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        old_fields=listed(f"O_{name}" for name in others),
        constants=listed(program.constants),
        rows=block("\n".join(rows), 2),
        old_gone=received("gone_weights[i]", "O"),
        old_new=received("new_weights[i]", "O"),
        nothing=nothing,
    )
