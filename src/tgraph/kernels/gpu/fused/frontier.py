"""Programs in which the vertices that changed are active: push from a queue of them, or pull over all edges.

Push has two kernels. In the first the edges of the queue are divided evenly among programs; messages meet in one cell
per vertex (`kernels.gpu.accumulators`), and whoever reaches a vertex first puts it into the list of touched ones. In
the second every touched vertex empties its cell, updates itself, and joins the next queue if it changed. In pull a
vertex reduces the messages of its active neighbours without atomics, all vertices are updated, and those that changed
are made a queue in ascending order. So an iteration is the plain one, message for message, whichever way it takes.

The host waits once per iteration, for two numbers: how many vertices are active next, and how many edges they have.
Sums of floats are pulled unless push is asked for, for pull adds in the same order always.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tgraph.kernels.cpu.fused.pieces import KernelProgram, Side
from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.accumulators import empty_cell
from tgraph.kernels.gpu.fused.pull import Pull, pull_entry, side_values
from tgraph.kernels.gpu.fused.sweep import edge_dtypes
from tgraph.kernels.gpu.fused.text import Entry, Module, ProgramText
from tgraph.kernels.gpu.operators import fill_queue
from tgraph.kernels.gpu.segments import Parts, first_rows
from tgraph.runtime.protocol import Array

PUSH_COST_PER_EDGE = 3  # of a pulled edge: two atomics at random places, where pull has one gather
TOUCHED, FOUND, EDGES = range(3)  # what an iteration counts on the device

_PUSH = """
{constants}
block = tl.program_id(0).to(tl.int64)
places = block * BLOCK + tl.arange(0, BLOCK)
mask = places < num_edges
row = find_rows(queue_offsets, first_rows, block, places, mask, num_steps)
u = tl.load(queue + row, mask=mask, other=0).to(tl.int64)
first = tl.load(offsets + u, mask=mask, other=0)
edges = first + places - tl.load(queue_offsets + row, mask=mask, other=0)
v = tl.load(neighbors + edges, mask=mask, other=0).to(tl.int64)
{takes}
{make}
m = tl.where(takes, m, tl.load(nothing))
accumulate(cells, v, to_cells(m, "{reduce}"), takes, "{reduce}")
{count}
append(touched, counters, v, note_first(marks, v, takes))
"""

_UPDATE_TOUCHED = """
{constants}
i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
mask = i < tl.load(counters)
v = tl.load(touched + i, mask=mask, other=0).to(tl.int64)
wide_incoming = from_cells(tl.load(cells + v, mask=mask, other=0), "{reduce}", {wide})
tl.store(cells + v, tl.load(empty), mask=mask)
tl.store(marks + v, 0, mask=mask)
{got}
{update}
append(new_queue, counters + 1, v, changed)
{degrees}
"""

_UPDATE_ALL = """
{constants}
v = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
mask = v < num_vertices
wide_incoming = tl.load(reduced + v, mask=mask, other=0).to({wide})
{got}
{update}
tl.store(new_mask + v, changed, mask=mask)
{degrees}
"""


class FrontierRun:
    """A program on one graph, from an active set until nobody is active; fields are written in place."""

    def __init__(
        self,
        program: KernelProgram,
        sides: tuple[list[Side], list[Side]],  # of push and of pull
        fields: dict[str, torch.Tensor],
        front: torch.Tensor,  # the vertices that are active first
    ) -> None:
        self._push_sides, pull_sides = sides
        offsets, neighbors, _ = self._push_sides[0].rows
        device, self._num_vertices = offsets.device, offsets.shape[0] - 1
        text = ProgramText(program, neighbors.dtype, edge_dtypes(self._push_sides[0], program), _FUNCTIONS)
        self._program, self._fields = program, fields
        self._module = Module(text, _entries(text, len(self._push_sides)))
        self._pull = Pull(text, pull_sides, device)
        self._is_ordered = program.reduce in ("sum", "mean") and text.reduced_dtype.is_floating_point
        self._num_arcs = sum(int(side.rows[1].shape[0]) for side in self._push_sides)
        self._made = _room(text, self._num_vertices, neighbors.dtype, device)
        self._made |= {f"offsets{i}": side.rows[0] for i, side in enumerate(self._push_sides)}
        self._queue = self._made.pop("queue")
        self._count = int(front.shape[0])
        self._queue[: self._count] = front
        self._edges = int(torch.cat([self._degrees(side).sum().reshape(1) for side in self._push_sides]).sum())
        self._unexplored = self._num_arcs

    @property
    def is_done(self) -> bool:
        """Whether nobody is active any more."""
        return self._count == 0

    def advance(
        self, limit: int, direction: str, look: Callable[[int], None] | None = None
    ) -> tuple[Array, Array, bool]:
        """Do up to `limit` iterations; return rows (pulled, vertices, edges), times, and if it was interrupted."""
        rows: list[tuple[bool, int, int]] = []
        ticks: list[int] = []
        interrupted = False
        try:
            while len(rows) < limit and not self.is_done:
                started, row = time.perf_counter_ns(), (self._pulls(direction), self._count, self._edges)
                self._iterate(row[0])
                rows.append(row)
                ticks.append(time.perf_counter_ns() - started)
                if look is not None:
                    look(len(rows))
        except KeyboardInterrupt:
            interrupted = True
        return np.array(rows, np.int64).reshape(-1, 3), np.array(ticks, np.int64), interrupted

    def _pulls(self, direction: str) -> bool:
        if direction != "auto":
            return direction == "pull"
        unexplored = self._unexplored if "settled" in self._program.functions else self._num_arcs
        return self._is_ordered or PUSH_COST_PER_EDGE * self._edges > unexplored + self._num_vertices

    def _iterate(self, pulls: bool) -> None:
        counters = self._made["counters"].zero_()
        values = {**self._made, **{f"F_{name}": tensor for name, tensor in self._fields.items()}}
        values["num_vertices"] = self._num_vertices
        if pulls:
            self._pull_once(values)
        else:
            self._push_once(values)
        self._unexplored = max(self._unexplored - self._edges, 0)
        self._count, self._edges = counters[FOUND:].tolist()
        self._queue, self._made["new_queue"] = self._made["new_queue"], self._queue

    def _pull_once(self, values: dict[str, Any]) -> None:
        active = torch.zeros(self._num_vertices, dtype=torch.bool, device=self._queue.device)
        active.index_fill_(0, self._queue[: self._count].long(), True)
        values["active"] = active
        values |= self._pull.reduce(self._module, values)
        changed = values["new_mask"] = torch.empty_like(active)
        self._module.launch_on_vertices("update_all", values, self._num_vertices)
        self._made["counters"][FOUND : FOUND + 1] = fill_queue(changed, self._made["new_queue"])

    def _push_once(self, values: dict[str, Any]) -> None:
        for side in self._push_sides:
            ends = torch.cumsum(self._degrees(side), 0)
            offsets = torch.cat([torch.zeros_like(ends[:1]), ends])
            num_edges = self._edges if len(self._push_sides) == 1 else int(ends[-1])
            block, warps = launch.sizes_on(ends.device).push_block(num_edges, launch.multiprocessors(ends.device))
            rows = first_rows(offsets, num_edges, block)
            queued = {"queue": self._queue, "queue_offsets": offsets, "first_rows": rows}
            sizes = {"num_edges": num_edges, "num_steps": self._count.bit_length()}
            given = {**values, **side_values(side), **queued, **sizes}
            if num_edges:
                self._module.launch("push", num_edges, given, block, warps)
        self._module.launch_on_vertices("update_touched", values, min(self._edges, self._num_vertices))

    def _degrees(self, side: Side) -> torch.Tensor:
        """Return how many edges of a side each queued vertex has."""
        queue = self._queue[: self._count].long()
        offsets: Any = side.rows[0]
        return offsets.index_select(0, queue + 1) - offsets.index_select(0, queue)


_FUNCTIONS = ("message", "update", "settled")


def _room(text: ProgramText, num_vertices: int, ids: torch.dtype, device: Any) -> dict[str, torch.Tensor]:
    """Return what kernels keep between iterations: cells, marks and queues, all as they are when nothing was sent."""
    reduce = "sum" if text.program.reduce in ("mean", "count") else text.program.reduce
    nothing = Parts(0, reduce, text.reduced_dtype, device).nothing
    empty = empty_cell(reduce, text.reduced_dtype, nothing)
    return {
        "nothing": nothing,
        "empty": empty,
        "cells": empty.repeat(num_vertices),
        "marks": torch.zeros(num_vertices, dtype=torch.int32, device=device),
        "received": torch.zeros(num_vertices if text.program.reduce == "mean" else 0, dtype=torch.int64, device=device),
        "counters": torch.zeros(3, dtype=torch.int64, device=device),
        **{name: torch.empty(num_vertices, dtype=ids, device=device) for name in ("queue", "new_queue", "touched")},
        **text.constant_tensors(device),
    }


def _entries(text: ProgramText, num_sides: int) -> list[Entry]:
    program = text.program
    counted = ("received",) if program.reduce == "mean" else ()
    degrees = tuple(f"offsets{side}" for side in range(num_sides))
    constants = ("nothing", "floats", "integers")
    read = ("queue", "queue_offsets", "first_rows", "offsets", "neighbors", *text.edge_arrays)
    return [
        Entry(
            "push",
            (*read, *text.fields, *constants),
            ("cells", "marks", *counted, "touched", "counters"),
            ("num_edges", "num_steps"),
            _push_lines(text),
        ),
        Entry(
            "update_touched",
            ("touched", "empty", *degrees, *constants),
            (*text.fields, "cells", "marks", *counted, "new_queue", "counters"),
            ("num_vertices",),
            _update_lines(text, _UPDATE_TOUCHED, num_sides),
        ),
        pull_entry(text, tests_active=True, makes_messages=True),
        Entry(
            "update_all",
            ("reduced", *(("counts",) if counted else ()), *degrees, *constants),
            (*text.fields, "new_mask", "counters"),
            ("num_vertices",),
            _update_lines(text, _UPDATE_ALL, num_sides),
        ),
    ]


def _push_lines(text: ProgramText) -> str:
    program = text.program
    takes = ["takes = mask"]
    if "settled" in program.functions:
        lines, names = text.read_fields("settled", "v", "mask", "o_")
        takes = [*lines, f"takes = mask & ~({text.call('settled', names)})"]
    return _PUSH.format(
        constants=text.constant_lines,
        takes="\n".join(takes),
        make="\n".join(text.make_message("u", "v", "edges", "takes")),
        reduce=_reduced(text),
        count="tl.atomic_add(received + v, takes.to(tl.int64), mask=takes, sem='relaxed')"
        if program.reduce == "mean"
        else "",
    )


def _update_lines(text: ProgramText, template: str, num_sides: int) -> str:
    """Return the lines that update the receivers; who received nothing but the identity keeps its values."""
    got = ""
    if text.program.reduce == "mean":
        from_push = "got = tl.load(received + v, mask=mask, other=1)\ntl.store(received + v, 0, mask=mask)"
        got = from_push if template is _UPDATE_TOUCHED else "got = tl.load(counts + v, mask=mask, other=1)"
    is_count = text.program.reduce == "count"
    differs = "wide_incoming != 0" if is_count else f"el.differs(incoming.to({text.wide}), tl.load(nothing + v * 0))"
    update = [
        *text.incoming_lines,
        *text.update_lines("v", "mask"),
        f"changed = mask & ({differs}) & ({text.changed()})",
    ]
    update += [f"tl.store(F_{name} + v, new_{name}, mask=changed)" for name in text.program.updated]
    degrees = [
        f"tl.load(offsets{side} + v + 1, mask=changed, other=0) - tl.load(offsets{side} + v, mask=changed, other=0)"
        for side in range(num_sides)
    ]
    return template.format(
        constants=text.constant_lines,
        reduce=_reduced(text),
        wide=text.wide,
        got=got,
        update="\n".join(update),
        degrees=f"tl.atomic_add(counters + 2, tl.sum({' + '.join(degrees)}, 0), sem='relaxed')",
    )


def _reduced(text: ProgramText) -> str:
    return "sum" if text.program.reduce in ("mean", "count") else text.program.reduce
