"""A native file from more edges than fit into memory: `tgraph.build_file`.

    chunks of edges ──► runs on disk, one per range of rows ──► sorted in memory, one by one ──► the file
                        (a run that is too large is cut again)

The number of vertices fits into memory, 8 bytes each; edges pass through. Runs and parts of the file are in a folder
beside it and go away at the end, whatever happens; the file appears under its name when it is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError, MemoryBudgetError, check_choice
from tgraph.graph.build import as_weights
from tgraph.graph.random_weights import check_whole
from tgraph.io.files import replacing
from tgraph.io.store import graph_metadata, write_parts
from tgraph.kernels.cpu.csr import count_self_loops, merge_duplicates
from tgraph.kernels.cpu.partition import Edges, group_edges
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.memory.budget import Budget, format_bytes, parse_bytes
from tgraph.runtime import Array

Chunk: TypeAlias = Sequence[Any]  # sources, targets, and weights if there are any
Say: TypeAlias = Callable[[str], None]

RUNS = 256  # that rows are cut into at a time
DUPLICATES = ("keep", "first", "last", "min", "max", "sum")
SELF_LOOPS = ("keep", "drop")
SORTING_COPIES = 4  # of a run's bytes that sorting it needs in memory


def build_file(
    edges: Iterable[Chunk],
    path: str | os.PathLike[str],
    *,
    num_vertices: int,
    memory: int | str = "1GiB",
    directed: bool = True,
    reverse: bool = True,
    duplicates: str = "keep",
    self_loops: str = "keep",
    say: Say = lambda words: None,
) -> None:
    """Write a graph whose edges need not fit into memory as a native file.

    Args:
        edges: Chunks of edges, each `(sources, targets)` or `(sources, targets, weights)`: arrays of vertex numbers
            from 0 to num_vertices - 1 and of weights. They are gone through once; a chunk should be much smaller than
            `memory`.
        path: Where to write; ends in `.safetensors`.
        num_vertices: How many vertices there are, isolated ones included.
        memory: How much to use beside the chunks: bytes, or a text such as `"2GiB"`.
        directed: If False, every edge is stored in both directions (a self-loop once).
        reverse: Also store the incoming edges of a directed graph.
        duplicates: What becomes of edges that occur more than once: `keep` all; keep the `first`, `last`, `min` or
            `max` weight; or `sum` the weights.
        self_loops: `keep` edges from a vertex to itself, or `drop` them.
        say: Called with a line of text now and then.

    >>> import tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_file([([0, 1], [1, 2]), ([2], [0])], folder + "/ring.safetensors", num_vertices=3)
    ...     tg.read(folder + "/ring.safetensors").num_edges
    3
    """
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("self_loops", self_loops, SELF_LOOPS)
    if Path(path).suffix != ".safetensors":
        raise InvalidArgumentError(f"path={os.fspath(path)!r} must end in .safetensors, the native format")
    count = check_whole("num_vertices", num_vertices, 0)
    budget = Budget(parse_bytes("memory", memory))
    budget.take("offsets", 8 * (count + 1))
    build = _Build(count, budget, directed, duplicates, self_loops == "drop", say)
    with replacing(path) as temporary, tempfile.TemporaryDirectory(dir=Path(path).parent, prefix=".tgraph-") as folder:
        sides = {"out": _Side(Path(folder, "out"))}
        if directed and reverse:
            sides["in"] = _Side(Path(folder, "in"))
        build.spill(edges, sides)
        for side in sides.values():
            build.sort(side)
        out = sides["out"]
        num_edges = out.num_arcs if directed else (out.num_arcs + out.num_loops) // 2
        metadata = graph_metadata(directed, num_edges, is_sorted=True)
        parts = {**out.parts("out_offsets", "out_targets", "weights")}
        parts |= sides["in"].parts("in_offsets", "in_sources", "in_weights") if "in" in sides else {}
        say(f"writing {os.fspath(path)}")
        write_parts(temporary, parts, metadata)


@dataclass
class _Run:
    """The edges of some rows, as records in a file, in the order in which they came."""

    path: Path
    first_row: int
    last_row: int  # not included
    num_edges: int = 0


@dataclass
class _Side:
    """One direction: runs, and then the parts of the file."""

    folder: Path
    runs: list[_Run] = field(default_factory=list)
    num_arcs: int = 0
    num_loops: int = 0
    dtypes: dict[str, np.dtype[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir()

    def parts(self, offsets: str, neighbors: str, weights: str) -> dict[str, tuple[Path, np.dtype[Any]]]:
        names = {"offsets": offsets, "neighbors": neighbors, "weights": weights}
        return {names[kind]: (self.folder / kind, dtype) for kind, dtype in self.dtypes.items()}


class _Build:
    """The settings of one call, and its two steps."""

    def __init__(
        self, num_vertices: int, budget: Budget, directed: bool, duplicates: str, drops_loops: bool, say: Say
    ) -> None:
        self._count, self._budget, self._directed, self._say = num_vertices, budget, directed, say
        self._duplicates, self._drops_loops = duplicates, drops_loops
        self._ids = index_dtype(num_vertices)
        self._record: np.dtype[Any] | None = None  # source, target, weight; known from the first chunk

    def spill(self, chunks: Iterable[Chunk], sides: dict[str, _Side]) -> None:
        """Put the edges of all chunks into runs."""
        done = 0
        writers = {name: _Writer(side.folder, 0, self._count) for name, side in sides.items()}
        for number, chunk in enumerate(chunks):
            sources, targets, weights = self._check(chunk, number)
            done += sources.size
            if self._drops_loops:
                kept = sources != targets
                sources, targets = sources[kept], targets[kept]
                weights = None if weights is None else weights[kept]
            if not self._directed:
                sources, targets, weights = _both_ways(sources, targets, weights)
            for name, writer in writers.items():
                keys, neighbors = (sources, targets) if name == "out" else (targets, sources)
                writer.add(self._records(keys, neighbors, weights))
            self._say(f"{done:,} edges taken")
        for name, side in sides.items():
            side.runs = writers[name].runs

    def sort(self, side: _Side) -> None:
        """Write offsets, neighbours and weights of one direction, run by run."""
        record = self._record or self._make_record(None)
        offsets = np.zeros(self._count + 1, np.int64)
        waiting = side.runs[::-1]
        with (side.folder / "neighbors").open("wb") as neighbors, (side.folder / "weights").open("wb") as weights:
            while waiting:
                run = waiting.pop()
                size = run.num_edges * record.itemsize * SORTING_COPIES
                if size > self._budget.free:
                    waiting.extend(self._cut(run, record)[::-1])
                    continue
                rows = self._sorted_rows(run, record, side)
                offsets[run.first_row + 1 : run.last_row + 1] = rows[0][1:] + side.num_arcs
                side.num_arcs += rows[1].size
                rows[1].tofile(neighbors)
                if rows[2] is not None:
                    rows[2].tofile(weights)
                run.path.unlink(missing_ok=True)
                self._say(f"{run.last_row:,} of {self._count:,} vertices sorted")
        offsets.tofile(side.folder / "offsets")
        side.dtypes = {"offsets": offsets.dtype, "neighbors": self._ids}
        if "weight" in (record.names or ()):
            side.dtypes["weights"] = record["weight"]

    def _sorted_rows(self, run: _Run, record: np.dtype[Any], side: _Side) -> tuple[Array, Array, Array | None]:
        records = np.fromfile(run.path, record) if run.num_edges else np.empty(0, record)
        keys = as_unsigned(records["key"] - run.first_row)
        weights = np.ascontiguousarray(records["weight"]) if "weight" in (record.names or ()) else None
        edges = Edges(keys, as_unsigned(records["neighbor"]), None, weights)
        del records
        rows = group_edges(edges, run.last_row - run.first_row, self._count, self._ids, sort=True)
        if self._duplicates != "keep":
            rows = merge_duplicates(*rows, self._duplicates)
        if not self._directed:
            side.num_loops += count_self_loops(rows[0], rows[1] - self._ids.type(run.first_row))
        return rows

    def _cut(self, run: _Run, record: np.dtype[Any]) -> list[_Run]:
        """Divide a run that cannot be sorted in memory among smaller ones."""
        if run.last_row - run.first_row == 1:
            need = self._budget.used + run.num_edges * record.itemsize * SORTING_COPIES
            raise MemoryBudgetError(
                f"memory={format_bytes(self._budget.limit)} is too small: vertex {run.first_row} has {run.num_edges:,} "
                f"edges; give at least memory={need}"
            )
        writer = _Writer(run.path.parent, run.first_row, run.last_row, run.path.name)
        step = max(self._budget.free // SORTING_COPIES // record.itemsize, 1)
        with run.path.open("rb") as file:
            while (records := np.fromfile(file, record, step)).size:
                writer.add(records)
        run.path.unlink()
        return writer.runs

    def _check(self, chunk: Chunk, number: int) -> tuple[Array, Array, Array | None]:
        if not 2 <= len(chunk) <= 3:
            raise InvalidArgumentError(f"chunk {number} of edges has {len(chunk)} columns; give 2, or 3 with weights")
        columns = [np.asarray(column) for column in chunk[:2]]
        weights = None if len(chunk) == 2 else as_weights(chunk[2])
        for name, column in zip(("sources", "targets"), columns, strict=True):
            if column.dtype.kind not in "iu" and column.size:
                raise InvalidArgumentError(f"{name} of chunk {number} holds {column.dtype.name}; give vertex numbers")
            if column.size and not 0 <= int(column.min()) <= int(column.max()) < self._count:
                wrong = column.min() if column.min() < 0 else column.max()
                limit = f"vertex numbers are from 0 to num_vertices - 1 = {self._count - 1}"
                raise InvalidArgumentError(f"{name} of chunk {number} holds {wrong}; {limit}")
        if len({column.size for column in (*columns, *([] if weights is None else [weights]))}) > 1:
            raise InvalidArgumentError(f"the columns of chunk {number} have different lengths; give one entry per edge")
        record = self._make_record(weights)
        if self._record is not None and record != self._record:
            raise InvalidArgumentError(f"the weights of chunk {number} are not of the type of those before")
        self._record = record
        return columns[0], columns[1], weights

    def _make_record(self, weights: Array | None) -> np.dtype[Any]:
        columns: list[tuple[str, Any]] = [("key", self._ids), ("neighbor", self._ids)]
        return np.dtype(columns if weights is None else [*columns, ("weight", weights.dtype)])

    def _records(self, keys: Array, neighbors: Array, weights: Array | None) -> Array:
        records = np.empty(keys.size, self._record)
        records["key"], records["neighbor"] = keys, neighbors
        if weights is not None:
            records["weight"] = weights
        return records


class _Writer:
    """Appends records to the runs that their rows belong to."""

    def __init__(self, folder: Path, first_row: int, last_row: int, name: str = "run") -> None:
        step = max(-(-(last_row - first_row) // RUNS), 1)
        self._first, self._step = first_row, step
        self.runs = [
            _Run(folder / f"{name}-{i}", row, min(row + step, last_row))
            for i, row in enumerate(range(first_row, last_row, step))
        ]

    def add(self, records: Array) -> None:
        places = ((records["key"] - self._first) // self._step).astype(np.uint16)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(len(self.runs) + 1))
        for run, first, last in zip(self.runs, bounds, bounds[1:], strict=False):
            if last > first:
                with run.path.open("ab") as file:
                    records[order[first:last]].tofile(file)
                run.num_edges += int(last - first)


def _both_ways(sources: Array, targets: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Return every edge and, right behind it, the same the other way; a self-loop once."""
    both = np.stack([sources, targets], axis=1), np.stack([targets, sources], axis=1)
    kept = np.ones((sources.size, 2), bool)
    kept[sources == targets, 1] = False
    doubled = None if weights is None else np.repeat(weights, 2)[kept.ravel()]
    return both[0].ravel()[kept.ravel()], both[1].ravel()[kept.ravel()], doubled
