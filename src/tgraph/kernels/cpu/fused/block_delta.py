"""The kernel for linear programs whose edges come in blocks: only what changed is sent on.

A vertex has a value and `pending`, what its value is still to change by. It takes that over and sends the message of
the change; a receiver adds to its own `pending` what `update` makes of it (Maiter's accumulation). Where all that is
pending adds up to less than the tolerance, the values are as near to the fixed point as a sweep would say.

Rows go in chunks: all threads take what is pending in a chunk, then each sends to the receivers of its own range, which
are neighbours in every sorted row. No receiver is written by two threads and all arrive in the order of rows, so the
answer does not depend on the number of threads.

Memory beside the fields: a value and a byte per vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.dtypes import reduced_dtype
from tgraph.kernels.cpu.fused.block_push import NO_ROWS, ListedRows, receiver_names
from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.kernels.cpu.watch import brief_team_size, run_briefly
from tgraph.runtime.protocol import Array

CHUNK = 4096  # rows of which all threads take what is pending, before they send it

_TEXT = """
from tgraph.kernels.cpu.pages import add_pages

CHUNK = 4096  # rows of which all threads take what is pending, before they send it
LONG = 64  # a row of so many edges is searched, a shorter one is looked through
AGAIN_PART = 0.1  # of those that sent first: with fewer, the block waits for its next turn

{types}

{functions}

@njit(**JIT)
def take(rank, size, first, last, everything, threshold, rows, taken, pending{fields}):
    begin, end = part(rank, size, np.int64(last - first))
    for i in range(begin, end):
        u = np.uint64(rows[first + np.uint64(i)]) if rows.size else first + np.uint64(i)
        d = F_{main}[u] if everything else pending[u]
        if everything or abs(d) > threshold:
            if not everything:
                pending[u] = Value(0)
                F_{main}[u] += d
            taken[i] = d
        else:
            taken[i] = Value(0)


@njit(**JIT)
def first_from(neighbors, e, end, low):
    if end - e < np.uint64(LONG):
        while e < end and np.uint64(neighbors[e]) < low:
            e += ONE
        return e
    while e < end:
        middle = e + (end - e) // np.uint64(2)
        if np.uint64(neighbors[middle]) < low:
            e = middle + ONE
        else:
            end = middle
    return e


@njit(**JIT)
def push(rank, size, shared, first_row, last_row, first_edge, last_edge, opens, everything, times, threshold, splits,
         taken, sums, rows, counts, starts, weight_starts, pending, offsets, neighbors
         {edge_arrays}{fields}{constants}):
    low, high = splits[rank], splits[rank + 1]
    meeting, sent_first = 1, 0
    for turn in range(times):
        sent = 0
        for first in range(first_row, last_row, np.uint64(CHUNK)):
            last = min(first + np.uint64(CHUNK), last_row)
            meeting = meet(shared, meeting, size)
            if opens:
                take(rank, size, first, last, everything, threshold, rows, taken, pending{fields})
            meeting = meet(shared, meeting, size)
            for i in range(last - first):
                d = taken[i]
                if d == Value(0):
                    continue
                if rows.size:
                    u = np.uint64(rows[first + i])
                    begin = np.uint64(starts[first + i])
                    end = begin + np.uint64(counts[first + i])
                    shift = np.uint64(weight_starts[first + i]) - begin
                else:
                    u = first + i
                    begin = max(offsets[u], first_edge) - first_edge
                    end = min(offsets[u + ONE], last_edge) - first_edge
                    shift = np.uint64(0)
                {at_sender}
                sent += 1
                if rank == 0 and opens:
                    sums[0] += {total}
                    sums[1] += 1.0
                if rank == 0:
                    sums[2] += np.float64(end - begin)
                for e in range(first_from(neighbors, begin, end, low), end):
                    v = np.uint64(neighbors[e])
                    if v >= high:
                        break
                    m = Message({message})
                    pending[v] += Value({received} - {nothing_received})
        sent_first = max(sent, sent_first)
        if sent <= sent_first * AGAIN_PART and turn > 0 or sent == 0:
            break


@njit(**JIT)
def measure(rank, size, shared, first, change_of_total, threshold_part, least, bounds, position, itemsize, joined,
            found, active, pending, offsets{fields}{constants}):
    while True:
        i = fetch_add(shared, 24, 1)
        if i >= bounds.shape[0]:
            break
        amount = 0.0
        for v in range(bounds[i, 0], bounds[i, 1]):
            if first:
                pending[v] += Value({carried} - F_{main}[v])
            elif change_of_total != 0.0:
                pending[v] += Value({carried} - {nothing_received})
            amount += abs(np.float64(pending[v]))
        num_rows = max(np.float64(bounds[i, 1] - bounds[i, 0]), 1.0)
        threshold = max(threshold_part * amount / num_rows, least)
        found[0, i], found[1, i] = amount, threshold
        read_to = np.int64(-1)
        for u in range(bounds[i, 0], bounds[i, 1]):
            begin, end = np.int64(offsets[u]), np.int64(offsets[u + ONE])
            d = pending[u]
            active[u] = begin < end and abs(np.float64(d)) > threshold
            if begin == end and d != Value(0):
                F_{main}[u] += d
                pending[u] = Value(0)
                {at_sender}
                found[6, i] += {total}
            if not active[u]:
                continue
            found[2, i] += 1
            found[3, i] += end - begin
            begin, end = position + begin * itemsize, position + end * itemsize
            requests, num_bytes, read_to = add_pages(begin, end, read_to, joined)
            found[4, i] += requests
            found[5, i] += num_bytes
"""


@dataclass(frozen=True)
class Pending:
    """What waits in the rows of every unit of blocks, `[U]` each."""

    amounts: Array  # of changes, summed
    thresholds: Array  # a vertex is active if it has more to change
    vertices: Array  # that are active
    edges: Array  # of theirs
    requests: Array  # that reading just their rows would take
    page_bytes: Array  # and the bytes of their pages


def can_send_changes(program: KernelProgram) -> bool:
    """Say whether this kernel can run a program that says it is linear."""
    alone = program.main_field not in program.parameters["update"] and program.updated == (program.main_field,)
    needs = {*program.field_dtypes, "weight", "source", *receiver_names(program)}
    is_known = (
        set(program.parameters["message"]) <= needs and not program.edge_names and "change" not in program.functions
    )
    is_float = program.field_dtypes[program.main_field].kind == "f"
    return program.reduce == "sum" and alone and is_known and is_float


class BlockDelta:
    """A linear program on sorted rows whose edges come in blocks; the main field is written in place."""

    def __init__(
        self,
        program: KernelProgram,
        offsets: Array,
        no_edges: tuple[Array, Array | None],
        fields: dict[str, Array],
        pending: Array,
        splits: Array,
    ) -> None:
        self.text = _write_text(program)
        self._module = load_kernel(self.text)
        self._program, self._offsets, self._splits = program, as_unsigned(offsets), splits
        self._fields = (*fields.values(), *program.constants.values())
        self.pending, self.active = pending, np.zeros(offsets.size - 1, np.bool_)
        self._taken = np.zeros(CHUNK, pending.dtype)
        self._sums = np.zeros(3)  # of `total`, vertices, edges
        self.total_change = 0.0  # of `total`, which receivers do not know of yet
        compile_worker(
            self._module.push, self._arguments(Block(0, 0, 0, 0), NO_ROWS, (False, 1, 0.0, splits), *no_edges)
        )
        compile_worker(
            self._module.measure, self._measured(False, (0.0, 0.0), np.empty((0, 2), np.uint64), (0, 4, 0))[0]
        )

    @staticmethod
    def scratch_bytes(program: KernelProgram, num_vertices: int) -> int:
        """Return how many bytes beside the fields such a run will hold."""
        return (program.field_dtypes[program.main_field].itemsize + 1) * num_vertices

    def push(
        self,
        block: Block,
        neighbors: Array,
        weights: Array | None,
        threshold: float = 0.0,
        times: int = 1,
        everything: bool = False,
    ) -> None:
        """Let the vertices of a block that have more than the threshold pending send it, or all send their values.

        They do it several `times` as long as enough of them have more.
        """
        self._send(block, NO_ROWS, neighbors, weights, threshold, everything, times)

    def push_rows(self, rows: ListedRows, neighbors: Array, weights: Array | None) -> None:
        """Let these vertices send what they have pending; their edges lie somewhere in the arrays."""
        self._send(Block(0, rows.rows.size, 0, int(rows.counts.sum())), rows, neighbors, weights)

    def take_sums(self) -> tuple[int, int]:
        """Return how many vertices have sent along how many edges since the last call."""
        self.total_change += float(self._sums[0])
        counts = int(self._sums[1]), int(self._sums[2])
        self._sums[:] = 0.0
        return counts

    def measure(
        self, is_first: bool, threshold: tuple[float, float], rows: Array, place: tuple[int, int, int]
    ) -> Pending:
        """Let everyone know the change of the total, then see what is pending in `rows [U, 2]`, first to last.

        Vertices without edges, which nobody hears from, take over what they have pending. The first time, what came
        along all edges is compared with the values. `threshold` is a part of the mean that is pending in a unit, and
        the least; `place` is where the neighbours lie in the file, the bytes of one, and how far apart two rows may be
        that are read in one request.
        """
        arguments, found = self._measured(is_first, threshold, rows, place)
        run_briefly(self._module.measure, brief_team_size(self.pending.size), arguments)
        self.total_change = float(np.cumsum(found[6])[-1]) if len(rows) else 0.0
        return Pending(*found[:6])

    def _send(
        self,
        block: Block,
        rows: ListedRows,
        neighbors: Array,
        weights: Array | None,
        threshold: float = 0.0,
        everything: bool = False,
        times: int = 1,
    ) -> None:
        size = min(brief_team_size(block.num_edges), self._splits.size - 1)
        splits = self._splits if size == self._splits.size - 1 else self._splits[[0, -1]]
        how = everything, times, threshold, splits
        run_briefly(self._module.push, splits.size - 1, self._arguments(block, rows, how, neighbors, weights))

    def _arguments(
        self, block: Block, rows: ListedRows, how: tuple[Any, ...], neighbors: Array, weights: Array | None
    ) -> list[Any]:
        bounds = [np.uint64(n) for n in (block.first_row, block.last_row, block.first_edge, block.last_edge)]
        edges = (as_unsigned(neighbors), *([weights] if self._program.weighted else []))
        return [
            *(*bounds, block.opens, *how, self._taken, self._sums),
            *(rows.rows, rows.counts, rows.starts, rows.weight_starts, self.pending, self._offsets),
            *(*edges, *self._fields),
        ]

    def _measured(
        self, is_first: bool, threshold: tuple[float, float], rows: Array, place: tuple[int, int, int]
    ) -> tuple[list[Any], Array]:
        found = np.zeros((7, len(rows)))
        return [
            *(is_first, self.total_change, *threshold, rows, *place, found, self.active, self.pending, self._offsets),
            *self._fields,
        ], found


def _write_text(program: KernelProgram) -> str:
    main, sent = program.main_field, [*program.parameters.get("total", ()), *program.sent_fields]
    sent = [name for name in dict.fromkeys(sent) if name in program.field_dtypes]
    local = {name: "d" if name == main else f"s_{name}" for name in sent}
    message = {"source": "np.int64(u)", "weight": "1", **local, **receiver_names(program)}
    if program.weighted:
        message["weight"] = "weight[e + shift]"
    at_receiver = {name: f"F_{name}[v]" for name in program.field_dtypes}
    update = {"incoming": "Acc(m)", "total": "0.0", **at_receiver}
    nothing = {**update, "incoming": "Acc(0)"}
    return HEAD + _TEXT.format(
        types=type_lines(
            Value=program.field_dtypes[main],
            Message=program.message_dtype,
            Acc=reduced_dtype(program.reduce, program.message_dtype),
        ),
        functions=program.text_of_functions(("message", "update", "total")),
        main=main,
        chunk=CHUNK,
        edge_arrays=listed(program.edge_arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        constants=listed(program.constants),
        at_sender="; ".join(f"s_{name} = F_{name}[u]" for name in sent if name != main) or "pass",
        total=program.text_of_call("total", local) if "total" in program.functions else "0.0",
        message=program.text_of_call("message", message),
        received=program.text_of_call("update", update),
        nothing_received=program.text_of_call("update", nothing),
        carried=program.text_of_call("update", {**nothing, "total": "change_of_total"}),
    )
