"""Graphs that are divided among ranks, whose edges do not fit into a rank's memory: `tgraph.open` in a group.

A rank goes through its rows of the shared file twice, a piece at a time. First it learns which vertices of other ranks
they name, a bit each. Then it writes the rows with local ids to a file of its own, which it streams in every iteration.
That file is where the system has temporary ones (`TMPDIR`), has no name any more once it is written, and so goes with
the process, however that ends. Only a rank that is killed while it writes leaves it behind.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, NoReturn, TypeVar

import numpy as np

from tgraph import runtime as runtimes
from tgraph.budget import Budget, parse_bytes
from tgraph.dtypes import index_dtype
from tgraph.errors import DeclaredGapError, MemoryBudgetError
from tgraph.gaps import check_gap
from tgraph.graph import ShardedGraph
from tgraph.graph.local_rows import RowEnds, StoredRows, find_lent
from tgraph.group import Group
from tgraph.io.shards import RowsInFile, open_parts
from tgraph.io.store import map_parts
from tgraph.kernels.cpu.extremes import extremes
from tgraph.kernels.cpu.id_bits import IdBits
from tgraph.memory.edge_stream import EdgeStream
from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, check_far_offsets, readers_for
from tgraph.memory.link import Link, link_for
from tgraph.runtime import Array

PIECE_PART = 16  # one part in so many of a rank's memory is for the edges of a piece, while rows are made
FEWEST_EDGES, MOST_EDGES = 1 << 12, 1 << 22  # of a piece

Made = TypeVar("Made")


@dataclass(frozen=True)
class FarRows(RowEnds):
    """Rows whose offsets are near and whose edges, with local ids, are in a file of this rank."""

    file: FarFile
    neighbors: FarArray
    weights: FarArray | None
    link: Link
    memory: int  # bytes that a run on this rank may use

    def stream(self, with_weights: bool, budget: Budget) -> EdgeStream:
        """Return the edges, to be cut into blocks; what is near already is taken of the budget."""
        budget.take("ghosts", self.ghosts.nbytes + self.lent.nbytes)
        budget.take("offsets", self.offsets.nbytes)
        arrays = self.neighbors, self.weights if with_weights else None
        return EdgeStream(self.offsets, arrays, budget, "streamed", is_mapped=False)


def open_part(path: str | os.PathLike[str], memory: int | str, group: Group, runtime: str | None) -> ShardedGraph:
    """Return this rank's part of a graph in a native file, whose edges stay in files. All ranks call it."""
    limit, target = parse_bytes("memory", memory), runtimes.get(runtime)
    check_gap("out_of_memory", target.name)
    mapped = map_parts(path, check_far_offsets)

    def make_rows(rows: RowsInFile) -> StoredRows:
        return StoredRows(rows.offsets, _refuse, rows.num_arcs, rows.no_edges, _Maker(rows, limit))

    graph = open_parts(path, mapped, group, make_rows, target, divides_hubs=False)
    known = mapped.weight_range
    if known is None and mapped.rows["out"].weights is not None:
        known = _find_weight_range(RowsInFile(path, "out", mapped.rows["out"], group, graph.bounds))
    object.__setattr__(graph, "_weight_range", known)
    return graph


def agreed(group: Group, make: Callable[[], Made]) -> Made:
    """Return what a rank makes, unless memory is too small on any of them: then all raise. All ranks call it."""
    failure: MemoryBudgetError | None = None
    try:
        made = make()
    except MemoryBudgetError as error:
        failure = error
    too_small = np.flatnonzero(group.share(np.array([failure is not None]))[:, 0])
    if failure is not None:
        raise MemoryBudgetError(f"rank {group.rank}: {failure}") from failure
    if too_small.size:
        raise MemoryBudgetError(f"memory= is too small on rank {too_small[0]}, which says how much it needs")
    return made


def _refuse() -> NoReturn:
    raise DeclaredGapError(
        "this needs the edges of a rank in its memory, and the graph was opened with memory=, so that they stay in "
        "files: only sweeps, monotonic programs and wcc run there; read the graph with tgraph.read"
    )


class _Maker:
    """Makes a rank's rows when they are first asked for, and keeps them."""

    def __init__(self, rows: RowsInFile, memory: int) -> None:
        self._rows, self._memory = rows, memory
        self._made: FarRows | None = None

    def __call__(self, near_bytes: int) -> FarRows:
        if self._made is None:
            self._made = self._make(near_bytes)
        return self._made

    def _make(self, near_bytes: int) -> FarRows:
        rows, group, bounds = self._rows, self._rows.group, self._rows.bounds
        first, num_own = int(bounds[group.rank]), int(bounds[group.rank + 1] - bounds[group.rank])
        num_vertices = int(bounds[-1])
        budget = Budget(self._memory)
        agreed(group, lambda: _take(budget, near_bytes, num_own, num_vertices))
        per_edge = 2 * rows.no_edges[0].itemsize + index_dtype(num_vertices).itemsize
        piece = min(max(self._memory // PIECE_PART // per_edge, FEWEST_EDGES), MOST_EDGES)
        bits = IdBits(num_vertices)
        for some in rows.neighbors(piece):
            bits.add(some)
        bits.remove_range(first, first + num_own)
        ghosts = agreed(group, lambda: _listed(bits, num_vertices, budget))
        dtype = index_dtype(num_own + ghosts.size)

        def local_ids() -> Iterator[Array]:
            for some in rows.neighbors(piece):
                new = np.empty(some.size, dtype)
                bits.renumber(some, first, num_own, new)
                yield new

        file, places, link = self._write(dtype, local_ids(), piece)
        ends = find_lent(group, bounds, ghosts)
        made = FarRows(rows.offsets(), *ends, file, *places, link, self._memory)
        weakref.finalize(made, file.close)
        return made

    def _write(
        self, dtype: np.dtype[np.generic], local_ids: Iterator[Array], piece: int
    ) -> tuple[FarFile, tuple[FarArray, FarArray | None], Link]:
        """Write neighbours and weights to a new file, and open it without its name."""
        with tempfile.NamedTemporaryFile(prefix="tgraph-rows-", delete=False) as target:
            try:
                neighbors = _append(target, dtype, local_ids)
                weights = self._rows.no_edges[1]
                far_weights = None if weights is None else _append(target, weights.dtype, self._rows.weights(piece))
                target.flush()
                os.fsync(target.fileno())
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(target.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                file = FarFile(target.name, requests_in_flight=readers_for(self._memory))
                link = link_for(target.name).with_requests(readers_for(self._memory))
                return file, (neighbors, far_weights), link
            finally:
                os.unlink(target.name)


def _take(budget: Budget, near_bytes: int, num_own: int, num_vertices: int) -> None:
    """Take what making rows needs."""
    budget.take("vertex data", near_bytes)
    budget.take("offsets", (num_own + 1) * 8)
    budget.take("a bit of every vertex", IdBits.bytes_for(num_vertices))
    budget.take("pieces", budget.limit // PIECE_PART)


def _listed(bits: IdBits, num_vertices: int, budget: Budget) -> Array:
    """Return the ids in a set of vertices of other ranks."""
    dtype = index_dtype(num_vertices)
    budget.take("ghosts", bits.count * dtype.itemsize)
    return bits.listed(dtype)


def _append(target: IO[bytes], dtype: np.dtype[np.generic], pieces: Iterator[Array]) -> FarArray:
    """Write an array at the next aligned place of a file."""
    position, size = -(-target.tell() // ALIGNMENT) * ALIGNMENT, 0
    target.seek(position)
    for piece in pieces:
        target.write(piece.data)
        size += piece.size
    return FarArray(position, dtype, size)


def _find_weight_range(rows: RowsInFile) -> tuple[float, float, int]:
    """Return the smallest weight of all ranks, the largest, and how many are NaN, for a file that does not say."""
    found = np.array([(*extremes(piece), 1) for piece in rows.weights()], np.float64).reshape(-1, 4)
    low, high = found[:, 0].min(initial=np.inf), found[:, 1].max(initial=-np.inf)
    shared = rows.group.share(np.array([low, high, found[:, 2].sum(), found[:, 3].sum()]))
    if not shared[:, 3].any():
        return 1, 1, 0
    return float(shared[:, 0].min()), float(shared[:, 1].max()), int(shared[:, 2].sum())
