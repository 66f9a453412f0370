"""The text of the kernel that keeps a monotonic program current; `monotonic_stream` says what it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.gapped_layout import UNIT

_TEXT = """
from tgraph.kernels.cpu.atomics import relax

CHUNK = 64  # vertices or arcs taken at a time
SOON, NEAR = 16, 8  # how far ahead arcs and neighbours are asked for
TRIES, STEPS = 8, 256  # neighbours whose parents are followed for one doubtful vertex, and how far
LOCKS = np.uint64(1023)
UNIT = np.uint64({unit})
DOUBTFUL, TOUCHED, QUEUED, LEFT = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
TAKEN = 64  # where the counters of phases begin in `shared`
WAVES, DOUBTS, INVALID, NEXT, LISTED, FOLLOWED = 120, 128, 136, 144, 152, 160
{reads}
{types}
NOBODY, DEAD = Cell(np.iinfo(Cell).max), Cell(1 << (np.iinfo(Cell).bits - 1))

{functions}

@njit(**BORROWING)
def take(shared, phase, limit):
    first = fetch_add(shared, TAKEN + 8 * (phase & 3), CHUNK)
    return first, min(first + CHUNK, limit)


@njit(**BORROWING)
def end_phase(rank, size, shared, meeting, phase):
    meeting = meet(shared, meeting, size)
    if rank == 0:
        shared[TAKEN + 8 * ((phase + 2) & 3)] = 0
    return meeting, phase + 1


@njit(**BORROWING)
def note(v, states, listed, old_values, values, shared):
    if not fetch_or(states, v, TOUCHED) & TOUCHED:
        place = fetch_add(shared, LISTED, 1)
        listed[place] = Cell(v)
        old_values[place] = values[v]


@njit(**BORROWING)
def hangs_elsewhere(u, v, parents, states):
    for _ in range(STEPS):
        if u == v or states[u] & DOUBTFUL:
            return False
        if parents[u] == NOBODY:
            return True
        u = np.uint64(parents[u])
    return False


@njit(**BORROWING)
def offer(v, m, u, sent, locks, states, parents, listed, old_values, queue, values, improves, shared):
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


@njit(**BORROWING)
def update(rank, size, shared, gone_from, gone_to, new_from, new_to{new_weights}, locks, states, parents,
           starts, begins, improves, doubts, more_doubts, invalid, listed, old_values, active, coming
           {sides}, values{constants}):
    meeting, phase, followed = 1, 0, 0
    {no_reads}

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
                found, is_left = False, False
                {look}
                if found:
                    fetch_add(states, v, np.uint8(255))
                elif is_left:
                    fetch_or(states, v, LEFT)
        meeting, phase = end_phase(rank, size, shared, meeting, phase)
        if rank == 0:
            for i in range(num_doubts):
                v = np.uint64(doubts[i])
                if looks and not states[v] & LEFT:
                    continue
                value, found, tries = values[v], False, 0
                {look_among_equals}
                states[v] &= ~(LEFT | DOUBTFUL) if found else ~LEFT
        meeting = meet(shared, meeting, size)
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
            if differs(values[v], Value({reduce}(values[v], Value(m)))):
                offer(v, m, u, sent, locks, states, parents, listed, old_values, coming, values, improves, shared)
    meeting, phase = end_phase(rank, size, shared, meeting, phase)

    # --- active vertices send ---
    while True:
        num_active = shared[NEXT]
        meeting = meet(shared, meeting, size)
        if num_active == 0 or shared[WAVES] > states.size:
            break
        meeting = meet(shared, meeting, size)
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
    {share_reads}

    # --- all marks are taken back ---
    num_listed = shared[LISTED]
    while True:
        first, last = take(shared, phase, num_listed)
        if first >= num_listed:
            break
        for i in range(first, last):
            states[np.uint64(listed[i])] = np.uint8(0)


@njit(**BORROWING)
def attach(rank, size, shared, num_active, parents, starts, improves, active, coming{sides}, values{constants}):
    meeting, phase, followed = 1, 0, 0
    {no_reads}
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

# A row of a graph whose cells are far: near if it has been copied.
_FAR_READS = """
from tgraph.kernels.cpu.hot_places import keep_row, note_read, open_row

STILL_THERE = 4096  # cells: so many that were just read are in the processor's cache, and copying them moves nothing
FAR_ROWS, FAR_CELLS, NEAR_ROWS, NEAR_CELLS, COPIED = 168, 176, 184, 192, 200
"""
_NO_READS = "far_rows, far_cells, near_rows, near_cells, copied = 0, 0, 0, 0, 0"
_SHARE_READS = """
fetch_add(shared, FAR_ROWS, far_rows)
fetch_add(shared, FAR_CELLS, far_cells)
fetch_add(shared, NEAR_ROWS, near_rows)
fetch_add(shared, NEAR_CELLS, near_cells)
fetch_add(shared, COPIED, copied)
"""
_HOT = ("pool", "chunk_ends", "cells", "weights")
_FAR_ROW = """
is_near, begin, end, num_copied = open_row({vertex}, True, {row}, {hot})
row_cells = hot_cells if is_near else {side}_cells
row_weights = {row_weights}
for e in range(begin, end):
    if row_cells[e] & DEAD:
        continue
    {other} = np.uint64(row_cells[e])
    {do}
num_read = np.int64(end - begin)
followed += num_read
note_read({side}_counts, {vertex})
if is_near and not num_copied:
    near_cells += num_read
    near_rows += 1
else:
    copied += num_copied
    far_cells += 0 if is_near else num_read
    far_rows += 1 if num_read else 0
"""

# Who looks for a neighbour reads a row to its end only if there is none: the vertex is invalid then, and its row is
# read again. So it is copied when that is clear, the rest of a long one instead of reading it.
_FAR_SEARCH = """
is_near, begin, end, num_copied = open_row({vertex}, False, {row}, {hot})
if is_near:
    near_rows += 1
elif end > begin:
    far_rows += 1
for part in range(2):
    stop = end if is_near or part else min(end, begin + np.uint64(STILL_THERE))
    row_cells = hot_cells if is_near else {side}_cells
    row_weights = {row_weights}
    before = followed
    for e in range(begin, stop):
        followed += 1
        if row_cells[e] & DEAD:
            continue
        {other} = np.uint64(row_cells[e])
        {do}
    if is_near:
        near_cells += followed - before
    else:
        far_cells += followed - before
    if {until}:
        break
    if not is_near and part == 0:
        num_copied = keep_row({vertex}, {row}, {hot})
        copied += max(num_copied - STILL_THERE, 0)
    if stop == end:
        note_read({side}_counts, {vertex})
        break
    begin = stop
    if num_copied:
        is_near, begin, end, num_copied = open_row({vertex}, False, {row}, {hot})
"""

# A neighbour with a better value cannot hang on the vertex. One whose value is as good may: that is left to one thread.
_LOOK = """
if states[u] & DOUBTFUL == 0:
    sent = values[u]
    m = {message}
    if not differs(value, Value(m)):
        if differs(sent, value) and not differs(sent, Value({reduce}(sent, value))):
            parents[v] = Cell(u)
            found = True
        else:
            is_left = True
        break
"""

_LOOK_AMONG_EQUALS = """
if states[u] & DOUBTFUL == 0:
    sent = values[u]
    m = {message}
    if not differs(value, Value(m)):
        is_better = improves[0] == 0 and differs(sent, value) and not differs(sent, Value({reduce}(sent, value)))
        if not is_better:
            tries += 1
        if is_better or (tries <= TRIES and hangs_elsewhere(u, v, parents, states)):
            parents[v] = Cell(u)
            found = True
            if differs(sent, Value({reduce}(sent, value))):
                improves[0] = 1
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
if differs(values[v], Value({reduce}(values[v], Value(m)))):
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

REDUCE = {"min": "minimum", "max": "maximum", "any": "maximum"}


def write_text(program: KernelProgram, num_sides: int, cell: np.dtype[Any], is_far: bool) -> str:
    """Return the kernel for a program on so many pairs of rows, to send along and to pull along.

    Where cells are far, a row that is copied near is read there, and reads are counted.
    """
    reduce = REDUCE[program.reduce]
    is_bool = program.reduce == "any"
    value = np.dtype(np.uint8) if is_bool else program.field_dtypes[program.main_field]

    def message(weight: str) -> str:
        names = {"source": "np.int64(u)", program.main_field: "np.bool_(sent)" if is_bool else "sent"}
        return f"Message({program.text_of_call('message', {**names, 'weight': weight if program.weighted else '1'})})"

    def rows(kind: str, do: str, reads: tuple[str, ...], until: str = "") -> str:
        ends = {"vertex": "u", "other": "v"} if kind == "send" else {"vertex": "v", "other": "u"}
        texts = []
        for number in range(num_sides):
            side = f"{kind}{number}"
            text = do.format(message=message("row_weights[e]" if is_far else f"{side}_weights[e]"), reduce=reduce)
            ask = _ASK.format(side=side, asks="\n    ".join(f"prefetch({array}, soon)" for array in reads))
            far_row = _FAR_SEARCH if until else _FAR_ROW
            row, words = (far_row, _far_words(program, side)) if is_far else (_ROW, {"ask": block(ask, 1)})
            depth = 2 if row == _FAR_SEARCH else 1
            lines = row.format(side=side, **ends, **words, until=until, do=block(text, depth)).strip("\n")
            texts.append(f"if not ({until}):\n    {block(lines, 1)}" if until and number else lines)
        return "\n".join(texts)

    arrays = ["places", "cells", *(["weights"] if program.weighted or is_far else [])]
    arrays += ["slots", "counts"] if is_far else []
    sides = [f"{kind}{number}_{array}" for kind in ("send", "pull") for number in range(num_sides) for array in arrays]
    sides += [f"hot_{array}" for array in _HOT] if is_far else []
    return HEAD + _TEXT.format(
        unit=UNIT,
        reads=_FAR_READS if is_far else "",
        no_reads=_NO_READS if is_far else "",
        share_reads=block(_SHARE_READS, 1) if is_far else "",
        types=type_lines(Value=value, Message=program.message_dtype, Cell=cell),
        functions=program.text_of_functions(("message",)),
        reduce=reduce,
        new_weights=", new_weights" if program.weighted else "",
        new_message=message("new_weights[i]"),
        sides=listed(sides),
        constants=listed(program.constants),
        look=block(rows("pull", _LOOK, ("states", "values"), "found or is_left"), 4),
        look_among_equals=block(rows("pull", _LOOK_AMONG_EQUALS, ("states", "values"), "found"), 4),
        children=block(rows("send", _CHILDREN, ("parents",)), 4),
        pull=block(rows("pull", _PULL, ("states", "values")), 3),
        send=block(rows("send", _SEND, ("values",)), 4),
        adopt=block(rows("send", _ADOPT, ("parents", "values")), 4),
    )


def _far_words(program: KernelProgram, side: str) -> dict[str, str]:
    """Return what stands in the text of a far row."""
    row = ", ".join(f"{side}_{array}" for array in ("slots", "places", "cells", "weights"))
    row_weights = f"hot_weights if is_near else {side}_weights" if program.weighted else "1"
    return {"row": row, "hot": ", ".join(f"hot_{array}" for array in _HOT), "row_weights": row_weights}
