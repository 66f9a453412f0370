"""Edges in runs on disk, one per range of rows, and from runs to compressed rows: an external sort in two steps."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tgraph.budget import Budget, format_bytes
from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError, MemoryBudgetError
from tgraph.io.coded_store import CODED_DTYPE, check_can_be_coded
from tgraph.io.files import write_array
from tgraph.kernels.cpu.coded_ids import FRAME_IDS, PADDING_BYTES, encode_ids
from tgraph.kernels.cpu.csr import count_self_loops, merge_duplicates
from tgraph.kernels.cpu.extremes import extremes
from tgraph.kernels.cpu.partition import Edges, group_edges
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.memory.vertex_numbers import Parts
from tgraph.runtime import Array

NumberedEdges: TypeAlias = tuple[Array, Array, "Array | None"]  # sources, targets, weights

CODING_BYTES = 16  # of memory for a neighbour that is coded: the id, and its bytes twice
MOST_CODED = 1 << 22  # at a time
RUNS = 256  # that rows are cut into at a time
SORTING_COPIES = 5  # of a run's bytes that sorting it needs in memory
SPILL_COPIES = 4  # of an edge's record while it is put into its run
SPILL_BYTES = 40  # of an edge beside that: its place and the order of places


@dataclass
class Run:
    """The edges of some rows, as records in a file, in the order in which they came."""

    path: Path
    first_row: int
    last_row: int  # not included
    num_edges: int = 0


@dataclass
class Side:
    """One direction: runs, and then the parts of the file."""

    folder: Path
    runs: list[Run] = field(default_factory=list)
    num_arcs: int = 0
    num_loops: int = 0
    num_merged: int = 0  # edges that repeated another one
    weight_range: tuple[Any, Any, int] | None = None  # the smallest, the largest, how many are NaN
    dtypes: dict[str, np.dtype[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir()

    def parts(self, neighbors: str, weights: str) -> Parts:
        """Return the parts of a native file; neighbours and weights under these names."""
        own = {kind: f"{self.folder.name}_{kind}" for kind in self.dtypes}
        names = {**own, "neighbors": neighbors, "weights": weights}
        return {names[kind]: (self.folder / kind, dtype) for kind, dtype in self.dtypes.items()}

    def code_neighbors(self, room_bytes: int, keeps_plain: bool) -> None:
        """Write the neighbours coded, beside the ids or instead of them, with so many bytes of memory."""
        check_can_be_coded(self.dtypes["neighbors"])
        step = max(min(room_bytes // CODING_BYTES, MOST_CODED) // FRAME_IDS, 1) * FRAME_IDS
        names, done = ("neighbors", "coded", "frames"), 0
        with ExitStack() as stack:
            modes = zip(names, ("rb", "wb", "wb"), strict=True)
            plain, coded, frames = (stack.enter_context((self.folder / name).open(mode)) for name, mode in modes)
            write_array(frames, np.zeros(1, np.int64))
            while (ids := np.fromfile(plain, CODED_DTYPE, step)).size:
                content, begins = encode_ids(ids)
                write_array(coded, content)
                write_array(frames, begins[1:] + done)
                done += content.size
            write_array(coded, np.zeros(PADDING_BYTES, np.uint8))
        self.dtypes |= {"coded": np.dtype(np.uint8), "frames": np.dtype(np.int64)}
        if not keeps_plain:
            del self.dtypes["neighbors"]
            (self.folder / "neighbors").unlink()


class ExternalSort:
    """The settings of one build, and its two steps."""

    def __init__(
        self,
        num_vertices: int,
        weight_dtype: np.dtype[Any] | None,
        budget: Budget,
        *,
        directed: bool,
        duplicates: str,
        self_loops: str,
    ) -> None:
        self._count, self._budget, self._directed = num_vertices, budget, directed
        self._duplicates, self._self_loops = duplicates, self_loops
        self._ids = index_dtype(num_vertices)
        columns: list[tuple[str, Any]] = [("key", self._ids), ("neighbor", self._ids)]
        self._record = np.dtype(columns if weight_dtype is None else [*columns, ("weight", weight_dtype)])
        self._weights = weight_dtype

    def spill(self, chunks: Iterable[NumberedEdges], sides: dict[str, Side]) -> None:
        """Put the edges of all chunks into runs, as many at a time as there is memory for."""
        done = 0
        writers = {name: _Writer(side.folder, 0, self._count) for name, side in sides.items()}
        bytes_per_edge = (SPILL_COPIES * self._record.itemsize + SPILL_BYTES) * (1 if self._directed else 2)
        for sources, targets, weights in chunks:
            step = max(self._budget.free // 2 // bytes_per_edge, 1)
            for first in range(0, sources.size, step):
                some = slice(first, first + step)
                piece = sources[some], targets[some], None if weights is None else weights[some]
                self._spill_some(piece, done + first, writers)
            done += sources.size
        for name, side in sides.items():
            side.runs = writers[name].runs

    def _spill_some(self, edges: NumberedEdges, first: int, writers: dict[str, _Writer]) -> None:
        sources, targets, weights = self._apply_self_loops(edges, first)
        if not self._directed:
            sources, targets, weights = _both_ways(sources, targets, weights)
        for name, writer in writers.items():
            keys, neighbors = (sources, targets) if name == "out" else (targets, sources)
            writer.add(self._records(keys, neighbors, weights))

    def _apply_self_loops(self, edges: NumberedEdges, first: int) -> NumberedEdges:
        if self._self_loops == "keep":
            return edges
        sources, targets, weights = edges
        kept = sources != targets
        if self._self_loops == "error" and not kept.all():
            position = first + int(np.argmin(kept))
            raise InvalidArgumentError(f"edge {position} is a self-loop and self_loops='error'; use 'keep' or 'drop'")
        return sources[kept], targets[kept], None if weights is None else weights[kept]

    def _records(self, keys: Array, neighbors: Array, weights: Array | None) -> Array:
        records = np.empty(keys.size, self._record)
        records["key"], records["neighbor"] = keys, neighbors
        if weights is not None:
            records["weight"] = weights
        return records

    def sort(self, side: Side) -> Iterable[int]:
        """Write offsets, neighbours and weights of one direction, run by run; yield how many rows are done."""
        offsets = np.zeros(self._count + 1, np.int64)
        waiting = side.runs[::-1]
        with (side.folder / "neighbors").open("wb") as neighbors, (side.folder / "weights").open("wb") as weights:
            while waiting:
                run = waiting.pop()
                if self._sorting_bytes(run) > self._budget.free:
                    waiting.extend(self._cut(run)[::-1])
                    continue
                rows = self._sorted_rows(run, side)
                offsets[run.first_row + 1 : run.last_row + 1] = rows[0][1:] + side.num_arcs
                side.num_arcs += rows[1].size
                write_array(neighbors, rows[1])
                if rows[2] is not None:
                    write_array(weights, rows[2])
                run.path.unlink(missing_ok=True)
                yield run.last_row
        with (side.folder / "offsets").open("wb") as file:
            write_array(file, offsets)
        side.dtypes = {"offsets": offsets.dtype, "neighbors": self._ids}
        if self._weights is not None:
            side.dtypes["weights"] = self._weights

    def _sorting_bytes(self, run: Run) -> int:
        return run.num_edges * self._record.itemsize * SORTING_COPIES

    def _sorted_rows(self, run: Run, side: Side) -> tuple[Array, Array, Array | None]:
        records = np.fromfile(run.path, self._record) if run.num_edges else np.empty(0, self._record)
        keys = as_unsigned(records["key"] - self._ids.type(run.first_row))
        weights = None if self._weights is None else np.ascontiguousarray(records["weight"])
        edges = Edges(keys, as_unsigned(np.ascontiguousarray(records["neighbor"])), None, weights)
        del records
        rows = group_edges(edges, run.last_row - run.first_row, self._count, self._ids, sort=True)
        del edges, keys, weights
        if self._duplicates != "keep":
            num_edges = rows[1].size
            rows = merge_duplicates(*rows, "first" if self._duplicates == "error" else self._duplicates)
            side.num_merged += num_edges - rows[1].size
        if not self._directed:
            side.num_loops += count_self_loops(rows[0], rows[1] - self._ids.type(run.first_row))
        if rows[2] is not None and rows[2].size:
            side.weight_range = _joined_range(side.weight_range, extremes(rows[2]))
        return rows

    def _cut(self, run: Run) -> list[Run]:
        """Divide a run that cannot be sorted in memory among smaller ones."""
        if run.last_row - run.first_row == 1:
            need = self._budget.used + self._sorting_bytes(run)
            raise MemoryBudgetError(
                f"memory={format_bytes(self._budget.limit)} is too small: vertex {run.first_row} has {run.num_edges:,} "
                f"edges; give at least memory={need}"
            )
        writer = _Writer(run.path.parent, run.first_row, run.last_row, run.path.name)
        step = max(self._budget.free // (SPILL_COPIES * self._record.itemsize + SPILL_BYTES), 1)
        with run.path.open("rb") as file:
            while (records := np.fromfile(file, self._record, step)).size:
                writer.add(records)
        run.path.unlink()
        return writer.runs


class _Writer:
    """Appends records to the runs that their rows belong to."""

    def __init__(self, folder: Path, first_row: int, last_row: int, name: str = "run") -> None:
        step = max(-(-(last_row - first_row) // RUNS), 1)
        self._first, self._step = first_row, step
        self.runs = [
            Run(folder / f"{name}-{i}", row, min(row + step, last_row))
            for i, row in enumerate(range(first_row, last_row, step))
        ]

    def add(self, records: Array) -> None:
        places = ((records["key"] - self._first) // self._step).astype(np.uint16)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(self.runs) + 1))
        for run, first, last in zip(self.runs, bounds, bounds[1:], strict=False):
            if last > first:
                with run.path.open("ab") as file:
                    write_array(file, records[order[first:last]])
                run.num_edges += int(last - first)


def _both_ways(sources: Array, targets: Array, weights: Array | None) -> NumberedEdges:
    """Return every edge and, right behind it, the same the other way; a self-loop once."""
    both = np.stack([sources, targets], axis=1), np.stack([targets, sources], axis=1)
    kept = np.ones((sources.size, 2), bool)
    kept[sources == targets, 1] = False
    doubled = None if weights is None else np.repeat(weights, 2)[kept.ravel()]
    return both[0].ravel()[kept.ravel()], both[1].ravel()[kept.ravel()], doubled


def _joined_range(one: tuple[Any, Any, int] | None, other: tuple[Any, Any, int]) -> tuple[Any, Any, int]:
    if one is None:
        return other
    return np.fmin(one[0], other[0]).item(), np.fmax(one[1], other[1]).item(), one[2] + other[2]
