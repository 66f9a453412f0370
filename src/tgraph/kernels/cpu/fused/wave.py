"""The kernel for programs in which one value at a time travels: breadth-first search, reachability and the like.

A program qualifies if `update` takes over what the reduction gives (min, max or any), a message depends on the sender's
main field alone, and all active vertices begin with one value. Then all messages of an iteration are equal, and so are
all values that it changes: a vertex needs one message, a second one does nothing, and nobody reads the senders' values.

Pull therefore asks only the vertices that the message would change, and ends at the first active neighbour (Beamer,
Asanovic, Patterson 2012; when to switch is theirs too). In push several threads may reach a vertex; compare-and-swap
makes one of them put it into the queue. The values are the same for any number of threads; the queue's order is not,
and nothing depends on it. Memory beside the fields: 8.25 bytes per vertex with 32-bit ids.
"""

from __future__ import annotations

import numpy as np

from tgraph.kernels.cpu.fused.frontier import FrontierRun, Pieces, append, degree
from tgraph.kernels.cpu.fused.pieces import KernelProgram, Side, block, type_lines
from tgraph.runtime.protocol import Array

_REDUCE = {"min": "minimum", "max": "maximum", "any": "either"}

_PUSH_EDGE = """
old = F_{main}[v]
new = Value({reduce}(old, m))
if differs(old, new) and compare_swap(F_{main}, v, old, new):
    {append}
    new_edges += np.int64(degree)
"""

_PULL_VERTEX = """
old = F_{main}[u]
new = Value({reduce}(old, m))
if differs(old, new):
    hit = False
    {search}
    if hit:
        F_{main}[u] = new
        new_bits |= ONE << (u & LOW)
        found += 1
        new_edges += np.int64({degree})
"""

_SEARCH = """
if not hit:
    for e in range(pull_offsets{side}[u], pull_offsets{side}[u + ONE]):
        v = np.uint64(pull_neighbors{side}[e])
        if (front[v >> SIX] >> (v & LOW)) & ONE:
            hit = True
            break
"""


def is_wave(program: KernelProgram, fields: dict[str, Array], front: Array) -> bool:
    """Say whether this kernel can run a program from this state."""
    main = program.main_field
    if not program.takes_over or not set(program.parameters["message"]) <= {main}:
        return False
    values = fields[main][front]
    return values.size > 0 and bool((values == values[0]).all())


def start_wave(
    program: KernelProgram, sides: tuple[list[Side], list[Side]], fields: dict[str, Array], front: Array
) -> FrontierRun:
    """Return the run of a program for which `is_wave` holds."""
    main, num_sides = program.main_field, len(sides[0])
    dtype = fields[main].dtype
    stored = fields[main].view(np.uint8) if dtype.kind == "b" else fields[main]
    wave = stored[front[:1]]
    run_fields = {**fields, main: stored}
    return FrontierRun(program, _pieces(program, num_sides, stored.dtype), (wave,), sides, run_fields, front)


def _pieces(program: KernelProgram, num_sides: int, stored: np.dtype[np.generic]) -> Pieces:
    main, reduce = program.main_field, _REDUCE[program.reduce]
    call = program.text_of_call("message", {main: "np.bool_(value)" if program.reduce == "any" else "value"})
    search = "\n".join(_SEARCH.format(side=side).strip("\n") for side in range(num_sides))
    at_edge = _PUSH_EDGE.format(main=main, reduce=reduce, append=block(append(num_sides, "FOUND", "NEW_HUBS"), 1))
    at_vertex = _PULL_VERTEX.format(main=main, reduce=reduce, search=block(search, 1), degree=degree("u", num_sides))
    return Pieces(
        arrays=("wave",),
        types=type_lines(Value=stored, Message=program.message_dtype),
        functions=("message",),
        prefers_pull="edges > (unexplored + num_vertices) // 15",
        push_edge=lambda _side: at_edge,
        pull_vertex=at_vertex,
        begin="value = wave[0]",
        prepare=f"m = Message({call})",
        finish="value = Value(m)",
        leave="if rank == 0:\n    wave[0] = value",
    )
