"""The loop over the row of a vertex u in a sweep: messages are made, or found where they were made, and reduced.

Rows that are taken one after the other share their borders: `e0` goes on where the row before ended, so that a short
row costs one look at the offsets (`begin_lines`, `row_lines`). Others begin and end anywhere (`gather_lines`). Where
messages are floats, made before, and added, a function does that faster than a loop here would (`neighbor_sums`).

With `prefetches` a loop is written twice: it asks for what later edges read where the kernel's variable `asks` is true.
Whether that is faster is a question of the processor as much as of the graph: a kernel that iterates tries both, from
`times`, the ticks around its iterations (`ASKS`), and others are told.
"""

from __future__ import annotations

from collections.abc import Callable

from tgraph.kernels.cpu.fused.pieces import KernelProgram, block
from tgraph.kernels.cpu.prefetch import WORTH_IT

REDUCE = {
    "sum": "acc = Acc(acc + m)",
    "mean": "acc = Acc(acc + m)",
    "min": "acc = minimum(acc, m)",
    "max": "acc = maximum(acc, m)",
    "any": "acc = acc or m\nif acc:\n    break",
    "count": "pass",
}

ASKS = f"iteration == 2 or (iteration > 3 and times[3] - times[2] < {WORTH_IT} * (times[2] - times[1]))"

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


_SUM = """
end{side} = offsets{side}[u + ONE]
acc += sum_row({varies}, Acc, e{side}, end{side}, neighbors{side}, {sent})
e{side} = end{side}
"""


def begin_lines(num_sides: int) -> str:
    """The lines before the first row of a chunk, which `row_lines` needs."""
    return "\n".join(f"e{side} = offsets{side}[cuts[chunk]]" for side in range(num_sides))


def row_lines(program: KernelProgram, side: int, prefetches: bool, varies: bool) -> str:
    """The loop over the row of u, which begins where the row before ended; `varies` as `lengths_vary` says."""
    edge = f"e{side}"
    if _is_sum_of_floats(program) and not prefetches:
        return _SUM.format(side=side, varies=varies, sent=_sent_array(program)).strip("\n")
    make, reduce = _make(program, side, edge), block(REDUCE[program.reduce], 1)

    def loop(prefetch: str) -> str:
        return _ROW.format(side=side, prefetch=prefetch, make=make, reduce=reduce).strip("\n")

    return _either(loop, _prefetch(program, side, edge)) if prefetches else loop("")


def gather_lines(
    program: KernelProgram, side: int, prefetches: bool, first: str = "", last: str = "", gapped: bool = False
) -> str:
    """The loop over the edges of u from first to last; without them over all, in rows with gaps."""
    make, reduce = _make(program, side, "e"), block(REDUCE[program.reduce], 1)
    if gapped:
        begin = f"np.uint64(places{side}[u, 0]) * UNIT"
        first, last = first or begin, last or f"{begin} + np.uint64(places{side}[u, 1])"
        make = f"if v & DEAD:\n        continue\n    {make}"

    def loop(prefetch: str) -> str:
        if gapped and not prefetch and _is_sum_of_floats(program):
            cells = f"{first}, {last}, neighbors{side}"
            return f"acc += sum_gapped_row(Acc, places{side}[u, 3], {cells}, {_sent_array(program)})"
        text = _GATHER.format(side=side, first=first, last=last, prefetch=prefetch, make=make, reduce=reduce)
        return text.strip("\n")

    return _either(loop, _prefetch(program, side, "e")) if prefetches else loop("")


def _either(loop: Callable[[str], str], prefetch: str) -> str:
    """The loop that asks ahead, and the one that does not."""
    return f"if asks:\n    {block(loop(prefetch), 1)}\nelse:\n    {block(loop(''), 1)}"


def _make(program: KernelProgram, side: int, edge: str) -> str:
    """The line that makes, or finds, the message of v along an edge."""
    if program.is_message_per_vertex:
        return f"m = {_sent_array(program)}[v]"
    names = {"source": "np.int64(v)", "target": "np.int64(u)", "weight": "1"}
    names |= {name: f"{name}{side}[{edge}]" for name in program.edge_arrays}
    for name in program.field_dtypes:
        names |= {name: f"F_{name}[v]", f"target_{name}": f"F_{name}[u]"}
    return f"m = Message({program.text_of_call('message', names)})"


def _is_sum_of_floats(program: KernelProgram) -> bool:
    """Whether messages are added that were made before."""
    return program.is_message_per_vertex and program.reduce in ("sum", "mean") and program.message_dtype.kind == "f"


def _sent_array(program: KernelProgram) -> str:
    return "messages" if program.sent_field is None else f"F_{program.sent_field}"


def _prefetch(program: KernelProgram, side: int, edge: str) -> str:
    """The lines that ask for what a later edge reads."""
    arrays = [f"F_{name}" for name in program.sent_fields]
    if program.is_message_per_vertex:
        arrays = [_sent_array(program)]
    soon = f"soon = neighbors{side}[min({edge} + np.uint64(AHEAD), np.uint64(neighbors{side}.size) - ONE)]"
    return block("\n".join([soon, *(f"prefetch({array}, soon)" for array in arrays)] if arrays else []), 1)
