"""The kernel for programs in which the vertices that changed are active, on a compressed graph.

Push, for monotonic programs: an active vertex sends its message to the neighbours in its row; a virtual vertex that
gets something better than ever before passes it on at once to its own row, and stays silent otherwise, since all
behind it have had as good a message already. So a virtual vertex is opened once in a breadth-first search. Messages
meet in one accumulator per vertex, by compare-and-swap; then every vertex that was reached updates itself. Pull: all
vertices make their messages (of programs that are not monotonic, only the active ones), virtual vertices are reduced
layer by layer, and then every vertex that can still change reduces its row and updates itself. An iteration is the
plain one in both directions, so that limits and traces mean the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tgraph.kernels.cpu.fused.frontier import TracedFrontier, traced_rows
from tgraph.kernels.cpu.fused.layers import (
    LayeredSide,
    gather_text,
    make_message,
    order_vertices,
    stored_dtype,
    through_layers,
)
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines, type_name
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.kernels.cpu.team import team_size
from tgraph.runtime.protocol import Array

COUNT, EDGES, STORED, QUEUE = range(4)  # the state between calls

_TEXT = """
BUFFER = 1024
SERIAL = 1024  # stored neighbours below which one thread is faster than several
COUNTERS, SLOT = 24, 72  # words of one iteration's counters
TAKE, FOUND, EDGES, STORED, TOUCHED, TAKE_AGAIN, LAYERS, HALT = 0, 8, 16, 24, 32, 40, 48, 64

{types}

{functions}

@njit(**JIT)
def empty_buffer(buffer, held, queue, shared, counter):
    place = fetch_add(shared, counter, held)
    for i in range(held):
        queue[place + i] = buffer[i]
    return 0


@njit(**JIT)
def improve(values, v, m, nothing):
    \"\"\"Let a message meet a value; return whether that became better, and whether it was nothing before.\"\"\"
    before = values[v]
    while True:
        after = Acc({reduce}(before, m))
        if not differs(before, after):
            return False, False
        if compare_swap(values, v, before, after):
            return True, not differs(before, nothing)
        before = load(values, v)


@njit(**JIT)
def worker(rank, size, shared, limit, direction, state, trace, times, queues, touched, accumulators, active, degrees,
           stored_degrees, cuts, order, num_stored, nothing{arrays}{constants}):
    num_vertices = np.int64(accumulators.size)
    count, edges, stored = state[0], state[1], state[2]
    queue_at = state[3]
    buffer, stack = np.empty(BUFFER, queues.dtype), np.empty((256, 2), np.uint64)
    meeting, iteration, halted = 1, 0, False
    if rank == 0:
        times[0] = ticks()
    while iteration < limit and count > 0 and not halted:
        slot = COUNTERS + SLOT * (iteration % 3)
        queue, new_queue = queues[queue_at], queues[1 - queue_at]
        if rank == 0:
            for word in range(SLOT):
                shared[COUNTERS + SLOT * ((iteration + 1) % 3) + word] = 0
        pulls = direction == 2 or (direction == 0 and 4 * stored > num_stored + num_vertices)
        if rank == 0:
            trace[iteration, 0], trace[iteration, 1], trace[iteration, 2] = pulls, count, edges
        held, new_edges, new_stored = 0, np.int64(0), np.int64(0)
        if pulls:
            {pull}
        else:
            {push}
        held = empty_buffer(buffer, held, new_queue, shared, slot + FOUND)
        fetch_add(shared, slot + EDGES, new_edges)
        fetch_add(shared, slot + STORED, new_stored)
        if rank == 0:
            shared[slot + HALT] = load(shared, 8)
        meeting = meet(shared, meeting, size)
        {remark}
        count, edges, stored = shared[slot + FOUND], shared[slot + EDGES], shared[slot + STORED]
        queue_at = 1 - queue_at
        halted = shared[slot + HALT] != 0
        iteration += 1
        if rank == 0:
            times[iteration] = ticks()
            store(shared, DONE, iteration)
    meeting = meet(shared, meeting, size)
    if rank == 0:
        state[0], state[1], state[2], state[3] = count, edges, stored, queue_at
"""

_PULL = """
first, last = part(rank, size, num_vertices)
for v in range(first, last):
    {prepare}
meeting = meet(shared, meeting, size)
{layers}
chunk = fetch_add(shared, slot + TAKE, 1)
while chunk < cuts.size - 1:
    for i in range(cuts[chunk], cuts[chunk + 1]):
        u = np.uint64(order[i])
        if {unsettled}:
            acc = nothing
            {gather}
            if differs(acc, nothing):
                {update}
    chunk = fetch_add(shared, slot + TAKE, 1)
"""

_PUSH = """
chunk = count if stored < SERIAL else max(1, min(512, count // (4 * size)))
while True:
    taken = fetch_add(shared, slot + TAKE, chunk)
    if taken >= count:
        break
    for q in range(taken, min(taken + chunk, count)):
        u = np.uint64(queue[q])
        {make}
        if differs(m, nothing):
            {send}
held = empty_buffer(buffer, held, touched, shared, slot + TOUCHED)
meeting = meet(shared, meeting, size)
num_touched = shared[slot + TOUCHED]
chunk = num_touched if stored < SERIAL else 1024
while True:
    taken = fetch_add(shared, slot + TAKE_AGAIN, chunk)
    if taken >= num_touched:
        break
    for q in range(taken, min(taken + chunk, num_touched)):
        u = np.uint64(touched[q])
        acc = accumulators[u]
        accumulators[u] = nothing
        {update}
"""

_SEND = """
stack[0, 0], stack[0, 1] = sent_offsets{side}[u], sent_offsets{side}[u + ONE]
open_rows = 1
while open_rows > 0:
    e, end = stack[open_rows - 1, 0], stack[open_rows - 1, 1]
    open_rows -= 1
    while e < end:
        v = np.uint64(sent_neighbors{side}[e])
        e += ONE
        if v >= np.uint64(num_vertices):
            better, is_first = improve(carried{side}, v, m, nothing)
            if better:
                if e < end:
                    stack[open_rows, 0], stack[open_rows, 1] = e, end
                    open_rows += 1
                e, end = sent_offsets{side}[v], sent_offsets{side}[v + ONE]
        elif {unsettled}:
            better, is_first = improve(accumulators, v, m, nothing)
            if is_first:
                buffer[held] = v
                held += 1
                if held == BUFFER:
                    held = empty_buffer(buffer, held, touched, shared, slot + TOUCHED)
"""

_UPDATE = """
result = {call}
{take}
if {changed}:
    {store}
    buffer[held] = u
    held += 1
    new_edges += degrees[u]
    new_stored += stored_degrees[u]
    if held == BUFFER:
        held = empty_buffer(buffer, held, new_queue, shared, slot + FOUND)
"""

_REMARK = """
first, last = part(rank, size, count)
for q in range(first, last):
    active[queue[q]] = 0
meeting = meet(shared, meeting, size)
first, last = part(rank, size, shared[slot + FOUND])
for q in range(first, last):
    active[new_queue[q]] = 1
meeting = meet(shared, meeting, size)
"""


def _write_text(program: KernelProgram, num_sides: int, pushes: bool, pulls: bool, may_resend: bool) -> str:
    sides = range(num_sides)
    arrays = [f"{kind}{side}" for side in sides for kind in ("values", "carried")]
    arrays += [f"sent_{part}{side}" for side in sides for part in ("offsets", "neighbors")] if pushes else []
    order = ("offsets", "neighbors", "virtual", "spans", "ends")
    arrays += [f"{part}{side}" for side in sides for part in order] if pulls else []
    return HEAD + _TEXT.format(
        types=type_lines(Acc=stored_dtype(program), Message=program.message_dtype) + "\nSTOP, DONE = 8, 16",
        functions=program.text_of_functions(("message", "update", "settled")),
        reduce={"min": "minimum"}.get(program.reduce, "maximum"),
        arrays=listed([*arrays, *(f"F_{name}" for name in program.field_dtypes)]),
        constants=listed(program.constants),
        pull=block(_pull(program, num_sides, may_resend) if pulls else "pass", 3),
        push=block(_push(program, num_sides) if pushes else "pass", 3),
        remark=block("" if may_resend else _REMARK, 2),
    )


def _pull(program: KernelProgram, num_sides: int, may_resend: bool) -> str:
    sides = range(num_sides)
    names = {"source": "np.int64(v)", **{name: f"F_{name}[v]" for name in program.field_dtypes}}
    made = "Acc(1)" if program.reduce == "count" else make_message(program, names)
    prepare = [f"m = {made}" if may_resend else f"m = {made} if active[v] else nothing"]
    prepare += [f"values{side}[v] = m" for side in sides]
    summed = replace(program, reduce="sum") if program.reduce == "count" else program
    return _PULL.format(
        prepare=block("\n".join(prepare), 1),
        layers="\n".join(through_layers(summed, side, f"slot + LAYERS + {8 * side}") for side in sides),
        unsettled=_unsettled(program, "u"),
        gather=block("\n".join(gather_text(summed, side) for side in sides), 3),
        update=block(_update(program), 4),
    ).strip("\n")


def _push(program: KernelProgram, num_sides: int) -> str:
    names = {"source": "np.int64(u)", **{name: f"F_{name}[u]" for name in program.field_dtypes}}
    unsettled = _unsettled(program, "v")
    sends = [_SEND.format(side=side, unsettled=unsettled).strip("\n") for side in range(num_sides)]
    return _PUSH.format(
        make=f"m = {make_message(program, names)}", send=block("\n".join(sends), 3), update=block(_update(program), 2)
    ).strip("\n")


def _unsettled(program: KernelProgram, vertex: str) -> str:
    if "settled" not in program.functions:
        return "True"
    fields = {name: f"F_{name}[{vertex}]" for name in program.field_dtypes}
    return f"not {program.text_of_call('settled', fields)}"


def _update(program: KernelProgram) -> str:
    """The lines in which vertex u takes what came in, and joins the next queue if it changed."""
    incoming = "(acc != 0)" if program.reduce == "any" else "acc"
    names = {"incoming": incoming, **{name: f"F_{name}[u]" for name in program.field_dtypes}}
    single = program.translations["update"].returned is None
    take = [
        f"new_{name} = np.{type_name(program.field_dtypes[name])}({'result' if single else f'result[{position}]'})"
        for position, name in enumerate(program.updated)
    ]
    return _UPDATE.format(
        call=program.text_of_call("update", names),
        take="\n".join(take),
        changed=" or ".join(f"differs(F_{name}[u], new_{name})" for name in program.updated),
        store=block("\n".join(f"F_{name}[u] = new_{name}" for name in program.updated), 1),
    ).strip("\n")


class LayeredFrontier(TracedFrontier):
    """A kernel on one compressed graph, from an active set until nobody is active; fields are written in place.

    `push` are the sides that messages are sent along, None where the program may not send to everyone again; `pull`
    those that they are collected from, None where rows are not turned around. At least one is given. What a virtual
    vertex has passed on in push is what it gets in pull, unless the same rows serve both (undirected graphs).
    """

    def __init__(
        self,
        program: KernelProgram,
        push: list[LayeredSide] | None,
        pull: list[LayeredSide] | None,
        fields: dict[str, Array],
        front: Array,
        degrees: Array,
    ) -> None:
        dtype = stored_dtype(program)
        if program.message_dtype.kind == "b" and program.reduce != "any":
            raise NotTranslatableError(f"{program.reduce} of truth values is not compiled; use any")
        sides = push or pull
        assert sides is not None
        text = _write_text(program, len(sides), push is not None, pull is not None, push is not None)
        self._worker = load_kernel(text).worker
        num_vertices, num_stored = sides[0].num_vertices, sum(side.neighbors.size for side in sides)
        self._size = team_size(num_stored + num_vertices)
        nothing = dtype.type(program.nothing)
        stored = sides[0].row_sizes if len(sides) == 1 else sides[0].row_sizes + sides[1].row_sizes
        queues = np.empty((2, num_vertices), np.uint32)
        queues[0, : front.size] = front
        self._state = np.array([front.size, degrees[front].sum(), stored[front].sum(), 0], np.int64)
        active = np.zeros(num_vertices if push is None else 0, np.uint8)
        if push is None:
            active[front] = 1
        touched, accumulators = np.empty(num_vertices, np.uint32), np.full(num_vertices, nothing)
        values = [side.values(nothing) for side in sides]
        is_same = push is not None and pull is not None and push[0].is_upward != pull[0].is_upward
        carried = values if is_same else [np.full_like(array, nothing) for array in values]
        both = [array for pair in zip(values, carried, strict=True) for array in pair]
        sent = [array for side in push or [] for array in side.rows()]
        taken = [array for side in pull or [] for array in (*side.rows(), *side.virtual_order)]
        taken_from = pull or sides
        cuts, order = taken_from[0].vertex_order if len(taken_from) == 1 else order_vertices(taken_from)
        numbers = (queues, touched, accumulators, active, degrees, stored, cuts, order, num_stored, nothing)
        self._arrays = (*numbers, *both, *sent, *taken, *fields.values())
        self._constants = tuple(program.constants.values())
        compile_worker(self._worker, [0, 0, self._state, *traced_rows(0), *self._arrays, *self._constants])
