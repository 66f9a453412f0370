"""Pull: what reaches every vertex along its incoming edges, balanced by edges (`kernels.gpu.segments`).

Writes new_reduced[u], one program per row or per set of parts. No atomics. Deterministic.
"""

from __future__ import annotations

from typing import Any

import torch

from tgraph.kernels.cpu.fused.pieces import Side
from tgraph.kernels.gpu.fused.text import Entry, Module, ProgramText
from tgraph.kernels.gpu.segments import Parts, Schedule

_LINES = """
{constants}
block = tl.program_id(0).to(tl.int64)
edges = block * BLOCK + tl.arange(0, BLOCK)
mask = (edges < num_edges){unless_done}
u = find_rows(offsets, first_rows, block, edges, mask, num_steps)
{takes}
v = tl.load(neighbors + edges, mask=takes, other=0).to(tl.int64)
{active}
{make}
m = tl.where(takes, m, tl.load(nothing))
store_rows(offsets, u, m, block, edges, mask, new_reduced, heads, tails, "{reduce}", BLOCK)
"""
_COUNT = (
    "store_rows(offsets, u, tl.where(takes, 1, 0).to(tl.int64), block, edges, mask, new_counts, count_heads, "
    'count_tails, "sum", BLOCK)'
)
_COUNTED = ("new_counts", "count_heads", "count_tails")


def pull_entry(text: ProgramText, *, tests_active: bool, makes_messages: bool) -> Entry:
    """Return the kernel.

    With `tests_active` only neighbours whose `active` is set send, and settled vertices ask nobody. Unless it
    `makes_messages` they are read from `messages`, one per vertex. Nothing is done once `done` is set.
    """
    program = text.program
    takes = ["takes = mask"]
    if tests_active and "settled" in program.functions:
        lines, names = text.read_fields("settled", "u", "mask", "o_")
        takes = [*lines, f"takes = mask & ~({text.call('settled', names)})"]
    active = "takes = takes & (tl.load(active + v, mask=takes, other=0) != 0)" if tests_active else ""
    make = text.make_message("v", "u", "edges", "takes")
    if not makes_messages:
        make = [f"m = tl.load(messages + v, mask=takes, other=0).to({text.wide})"]
    body = _LINES.format(
        constants=text.constant_lines,
        unless_done="" if tests_active else " & (tl.load(done) == 0)",
        takes="\n".join(takes),
        active=active,
        make="\n".join(make),
        reduce="sum" if program.reduce in ("mean", "count") else program.reduce,
    )
    more = _COUNTED if program.reduce == "mean" else ()
    flags = ("active",) if tests_active else ("done",)
    arrays = text.edge_arrays if makes_messages else ("messages",)
    return Entry(
        "pull",
        ("offsets", "first_rows", "neighbors", *arrays, *text.fields, "nothing", *flags, "floats", "integers"),
        ("new_reduced", "heads", "tails", *more),
        ("num_edges", "num_steps"),
        body + (_COUNT if more else ""),
    )


class Pull:
    """Pulls over all edges of some sides; the parts of rows are kept from one call to the next."""

    def __init__(self, text: ProgramText, sides: list[Side], device: Any) -> None:
        self._reduce = text.program.reduce
        self._sides = [(side, Schedule(side.rows[0], int(side.rows[1].shape[0]))) for side in sides]
        num_blocks = max(schedule.num_blocks for _, schedule in self._sides)
        parts = "sum" if self._reduce in ("mean", "count") else self._reduce
        self._parts = Parts(num_blocks, parts, text.reduced_dtype, device)
        self._counts = Parts(num_blocks, "sum", torch.int64, device) if self._reduce == "mean" else None

    def reduce(self, module: Module, values: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Return `reduced [V]` and, of means, which are sums here, `counts [V]`."""
        joined: dict[str, torch.Tensor] = {}
        for side, schedule in self._sides:
            found = self._reduce_side(module, values, side, schedule)
            for name, tensor in found.items():
                joined[name] = self._join(name, joined[name], tensor) if name in joined else tensor
        return joined

    def _reduce_side(
        self, module: Module, values: dict[str, Any], side: Side, schedule: Schedule
    ) -> dict[str, torch.Tensor]:
        num_vertices = schedule.offsets.shape[0] - 1
        found = {"reduced": self._parts.empty(num_vertices)}
        if self._counts is not None:
            found["counts"] = self._counts.empty(num_vertices)
        if not schedule.num_edges:
            return found
        kept = {"heads": self._parts.heads, "tails": self._parts.tails, "nothing": self._parts.nothing}
        if self._counts is not None:
            kept |= {"count_heads": self._counts.heads, "count_tails": self._counts.tails}
        written = {f"new_{name}": tensor for name, tensor in found.items()}
        given = {**values, **side_values(side), **kept, **written, **vars(schedule)}
        module.launch("pull", schedule.num_edges, given, schedule.block, schedule.warps)
        self._parts.join(schedule, found["reduced"])
        if self._counts is not None:
            self._counts.join(schedule, found["counts"])
        return found

    def _join(self, name: str, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Let meet what came along the two sides of a directed graph."""
        if name == "reduced" and self._reduce in ("min", "max"):
            return torch.minimum(left, right) if self._reduce == "min" else torch.maximum(left, right)
        return left | right if self._reduce == "any" else left + right


def side_values(side: Side) -> dict[str, Any]:
    """Return the tensors of a side by the names that kernels have for them."""
    offsets, neighbors, weights = side.rows
    data = {"weight": weights, **side.edge_data}
    return {"offsets": offsets, "neighbors": neighbors, **{f"E_{name}": tensor for name, tensor in data.items()}}
