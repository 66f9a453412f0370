"""The kernel for any program in which the vertices that changed are active.

Push has two parts. First the active vertices send: messages meet in one accumulator per vertex, by atomic operations,
and whoever is the first to reach a vertex notes it. Then every noted vertex updates itself once, and joins the next
queue if it changed. In pull a vertex reduces the messages of its active neighbours and updates itself; if it is active
itself, its new values wait until all have read the old ones. So an iteration is the same in both directions, and equal
to the plain one. Sums of floats in push are added by one thread, because their order matters.

Memory beside the fields: three queues, three bitmaps, an accumulator, and the new values, which only pull touches.
"""

from __future__ import annotations

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.frontier import FrontierRun, Pieces, append, degree, each_vertex, sender_names
from tgraph.kernels.cpu.fused.pieces import KernelProgram, Side, block, type_lines, type_name
from tgraph.kernels.cpu.fused.translate import NotTranslatableError
from tgraph.runtime.protocol import Array

_SENT = """
{make}
if {counts} or differs(Acc(m), nothing):
    {combine}
    if is_first:
        buffer[held] = v
        held += 1
        if held == BUFFER:
            held = empty_buffer(buffer, held, touched, shared, slot + TOUCHED)
"""

_EXTREME = """
before = accumulators[v]
while True:
    after = Acc({reduce}(before, m))
    if not differs(before, after) or compare_swap(accumulators, v, before, after):
        break
    before = load(accumulators, v)
is_first = not differs(before, nothing) and differs(after, nothing)
"""

_COMBINE = {
    "min": _EXTREME.format(reduce="minimum"),
    "max": _EXTREME.format(reduce="maximum"),
    "any": "is_first = fetch_or(accumulators, v, np.uint8(1)) == 0",
    "sum": "fetch_add(accumulators, v, Acc(m))\nis_first = mark(marks, v)",
    "mean": "fetch_add(accumulators, v, Acc(m))\nfetch_add(received, v, 1)\nis_first = mark(marks, v)",
    "count": "fetch_add(accumulators, v, 1)\nis_first = mark(marks, v)",
}

_REDUCE = {
    "min": "acc = minimum(acc, Acc(m))",
    "max": "acc = maximum(acc, Acc(m))",
    "any": "acc = acc or m",
    "sum": "acc = Acc(acc + m)",
    "mean": "acc = Acc(acc + m)\ngot += 1",
    "count": "acc += 1",
}

_MARK = '''
@njit(**JIT)
def mark(marks, v):
    """Set the mark of a vertex; say whether it was not set before."""
    bit = ONE << (v & LOW)
    return fetch_or(marks, v >> SIX, bit) & bit == np.uint64(0)
'''

_UPDATE_TOUCHED = """
held = empty_buffer(buffer, held, touched, shared, slot + TOUCHED)
meeting = meet(shared, meeting, size)
num_touched = shared[slot + TOUCHED]
chunk = num_touched if ORDERED or edges < SERIAL else 1024
while True:
    taken = fetch_add(shared, slot + TAKE_AGAIN, chunk)
    if taken >= num_touched:
        break
    for q in range(taken, min(taken + chunk, num_touched)):
        v = np.uint64(touched[q])
        acc = Reduced(accumulators[v])
        accumulators[v] = nothing
        {clear}
        if differs(acc, Reduced(nothing)):
            {update}
            if {changed}:
                {store}
                {append}
                new_edges += np.int64(degree)
"""

_PULL_VERTEX = """
if {unsettled}:
    acc = Reduced(nothing)
    got = np.int64(0)
    {gather}
    {mean}
    if differs(acc, Reduced(nothing)):
        {update}
        if {changed}:
            if (front[word] >> (u & LOW)) & ONE:
                {set_aside}
            else:
                {store}
            new_bits |= ONE << (u & LOW)
            found += 1
            new_edges += np.int64({degree})
"""

_GATHER = """
for e in range(pull_offsets{side}[u], pull_offsets{side}[u + ONE]):
    v = np.uint64(pull_neighbors{side}[e])
    if (front[v >> SIX] >> (v & LOW)) & ONE:
        {make}
        {reduce}
        {leave}
"""

_TAKE_NEW = """
if dense:
    first, last = part(rank, size, num_words)
    for word in range(first, last):
        bits = front[word] & new_front[word]
        while bits != np.uint64(0):
            u = (np.uint64(word) << SIX) + trailing_zeros(bits)
            bits &= bits - ONE
            {copy}
    meeting = meet(shared, meeting, size)
"""


def start_accumulating(
    program: KernelProgram, sides: tuple[list[Side], list[Side]], fields: dict[str, Array], front: Array
) -> FrontierRun:
    """Return the run of a program. Raises `NotTranslatableError`."""
    reduced = reduced_dtype(program.reduce, program.message_dtype)
    if reduced.kind == "b" and program.reduce != "any":
        raise NotTranslatableError(f"{program.reduce} of truth values is not compiled; use any")
    stored = np.dtype(np.uint8) if reduced.kind == "b" else reduced
    num_vertices = next(iter(fields.values())).size
    nothing = stored.type(program.nothing)
    marks = np.zeros((num_vertices + 63) // 64 if program.reduce in ("sum", "mean", "count") else 0, np.uint64)
    received = np.zeros(num_vertices if program.reduce == "mean" else 0, np.int64)
    touched = np.empty(num_vertices, np.uint64 if num_vertices >= 1 << 32 else np.uint32)
    new = [np.empty_like(fields[name]) for name in program.updated]
    extra = (np.full(num_vertices, nothing), nothing, marks, received, touched, *new)
    return FrontierRun(program, _pieces(program, len(sides[0]), stored), extra, sides, fields, front)


def _pieces(program: KernelProgram, num_sides: int, stored: np.dtype[np.generic]) -> Pieces:
    updated, reduced = program.updated, reduced_dtype(program.reduce, program.message_dtype)
    sent_once = program.is_message_per_vertex
    push_names = sender_names(program)
    at_edge = {"source": "np.int64(u)", "target": "np.int64(v)", "weight": "1"}
    fields = {name: f"F_{name}[v]" for name in program.field_dtypes}
    targets = {f"target_{name}": value for name, value in fields.items()}
    make_sent = f"m = Message({program.text_of_call('message', {**at_edge, **push_names})})" if sent_once else ""
    sender = "\n".join([f"{local} = F_{name}[u]" for name, local in push_names.items()] + [make_sent])
    is_ordered = program.reduce in ("sum", "mean") and reduced.kind == "f"

    def push_edge(side: int) -> str:
        names = {**at_edge, **_edge_names(program, "push", side), **push_names, **targets}
        make = "" if sent_once else f"m = Message({program.text_of_call('message', names)})"
        text = _SENT.format(
            make=make, combine=block(_COMBINE[program.reduce], 1), counts=program.reduce not in ("min", "max", "any")
        )
        if program.reduce == "any":
            text = text.replace("differs(Acc(m), nothing)", "m")
        if "settled" not in program.functions:
            return text
        return f"if not {program.text_of_call('settled', fields)}:\n    {block(text, 1)}"

    return Pieces(
        arrays=("accumulators", "nothing", "marks", "received", "touched", *(f"N_{name}" for name in updated)),
        types=type_lines(Acc=stored, Reduced=reduced, Message=program.message_dtype) + "\n" + _MARK,
        functions=("message", "update", "settled"),
        prefers_pull=_prefers_pull("settled" in program.functions),
        push_edge=push_edge,
        at_sender=sender,
        is_ordered=is_ordered,
        pull_word=each_vertex(_pull_vertex(program, num_sides)),
        after_push=_UPDATE_TOUCHED.format(
            changed=_changed(updated, "v"),
            clear=block(_clear(program.reduce), 2),
            update=block(_update(program, "v"), 3),
            store=block(_store(updated, "F", "v"), 4),
            append=block(append(num_sides, "FOUND", "NEW_HUBS"), 4),
        ),
        finish=_TAKE_NEW.format(copy=block("\n".join(f"F_{name}[u] = N_{name}[u]" for name in updated), 3)),
    )


def _prefers_pull(settles: bool) -> str:
    """Push costs about three times as much per edge; pull looks at all edges but those of settled vertices."""
    return "edges > (unexplored + num_vertices) // 8" if settles else f"3 * edges > {_ALL_EDGES} + num_vertices"


_ALL_EDGES = "np.int64(push_offsets0[num_vertices])"


def _pull_vertex(program: KernelProgram, num_sides: int) -> str:
    fields = {name: f"F_{name}[u]" for name in program.field_dtypes}
    settled = program.text_of_call("settled", fields) if "settled" in program.functions else "False"
    gathers = []
    for side in range(num_sides):
        names = {"source": "np.int64(v)", "target": "np.int64(u)", "weight": "1"}
        names |= _edge_names(program, "pull", side)
        for name in program.field_dtypes:
            names |= {name: f"F_{name}[v]", f"target_{name}": f"F_{name}[u]"}
        make = f"m = Message({program.text_of_call('message', names)})"
        leave = "if acc:\n    break" if program.reduce == "any" else ""
        gathers.append(
            _GATHER.format(side=side, make=make, reduce=block(_REDUCE[program.reduce], 2), leave=block(leave, 2)).strip(
                "\n"
            )
        )
    return _PULL_VERTEX.format(
        unsettled=f"not {settled}",
        gather=block("\n".join(gathers), 1),
        mean="acc = Acc(acc / max(got, 1))" if program.reduce == "mean" else "",
        update=block(_update(program, "u"), 2),
        changed=_changed(program.updated, "u"),
        set_aside=block(_store(program.updated, "N", "u"), 4),
        store=block(_store(program.updated, "F", "u"), 4),
        degree=degree("u", num_sides),
    )


def _edge_names(program: KernelProgram, way: str, side: int) -> dict[str, str]:
    return {name: f"{way}_{name}{side}[e]" for name in program.edge_arrays}


def _clear(reduce: str) -> str:
    """The lines that make a vertex ready for the next iteration, and finish what it received."""
    lines = [] if reduce in ("min", "max", "any") else ["marks[v >> SIX] = 0"]
    if reduce == "mean":
        lines += ["acc = Acc(acc / max(received[v], 1))", "received[v] = 0"]
    return "\n".join(lines)


def _update(program: KernelProgram, vertex: str) -> str:
    names = {"incoming": "acc", **{name: f"F_{name}[{vertex}]" for name in program.field_dtypes}}
    lines = [f"result = {program.text_of_call('update', names)}"]
    single = program.translations["update"].returned is None
    for position, name in enumerate(program.updated):
        value = "result" if single else f"result[{position}]"
        lines.append(f"new_{name} = np.{type_name(program.field_dtypes[name])}({value})")
    return "\n".join(lines)


def _changed(names: tuple[str, ...], vertex: str) -> str:
    return " or ".join(f"differs(F_{name}[{vertex}], new_{name})" for name in names)


def _store(names: tuple[str, ...], where: str, vertex: str) -> str:
    return "\n".join(f"{where}_{name}[{vertex}] = new_{name}" for name in names)
