"""The loop over the row of a vertex u in a sweep: messages are made, or found where they were made, and reduced.

Rows that are taken one after the other share their borders: `e0` goes on where the row before ended, so that a short
row costs one look at the offsets (`begin_lines`, `row_lines`). Others begin and end anywhere (`gather_lines`).
"""

from __future__ import annotations

from tgraph.kernels.cpu.fused.pieces import KernelProgram, block

REDUCE = {
    "sum": "acc = Acc(acc + m)",
    "mean": "acc = Acc(acc + m)",
    "min": "acc = minimum(acc, m)",
    "max": "acc = maximum(acc, m)",
    "any": "acc = acc or m\nif acc:\n    break",
    "count": "pass",
}

_GATHER = """
for e in range({first}, {last}):
    {prefetch}
    v = neighbors{side}[e]
    {make}
    {reduce}
"""

_ROW = """
end{side} = offsets{side}[u + ONE]
while e{side} < end{side}:
    {prefetch}
    v = neighbors{side}[e{side}]
    {make}
    e{side} += ONE
    {reduce}
e{side} = end{side}
"""


def begin_lines(num_sides: int) -> str:
    """The lines before the first row of a chunk, which `row_lines` needs."""
    return "\n".join(f"e{side} = offsets{side}[cuts[chunk]]" for side in range(num_sides))


def row_lines(program: KernelProgram, side: int, prefetches: bool) -> str:
    """The loop over the row of u, which begins where the row before ended."""
    edge = f"e{side}"
    make, reduce = _make(program, side, edge), REDUCE[program.reduce]
    prefetch = _prefetch(program, side, edge) if prefetches else ""
    return _ROW.format(side=side, prefetch=prefetch, make=make, reduce=block(reduce, 1)).strip("\n")


def gather_lines(
    program: KernelProgram, side: int, prefetches: bool, first: str = "", last: str = "", gapped: bool = False
) -> str:
    """The loop over the edges of u from first to last; without them over all, in rows with gaps."""
    make, reduce = _make(program, side, "e"), REDUCE[program.reduce]
    if gapped:
        begin = f"np.uint64(places{side}[u, 0]) * UNIT"
        first, last = first or begin, last or f"{begin} + np.uint64(places{side}[u, 1])"
        make = f"if v & DEAD:\n        continue\n    {make}"
    prefetch = _prefetch(program, side, "e") if prefetches else ""
    text = _GATHER.format(side=side, first=first, last=last, prefetch=prefetch, make=make, reduce=block(reduce, 1))
    return text.strip("\n")


def _make(program: KernelProgram, side: int, edge: str) -> str:
    """The line that makes, or finds, the message of v along an edge."""
    if program.is_message_per_vertex:
        return f"m = {_sent_array(program)}[v]"
    names = {"source": "np.int64(v)", "target": "np.int64(u)", "weight": "1"}
    names |= {name: f"{name}{side}[{edge}]" for name in program.edge_arrays}
    for name in program.field_dtypes:
        names |= {name: f"F_{name}[v]", f"target_{name}": f"F_{name}[u]"}
    return f"m = Message({program.text_of_call('message', names)})"


def _sent_array(program: KernelProgram) -> str:
    return "messages" if program.sent_field is None else f"F_{program.sent_field}"


def _prefetch(program: KernelProgram, side: int, edge: str) -> str:
    """The lines that ask for what a later edge reads."""
    arrays = [f"F_{name}" for name in program.sent_fields]
    if program.is_message_per_vertex:
        arrays = [_sent_array(program)]
    soon = f"soon = neighbors{side}[min({edge} + np.uint64(AHEAD), np.uint64(neighbors{side}.size) - ONE)]"
    return block("\n".join([soon, *(f"prefetch({array}, soon)" for array in arrays)] if arrays else []), 1)
