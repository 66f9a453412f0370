"""The loop of kernels in which only some vertices are active: a queue of them or a bitmap, push or pull.

The text below is the loop that `wave` and `accumulate` fill with what happens at an edge and at a vertex. In push the
threads take pieces of the queue; vertices with very many edges are in a list of their own and shared by all threads.
In pull they take pieces of all vertices and test their neighbours in the bitmap. Counters of three iterations take
turns, so that nobody clears what another still reads; each set is cleared one iteration before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, Side, block, listed
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import as_unsigned, team_size
from tgraph.kernels.cpu.watch import DONE, Watch
from tgraph.runtime.protocol import Array

DIRECTIONS = ("auto", "push", "pull")
COUNT, EDGES, UNEXPLORED, DENSE, QUEUE, BITMAP, HUBS, EARLIER = range(8)  # the state between calls

_TEXT = """
BUFFER = 1024
HUB = np.uint64(1 << 14)  # edges from which a vertex is shared by all threads
SERIAL = 1024  # edges below which one thread is faster than several
WORDS = 16  # of 64 vertices that a thread takes at a time in pull
SIX, LOW = np.uint64(6), np.uint64(63)
STOP, DONE, COUNTERS = 8, 16, 24
TAKE, FOUND, EDGES, NEW_HUBS, HALT, TAKE_AGAIN, TOUCHED, QUEUED, QUEUED_HUBS = 0, 8, 16, 24, 32, 40, 48, 56, 64
SLOT = 72  # words of one iteration's counters
ORDERED = {is_ordered}  # whether the order of messages matters: then one thread sends them

{types}
{functions}

@njit(**JIT)
def empty_buffer(buffer, held, queue, shared, counter):
    place = fetch_add(shared, counter, held)
    for i in range(held):
        queue[place + i] = buffer[i]
    return 0


@njit(**JIT)
def worker(rank, size, shared, limit, direction, state, rows, times, queues, hub_lists, bitmaps{arrays}{constants}):
    num_vertices, num_words = np.int64({main}.size), np.int64(bitmaps.shape[1])
    count, edges, unexplored, dense = state[0], state[1], state[2], state[3] != 0
    queue, new_queue = queues[state[4]], queues[1 - state[4]]
    front, new_front = bitmaps[state[5]], bitmaps[1 - state[5]]
    num_hubs, earlier = state[6], state[7]
    hub_list, new_hub_list = hub_lists[state[4]], hub_lists[1 - state[4]]
    queue_at, front_at = state[4], state[5]
    buffer = np.empty(BUFFER, queue.dtype)
    meeting, iteration, halted = 1, 0, False
    sender, num_senders = (0, 1) if ORDERED else (rank, size)
    if rank == 0:
        times[0] = ticks()
    {begin}
    while iteration < limit and count > 0 and not halted:
        slot = COUNTERS + SLOT * (iteration % 3)
        if rank == 0:
            for word in range(SLOT):
                shared[COUNTERS + SLOT * ((iteration + 1) % 3) + word] = 0
        if direction == 0:
            if dense:
                pulls = count >= earlier or count > num_vertices // 18
            else:
                pulls = {prefers_pull}
        else:
            pulls = direction == 2
        held = 0
        if pulls and not dense:
            first, last = part(rank, size, num_words)
            for word in range(first, last):
                front[word] = 0
            meeting = meet(shared, meeting, size)
            first, last = part(rank, size, count)
            for q in range(first, last):
                u = np.uint64(queue[q])
                fetch_or(front, u >> SIX, ONE << (u & LOW))
            meeting = meet(shared, meeting, size)
        elif dense and not pulls:
            first, last = part(sender, num_senders, num_words if sender == rank else 0)
            for word in range(first, last):
                bits = front[word]
                while bits != np.uint64(0):
                    v = (np.uint64(word) << SIX) + trailing_zeros(bits)
                    bits &= bits - ONE
                    {append_queued}
            held = empty_buffer(buffer, held, new_queue, shared, slot + QUEUED)
            meeting = meet(shared, meeting, size)
            num_hubs = shared[slot + QUEUED_HUBS]
            queue, new_queue, hub_list, new_hub_list = new_queue, queue, new_hub_list, hub_list
            queue_at = 1 - queue_at
        dense = pulls
        if rank == 0:
            rows[iteration, 0], rows[iteration, 1], rows[iteration, 2] = pulls, count, edges
        found, new_edges = np.int64(0), np.int64(0)
        {prepare}
        if dense:
            while True:
                taken = fetch_add(shared, slot + TAKE, WORDS)
                if taken >= num_words:
                    break
                {before_words}
                for word in range(np.uint64(taken), np.uint64(min(taken + WORDS, num_words))):
                    new_bits = np.uint64(0)
                    {pull_word}
                    new_front[word] = new_bits
            fetch_add(shared, slot + FOUND, found)
            {after_pull}
        else:
            chunk = count if edges < SERIAL else max(1, min(512, count // (4 * size)))
            sharing, taken, until = True, np.int64(0), num_hubs
            while sender == rank:
                for q in range(taken, until):
                    u = np.uint64(hub_list[q] if sharing else queue[q])
                    {at_sender}
                    {push_row}
                sharing = False
                taken = fetch_add(shared, slot + TAKE, chunk)
                if taken >= count:
                    break
                until = min(taken + chunk, count)
            {after_push}
            held = empty_buffer(buffer, held, new_queue, shared, slot + FOUND)
        fetch_add(shared, slot + EDGES, new_edges)
        if rank == 0:
            shared[slot + HALT] = load(shared, STOP)
        meeting = meet(shared, meeting, size)
        {finish}
        earlier, count = count, shared[slot + FOUND]
        unexplored, edges = max(unexplored - edges, 0), shared[slot + EDGES]
        if dense:
            front, new_front, front_at = new_front, front, 1 - front_at
        else:
            queue, new_queue, hub_list, new_hub_list = new_queue, queue, new_hub_list, hub_list
            num_hubs, queue_at = shared[slot + NEW_HUBS], 1 - queue_at
        halted = shared[slot + HALT] != 0
        iteration += 1
        if rank == 0:
            times[iteration] = ticks()
            store(shared, DONE, iteration)
    {leave}
    meeting = meet(shared, meeting, size)
    if rank == 0:
        state[0], state[1], state[2], state[3] = count, edges, unexplored, dense
        state[4], state[5], state[6], state[7] = queue_at, front_at, num_hubs, earlier
"""

_EACH_VERTEX = """
for u in range(word << SIX, min((word + ONE) << SIX, np.uint64(num_vertices))):
    {pull_vertex}
"""

_APPEND = """
degree = {degree}
if degree > HUB:
    new_hub_list[fetch_add(shared, slot + {hubs}, 1)] = v
buffer[held] = v
held += 1
if held == BUFFER:
    held = empty_buffer(buffer, held, new_queue, shared, slot + {found})
"""

_PUSH_ROW = """
first_edge, last_edge = push_offsets{side}[u], push_offsets{side}[u + ONE]
if {degree} > HUB:
    share = last_edge - first_edge if sharing else np.uint64(0)
    last_edge = first_edge + share * np.uint64(sender + 1) // np.uint64(num_senders)
    first_edge = first_edge + share * np.uint64(sender) // np.uint64(num_senders)
elif sharing:
    last_edge = first_edge
for e in range(first_edge, last_edge):
    v = np.uint64(push_neighbors{side}[e])
    {at_edge}
"""


@dataclass(frozen=True)
class Pieces:
    """What a kind of kernel puts into the loop; every piece may have several lines."""

    arrays: tuple[str, ...]  # further parameters, before the rows
    types: str
    functions: tuple[str, ...]
    prefers_pull: str
    push_edge: Callable[[int], str]  # by the number of the side: v is the neighbour, u the sender
    pull_word: str  # sets bits of new_bits, and adds to found and new_edges
    begin: str = ""
    prepare: str = ""
    at_sender: str = ""
    before_words: str = ""  # before the words that a thread took in pull
    is_ordered: bool = False
    after_push: str = ""
    after_pull: str = ""
    finish: str = ""
    leave: str = ""


def append(num_sides: int, found: str, hubs: str) -> str:
    """Return the lines that put vertex v into the new queue, of which `found` is the counter's word."""
    return _APPEND.format(degree=degree("v", num_sides), found=found, hubs=hubs)


def each_vertex(pull_vertex: str) -> str:
    """Return the lines that pull for each vertex u of a word."""
    return _EACH_VERTEX.format(pull_vertex=block(pull_vertex, 1))


def degree(vertex: str, num_sides: int) -> str:
    """Return the expression for the number of edges that a vertex sends along."""
    one = "push_offsets{0}[{1} + ONE] - push_offsets{0}[{1}]"
    return "(" + " + ".join(one.format(side, vertex) for side in range(num_sides)) + ")"


def write_text(program: KernelProgram, pieces: Pieces, num_sides: int) -> str:
    """Return the whole text of a kernel."""
    sides = range(num_sides)
    rows = [f"{way}_{part}{side}" for way in ("push", "pull") for side in sides for part in _parts(program)]
    push_row = [
        _PUSH_ROW.format(side=side, at_edge=block(pieces.push_edge(side), 1), degree=degree("u", num_sides)).strip("\n")
        for side in sides
    ]
    text = _TEXT.format(
        types=pieces.types,
        functions=program.text_of_functions(pieces.functions),
        arrays=listed([*pieces.arrays, *(f"F_{name}" for name in program.field_dtypes), *rows]),
        constants=listed(program.constants),
        main=f"F_{program.main_field}",
        append_queued=block(append(num_sides, "QUEUED", "QUEUED_HUBS"), 5),
        push_row=block("\n".join(push_row), 5),
        before_words=block(pieces.before_words, 4),
        pull_word=block(pieces.pull_word, 5),
        prefers_pull=pieces.prefers_pull,
        begin=block(pieces.begin, 1),
        prepare=block(pieces.prepare, 2),
        at_sender=block(pieces.at_sender, 5),
        is_ordered=pieces.is_ordered,
        after_push=block(pieces.after_push, 3),
        after_pull=block(pieces.after_pull, 3),
        finish=block(pieces.finish, 2),
        leave=block(pieces.leave, 1),
    )
    return HEAD + text


def _parts(program: KernelProgram) -> list[str]:
    return ["offsets", "neighbors", *program.edge_arrays]


class TracedFrontier:
    """A kernel that goes on from a frontier, iteration by iteration; `_state` says who is active."""

    _worker: Callable[..., None]
    _size: int
    _state: Array
    _arrays: tuple[Any, ...]
    _constants: tuple[Any, ...]

    @property
    def is_done(self) -> bool:
        """Whether nobody is active any more."""
        return bool(self._state[COUNT] == 0)

    def advance(
        self, limit: int, direction: str, look: Callable[[int], None] | None = None
    ) -> tuple[Array, Array, bool]:
        """Do up to `limit` iterations; return their rows (pulled, vertices, edges), ticks, and if it was interrupted.

        `look(n)` is called now and then while the kernel runs, with the number of iterations done.
        """
        rows, times = traced_rows(limit)
        watch, interrupted = Watch(look), False
        code = DIRECTIONS.index(direction)
        try:
            watch.run(self._worker, self._size, limit, code, self._state, rows, times, *self._arrays, *self._constants)
        except KeyboardInterrupt:
            interrupted = True
        done = int(watch.shared[DONE])
        return rows[:done], np.diff(times[: done + 1]), interrupted


class FrontierRun(TracedFrontier):
    """A kernel on one graph, from an active set until nobody is active; fields are written in place."""

    def __init__(
        self,
        program: KernelProgram,
        pieces: Pieces,
        extra: tuple[Any, ...],
        sides: tuple[list[Side], list[Side]],  # of push and of pull
        fields: dict[str, Array],
        front: Array,  # the vertices that are active first
    ) -> None:
        push, pull = sides
        num_vertices, ids = push[0].rows[0].size - 1, as_unsigned(push[0].rows[1]).dtype
        num_arcs = sum(side.rows[1].size for side in push)
        self._worker = load_kernel(write_text(program, pieces, len(push))).worker
        self._size = team_size(num_arcs + num_vertices)
        self._queues = np.empty((2, num_vertices), ids)
        self._queues[0, : front.size] = front
        degrees = sum((side.rows[0][front + 1] - side.rows[0][front] for side in push), np.zeros(front.size, np.int64))
        hubs = front[degrees > 1 << 14]
        hub_lists = np.empty((2, num_arcs // (1 << 14) + 1), ids)
        hub_lists[0, : hubs.size] = hubs
        self._state = np.array([front.size, degrees.sum(), num_arcs, 0, 0, 0, hubs.size, 0], np.int64)
        bitmaps = np.empty((2, (num_vertices + 63) // 64), np.uint64)
        rows = [array for side in (*push, *pull) for array in side.arrays(program)]
        self._arrays = (self._queues, hub_lists, bitmaps, *extra, *fields.values(), *rows)
        self._constants = tuple(program.constants.values())
        arrays = (self._state, *traced_rows(0), *self._arrays, *self._constants)
        compile_worker(self._worker, [0, 0, *arrays])


def traced_rows(limit: int) -> tuple[Array, Array]:
    """Return room for the row of every iteration and for the ticks around them."""
    return np.zeros((limit, 3), np.int64), np.zeros(limit + 1, np.int64)


def sender_names(program: KernelProgram) -> dict[str, str]:
    """Return what stands for the sender's fields in push, where they are read once per row."""
    return {name: f"sent_{name}" for name in program.field_dtypes if name in program.parameters["message"]}
