"""The kernel that keeps a monotonic program current while edges come and go.

Every vertex has a value and a parent: the neighbour whose message gave it that value, or nobody where it is the value
with which the program begins. A batch is followed up in three steps (Vora, Gupta, Xu 2017; Feng and others 2021;
Grapin):

1. Whose parent edge is gone is doubtful. It looks for another neighbour that sends the same value and is itself better,
   so that it cannot hang on the doubtful vertex; who finds none is invalid, and its children are doubtful.
2. Invalid vertices begin anew, take the best message of their valid neighbours, and are active.
3. New edges are followed, and active vertices send until nobody changes.

A value and its parent are written under a lock, only for the better: parents form a forest also where edges weigh 0.
The values are those of the fixed point, on any number of threads; which of several equally good neighbours is the
parent may differ. If a message was ever better than its sender's value (a negative weight), step 1 takes no other
neighbour: it might be a descendant.

Memory beside the values: their start, a parent, a byte, and lists of 12 bytes and a value per vertex of which only what
is used becomes memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.gapped_rows import UNIT, WORK_PER_ARC, GappedRows, grown
from tgraph.kernels.cpu.team import run_team, team_size
from tgraph.kernels.cpu.watch import SHARED_SIZE
from tgraph.runtime.protocol import Array

_TEXT = """
from tgraph.kernels.cpu.atomics import relax

CHUNK = 64  # vertices or arcs taken at a time
SOON, NEAR = 16, 8  # how far ahead arcs and neighbours are asked for
LOCKS = np.uint64(1023)
UNIT = np.uint64({unit})
DOUBTFUL, TOUCHED, QUEUED = np.uint8(1), np.uint8(2), np.uint8(4)
TAKEN = 64  # where the counters of phases begin in `shared`
WAVES, DOUBTS, INVALID, NEXT, LISTED, FOLLOWED = 120, 128, 136, 144, 152, 160

{types}
NOBODY, DEAD = Cell(np.iinfo(Cell).max), Cell(1 << (np.iinfo(Cell).bits - 1))

{functions}

@njit(**JIT)
def take(shared, phase, limit):
    first = fetch_add(shared, TAKEN + 8 * (phase & 3), CHUNK)
    return first, min(first + CHUNK, limit)


@njit(**JIT)
def end_phase(rank, size, shared, meeting, phase):
    meeting = meet(shared, meeting, size)
    if rank == 0:
        shared[TAKEN + 8 * ((phase + 2) & 3)] = 0
    return meeting, phase + 1


@njit(**JIT)
def note(v, states, listed, old_values, values, shared):
    if not fetch_or(states, v, TOUCHED) & TOUCHED:
        place = fetch_add(shared, LISTED, 1)
        listed[place] = Cell(v)
        old_values[place] = values[v]


@njit(**JIT)
def offer(v, m, u, sent, locks, states, parents, listed, old_values, queue, values, improves, shared):
    if not differs(values[v], Value({reduce}(values[v], Value(m)))):
        return
    while not compare_swap(locks, v & LOCKS, np.int64(0), np.int64(1)):
        relax()
    old = load(values, v)
    new = Value({reduce}(old, Value(m)))
    is_better = differs(old, new)
    if is_better:
        note(v, states, listed, old_values, values, shared)
        store(values, v, new)
        store(parents, v, Cell(u))
        if differs(sent, Value({reduce}(sent, new))):
            improves[0] = 1
    store(locks, v & LOCKS, np.int64(0))
    if is_better and not fetch_or(states, v, QUEUED) & QUEUED:
        queue[fetch_add(shared, NEXT, 1)] = Cell(v)


@njit(**JIT)
def update(rank, size, shared, gone_from, gone_to, new_from, new_to{new_weights}, locks, states, parents,
           starts, begins, improves, doubts, more_doubts, invalid, listed, old_values, active, coming
           {sides}, values{constants}):
    meeting, phase, followed = 1, 0, 0

    # --- who is doubtful ---
    while True:
        first, last = take(shared, phase, gone_to.size)
        if first >= gone_to.size:
            break
        for i in range(first, last):
            if i + SOON < gone_to.size:
                prefetch(parents, gone_to[i + SOON])
            v = np.uint64(gone_to[i])
            if parents[v] == gone_from[i] and not fetch_or(states, v, DOUBTFUL) & DOUBTFUL:
                doubts[fetch_add(shared, DOUBTS, 1)] = Cell(v)
    meeting, phase = end_phase(rank, size, shared, meeting, phase)

    while True:
        num_doubts = shared[DOUBTS]
        meeting = meet(shared, meeting, size)
        if num_doubts == 0:
            break
        if rank == 0:
            shared[DOUBTS] = 0
        looks = improves[0] == 0
        while looks:
            first, last = take(shared, phase, num_doubts)
            if first >= num_doubts:
                break
            for i in range(first, last):
                v = np.uint64(doubts[i])
                value = values[v]
                found = False
                {look}
                if found:
                    fetch_add(states, v, np.uint8(255))
        meeting, phase = end_phase(rank, size, shared, meeting, phase)
        while True:
            first, last = take(shared, phase, num_doubts)
            if first >= num_doubts:
                break
            for i in range(first, last):
                u = np.uint64(doubts[i])
                if not states[u] & DOUBTFUL:
                    continue
                invalid[fetch_add(shared, INVALID, 1)] = Cell(u)
                {children}
        meeting, phase = end_phase(rank, size, shared, meeting, phase)
        doubts, more_doubts = more_doubts, doubts

    # --- invalid vertices begin anew ---
    num_invalid = shared[INVALID]
    while True:
        first, last = take(shared, phase, num_invalid)
        if first >= num_invalid:
            break
        for i in range(first, last):
            v = np.uint64(invalid[i])
            note(v, states, listed, old_values, values, shared)
            best, parent = starts[v], NOBODY
            {pull}
            values[v] = best
            parents[v] = parent
    meeting, phase = end_phase(rank, size, shared, meeting, phase)
    while True:
        first, last = take(shared, phase, num_invalid)
        if first >= num_invalid:
            break
        for i in range(first, last):
            v = np.uint64(invalid[i])
            sends = begins[v] or parents[v] != NOBODY
            fetch_add(states, v, np.uint8(255))
            if sends and not fetch_or(states, v, QUEUED) & QUEUED:
                coming[fetch_add(shared, NEXT, 1)] = Cell(v)
    meeting, phase = end_phase(rank, size, shared, meeting, phase)

    # --- new edges ---
    while True:
        first, last = take(shared, phase, new_to.size)
        if first >= new_to.size:
            break
        for i in range(first, last):
            if i + SOON < new_to.size:
                prefetch(values, new_from[i + SOON])
                prefetch(values, new_to[i + SOON])
            u, v = np.uint64(new_from[i]), np.uint64(new_to[i])
            sent = values[u]
            m = {new_message}
            offer(v, m, u, sent, locks, states, parents, listed, old_values, coming, values, improves, shared)
    meeting, phase = end_phase(rank, size, shared, meeting, phase)

    # --- active vertices send ---
    while True:
        num_active = shared[NEXT]
        meeting = meet(shared, meeting, size)
        if num_active == 0:
            break
        if rank == 0:
            shared[NEXT] = 0
            shared[WAVES] += 1
        active, coming = coming, active
        meeting = meet(shared, meeting, size)
        while True:
            first, last = take(shared, phase, num_active)
            if first >= num_active:
                break
            for i in range(first, last):
                u = np.uint64(active[i])
                fetch_add(states, u, np.uint8(252))
                sent = load(values, u)
                {send}
        meeting, phase = end_phase(rank, size, shared, meeting, phase)
    fetch_add(shared, FOLLOWED, followed)

    # --- all marks are taken back ---
    num_listed = shared[LISTED]
    while True:
        first, last = take(shared, phase, num_listed)
        if first >= num_listed:
            break
        for i in range(first, last):
            states[np.uint64(listed[i])] = np.uint8(0)


@njit(**JIT)
def attach(rank, size, shared, num_active, parents, starts, improves, active, coming{sides}, values{constants}):
    meeting, phase, followed = 1, 0, 0
    while num_active > 0:
        while True:
            first, last = take(shared, phase, num_active)
            if first >= num_active:
                break
            for i in range(first, last):
                u = np.uint64(active[i])
                sent = values[u]
                {adopt}
        meeting, phase = end_phase(rank, size, shared, meeting, phase)
        num_active = shared[NEXT]
        meeting = meet(shared, meeting, size)
        if rank == 0:
            shared[NEXT] = 0
            shared[LISTED] += num_active
        active, coming = coming, active
        meeting = meet(shared, meeting, size)
"""

_ROW = """
begin = np.uint64({side}_places[{vertex}, 0]) * UNIT
end = begin + np.uint64({side}_places[{vertex}, 1])
for e in range(begin, end):
    followed += 1
    {ask}
    if {side}_cells[e] & DEAD:
        continue
    {other} = np.uint64({side}_cells[e])
    {do}
"""

_ASK = """
if e + np.uint64(NEAR) < end:
    soon = {side}_cells[e + np.uint64(NEAR)] & ~DEAD
    {asks}
"""

_LOOK = """
if not found and states[u] & DOUBTFUL == 0:
    sent = values[u]
    m = {message}
    is_same = not differs(value, Value(m))
    if is_same and differs(sent, value) and not differs(sent, Value({reduce}(sent, value))):
        parents[v] = Cell(u)
        found = True
        break
"""

_CHILDREN = """
if parents[v] == Cell(u) and not fetch_or(states, v, DOUBTFUL) & DOUBTFUL:
    more_doubts[fetch_add(shared, DOUBTS, 1)] = Cell(v)
"""

_PULL = """
if states[u] & DOUBTFUL == 0:
    sent = values[u]
    m = {message}
    if differs(best, Value({reduce}(best, Value(m)))):
        best, parent = Value({reduce}(best, Value(m))), Cell(u)
        if differs(sent, Value({reduce}(sent, best))):
            improves[0] = 1
"""

_SEND = """
m = {message}
offer(v, m, u, sent, locks, states, parents, listed, old_values, coming, values, improves, shared)
"""

_ADOPT = """
m = {message}
is_given = not differs(values[v], Value(m)) and differs(values[v], starts[v])
if is_given and parents[v] == NOBODY and compare_swap(parents, v, NOBODY, Cell(u)):
    coming[fetch_add(shared, NEXT, 1)] = Cell(v)
    if differs(sent, Value({reduce}(sent, values[v]))):
        improves[0] = 1
"""

_REDUCE = {"min": "minimum", "max": "maximum", "any": "maximum"}
WAVES, INVALID, LISTED, FOLLOWED = 120, 136, 152, 160  # counters in `shared`
NUM_LOCKS = 1024


def why_not_kept(program: KernelProgram) -> str:
    """Return what stands in the way of this kernel for a monotonic program, empty if nothing does."""
    checks = {
        f"reduce={program.reduce!r} is not min, max or any": program.reduce not in _REDUCE,
        "update does more than the reduction": not program.takes_over,
        "it has more than one field": len(program.field_dtypes) > 1,
        "message asks for more than the sender's value, its number and the weight": not set(
            program.parameters["message"]
        )
        <= {program.main_field, "weight", "source"},
    }
    return next((reason for reason, stands in checks.items() if stands), "")


@dataclass(frozen=True)
class Followed:
    """What keeping a program current took."""

    vertices: Array  # whose values were written
    old: Array  # their values before
    num_invalid: int
    num_edges: int  # looked at
    num_waves: int


class MonotonicStream:
    """A monotonic program on rows with gaps: values that follow the changes of arcs, and their parents."""

    def __init__(
        self, program: KernelProgram, send: list[GappedRows], pull: list[GappedRows], values: Array, starts: Array
    ) -> None:
        self._program, self._sides = program, [*send, *pull]
        self._cell = send[0].neighbors.dtype
        self._module = load_kernel(_write_text(program, len(send), self._cell))
        self._nobody = np.iinfo(self._cell).max
        self.values, self.starts = values, starts
        self.parents = np.full(values.size, self._nobody, self._cell)
        self._begins = np.zeros(values.size, np.bool_)  # whether a vertex is active at the start
        self._states = np.zeros(values.size, np.uint8)
        self._locks, self._improves = np.zeros(NUM_LOCKS, np.int64), np.zeros(1, np.int64)
        self._make_lists()
        no_arcs = np.empty(0, self._cell), np.empty(0, self._cell)
        compile_worker(self._module.update, *self._updated(no_arcs, (*no_arcs, send[0].weights[:0])))
        compile_worker(self._module.attach, *self._attached(0))

    def begin(self, active: Array | None) -> int:
        """Find the parents of values that a run has found; return how many vertices lack one.

        `active` says who was active at the start of the run, None = everyone.
        """
        self._begins[:] = True if active is None else active
        self.parents[:] = self._nobody
        self._improves[:] = 0
        roots = np.flatnonzero(self._begins & (self.values == self.starts))
        self._active[: roots.size] = roots
        shared = np.zeros(SHARED_SIZE, np.int64)
        run_team(self._module.attach, team_size(self.values.size), shared, *self._attached(roots.size))
        return int(np.count_nonzero(self.values != self.starts)) - int(shared[LISTED])

    def grow(self, starts: Array, active: Array | None) -> None:
        """Add vertices, with their values at the start and who of them is active then."""
        first, count = self.values.size, starts.size
        self.values, self.starts = grown(self.values, count), grown(self.starts, count)
        self.parents, self._states = grown(self.parents, count), grown(self._states, count)
        self._begins = grown(self._begins, count)
        self.values[first:] = self.starts[first:] = starts
        self.parents[first:] = self._nobody
        self._begins[first:] = True if active is None else active
        self._make_lists()

    def follow(self, gone: tuple[Array, Array], new: tuple[Array, Array, Array]) -> Followed:
        """Follow arcs that are gone (senders, receivers) and new (senders, receivers, weights)."""
        size = team_size((gone[0].size + new[0].size) * WORK_PER_ARC)
        shared = np.zeros(SHARED_SIZE, np.int64)
        run_team(self._module.update, size, shared, *self._updated(gone, new))
        count = int(shared[LISTED])
        counts = int(shared[INVALID]), int(shared[FOLLOWED]), int(shared[WAVES])
        return Followed(self._listed[:count].copy(), self._old_values[:count].copy(), *counts)

    def _make_lists(self) -> None:
        """Make room for lists of vertices; it becomes memory where it is used."""
        size = self.values.size
        self._doubts, self._more_doubts, self._invalid, self._listed, self._active, self._coming = (
            np.empty(size, self._cell) for _ in range(6)
        )
        self._old_values = np.empty(size, self.values.dtype)

    def _updated(self, gone: tuple[Array, Array], new: tuple[Array, Array, Array]) -> tuple[Any, ...]:
        return (
            *(np.ascontiguousarray(ends, self._cell) for ends in (*gone, *new[:2])),
            *([np.ascontiguousarray(new[2])] if self._program.weighted else []),
            *(self._locks, self._states, self.parents, self.starts, self._begins, self._improves),
            *(self._doubts, self._more_doubts, self._invalid, self._listed, self._old_values),
            *(self._active, self._coming, *self._rows()),
        )

    def _attached(self, num_active: int) -> tuple[Any, ...]:
        vertices = self.parents, self.starts, self._improves, self._active, self._coming
        return (num_active, *vertices, *self._rows())

    def _rows(self) -> tuple[Any, ...]:
        sides = [(side.places, side.neighbors, side.weights) for side in self._sides]
        count = 3 if self._program.weighted else 2
        return (*(array for side in sides for array in side[:count]), self.values, *self._program.constants.values())


def _write_text(program: KernelProgram, num_sides: int, cell: np.dtype[Any]) -> str:
    """Return the kernel for a program on so many pairs of rows, to send along and to pull along."""
    reduce = _REDUCE[program.reduce]
    is_bool = program.reduce == "any"
    value = np.dtype(np.uint8) if is_bool else program.field_dtypes[program.main_field]

    def message(weight: str) -> str:
        names = {"source": "np.int64(u)", program.main_field: "np.bool_(sent)" if is_bool else "sent"}
        return f"Message({program.text_of_call('message', {**names, 'weight': weight if program.weighted else '1'})})"

    def rows(kind: str, do: str, reads: tuple[str, ...]) -> str:
        ends = {"vertex": "u", "other": "v"} if kind == "send" else {"vertex": "v", "other": "u"}
        texts = []
        for number in range(num_sides):
            side = f"{kind}{number}"
            text = do.format(message=message(f"{side}_weights[e]"), reduce=reduce)
            ask = _ASK.format(side=side, asks="\n    ".join(f"prefetch({array}, soon)" for array in reads))
            texts.append(_ROW.format(side=side, **ends, ask=block(ask, 1), do=block(text, 1)).strip("\n"))
        return "\n".join(texts)

    arrays = ("places", "cells", "weights") if program.weighted else ("places", "cells")
    sides = [f"{kind}{number}_{array}" for kind in ("send", "pull") for number in range(num_sides) for array in arrays]
    return HEAD + _TEXT.format(
        unit=UNIT,
        types=type_lines(Value=value, Message=program.message_dtype, Cell=cell),
        functions=program.text_of_functions(("message",)),
        reduce=reduce,
        new_weights=", new_weights" if program.weighted else "",
        new_message=message("new_weights[i]"),
        sides=listed(sides),
        constants=listed(program.constants),
        look=block(rows("pull", _LOOK, ("states", "values")), 4),
        children=block(rows("send", _CHILDREN, ("parents",)), 4),
        pull=block(rows("pull", _PULL, ("states", "values")), 3),
        send=block(rows("send", _SEND, ("values",)), 4),
        adopt=block(rows("send", _ADOPT, ("parents", "values")), 4),
    )
