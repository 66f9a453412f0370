"""The kernel for monotonic programs whose edges come in blocks: active vertices of a block send to their neighbours.

A program qualifies if it is monotonic, `update` takes over what the reduction gives (min or max), and a message needs
nothing of its receiver that changes. Then a message may arrive early or twice, and values are changed in place, by
compare-and-swap and only for the better: the fixed point does not depend on order or threads. Who became active while
earlier blocks were computed sends in the same iteration, if its own block is still to come.

Memory beside the fields: two bytes per vertex, who is active now and who is next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.kernels.cpu.fused.frontier import sender_names
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.pages import add_pages
from tgraph.kernels.cpu.team import JIT, as_unsigned
from tgraph.kernels.cpu.watch import COUNTERS, brief_team_size, run_briefly
from tgraph.runtime.protocol import Array

_TEXT = """
CHUNK = 256  # rows taken at a time

{types}

{functions}

@njit(**JIT)
def push(rank, size, shared, first_row, last_row, first_edge, last_edge, takes_more, active, coming, offsets, neighbors
         {edge_arrays}{fields}{constants}):
    if takes_more:
        begin, end = part(rank, size, np.int64(last_row - first_row))
        for u in range(first_row + np.uint64(begin), first_row + np.uint64(end)):
            if coming[u]:
                active[u], coming[u] = True, False
    meet(shared, 1, size)
    while True:
        first = first_row + np.uint64(fetch_add(shared, 24, CHUNK))
        if first >= last_row:
            break
        sent, followed = 0, 0
        for u in range(first, min(first + np.uint64(CHUNK), last_row)):
            if not active[u]:
                continue
            {at_sender}
            begin, end = max(offsets[u], first_edge) - first_edge, min(offsets[u + ONE], last_edge) - first_edge
            for e in range(begin, end):
                {send}
            if takes_more:
                active[u] = False
            sent += 1 if first_edge <= offsets[u] else 0
            followed += np.int64(end - begin)
        fetch_add(shared, 32, sent)
        fetch_add(shared, 40, followed)


@njit(**JIT)
def push_listed(rank, size, shared, rows, counts, starts, weight_starts, coming, neighbors
                {edge_arrays}{fields}{constants}):
    chunk = max(1, min(CHUNK, rows.size // (4 * size)))
    while True:
        first = fetch_add(shared, 24, chunk)
        if first >= rows.size:
            break
        for i in range(first, min(first + chunk, rows.size)):
            u = np.uint64(rows[i])
            {at_sender}
            for k in range(counts[i]):
                e = starts[i] + k
                {send_listed}
"""

_SEND = """
v = np.uint64(neighbors[e])
m = Message({message})
old = F_{main}[v]
new = Value({reduce}(old, m))
while differs(old, new):
    if compare_swap(F_{main}, v, old, new):
        coming[v] = True
        break
    old = load(F_{main}, v)
    new = Value({reduce}(old, m))
"""


def can_push_blocks(program: KernelProgram) -> bool:
    """Say whether this kernel can run a program that is monotonic."""
    needs = {*program.field_dtypes, "weight", "source", *receiver_names(program)}
    is_extreme = program.reduce in ("min", "max") and program.message_dtype.kind != "b"
    takes_one = program.updated == (program.main_field,) and set(program.parameters["message"]) <= needs
    return is_extreme and takes_one and program.takes_over and not program.edge_names


@dataclass(frozen=True)
class ListedRows:
    """Rows whose edges lie anywhere in some arrays."""

    rows: Array  # [R] vertices
    counts: Array  # [R] edges
    starts: Array  # [R] where the neighbours of each begin
    weight_starts: Array  # [R] and its weights


@dataclass(frozen=True)
class MarkedRows:
    """What the marked vertices of every block would take, `[B]` each."""

    vertices: Array
    edges: Array
    requests: Array  # of consecutive pages
    page_bytes: Array

    @property
    def num_vertices(self) -> int:
        """Those of all blocks; a vertex counts where its row begins."""
        return int(self.vertices.sum())

    @property
    def num_edges(self) -> int:
        """Their edges in all blocks."""
        return int(self.edges.sum())


NO_ROWS = ListedRows(*(np.empty(0, np.int64) for _ in range(4)))


class BlockPush:
    """A monotonic program on rows whose edges come in blocks; the main field is written in place."""

    def __init__(
        self,
        program: KernelProgram,
        offsets: Array,
        no_edges: tuple[Array, Array | None],
        fields: dict[str, Array],
        active: Array,
    ) -> None:
        """Fields and `active` may be longer than the rows: the vertices behind them receive and do not send."""
        self.text = _write_text(program)
        self._module = load_kernel(self.text)
        self._program, self._offsets = program, as_unsigned(offsets)
        self._fields = (*fields.values(), *program.constants.values())
        self.active, self.coming = active, np.zeros(active.size, np.bool_)
        self._sent = np.zeros(2, np.int64)  # vertices, edges
        compile_worker(self._module.push, self._arguments(Block(0, 0, 0, 0), *no_edges))
        compile_worker(self._module.push_listed, self._listed(NO_ROWS, *no_edges))

    @staticmethod
    def scratch_bytes(num_vertices: int) -> int:
        """Return how many bytes beside the fields such a run will hold."""
        return 2 * num_vertices

    def push(self, block: Block, neighbors: Array, weights: Array | None) -> int:
        """Let the active vertices of one block send; return how many these are. They are not active then."""
        arguments = self._arguments(block, neighbors, weights)
        shared = run_briefly(self._module.push, brief_team_size(block.num_edges), arguments)
        sent = int(shared[COUNTERS + 8])
        self._sent += sent, shared[COUNTERS + 16]
        return sent

    def num_coming(self, block: Block) -> int:
        """Return how many vertices of a block will be active, as far as it is known."""
        return int(np.count_nonzero(self.coming[block.first_row : block.last_row]))

    def push_rows(self, rows: ListedRows, neighbors: Array, weights: Array | None) -> None:
        """Let these vertices send; their edges lie somewhere in the arrays."""
        num_edges = int(rows.counts.sum())
        run_briefly(self._module.push_listed, brief_team_size(num_edges), self._listed(rows, neighbors, weights))
        self._sent += rows.rows.size, num_edges

    def end(self) -> tuple[int, int]:
        """End an iteration: who received something better is active in the next one.

        Returns how many vertices have sent along how many edges.
        """
        vertices, edges = self._sent.tolist()
        self._sent[:] = 0
        self.active, self.coming = self.coming, self.active
        self.coming[:] = False
        return vertices, edges

    def count(self, marks: Array, blocks: list[Block], position: int, itemsize: int, joined: int) -> MarkedRows:
        """Count the marked vertices of every block, their edges, and what reading just their rows would take.

        Neighbours begin at byte `position` of a file; rows less than `joined` bytes apart are one request.
        """
        bounds = np.array([(b.first_row, b.last_row, b.first_edge, b.last_edge) for b in blocks], np.uint64)
        return MarkedRows(*_count_marked(marks, self._offsets, bounds.reshape(-1, 4), position, itemsize, joined))

    def _arguments(self, block: Block, neighbors: Array, weights: Array | None) -> list[Any]:
        bounds = [np.uint64(n) for n in (block.first_row, block.last_row, block.first_edge, block.last_edge)]
        edges = (as_unsigned(neighbors), *([weights] if self._program.weighted else []))
        return [*bounds, block.is_whole, self.active, self.coming, self._offsets, *edges, *self._fields]

    def _listed(self, rows: ListedRows, neighbors: Array, weights: Array | None) -> list[Any]:
        edges = (as_unsigned(neighbors), *([weights] if self._program.weighted else []))
        places = (rows.rows, rows.counts, rows.starts, rows.weight_starts)
        return [*places, self.coming, *edges, *self._fields]


@njit(**JIT)
def _count_marked(marks, offsets, bounds, position, itemsize, joined):
    """Return for every block: marked vertices, those of their edges that lie in it, requests, bytes of their pages."""
    counts = np.zeros((4, bounds.shape[0]), np.int64)
    for i in range(bounds.shape[0]):
        read_to = np.int64(-1)
        for u in range(bounds[i, 0], bounds[i, 1]):
            if not marks[u]:
                continue
            first = np.int64(max(offsets[u], bounds[i, 2]))
            last = np.int64(min(offsets[u + np.uint64(1)], bounds[i, 3]))
            counts[0, i] += 1 if bounds[i, 2] <= offsets[u] else 0
            counts[1, i] += last - first
            if first == last:
                continue
            begin, end = position + first * itemsize, position + last * itemsize
            requests, num_bytes, read_to = add_pages(begin, end, read_to, joined)
            counts[2, i] += requests
            counts[3, i] += num_bytes
    return counts[0], counts[1], counts[2], counts[3]


def receiver_names(program: KernelProgram) -> dict[str, str]:
    """Return what stands for the receiver's fields; the main one is not among them, for others change it meanwhile."""
    return {f"target_{name}": f"F_{name}[v]" for name in program.field_dtypes if name != program.main_field}


def _write_text(program: KernelProgram) -> str:
    main, sent = program.main_field, sender_names(program)
    names = {"source": "np.int64(u)", "weight": "1", **sent}
    names |= {name: f"{name}[e]" for name in program.edge_arrays} | receiver_names(program)
    reduce = {"min": "minimum", "max": "maximum"}[program.reduce]
    send = _SEND.format(message=program.text_of_call("message", names), main=main, reduce=reduce)
    names |= {"weight": "weight[weight_starts[i] + k]"} if program.weighted else {}
    send_listed = _SEND.format(message=program.text_of_call("message", names), main=main, reduce=reduce)
    return HEAD + _TEXT.format(
        types=type_lines(Value=program.field_dtypes[main], Message=program.message_dtype),
        functions=program.text_of_functions(("message",)),
        edge_arrays=listed(program.edge_arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        constants=listed(program.constants),
        at_sender=block("\n".join(f"{local} = F_{name}[u]" for name, local in sent.items()) or "pass", 3),
        send=block(send, 4),
        send_listed=block(send_listed, 4),
    )
