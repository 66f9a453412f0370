"""The kernel for programs in which one value at a time travels: breadth-first search, reachability and the like.

A program qualifies if `update` takes over what the reduction gives (min, max or any), a message depends on the sender's
main field alone, and all active vertices begin with one value. Then all messages of an iteration are equal, and so are
all values that it changes: a vertex needs one message, a second one does nothing, and nobody reads the senders' values.

Pull therefore asks only the vertices that the message would change, and ends at the first active neighbour (Beamer,
Asanovic, Patterson 2012; `direction` says when). Most find one at their first neighbour; these are asked for ahead and
looked at without a branch, so that many are on their way at a time. In push several threads may reach a vertex;
compare-and-swap makes one of them put it into the queue. The values are the same for any number of threads; the queue's
order is not, and nothing depends on it. Memory beside the fields: 8.25 bytes per vertex with 32-bit ids.
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

_OPEN = """
for word in range(np.uint64(taken), np.uint64(min(taken + WORDS, num_words))):
    bits = np.uint64(0)
    for u in range(word << SIX, min((word + ONE) << SIX, np.uint64(num_vertices))):
        old = F_{main}[u]
        is_open = differs(old, Value({reduce}(old, m))) & ({has_row})
        bits |= np.uint64(is_open) << (u & LOW)
    opened[word - np.uint64(taken)] = bits
    while bits != np.uint64(0):
        {ask}
        bits &= bits - ONE
"""

_ASK = "prefetch(pull_neighbors{side}, pull_offsets{side}[(word << SIX) + trailing_zeros(bits)])"

_PULL_WORD = """
bits = opened[word - np.uint64(taken)]
{look_at_first}
bits = opened[word - np.uint64(taken)] & ~new_bits
while bits != np.uint64(0):
    u, bit, hit = (word << SIX) + trailing_zeros(bits), bits & (~bits + ONE), False
    bits ^= bit
    {search}
    if hit:
        new_bits |= bit
bits = new_bits
while bits != np.uint64(0):
    u = (word << SIX) + trailing_zeros(bits)
    bits &= bits - ONE
    F_{main}[u] = Value({reduce}(F_{main}[u], m))
    found += 1
    new_edges += np.int64({degree})
"""

_LOOK_AT_FIRST = """
while bits != np.uint64(0):
    place = trailing_zeros(bits)
    bits &= bits - ONE
    v = np.uint64(pull_neighbors0[pull_offsets0[(word << SIX) + place]])
    new_bits |= ((front[v >> SIX] >> (v & LOW)) & ONE) << place
"""

_SEARCH = """
if not hit:
    for e in range(pull_offsets{side}[u] + np.uint64({seen}), pull_offsets{side}[u + ONE]):
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
    sides = range(num_sides)
    has_row = " or ".join(f"pull_offsets{side}[u] != pull_offsets{side}[u + ONE]" for side in sides)
    before_words = _OPEN.format(
        main=main, reduce=reduce, has_row=has_row, ask=block("\n".join(_ASK.format(side=side) for side in sides), 2)
    )
    looks = num_sides == 1  # else the first row may be empty
    search = "\n".join(_SEARCH.format(side=side, seen=int(looks)).strip("\n") for side in sides)
    pull_word = _PULL_WORD.format(
        main=main,
        reduce=reduce,
        look_at_first=_LOOK_AT_FIRST.strip("\n") if looks else "",
        search=block(search, 1),
        degree=degree("u", num_sides),
    )
    at_edge = _PUSH_EDGE.format(main=main, reduce=reduce, append=block(append(num_sides, "FOUND", "NEW_HUBS"), 1))
    num_edges = " + ".join(f"np.int64(push_offsets{side}[num_vertices])" for side in sides)
    return Pieces(
        arrays=("wave",),
        types=type_lines(Value=stored, Message=program.message_dtype),
        functions=("message",),
        prefers_pull=f"prefers_pull(edges, unexplored, num_vertices, {num_edges})",
        push_edge=lambda _side: at_edge,
        before_words=before_words,
        pull_word=pull_word,
        begin="value = wave[0]\nopened = np.empty(WORDS, np.uint64)",
        prepare=f"m = Message({call})",
        finish="value = Value(m)",
        leave="if rank == 0:\n    wave[0] = value",
    )
