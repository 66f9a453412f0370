"""The kernel with which receivers look for a message that others have for them, no further than for the best one.

It is for the programs of `block_push` whose messages depend on the sender's main field alone, on rows that serve both
directions. The best value of all active vertices makes the best message that can come: the bound. Who has it already
is left out, and who finds it among its neighbours looks no further (Beamer, Asanovic, Patterson 2012, without the
condition that all active vertices have one value). Neighbours count whether they are active or not, which does no harm
to a monotonic program. After a look at the rows of all others nobody of those who were active has anything left to say.

Writes the value of a row's vertex and its mark in `coming`: one thread per row. No atomics. Others may read a value
while it changes; they get the old or the new one, and the vertex is active next in any case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.block_push import NO_ROWS, ListedRows
from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.kernels.cpu.watch import brief_team_size, run_briefly
from tgraph.runtime.protocol import Array

_TEXT = """
CHUNK = 256  # rows taken at a time

{types}

{functions}

@njit(**JIT)
def find_bound(active, bound, values{constants}):
    best, found = values[0], False
    for u in range(active.size):
        if active[u]:
            best, found = values[u] if not found else Value({reduce}(best, values[u])), True
    bound[0] = Value({call_best})


@njit(**JIT)
def is_open(value, bound):
    return differs(value, Value({reduce}(value, bound[0])))


@njit(**JIT)
def mark(rank, size, shared, marks, bound, offsets, values):
    begin, end = part(rank, size, np.int64(marks.size))
    for u in range(np.uint64(begin), np.uint64(end)):
        marks[u] = offsets[u] < offsets[u + ONE] and is_open(values[u], bound)


@njit(**JIT)
def pull(rank, size, shared, first_row, last_row, first_edge, last_edge, bound, coming, offsets, neighbors, values
         {constants}):
    while True:
        first = first_row + np.uint64(fetch_add(shared, 24, CHUNK))
        if first >= last_row:
            break
        for u in range(first, min(first + np.uint64(CHUNK), last_row)):
            begin, end = max(offsets[u], first_edge) - first_edge, min(offsets[u + ONE], last_edge) - first_edge
            {look}


@njit(**JIT)
def pull_listed(rank, size, shared, rows, counts, starts, bound, coming, neighbors, values{constants}):
    while True:
        first = fetch_add(shared, 24, CHUNK)
        if first >= rows.size:
            break
        for i in range(first, min(first + CHUNK, rows.size)):
            u, begin, end = np.uint64(rows[i]), starts[i], starts[i] + counts[i]
            {look}
"""

_LOOK = """
old = values[u]
if not is_open(old, bound):
    continue
best = old
for e in range(begin, end):
    v = np.uint64(neighbors[e])
    best = Value({reduce}(best, Message({call})))
    if not is_open(best, bound):
        break
if differs(old, best):
    values[u] = best
    coming[u] = True
"""


def can_pull_bounded(program: KernelProgram) -> bool:
    """Say whether this kernel can run a program that `block_push` can run too."""
    return set(program.parameters["message"]) <= {program.main_field}


class BoundedPull:
    """The main field of such a program, `[V]`, written in place."""

    def __init__(self, program: KernelProgram, offsets: Array, no_neighbors: Array, values: Array) -> None:
        self._module = load_kernel(_write_text(program))
        self._offsets, self._values, self._constants = as_unsigned(offsets), values, tuple(program.constants.values())
        self._bound = values[:1].copy()
        nobody = np.zeros(0, np.bool_)
        compile_worker(self._module.mark, self._to_mark(nobody))
        compile_worker(self._module.pull, self._in_block(Block(0, 0, 0, 0), no_neighbors, nobody))
        compile_worker(self._module.pull_listed, self._in_rows(NO_ROWS, no_neighbors, nobody))

    def aim(self, active: Array) -> None:
        """Find the best message that active vertices have; there must be some."""
        self._module.find_bound(active, self._bound, self._values, *self._constants)

    def mark(self, marks: Array) -> None:
        """Mark the vertices with edges that a message could still change, and nobody else."""
        run_briefly(self._module.mark, brief_team_size(marks.size), self._to_mark(marks))

    def pull(self, block: Block, neighbors: Array, coming: Array) -> None:
        """Let the vertices of a block look at their neighbours; who changes is marked in `coming`."""
        size = brief_team_size(block.num_edges)
        run_briefly(self._module.pull, size, self._in_block(block, neighbors, coming))

    def pull_rows(self, rows: ListedRows, neighbors: Array, coming: Array) -> None:
        """Let these vertices look at their neighbours, which lie somewhere in the array."""
        size = brief_team_size(int(rows.counts.sum()))
        run_briefly(self._module.pull_listed, size, self._in_rows(rows, neighbors, coming))

    def _to_mark(self, marks: Array) -> list[Any]:
        return [marks, self._bound, self._offsets, self._values]

    def _in_block(self, block: Block, neighbors: Array, coming: Array) -> list[Any]:
        bounds = [np.uint64(n) for n in (block.first_row, block.last_row, block.first_edge, block.last_edge)]
        return [*bounds, self._bound, coming, self._offsets, as_unsigned(neighbors), self._values, *self._constants]

    def _in_rows(self, rows: ListedRows, neighbors: Array, coming: Array) -> list[Any]:
        places = rows.rows, rows.counts, rows.starts
        return [*places, self._bound, coming, as_unsigned(neighbors), self._values, *self._constants]


def _write_text(program: KernelProgram) -> str:
    main, reduce = program.main_field, {"min": "minimum", "max": "maximum"}[program.reduce]
    look = _LOOK.format(reduce=reduce, call=program.text_of_call("message", {main: "values[v]"}))
    return HEAD + _TEXT.format(
        types=type_lines(Value=program.field_dtypes[main], Message=program.message_dtype),
        functions=program.text_of_functions(("message",)),
        constants=listed(program.constants),
        reduce=reduce,
        call_best=program.text_of_call("message", {main: "best"}),
        look=block(look, 3),
    )
