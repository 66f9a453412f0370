"""Kernels for monotonic programs that run side by side with `block_push`: receivers look at their neighbours.

`ValuePull` reduces the messages of all neighbours, active or not, which does no harm to a monotonic program: values are
changed in place and only for the better, so who reads an old one reads the new one in the next iteration.

`WavePull` is for programs in which one value travels at a time (`is_wave_program`): all messages of an iteration are
equal, a vertex needs one, and it looks no further than its first neighbour in the bitmap of those that are active.
Its `message` says what travels, also to who pushes.

A row is written by the thread that took its chunk. Deterministic, but for how far values have run ahead.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.kernels.cpu.watch import brief_team_size, run_briefly
from tgraph.runtime.protocol import Array

_REDUCE = {"min": "minimum", "max": "maximum"}

_TAKE_ROWS = """
CHUNK = 256  # rows taken at a time
SIX, LOW = np.uint64(6), np.uint64(63)

{types}

{functions}

@njit(**JIT)
def pull(rank, size, shared, coming, offsets, neighbors{arrays}{constants}):
    num_rows = np.int64(offsets.size - 1)
    while True:
        first = fetch_add(shared, 24, CHUNK)
        if first >= num_rows:
            break
        for u in range(np.uint64(first), np.uint64(min(first + CHUNK, num_rows))):
            {row}


@njit(**JIT)
def reduce_parts(rank, size, shared, receivers, firsts, lasts, partials, neighbors{arrays}{constants}):
    while True:
        place = fetch_add(shared, 24, 1)
        if place >= partials.size:
            break
        u = np.uint64(receivers[place])
        {part}
"""

_VALUE_ROW = """
old = F_{main}[u]
best = old
for e in range(offsets[u], offsets[u + ONE]):
    v = np.uint64(neighbors[e])
    m = Message({message})
    best = Value({reduce}(best, m))
if differs(old, best):
    F_{main}[u] = best
    coming[u] = True
"""

_VALUE_PART = """
best = F_{main}[u]
for e in range(firsts[place], lasts[place]):
    v = np.uint64(neighbors[e])
    m = Message({message})
    best = Value({reduce}(best, m))
partials[place] = best
"""

_WAVE_ROW = """
new = Value({reduce}(F_{main}[u], wave[0]))
if differs(F_{main}[u], new):
    for e in range(offsets[u], offsets[u + ONE]):
        v = np.uint64(neighbors[e])
        if (front[v >> SIX] >> (v & LOW)) & ONE:
            F_{main}[u] = new
            coming[u] = True
            break
"""

_WAVE_PART = """
for e in range(firsts[place], lasts[place]):
    v = np.uint64(neighbors[e])
    if (front[v >> SIX] >> (v & LOW)) & ONE:
        partials[place] = True
        break
"""

_ADVANCE = """

@njit(**JIT)
def advance(value, wave{constants}):
    wave[0] = {call}
    stays = not differs(value[0], Value({reduce}(value[0], wave[0])))
    value[0] = Value(wave[0])
    return stays
"""


def is_wave_program(program: KernelProgram) -> bool:
    """Whether all messages of active vertices with one value are equal, for a program that can be pushed in blocks."""
    return set(program.parameters["message"]) <= {program.main_field}


class ValuePull:
    """Pull over rows, from own vertices and those behind them; `fields [N + G]` are read, the main one is written."""

    def __init__(
        self, program: KernelProgram, offsets: Array, edges: tuple[Array, Array | None], fields: dict[str, Array]
    ) -> None:
        names = {"weight": "1", **{name: f"{name}[e]" for name in program.edge_arrays}}
        for name in program.field_dtypes:
            names |= {name: f"F_{name}[v]", f"target_{name}": f"F_{name}[u]"}
        message = program.text_of_call("message", names)
        row, part = (
            text.format(main=program.main_field, message=message, reduce=_REDUCE[program.reduce])
            for text in (_VALUE_ROW, _VALUE_PART)
        )
        arrays = [*program.edge_arrays, *(f"F_{name}" for name in program.field_dtypes)]
        self._module = load_kernel(_write_text(program, row, part, arrays))
        weights = [edges[1]] if program.weighted else []
        self._edges = as_unsigned(offsets), as_unsigned(edges[0])
        self._weighted, self._values = program.weighted, fields[program.main_field]
        self._vertices = (*fields.values(), *program.constants.values())
        self._arguments = (*weights, *self._vertices)
        none = self._edges[0][:1], self._edges[1][:0]
        compile_worker(self._module.pull, [np.zeros(0, np.bool_), *none, *self._arguments])

    def pull(self, coming: Array) -> None:
        """Let every vertex with a row take the best message; who became better is marked in `coming`."""
        size = brief_team_size(self._edges[1].size)
        run_briefly(self._module.pull, size, [coming, *self._edges, *self._arguments])

    def reduce_parts(
        self, receivers: Array, firsts: Array, lasts: Array, neighbors: Array, weights: Array | None
    ) -> Array:
        """Return the best of what each receiver has and the messages along a part of its row, which is elsewhere."""
        best = self._values[receivers]
        edges = (as_unsigned(neighbors), *([weights] if self._weighted else []))
        places = (receivers, as_unsigned(firsts), as_unsigned(lasts), best)
        run_briefly(self._module.reduce_parts, brief_team_size(neighbors.size), [*places, *edges, *self._vertices])
        return best


class WavePull:
    """Pull of a program in which one value travels at a time; `values [N or more]` are written."""

    def __init__(self, program: KernelProgram, values: Array, first_value: Array) -> None:
        """`first_value [1]` is that of all vertices that are active."""
        main, reduce = program.main_field, _REDUCE[program.reduce]
        call = program.text_of_call("message", {main: "value[0]"})
        row = _WAVE_ROW.format(main=main, reduce=reduce)
        constants = listed(program.constants)
        advance = _ADVANCE.format(constants=constants, call=call, reduce=reduce)
        self._module = load_kernel(_write_text(program, row, _WAVE_PART, ["wave", "front", f"F_{main}"]) + advance)
        self._values, self._value = values, first_value.astype(values.dtype)
        self.message = np.empty(1, program.message_dtype)
        self._constants = tuple(program.constants.values())

    def advance(self) -> bool:
        """Find the message of the next iteration; say whether its senders keep their value if they get it too.

        If not, what they send depends on when they send it, and it is no wave.
        """
        return bool(self._module.advance(self._value, self.message, *self._constants))

    def pull(self, offsets: Array, neighbors: Array, front: Array, coming: Array) -> None:
        """Let every vertex that would change look for an active neighbour in the bitmap `front`."""
        arrays = (coming, as_unsigned(offsets), as_unsigned(neighbors), self.message, front, self._values)
        run_briefly(self._module.pull, brief_team_size(neighbors.size), [*arrays, *self._constants])

    def reduce_parts(self, receivers: Array, firsts: Array, lasts: Array, neighbors: Array, front: Array) -> Array:
        """Return whether the message reaches each receiver along a part of its row, which is elsewhere, `[S] bool`."""
        is_hit = np.zeros(receivers.size, np.bool_)
        places = (receivers, as_unsigned(firsts), as_unsigned(lasts), is_hit, as_unsigned(neighbors))
        arrays = (self.message, front, self._values, *self._constants)
        run_briefly(self._module.reduce_parts, brief_team_size(neighbors.size), [*places, *arrays])
        return is_hit


def _write_text(program: KernelProgram, row: str, part: str, arrays: list[str]) -> str:
    return HEAD + _TAKE_ROWS.format(
        types=type_lines(Value=program.field_dtypes[program.main_field], Message=program.message_dtype),
        functions=program.text_of_functions(("message",)),
        arrays=listed(arrays),
        constants=listed(program.constants),
        row=block(row, 3),
        part=block(part, 2),
    )


def as_bitmap(marks: Array) -> Array:
    """Return marks `[n] bool` as bits of 64-bit words.

    >>> as_bitmap(np.array([True, False, True])).tolist()
    [5]
    """
    bits = np.zeros(-(-marks.size // 64), np.uint64)
    packed = np.packbits(marks, bitorder="little")
    bits.view(np.uint8)[: packed.size] = packed
    return bits


def count_marked(marks: Array, offsets: Array) -> tuple[int, int]:
    """Return how many of the rows are marked, and how many edges these have.

    >>> count_marked(np.array([True, False, True]), np.array([0, 2, 5, 9]))
    (2, 6)
    """
    num_rows = offsets.size - 1
    whole = num_rows // 8 * 8
    counted = _count_words(marks[:whole].view(np.uint64), marks, offsets)
    rest = np.flatnonzero(marks[whole:num_rows]) + whole
    return int(counted[0]) + rest.size, int(counted[1] + (offsets[rest + 1] - offsets[rest]).sum())


@njit(**JIT)
def _count_words(words, marks, offsets):
    """Count the marked rows and their edges, eight rows at a time; most words are 0."""
    vertices, edges = 0, 0
    for word in range(words.size):
        if words[word] == 0:
            continue
        for row in range(8 * word, 8 * word + 8):
            mark = np.int64(marks[row])  # multiplied: which rows are marked cannot be guessed
            vertices += mark
            edges += mark * (offsets[row + 1] - offsets[row])
    return vertices, edges
