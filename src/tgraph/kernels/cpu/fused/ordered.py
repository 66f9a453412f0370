"""The kernel for programs with a priority: vertices are taken in buckets of it, the most urgent first (delta-stepping).

A program qualifies if it is monotonic, has `priority`, `update` takes over what the reduction gives (min or max), and a
message needs nothing of its receiver. Then messages may arrive in any order, and an early one saves many later ones.

Every thread keeps its own buckets: chains of blocks of vertex ids from a pool of its own. In a round the threads take
the vertices of the current bucket from one shared array, and what falls into the same bucket meanwhile they finish
themselves while it is little. Then they agree on the next bucket that anybody has. Buckets are named modulo their
number; a vertex whose bucket is too far ahead waits in the last one, and is put where it belongs when that is reached.
A value is changed by compare-and-swap and only for the better, so the answer does not depend on the order
(Meyer, Sanders 2003; Beamer, Asanovic, Patterson 2015).

Memory beside the fields: up to 4 bytes per waiting vertex with 32-bit ids, in blocks of 1,024; one vertex may wait
several times. If more wait than there are edges, or a message makes its receiver more urgent than the sender was, the
kernel gives up and says so: another one then goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.frontier import sender_names
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, Side, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import team_size
from tgraph.kernels.cpu.watch import DONE, Watch
from tgraph.runtime.protocol import Array

NUM_BUCKETS = 1 << 10
BLOCK = 1 << 10  # ids
GAVE_UP = 24  # the word of the shared array that says so
ROWS = 1 << 14  # rounds that are traced one by one; what follows is added to the last

_TEXT = '''
LOG_BLOCK, BLOCK, IN_BLOCK = np.uint64(10), np.uint64(1 << 10), np.uint64((1 << 10) - 1)
NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
LAST = np.int64(1) << 60
STOP, DONE, GAVE_UP, ROUNDS = 8, 16, 24, 32
NEXT, TAIL, TAKE, HALT, VERTICES, EDGES, SLOT = 0, 8, 16, 24, 32, 40, 48
CHUNK, OWN_LIMIT = 256, np.uint64(1000)  # ids taken at a time, at most; ids that a thread finishes by itself
FAR, SOON = np.uint64(16), np.uint64(8)  # ids ahead: whose offsets, and whose rows, are asked for

{types}

{functions}

@njit(**JIT)
def bucket_of(priority, base, inverse_width):
    """The number of a bucket; never negative, and no larger than can be counted."""
    ahead = (np.float64(priority) - base) * inverse_width
    if not ahead > 0.0:
        return np.int64(0)
    return np.int64(ahead) if ahead < 1e15 else np.int64(1000000000000000)


@njit(**JIT)
def worker(rank, size, shared, base, inverse_width, front, queue, heads, counts, nexts, pools, rows, times
           {arrays}{constants}):
    head, count, following, pool = heads[rank], counts[rank], nexts[rank], pools[rank]
    num_buckets = head.size
    mask = np.uint64(num_buckets - 1)
    num_blocks, free, fresh = np.uint64(following.size), NONE, np.uint64(0)
    capacity = np.int64(queue.size)
    for i in range(num_buckets):
        head[i], count[i] = NONE, np.uint64(0)
    if rank == 0:
        times[0] = ticks()
        for i in range(front.size):
            queue[i] = front[i]
        for turn in range(3):
            shared[ROUNDS + SLOT * turn + NEXT] = LAST
        shared[ROUNDS + TAIL] = front.size
        current = LAST
        for i in range(front.size):
            u = np.uint64(front[i])
            current = min(current, bucket_of({priority_u}, base, inverse_width))
        shared[ROUNDS + NEXT] = current
    meeting = meet(shared, 1, size)
    current, turn = shared[ROUNDS + NEXT], 0
    while True:
        slot, coming = ROUNDS + SLOT * (turn % 3), ROUNDS + SLOT * ((turn + 1) % 3)
        tail = min(shared[slot + TAIL], capacity)
        chunk = max(np.int64(1), min(CHUNK, tail // (8 * size)))
        here = np.uint64(current) & mask
        own, blk, first, last = False, NONE, np.uint64(0), np.uint64(0)
        num_done, num_edges = np.int64(0), np.int64(0)
        while True:
            if not own:
                taken = fetch_add(shared, slot + TAKE, chunk)
                if taken >= tail:
                    own = True
                    continue
                first, last, end, ids = np.uint64(taken), np.uint64(min(taken + chunk, tail)), np.uint64(tail), queue
            else:
                if blk == NONE:
                    waiting = count[here]
                    if waiting == np.uint64(0) or waiting >= OWN_LIMIT:
                        break
                    blk, head[here], count[here] = head[here], NONE, np.uint64(0)
                    filled = waiting & IN_BLOCK
                    if filled == np.uint64(0):
                        filled = BLOCK
                else:
                    filled = BLOCK
                first = blk << LOG_BLOCK
                last, ids = first + filled, pool
                end = last
            for q in range(first, last):
                if q + FAR < end:
                    v = np.uint64(ids[q + FAR])
                    {ask_far}
                if q + SOON < end:
                    v = np.uint64(ids[q + SOON])
                    {ask_soon}
                u = np.uint64(ids[q])
                bucket = bucket_of({priority_u}, base, inverse_width)
                if bucket > current:
                    v = u
                    {wait}
                elif bucket == current:
                    {at_sender}
                    num_done += 1
                    {push_rows}
            if own:
                after = following[blk]
                following[blk], free, blk = free, blk, after
        for i in range(num_buckets):
            if count[(np.uint64(current) + np.uint64(i)) & mask] > np.uint64(0):
                fetch_min(shared, coming + NEXT, current + i)
                break
        fetch_add(shared, slot + VERTICES, num_done)
        fetch_add(shared, slot + EDGES, num_edges)
        if rank == 0:
            shared[slot + HALT] = load(shared, STOP) + load(shared, GAVE_UP)
        meeting = meet(shared, meeting, size)
        following_bucket = shared[coming + NEXT]
        if rank == 0:
            row = min(turn, rows.shape[0] - 1)
            rows[row, 1] += shared[slot + VERTICES]
            rows[row, 2] += shared[slot + EDGES]
            times[row + 1] = ticks()
            store(shared, DONE, turn + 1)
        if following_bucket == LAST or shared[slot + HALT] != 0:
            break
        here = np.uint64(following_bucket) & mask
        waiting = count[here]
        if waiting > np.uint64(0):
            place = fetch_add(shared, coming + TAIL, np.int64(waiting))
            filled = waiting & IN_BLOCK
            if filled == np.uint64(0):
                filled = BLOCK
            blk = head[here]
            while blk != NONE:
                if place + np.int64(filled) <= capacity:
                    for i in range(filled):
                        queue[place + np.int64(i)] = pool[(blk << LOG_BLOCK) + i]
                else:
                    shared[GAVE_UP] = 1
                place += np.int64(filled)
                after = following[blk]
                following[blk], free, blk = free, blk, after
                filled = BLOCK
            head[here], count[here] = NONE, np.uint64(0)
        meeting = meet(shared, meeting, size)
        if rank == 0:
            for word in range(SLOT):
                shared[slot + word] = 0
            shared[slot + NEXT] = LAST
        current, turn = following_bucket, turn + 1
'''

_WAIT = """
spot = np.uint64(bucket - current)
place = (np.uint64(current) + (spot if spot < mask else mask - ONE)) & mask
held = count[place]
if held & IN_BLOCK != np.uint64(0):
    new_block = head[place]
elif free != NONE:
    new_block, free = free, following[free]
    following[new_block], head[place] = head[place], new_block
elif fresh < num_blocks:
    new_block, fresh = fresh, fresh + ONE
    following[new_block], head[place] = head[place], new_block
else:
    new_block = NONE
if new_block != NONE:
    pool[(new_block << LOG_BLOCK) + (held & IN_BLOCK)] = v
    count[place] = held + ONE
else:
    shared[GAVE_UP] = 1
"""

_PUSH_ROW = """
num_edges += np.int64(push_offsets{side}[u + ONE] - push_offsets{side}[u])
for e in range(push_offsets{side}[u], push_offsets{side}[u + ONE]):
    v = np.uint64(push_neighbors{side}[e])
    m = Message({message})
    old = F_{main}[v]
    new = Value({reduce}(old, m))
    while differs(old, new):
        if compare_swap(F_{main}, v, old, new):
            bucket = bucket_of({priority}, base, inverse_width)
            if bucket >= current:
                {wait}
            else:
                shared[GAVE_UP] = 1
            break
        old = load(F_{main}, v)
        new = Value({reduce}(old, m))
"""


def is_ordered(program: KernelProgram) -> bool:
    """Say whether this kernel can run a program."""
    needs = {*program.field_dtypes, *program.edge_arrays, "weight", "source"}
    is_extreme = program.reduce in ("min", "max") and program.message_dtype.kind != "b"
    takes_one = program.updated == (program.main_field,) and set(program.parameters["message"]) <= needs
    return "priority" in program.functions and is_extreme and takes_one and program.takes_over


def num_blocks_for(room: int) -> int:
    """Return how many blocks a thread has for `room` waiting vertices: a started one for every bucket, and some."""
    return room // BLOCK + NUM_BUCKETS + 64


class OrderedRun:
    """A kernel on one graph, from a set of active vertices to the fixed point; the main field is written in place."""

    def __init__(
        self, program: KernelProgram, sides: list[Side], fields: dict[str, Array], front: Array, width: float
    ) -> None:
        self._worker = load_kernel(HEAD + _write_text(program, len(sides))).worker
        num_arcs, num_vertices = sum(side.rows[1].size for side in sides), sides[0].rows[0].size - 1
        self._size = team_size(num_arcs + num_vertices)
        room = num_arcs + num_vertices
        num_blocks = num_blocks_for(room)
        rows = [array for side in sides for array in side.arrays(program)]
        ids = rows[1].dtype  # type: ignore[union-attr]
        buckets = [np.empty((self._size, NUM_BUCKETS), np.uint64) for _ in range(2)]
        chains = np.empty((self._size, num_blocks), np.uint64), np.empty((self._size, num_blocks * BLOCK), ids)
        self._scratch = (np.empty(room, ids), *buckets, *chains)
        self._arrays = (*fields.values(), *rows, *program.constants.values())
        self._base, self._inverse_width = _base(program, fields, front), 1.0 / width
        self._front = front.astype(ids)
        nothing = (self._front[:0], np.zeros((1, 3), np.int64), np.zeros(2, np.int64))
        compile_worker(self._worker, [*self._arguments(*nothing)])

    def run(self, look: Callable[[int], None] | None = None) -> tuple[Array, Array, bool, bool]:
        """Run; return a row (0, vertices, edges) and the ticks of every round, if it was interrupted, if it gave up."""
        watch, interrupted = Watch(look), False
        rows, times = np.zeros((ROWS, 3), np.int64), np.zeros(ROWS + 1, np.int64)
        try:
            watch.run(self._worker, self._size, *self._arguments(self._front, rows, times))
        except KeyboardInterrupt:
            interrupted = True
        done = min(int(watch.shared[DONE]), ROWS)
        return rows[:done], np.diff(times[: done + 1]), interrupted, bool(watch.shared[GAVE_UP])

    def _arguments(self, front: Array, rows: Array, times: Array) -> tuple[Any, ...]:
        return (self._base, self._inverse_width, front, *self._scratch, rows, times, *self._arrays)


def _base(program: KernelProgram, fields: dict[str, Array], front: Array) -> float:
    """Return the most urgent priority that is finite, 0 if there is none."""
    arguments = {name: fields[name][front] for name in program.parameters["priority"]}
    priorities = np.asarray(program.functions["priority"](**arguments), np.float64)
    return float(priorities[np.isfinite(priorities)].min(initial=np.inf) if np.isfinite(priorities).any() else 0.0)


def _write_text(program: KernelProgram, num_sides: int) -> str:
    main, reduce = program.main_field, {"min": "minimum", "max": "maximum"}[program.reduce]
    sent = sender_names(program)
    at_v = {name: f"F_{name}[v]" for name in program.field_dtypes} | {main: "new"}
    wait = _WAIT.strip("\n")

    def push_row(side: int) -> str:
        names = {"source": "np.int64(u)", "weight": "1", **sent}
        names |= {name: f"push_{name}{side}[e]" for name in program.edge_arrays}
        return _PUSH_ROW.format(
            side=side,
            main=main,
            reduce=reduce,
            message=program.text_of_call("message", names),
            priority=program.text_of_call("priority", at_v),
            wait=block(wait, 4),
        ).strip("\n")

    rows = [
        f"push_{part}{side}" for side in range(num_sides) for part in ("offsets", "neighbors", *program.edge_arrays)
    ]
    read_first = [(f"F_{name}", "v") for name in dict.fromkeys((main, *sent))]
    read_first += [(f"push_offsets{side}", "v") for side in range(num_sides)]
    read_then = [
        (f"push_{part}{side}", f"push_offsets{side}[v]")
        for side in range(num_sides)
        for part in ("neighbors", *program.edge_arrays)
    ]
    return _TEXT.format(
        types=type_lines(Value=program.field_dtypes[main], Message=program.message_dtype),
        functions=program.text_of_functions(("message", "priority")),
        arrays=listed([*(f"F_{name}" for name in program.field_dtypes), *rows]),
        constants=listed(program.constants),
        priority_u=program.text_of_call("priority", {name: f"F_{name}[u]" for name in program.field_dtypes}),
        wait=block(wait, 5),
        ask_far=block(_asks(read_first), 5),
        ask_soon=block(_asks(read_then), 5),
        at_sender=block("\n".join(f"{local} = F_{name}[u]" for name, local in sent.items()), 5),
        push_rows=block("\n".join(push_row(side) for side in range(num_sides)), 5),
    )


def _asks(places: list[tuple[str, str]]) -> str:
    """Return lines that ask for memory: (array, index) each."""
    return "\n".join(f"prefetch({array}, {index})" for array, index in places)
