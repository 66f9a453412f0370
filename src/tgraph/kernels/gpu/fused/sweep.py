"""Programs in which every vertex is active: per iteration one pull, and one kernel that updates every vertex.

The kernel that updates also makes the next messages, the next `total`, and the change of each program's vertices, which
torch sums up: always in the same order. Whether the tolerance is reached is decided on the device: kernels that were
launched in advance then do nothing. So the host waits once per `AHEAD` iterations, and moves nothing in between but
the residuals, 8 bytes each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tgraph.kernels.cpu.fused.pieces import KernelProgram, Side
from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.fused.pull import Pull, pull_entry
from tgraph.kernels.gpu.fused.text import Entry, Module, ProgramText
from tgraph.kernels.gpu.fused.typed import TRITON_TYPES
from tgraph.runtime.protocol import Array

AHEAD = 8  # iterations that are launched before the host asks whether that was enough

_VERTICES = """
{constants}
v = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
mask = v < num_vertices
"""


class SweepRun:
    """A program on one graph; the tensors in `fields` are replaced by new ones, iteration by iteration."""

    def __init__(self, program: KernelProgram, sides: list[Side], fields: dict[str, torch.Tensor]) -> None:
        offsets, neighbors, _ = sides[0].rows
        text = ProgramText(
            program, neighbors.dtype, edge_dtypes(sides[0], program), ("message", "total", "update", "change")
        )
        self._fields, self._program = fields, program
        self._num_vertices, device = offsets.shape[0] - 1, offsets.device
        self._module = Module(text, _entries(text))
        self._pull = Pull(text, sides, device)
        grid = launch.programs(self._num_vertices, launch.sizes_on(device).vertices)[0]
        self._made = {
            "messages": torch.empty(self._num_vertices, dtype=text.message_dtype, device=device),
            "changes": torch.zeros(grid, dtype=torch.float64, device=device),
            **text.constant_tensors(device),
        }
        if "total" in text.returned:
            self._made["totals"] = torch.empty(grid, dtype=_sum_dtype(text), device=device)
            self._total_dtype = text.returned["total"][0]
        self._new = {name: torch.empty_like(fields[name]) for name in program.updated}
        self._is_prepared = False

    def advance(
        self, limit: int, tolerance: float, look: Callable[[int], None] | None = None
    ) -> tuple[Array, Array, bool]:
        """Do up to `limit` iterations; return their residuals and times, and whether the user interrupted."""
        device = self._made["changes"].device
        residuals: list[float] = []
        ticks: list[int] = []
        done = torch.zeros(1, dtype=torch.bool, device=device)
        try:
            while len(residuals) < limit and not (residuals and residuals[-1] <= tolerance):
                count, started = min(AHEAD, limit - len(residuals)), time.perf_counter_ns()
                room = torch.zeros(count, dtype=torch.float64, device=device)
                for i in range(count):
                    self._iterate(room[i : i + 1], tolerance, done)
                found = _until(room.tolist(), tolerance)
                residuals += found
                ticks += [(time.perf_counter_ns() - started) // len(found)] * len(found)
                if look is not None:
                    look(len(residuals))
        except KeyboardInterrupt:
            return np.array(residuals), np.array(ticks, np.int64), True
        return np.array(residuals), np.array(ticks, np.int64), False

    def _iterate(self, residual: torch.Tensor, tolerance: float, done: torch.Tensor) -> None:
        if not self._is_prepared:
            self._module.launch_on_vertices("prepare", self._values(done), self._num_vertices)
            self._is_prepared = True
        values = self._values(done)
        values |= self._pull.reduce(self._module, values)
        if "totals" in self._made:
            values["total"] = self._made["totals"].sum().to(self._total_dtype).reshape(1)
        self._module.launch_on_vertices("update_all", values, self._num_vertices)
        for name, new in self._new.items():
            self._fields[name], self._new[name] = new, self._fields[name]
        residual.copy_(self._made["changes"].sum())
        done.logical_or_(residual <= tolerance)

    def _values(self, done: torch.Tensor) -> dict[str, Any]:
        """Return what kernels take by name; fields are looked up anew, for they change places with the new ones."""
        fields = {f"F_{name}": tensor for name, tensor in self._fields.items()}
        new = {f"N_{name}": tensor for name, tensor in self._new.items()}
        return {**self._made, **fields, **new, "num_vertices": self._num_vertices, "done": done}


def _until(residuals: list[float], tolerance: float) -> list[float]:
    """Return the residuals up to the first that is not above the tolerance: kernels did nothing after it."""
    reached = next((i for i, residual in enumerate(residuals) if residual <= tolerance), len(residuals) - 1)
    return residuals[: reached + 1]


def edge_dtypes(side: Side, program: KernelProgram) -> dict[str, torch.dtype]:
    """Return the types of the data of edges, weights included, by name."""
    weights = {"weight": side.rows[2].dtype} if program.weighted and side.rows[2] is not None else {}
    return weights | {name: tensor.dtype for name, tensor in side.edge_data.items()}


def _sum_dtype(text: ProgramText) -> torch.dtype:
    dtype = text.returned["total"][0]
    return torch.float64 if dtype.is_floating_point else torch.int64


def _entries(text: ProgramText) -> list[Entry]:
    program = text.program
    sent = ("messages",) if program.is_message_per_vertex and program.reduce != "count" else ()
    summed = ("totals",) if "total" in text.returned else ()
    per_vertex = text.fields, ("floats", "integers")
    return [
        Entry("prepare", (*per_vertex[0], *per_vertex[1]), (*sent, *summed), ("num_vertices",), _prepare_lines(text)),
        pull_entry(text, tests_active=False, makes_messages=not sent),
        Entry(
            "update_all",
            (
                *text.fields,
                "reduced",
                *(("counts",) if program.reduce == "mean" else ()),
                *(("total",) if summed else ()),
                "done",
                "floats",
                "integers",
            ),
            (*(f"N_{name}" for name in program.updated), *sent, *summed, "changes"),
            ("num_vertices",),
            _update_lines(text),
        ),
    ]


def _prepare_lines(text: ProgramText) -> str:
    lines = [f"o_{name} = tl.load(F_{name} + v, mask=mask, other=1)" for name in text.program.field_dtypes]
    names = {name: f"o_{name}" for name in text.program.field_dtypes}
    return _VERTICES.format(constants=text.constant_lines) + "\n".join([*lines, *_sent_lines(text, names)])


def _sent_lines(text: ProgramText, names: dict[str, str]) -> list[str]:
    """Return the lines that write what vertices with these values send next, and their part of the total."""
    lines = []
    if text.program.is_message_per_vertex and text.program.reduce != "count":
        known = {**names, "source": f"v.to({TRITON_TYPES[text.ids]})"}
        made = f"({text.call('message', known)}).to({TRITON_TYPES[text.message_dtype]})"
        lines.append(f"tl.store(messages + v, {made}, mask=mask)")
    if "total" in text.returned:
        wide = TRITON_TYPES[_sum_dtype(text)]
        part = f"tl.where(mask, ({text.call('total', names)}).to({wide}), tl.full([], 0, {wide}))"
        lines.append(f"tl.store(totals + tl.program_id(0), tl.sum({part}, 0))")
    return lines or ["pass"]


def _update_lines(text: ProgramText) -> str:
    program = text.program
    lines = [
        "is_done = tl.load(done) != 0",
        f"wide_incoming = tl.load(reduced + v, mask=mask, other=0).to({text.wide})",
    ]
    if program.reduce == "mean":
        lines.append("got = tl.load(counts + v, mask=mask, other=1)")
    if "total" in text.returned:
        lines.append("total_sum = tl.load(total)")
    lines += [*text.incoming_lines, *text.update_lines("v", "mask")]
    lines += [f"new_{name} = tl.where(is_done, o_{name}, new_{name})" for name in program.updated]
    lines += [f"tl.store(N_{name} + v, new_{name}, mask=mask)" for name in program.updated]
    after = {name: f"new_{name}" if name in program.updated else f"o_{name}" for name in program.field_dtypes}
    changed = f"el.change(o_{program.main_field}, {after[program.main_field]})"
    if "change" in program.functions:
        names = {**{name: f"o_{name}" for name in after}, **{f"new_{name}": one for name, one in after.items()}}
        changed = f"({text.call('change', names | {'total': 'total_sum'})}).to(tl.float64)"
    lines.append(f"changed = tl.where(mask & ~is_done, {changed}, tl.full([], 0, tl.float64))")
    lines.append("tl.store(changes + tl.program_id(0), tl.sum(changed, 0))")
    return _VERTICES.format(constants=text.constant_lines) + "\n".join([*lines, *_sent_lines(text, after)])
