"""The kernel for programs in which every vertex is active: one sweep over all incoming edges per iteration.

Each iteration, every thread: makes the messages that depend on their sender alone, and its share of `total`, for its
part of the vertices; meets the others; takes chunks of vertices and reduces, updates and measures the change of each;
meets the others; decides like all of them whether to go on. A vertex is written by the thread that took its chunk. What
is summed over vertices is summed per chunk and then in the order of chunks, so no answer depends on the number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from tgraph.dtypes import identity, reduced_dtype
from tgraph.kernels.cpu.fused.source import load_kernel
from tgraph.kernels.cpu.fused.translate import NotTranslatableError, Translation, translate
from tgraph.kernels.cpu.team import as_unsigned, team_size, watch_team
from tgraph.runtime.protocol import Array

WORK_PER_CHUNK = 1 << 14  # edges and vertices
SHARED_SIZE = 64  # int64 words, 8 apart: each in a cache line of its own
ARRIVALS, STOP, HALT, ITERATION, COUNTERS = 0, 8, 16, 24, 32

_REDUCE = {
    "sum": "acc = Acc(acc + m)",
    "mean": "acc = Acc(acc + m)",
    "min": "acc = minimum(acc, m)",
    "max": "acc = maximum(acc, m)",
    "any": "acc = acc or m\n                    if acc:\n                        break",
}

_TEXT = '''"""A kernel that tgraph wrote. It is made anew when it is missing."""

import numpy as np
from math import inf, nan
from numba import njit

from tgraph.kernels.cpu.atomics import fetch_add, load, store
from tgraph.kernels.cpu.barrier import meet
from tgraph.kernels.cpu.clock import ticks
from tgraph.kernels.cpu.fused.functions import absolute, exp, invert, log, maximum, minimum, sqrt, where
from tgraph.kernels.cpu.fused.functions import change as default_change
from tgraph.kernels.cpu.team import JIT, part

ONE = np.uint64(1)
Acc = np.{acc_type}
Message = np.{message_type}

{functions}

@njit(**JIT)
def worker(rank, size, shared, limit, tolerance, cuts, offsets, neighbors, messages, totals, changes,
           residuals, times, nothing{arrays}{constants}):
    meeting = 1
    num_chunks = cuts.size - 1
    if rank == 0:
        times[0] = ticks()
    for iteration in range(limit):
        counter = {counters} + 8 * (iteration % 3)
        first, last = part(rank, size, num_chunks)
        for chunk in range(first, last):
            subtotal = 0.0
            for v in range(cuts[chunk], cuts[chunk + 1]):
                {prepare}
            totals[chunk] = subtotal
        meeting = meet(shared, meeting, size)
        total_sum = 0.0
        for chunk in range(num_chunks):
            total_sum += totals[chunk]
        while True:
            chunk = fetch_add(shared, counter, 1)
            if chunk >= num_chunks:
                break
            changed = 0.0
            for u in range(cuts[chunk], cuts[chunk + 1]):
                acc = nothing
                for e in range(offsets[u], offsets[u + ONE]):
                    v = neighbors[e]
                    {gather}
                    {reduce}
                {finish}
            changes[chunk] = changed
        if rank == 0:
            shared[{counters} + 8 * ((iteration + 2) % 3)] = 0
            shared[{halt}] = load(shared, {stop})
        meeting = meet(shared, meeting, size)
        residual = 0.0
        for chunk in range(num_chunks):
            residual += changes[chunk]
        if rank == 0:
            residuals[iteration] = residual
            times[iteration + 1] = ticks()
            store(shared, {iteration}, iteration + 1)
        {swap}
        if residual <= tolerance or shared[{halt}] != 0:
            break
'''


@dataclass(frozen=True)
class PullProgram:
    """What a kernel is made from: functions and the names and types around them."""

    functions: dict[str, Callable[..., Any]]  # message, update, and total and change where the program has them
    parameters: dict[str, tuple[str, ...]]
    field_dtypes: dict[str, np.dtype[Any]]
    edge_names: tuple[str, ...]  # edge data beyond the weights
    weighted: bool
    message_dtype: np.dtype[Any]
    reduce: str
    is_message_per_vertex: bool
    main_field: str


@dataclass(frozen=True)
class PullKernel:
    """A compiled kernel and the order of its arguments."""

    worker: Callable[..., None]
    program: PullProgram
    updated: tuple[str, ...]  # fields that update returns
    constants: dict[str, Any]

    @property
    def swaps(self) -> bool:
        """Whether new values go to arrays of their own and change places with the old ones after each iteration."""
        return not self.program.is_message_per_vertex


def build_pull_kernel(program: PullProgram) -> PullKernel:
    """Write the kernel of a program, or raise `NotTranslatableError`."""
    translations = {name: translate(function, name) for name, function in program.functions.items()}
    constants: dict[str, Any] = {}
    for name, translation in translations.items():
        owner = getattr(program.functions[name], "__self__", None)
        constants |= {f"self_{constant}": getattr(owner, constant) for constant in translation.constants}
    updated = translations["update"].returned or (program.main_field,)
    text = _write_text(program, translations, updated, tuple(constants))
    return PullKernel(load_kernel(text).worker, program, updated, constants)


def _write_text(
    program: PullProgram, translations: dict[str, Translation], updated: tuple[str, ...], constants: tuple[str, ...]
) -> str:
    swaps = not program.is_message_per_vertex
    edge_arrays = [*(["E_weight"] if program.weighted else []), *(f"E_{name}" for name in program.edge_names)]
    new_arrays = [f"N_{name}" for name in updated] if swaps else []
    arrays = [*edge_arrays, *(f"F_{name}" for name in program.field_dtypes), *new_arrays]
    return _TEXT.format(
        acc_type=_type_name(reduced_dtype(program.reduce, program.message_dtype)),
        message_type=_type_name(program.message_dtype),
        functions="\n\n".join(f"@njit(**JIT)\n{translation.source}\n" for translation in translations.values()),
        arrays="".join(f", {array}" for array in arrays),
        constants="".join(f", {constant}" for constant in constants),
        prepare=_prepare(program, translations),
        gather=_gather(program, translations),
        reduce="pass" if program.reduce == "count" else _REDUCE[program.reduce],
        finish="\n                ".join(_finish(program, translations, updated)),
        swap="\n        ".join(f"F_{name}, N_{name} = N_{name}, F_{name}" for name in updated) if swaps else "",
        counters=COUNTERS,
        halt=HALT,
        stop=STOP,
        iteration=ITERATION,
    )


def _call(program: PullProgram, translation: Translation, function: str, names: dict[str, str]) -> str:
    arguments = [names[parameter] for parameter in program.parameters[function]]
    return f"{function}({', '.join([*arguments, *(f'self_{constant}' for constant in translation.constants)])})"


def _prepare(program: PullProgram, translations: dict[str, Translation]) -> str:
    names = {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    lines = []
    if program.is_message_per_vertex:
        lines.append(f"messages[v] = {_call(program, translations['message'], 'message', names)}")
    if "total" in translations:
        lines.append(f"subtotal += {_call(program, translations['total'], 'total', names)}")
    return "\n                ".join(lines or ["pass"])


def _gather(program: PullProgram, translations: dict[str, Translation]) -> str:
    if program.is_message_per_vertex:
        return "m = messages[v]"
    names = {"source": "np.int64(v)", "target": "np.int64(u)", "weight": "E_weight[e]" if program.weighted else "1"}
    names |= {name: f"E_{name}[e]" for name in program.edge_names}
    for name in program.field_dtypes:
        names |= {name: f"F_{name}[v]", f"target_{name}": f"F_{name}[u]"}
    return f"m = Message({_call(program, translations['message'], 'message', names)})"


def _finish(program: PullProgram, translations: dict[str, Translation], updated: tuple[str, ...]) -> list[str]:
    """The lines that end a vertex: what came in, the new fields, how much changed."""
    degree = "np.int64(offsets[u + ONE] - offsets[u])"
    lines = {"count": [f"acc = {degree}"], "mean": [f"acc = Acc(acc / max({degree}, 1))"]}.get(program.reduce, [])
    names = {"incoming": "acc", "total": "total_sum", **{name: f"F_{name}[u]" for name in program.field_dtypes}}
    lines.append(f"result = {_call(program, translations['update'], 'update', names)}")
    single = translations["update"].returned is None
    for position, name in enumerate(updated):
        value = "result" if single else f"result[{position}]"
        lines.append(f"new_{name} = np.{_type_name(program.field_dtypes[name])}({value})")
        names[f"new_{name}"] = f"new_{name}"
    if "change" in translations:
        for name in program.field_dtypes:
            names.setdefault(f"new_{name}", f"F_{name}[u]")
        lines.append(f"changed += {_call(program, translations['change'], 'change', names)}")
    else:
        main = program.main_field
        lines.append(f"changed += default_change(F_{main}[u], {'new_' + main if main in updated else f'F_{main}[u]'})")
    place = "F" if program.is_message_per_vertex else "N"
    return [*lines, *(f"{place}_{name}[u] = new_{name}" for name in updated)]


def _type_name(dtype: np.dtype[Any]) -> str:
    return "bool_" if dtype.kind == "b" else dtype.name


def cut_by_work(offsets: Array) -> Array:
    """Return the first vertex of every chunk and the number of vertices, `[C+1] uint64`."""
    num_vertices = offsets.size - 1
    work = int(offsets[-1]) + num_vertices
    limits = np.arange(WORK_PER_CHUNK, work, WORK_PER_CHUNK)
    inner = np.searchsorted(offsets[1:] + np.arange(1, num_vertices + 1), limits)
    return np.unique(np.concatenate([[0], inner, [num_vertices]])).astype(np.uint64)


class PullRun:
    """A kernel on one graph: fields are read and written in place, iteration by iteration."""

    def __init__(
        self,
        kernel: PullKernel,
        rows: tuple[Array, Array, Array | None],
        edge_data: dict[str, Array],
        fields: dict[str, Array],
    ) -> None:
        offsets, neighbors, weights = rows
        self._kernel, self._fields = kernel, fields
        self._size = team_size(int(offsets[-1]) + offsets.size - 1)
        self._cuts = cut_by_work(offsets)
        program, num_vertices = kernel.program, offsets.size - 1
        messages = np.empty(num_vertices if program.is_message_per_vertex else 0, program.message_dtype)
        sums = [np.zeros(self._cuts.size - 1) for _ in range(2)]
        self._before = (self._cuts, as_unsigned(offsets), as_unsigned(neighbors), messages, *sums)
        dtype = reduced_dtype(program.reduce, program.message_dtype)
        self._nothing = dtype.type(
            identity("sum" if program.reduce == "mean" else program.reduce, program.message_dtype)
        )
        self._edge_arrays = [
            *([weights] if program.weighted else []),
            *(edge_data[name] for name in program.edge_names),
        ]
        self._new = {name: np.empty_like(fields[name]) for name in kernel.updated} if kernel.swaps else {}
        try:
            self.advance(0, 0.0)  # compiles, or takes the compiled code from the disk
        except NumbaError as error:
            raise NotTranslatableError(f"Numba cannot compile it: {str(error).strip().splitlines()[-1]}") from error

    def advance(
        self, limit: int, tolerance: float, look: Callable[[int], None] | None = None
    ) -> tuple[Array, Array, bool]:
        """Do up to `limit` iterations; return their residuals and ticks, and whether the user interrupted.

        `look(n)` is called now and then while the kernel runs, with the number of iterations done.
        """
        shared = np.zeros(SHARED_SIZE, np.int64)
        residuals, times = np.zeros(limit), np.zeros(limit + 1, np.int64)
        fields = [*self._fields.values(), *self._new.values()]
        interrupted = False

        def stop() -> None:
            shared[STOP] = 1

        args = (
            shared,
            limit,
            float(tolerance),
            *self._before,
            residuals,
            times,
            self._nothing,
            *self._edge_arrays,
            *fields,
        )
        try:
            watch_team(
                self._kernel.worker,
                self._size,
                (*args, *self._kernel.constants.values()),
                stop,
                None if look is None else lambda: look(int(shared[ITERATION])),
            )
        except KeyboardInterrupt:
            interrupted = True
        done = int(shared[ITERATION])
        if self._new and done % 2:
            for name, new in self._new.items():
                self._fields[name][:] = new
        return residuals[:done], np.diff(times[: done + 1]), interrupted
