"""A native file from more edges than fit into memory: `tgraph.build_file`.

    a file or chunks of edges ──► staged on disk until ids are numbered ──► runs on disk, one per range of rows
                                  (not where ids are vertex numbers)        │ (a run that is too large is cut again)
                                                                            └► sorted in memory, one by one ──► the file

The vertices fit into memory, edges pass through. The source is read once. Staged edges, runs and parts of the file are
in a folder beside it and go away at the end, whatever happens; the file appears under its name when it is complete.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tgraph.budget import Budget, parse_bytes
from tgraph.errors import InvalidArgumentError, StoreReadError, check_choice
from tgraph.graph.build import DUPLICATES, SELF_LOOPS
from tgraph.graph.random_weights import check_whole
from tgraph.io import check_file, format_of
from tgraph.io.coded_store import NEIGHBORS
from tgraph.io.edge_chunks import STRING, EdgeChunk, EdgeChunks, open_chunks
from tgraph.io.files import replacing
from tgraph.io.store import graph_metadata
from tgraph.io.tensor_file import write_parts
from tgraph.memory.edge_runs import ExternalSort, NumberedEdges, Side
from tgraph.memory.far_file import identify
from tgraph.memory.given_chunks import Chunk, given_chunks
from tgraph.memory.staging import StagedEdges
from tgraph.memory.vertex_numbers import GivenNumbers, IntegerIds, Parts, StringIds, VertexNumbers

Say: TypeAlias = Callable[[str], None]

STAGED_SHARE = 1024  # of the budget's bytes is how many edges are staged in a block


def build_file(
    edges: str | os.PathLike[str] | Iterable[Chunk],
    path: str | os.PathLike[str],
    *,
    num_vertices: int | None = None,
    memory: int | str = "1GiB",
    directed: bool | None = None,
    reverse: bool = True,
    neighbors: str = "plain",
    duplicates: str = "keep",
    self_loops: str = "keep",
    labels: str | None = "auto",
    format: str | None = None,
    say: Say = lambda words: None,
    **options: Any,
) -> None:
    r"""Write a graph whose edges need not fit into memory as a native file.

    The answer is that of `tgraph.write(tgraph.read(edges, ...), path)`, or of `tgraph.from_edges` for chunks.

    Args:
        edges: A file: lines of edges (also .gz, .zst), Parquet, Arrow or a native file. Or chunks of edges, each
            `(sources, targets)` or `(sources, targets, weights)`: arrays of ids and of weights. They are gone through
            once; a chunk should be much smaller than `memory`.
        path: Where to write; ends in `.safetensors`. An existing file is replaced in one step at the end.
        num_vertices: If given, ids are the vertex numbers 0 to num_vertices - 1, isolated ones included.
        memory: How much to use beside the interpreter and the chunks that are given: bytes, or a text such as
            `"2GiB"`. The vertices must fit: 8 bytes each, and their ids where these are not their numbers.
        directed: If False, every edge is stored in both directions (a self-loop once). None: as a native file says,
            and True for others.
        reverse: Also store the incoming edges of a directed graph.
        neighbors: `plain` ids, `coded` ones, which are smaller, or `both`; see `tgraph.write`.
        duplicates: What becomes of edges that occur more than once: `keep` all; keep the `first`, `last`, `min` or
            `max` weight; `sum` the weights; or raise an `error`.
        self_loops: `keep` edges from a vertex to itself, `drop` them, or raise an `error`.
        labels: `"auto"`: the vertices are the ids that occur, numbered in ascending order. None: ids are vertex
            numbers.
        format: The format of the file `edges` where its ending does not say it.
        say: Called with a line of text now and then.
        **options: How the file `edges` is to be read, as in `tgraph.read`. Text: `weights`, `columns`, `separator`,
            `comments`, `header`, `skip_rows`, `ids`; Parquet and Arrow: `weights`, `columns`; a native file:
            `weights=None` leaves them out.

    >>> import tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "roads.csv").write_text("from,to,km\nulm,bonn,420\nbonn,kiel,580\n")
    ...     build_file(folder + "/roads.csv", folder + "/roads.safetensors", weights="km", directed=False)
    ...     tg.read(folder + "/roads.safetensors").vertex_labels.tolist()
    ['bonn', 'kiel', 'ulm']

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_file([([0, 1], [1, 2]), ([2], [0])], folder + "/ring.safetensors", num_vertices=3)
    ...     tg.read(folder + "/ring.safetensors").num_edges
    3
    """
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("self_loops", self_loops, SELF_LOOPS)
    check_choice("neighbors", neighbors, NEIGHBORS)
    if labels not in ("auto", None):
        raise InvalidArgumentError(f"labels={labels!r} is not known; use 'auto' or None")
    _check_path(path)
    count = None if num_vertices is None else check_whole("num_vertices", num_vertices, 0)
    how = duplicates, self_loops, reverse, neighbors, labels is None
    build = _Build(Budget(parse_bytes("memory", memory)), say, *how)
    with (
        _naming_full_disk(path),
        replacing(path) as temporary,
        tempfile.TemporaryDirectory(dir=Path(path).parent, prefix=".tgraph-") as folder,
        _open(edges, format, options, build, Path(folder), count) as source,
    ):
        build.run(source, count, directed, Path(folder), temporary)


@dataclass
class _Build:
    """The settings of one call."""

    budget: Budget
    say: Say
    duplicates: str
    self_loops: str
    reverse: bool
    neighbors: str
    are_numbers: bool

    def room(self, purpose: str, least: int) -> int:
        """Return the bytes for a chunk: half of what is left; the other half is for what grows with the chunks."""
        if self.budget.free // 2 < least:
            self.budget.take(purpose, 2 * least)  # raises
        return self.budget.free // 2

    def run(self, source: EdgeChunks, count: int | None, directed: bool | None, folder: Path, out: Path) -> None:
        """Write the file `out`; everything else is in `folder`."""
        is_directed = not source.is_mirrored if directed is None else directed
        if source.is_mirrored and not is_directed:
            source = _each_once(source)
        numbers = self._choose_numbers(source, count, folder)
        edges, num_vertices, weight_dtype = self._number(source, numbers, folder)
        self._check_offsets_fit(num_vertices)
        how: dict[str, Any] = {"duplicates": self.duplicates, "self_loops": self.self_loops}
        sort = ExternalSort(num_vertices, weight_dtype, self.budget, directed=is_directed, **how)
        names = ("out", "in") if is_directed and self.reverse else ("out",)
        sides = {name: Side(folder / name) for name in names}
        sort.spill(edges, sides)
        labels = numbers.write_labels(folder)
        numbers.forget()
        self.budget.take("offsets", 8 * (num_vertices + 1))
        for name, side in sides.items():
            for row in sort.sort(side):
                self.say(f"{row:,} of {num_vertices:,} vertices sorted by their {name}-edges")
            if self.neighbors != "plain":
                self.say(f"coding the {name}-edges")
                side.code_neighbors(self.budget.free, keeps_plain=self.neighbors == "both")
        self._write(sides, labels, is_directed, out)

    def _choose_numbers(self, source: EdgeChunks, count: int | None, folder: Path) -> VertexNumbers:
        if count is not None and source.num_vertices is not None:
            raise InvalidArgumentError(
                f"num_vertices={count}: a native file says itself that it has {source.num_vertices}; leave it out"
            )
        count = source.num_vertices if count is None else count
        if source.ids == STRING and (count is not None or self.are_numbers):
            raise InvalidArgumentError(
                "sources holds no integers, so its ids are no vertex numbers; use labels='auto' without num_vertices"
            )
        if count is not None:
            self._check_offsets_fit(count)
            return GivenNumbers(count, {} if self.are_numbers else source.labels)
        if source.ids == STRING:
            return StringIds(self.budget, folder)
        return IntegerIds(self.budget, self.are_numbers, source.keeps_gaps)

    def _number(
        self, source: EdgeChunks, numbers: VertexNumbers, folder: Path
    ) -> tuple[Iterator[NumberedEdges], int, np.dtype[Any] | None]:
        """Return the edges as vertex numbers, how many vertices there are, and the type of the weights."""
        if isinstance(numbers, GivenNumbers) and not source.may_turn_real:
            count = numbers.finish(0)
            return self._direct(source, numbers), count, source.weight_dtype
        staged = StagedEdges(folder / "staged", max(self.budget.limit // STAGED_SHARE, 1))
        for number, chunk in enumerate(source.chunks):
            columns = numbers.learn(chunk.sources, chunk.targets, chunk.where)
            staged.add(*columns, chunk.weights, number)
            self._say_done(staged.num_edges, chunk)
        num_vertices, weight_dtype = numbers.finish(staged.num_edges), staged.weight_dtype(source.weight_dtype)
        return self._renumber(staged, numbers, num_vertices, weight_dtype), num_vertices, weight_dtype

    def _direct(self, source: EdgeChunks, numbers: VertexNumbers) -> Iterator[NumberedEdges]:
        done = 0
        for chunk in source.chunks:
            yield *numbers.learn(chunk.sources, chunk.targets, chunk.where), chunk.weights
            done += chunk.sources.size
            self._say_done(done, chunk)

    def _renumber(
        self, staged: StagedEdges, numbers: VertexNumbers, num_vertices: int, weight_dtype: np.dtype[Any] | None
    ) -> Iterator[NumberedEdges]:
        done = 0
        for edges in staged.numbered(numbers, num_vertices, weight_dtype):
            yield edges
            done += edges[0].size
            self.say(f"{done:,} of {staged.num_edges:,} edges numbered")

    def _say_done(self, num_edges: int, chunk: EdgeChunk) -> None:
        part = "" if chunk.done is None else f", {chunk.done:.0%} of the file"
        self.say(f"{num_edges:,} edges taken{part}")

    def _check_offsets_fit(self, num_vertices: int) -> None:
        Budget(self.budget.limit).take("offsets", 8 * (num_vertices + 1))  # nothing else is taken when they are needed

    def _write(self, sides: dict[str, Side], labels: Parts, directed: bool, out: Path) -> None:
        side = sides["out"]
        if self.duplicates == "error" and side.num_merged:
            raise InvalidArgumentError(
                f"{side.num_merged} stored edges repeat another one and duplicates='error'; use 'keep' or 'first'"
            )
        num_edges = side.num_arcs if directed else (side.num_arcs + side.num_loops) // 2
        metadata = graph_metadata(directed, num_edges, is_sorted=True)
        if self.neighbors != "plain":
            metadata["num_arcs"] = json.dumps(side.num_arcs)
        if "weights" in side.dtypes:
            metadata["weight_range"] = json.dumps(side.weight_range or (1, 1, 0))
        parts = side.parts("out_targets", "weights")
        parts |= sides["in"].parts("in_sources", "in_weights") if "in" in sides else {}
        parts |= labels
        self.say(f"writing {num_edges:,} edges")
        write_parts(out, parts, metadata)


def _check_path(path: str | os.PathLike[str]) -> None:
    if Path(path).suffix != ".safetensors":
        raise InvalidArgumentError(f"path={os.fspath(path)!r} must end in .safetensors, the native format")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder; give the name of a file")


def _open(
    edges: Any, format: str | None, options: dict[str, Any], build: _Build, folder: Path, count: int | None
) -> AbstractContextManager[EdgeChunks]:
    if isinstance(edges, (str, os.PathLike)):
        name = format_of(edges, format)
        check_file(edges)
        return _unchanged(edges, lambda: open_chunks(edges, name, build.room, folder, options))
    if format is not None or options:
        given = next(iter(options.items()), ("format", format))
        raise InvalidArgumentError(f"{given[0]}={given[1]!r} is for files; chunks of edges take no such option")
    return nullcontext(given_chunks(edges, has_numbers=count is not None))


@contextmanager
def _unchanged(
    path: str | os.PathLike[str], opened: Callable[[], AbstractContextManager[EdgeChunks]]
) -> Iterator[EdgeChunks]:
    """Raise behind the last chunk if the file is not what it was at the beginning."""
    before = identify(path)

    def checked(chunks: Iterator[EdgeChunk]) -> Iterator[EdgeChunk]:
        yield from chunks
        if not os.path.exists(path) or identify(path) != before:
            raise StoreReadError(f"{os.fspath(path)} was changed while it was read; nothing was written: build again")

    with opened() as source:
        yield replace(source, chunks=checked(source.chunks))


@contextmanager
def _naming_full_disk(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        folder = Path(path).resolve().parent
        reason = f"no room is left in {folder} for the file and up to four times its size of temporary ones"
        raise OSError(error.errno, f"{reason}; nothing was written: make room or choose another folder") from error


def _each_once(source: EdgeChunks) -> EdgeChunks:
    """Return every undirected edge in one direction."""

    def halves() -> Iterator[EdgeChunk]:
        for sources, targets, weights, where, done in source.chunks:
            kept = sources <= targets
            yield EdgeChunk(sources[kept], targets[kept], None if weights is None else weights[kept], where, done)

    return replace(source, chunks=halves())
