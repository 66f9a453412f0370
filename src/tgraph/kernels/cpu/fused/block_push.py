"""The kernel for monotonic programs whose edges come in blocks: active vertices of a block send to their neighbours.

A program qualifies if it is monotonic, `update` takes over what the reduction gives (min, max or any), and a message
needs nothing of its receiver. Then a message may arrive early or twice, and values are changed in place, by
compare-and-swap and only for the better: the fixed point does not depend on order or threads. Who became active while
earlier blocks were computed sends in the same iteration, if its own block is still to come.

Memory beside the fields: two bytes per vertex, who is active now and who is next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.kernels.cpu.fused.frontier import sender_names
from tgraph.kernels.cpu.fused.pieces import HEAD, KernelProgram, block, listed, type_lines
from tgraph.kernels.cpu.fused.source import compile_worker, load_kernel
from tgraph.kernels.cpu.team import JIT, as_unsigned, team_size
from tgraph.kernels.cpu.watch import Watch
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
        for u in range(first, min(first + np.uint64(CHUNK), last_row)):
            if not active[u]:
                continue
            {at_sender}
            for e in range(max(offsets[u], first_edge) - first_edge, min(offsets[u + ONE], last_edge) - first_edge):
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
    needs = {*program.field_dtypes, "weight", "source"}
    is_extreme = program.reduce in ("min", "max") and program.message_dtype.kind != "b"
    takes_one = program.updated == (program.main_field,) and set(program.parameters["message"]) <= needs
    return is_extreme and takes_one and program.takes_over and not program.edge_names


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
        self._worker = load_kernel(_write_text(program)).push
        self._program, self._offsets = program, as_unsigned(offsets)
        self._fields = (*fields.values(), *program.constants.values())
        self.active, self._coming = active, np.zeros(offsets.size - 1, np.bool_)
        compile_worker(self._worker, *self._arguments(Block(0, 0, 0, 0), *no_edges))

    @staticmethod
    def scratch_bytes(num_vertices: int) -> int:
        """Return how many bytes beside the fields such a run will hold."""
        return 2 * num_vertices

    def push(self, block: Block, neighbors: Array, weights: Array | None) -> None:
        """Let the active vertices of one block send."""
        Watch().run(self._worker, team_size(block.num_edges), *self._arguments(block, neighbors, weights))

    def end(self) -> None:
        """End an iteration: who received something better is active in the next one."""
        self.active, self._coming = self._coming, self.active
        self._coming[:] = False

    def count_active(self, blocks: list[Block]) -> tuple[Array, Array]:
        """Return the numbers of active vertices and of their edges in every block."""
        bounds = np.array([(b.first_row, b.last_row, b.first_edge, b.last_edge) for b in blocks], np.uint64)
        return _count_active(self.active, self._offsets, bounds.reshape(-1, 4))

    def _arguments(self, block: Block, neighbors: Array, weights: Array | None) -> tuple[Any, ...]:
        bounds = [np.uint64(n) for n in (block.first_row, block.last_row, block.first_edge, block.last_edge)]
        edges = (as_unsigned(neighbors), *([weights] if self._program.weighted else []))
        return (*bounds, block.is_whole, self.active, self._coming, self._offsets, *edges, *self._fields)


@njit(**JIT)
def _count_active(active, offsets, bounds):
    """Count the active vertices of every block and those of their edges that lie in it."""
    vertices, edges = np.zeros(bounds.shape[0], np.int64), np.zeros(bounds.shape[0], np.int64)
    for i in range(bounds.shape[0]):
        for u in range(bounds[i, 0], bounds[i, 1]):
            if active[u]:
                vertices[i] += 1
                edges[i] += np.int64(min(offsets[u + np.uint64(1)], bounds[i, 3]) - max(offsets[u], bounds[i, 2]))
    return vertices, edges


def _write_text(program: KernelProgram) -> str:
    main, sent = program.main_field, sender_names(program)
    names = {"source": "np.int64(u)", "weight": "1", **sent}
    names |= {name: f"{name}[e]" for name in program.edge_arrays}
    return HEAD + _TEXT.format(
        types=type_lines(Value=program.field_dtypes[main], Message=program.message_dtype),
        functions=program.text_of_functions(("message",)),
        edge_arrays=listed(program.edge_arrays),
        fields=listed(f"F_{name}" for name in program.field_dtypes),
        constants=listed(program.constants),
        at_sender=block("\n".join(f"{local} = F_{name}[u]" for name, local in sent.items()) or "pass", 3),
        message=program.text_of_call("message", names),
        reduce={"min": "minimum", "max": "maximum"}[program.reduce],
        main=main,
    )
