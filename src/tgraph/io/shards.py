"""Reading a graph by all ranks of a group together: each reads a part of the file, none holds all edges.

    a part of the rows ──► ids become numbers (`shard_numbers`) ──► every edge goes to the owner of its source ──► rows

A native file is cut where its rows are: every rank copies its own out of the mapped file, one direction or the other,
when something first needs it. Tables are read by ranges of
rows; text is read by all ranks and parsed by each in part. What is neither is read by every rank as a whole, one after
the other in memory: convert such files first. Vertices get the numbers that `tgraph.read` on one machine gives them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tgraph import runtime as runtimes
from tgraph.dtypes import index_dtype
from tgraph.errors import DeclaredGapError, InvalidArgumentError, check_choice
from tgraph.graph import Adjacency, Graph, ShardedGraph, shard
from tgraph.graph.build import DUPLICATES, SELF_LOOPS
from tgraph.graph.division import bounds_by_work, exchange_labels
from tgraph.graph.hubs import find_hubs
from tgraph.graph.labels import VertexLabels
from tgraph.graph.local_rows import EDGES_AT_A_TIME, LocalRows, StoredRows, make_local
from tgraph.group import Group, exchange_uneven
from tgraph.io.edge_chunks import EdgeChunks, open_chunks
from tgraph.io.rows import check_neighbors
from tgraph.io.shard_numbers import Numbered, number_ids, number_strings
from tgraph.io.store import MappedParts, map_parts
from tgraph.io.tensor_file import forget_pages
from tgraph.io.text import MAX_VERTICES_PER_EDGE
from tgraph.kernels.cpu.csr import merge_duplicates
from tgraph.kernels.cpu.partition import Edges, group_edges
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.runtime import Array, Runtime

CHUNK_BYTES = 1 << 28  # of memory for a chunk and what is made of it
BUCKETS = 1 << 16  # of vertices, in which edges are counted to cut between them
BUILDING = ("directed", "num_vertices", "labels", "duplicates", "self_loops", "runtime", "device")


class EdgePart(NamedTuple):
    """Some edges, by vertex numbers."""

    sources: Array
    targets: Array
    weights: Array | None


def read_part(
    path: str | PathLike[str], format: str, group: Group, read: Callable[..., Graph], options: dict[str, Any]
) -> ShardedGraph:
    """Return this rank's part of the graph in a file; `read` reads all of it. All ranks call it."""
    if format == "store":
        return _read_store(path, group, options)
    if format in ("text", "parquet"):
        return _read_edges(path, format, group, options)
    return shard(read(path, **options))


# --- native files -----------------------------------------------------------------------------------------------------
def _read_store(path: str | PathLike[str], group: Group, options: dict[str, Any]) -> ShardedGraph:
    """Map the file; the rank copies its rows out of it when something first needs their neighbours."""
    runtime = runtimes.get(options.get("runtime"), options.get("device"))
    return open_parts(path, map_parts(path), group, _stored_rows, runtime)


def open_parts(
    path: str | PathLike[str],
    mapped: MappedParts,
    group: Group,
    make_rows: Callable[[RowsInFile], StoredRows],
    runtime: Runtime,
    divides_hubs: bool = True,
) -> ShardedGraph:
    """Divide a mapped file among the ranks; `make_rows` says how each gets at the edges of its rows."""
    num_vertices = mapped.rows["out"].num_vertices
    sides = [rows.offsets for rows in mapped.rows.values()]
    bounds = _bounds_in_offsets(sides, num_vertices, group.size, divides_hubs)
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    rows = {
        direction: make_rows(RowsInFile(path, direction, adjacency, group, bounds))
        for direction, adjacency in mapped.rows.items()
    }
    forget_pages(mapped.rows["out"].offsets)  # what was mapped would count as this rank's memory
    labels = mapped.labels_between(path, first, last)
    kinds = {"directed": mapped.directed, "num_edges": mapped.num_edges, "is_sorted": mapped.is_sorted}
    return ShardedGraph(group, bounds, rows, runtime, labels=_as_labels(labels), **kinds)


class RowsInFile:
    """A rank's rows of one direction in a mapped file."""

    def __init__(
        self, path: str | PathLike[str], direction: str, mapped: Adjacency, group: Group, bounds: Array
    ) -> None:
        self.path, self.direction, self.group, self.bounds = path, direction, group, bounds
        self._mapped, self._rows = mapped, slice(int(bounds[group.rank]), int(bounds[group.rank + 1]) + 1)
        self._first_edge = int(mapped.offsets[self._rows.start])
        self.num_arcs = int(mapped.offsets[self._rows.stop - 1]) - self._first_edge
        self.no_edges = np.array(mapped.neighbors[:0]), None if mapped.weights is None else np.array(mapped.weights[:0])

    def offsets(self) -> Array:
        """Return where the rows begin, `[N+1] int64`."""
        offsets = self._mapped.offsets[self._rows] - self._first_edge
        forget_pages(self._mapped.offsets)
        return np.asarray(offsets)

    def neighbors(self, edges_at_a_time: int = EDGES_AT_A_TIME) -> Iterator[Array]:
        """Yield the neighbours, each piece until the next; they are vertex numbers, which was made sure of."""
        for some in self._pieces(self._mapped.neighbors, edges_at_a_time):
            check_neighbors(self.path, self.direction, some, self._mapped.num_vertices)
            yield some

    def weights(self, edges_at_a_time: int = EDGES_AT_A_TIME) -> Iterator[Array]:
        """Yield the weights, if there are some, each piece until the next."""
        return self._pieces(self._mapped.weights, edges_at_a_time) if self._mapped.weights is not None else iter(())

    def _pieces(self, mapped: Array, edges_at_a_time: int) -> Iterator[Array]:
        """Yield parts of a mapped array; the pages of one are given back before the next."""
        for begin in range(0, self.num_arcs, edges_at_a_time):
            end = min(begin + edges_at_a_time, self.num_arcs)
            yield mapped[self._first_edge + begin : self._first_edge + end]
            forget_pages(mapped)


def _stored_rows(rows: RowsInFile) -> StoredRows:
    """Return rows that a rank copies into its memory."""

    def load() -> LocalRows:
        neighbors, weights = rows.no_edges
        neighbors = _filled(neighbors, rows.num_arcs, rows.neighbors())
        weights = None if weights is None else _filled(weights, rows.num_arcs, rows.weights())
        return make_local(rows.group, rows.bounds, rows.offsets(), neighbors, weights)

    return StoredRows(rows.offsets, load, rows.num_arcs, rows.no_edges)


def _filled(nothing: Array, size: int, pieces: Iterator[Array]) -> Array:
    """Return an array of the type of `nothing` with all pieces, one behind the other."""
    new, begin = np.empty(size, nothing.dtype), 0
    for piece in pieces:
        new[begin : begin + piece.size] = piece
        begin += piece.size
    return new


def _bounds_in_offsets(offsets: list[Array], num_vertices: int, size: int, divides_hubs: bool) -> Array:
    """Return the first vertex of every rank and their number, from mapped offsets of which few are looked at.

    Edges of hubs that are divided are not counted: all ranks have as many of them (`tgraph.graph.hubs`).
    """
    sides = []
    for one in offsets:
        hubs = find_hubs(one, size) if divides_hubs else np.empty(0, np.int64)
        sides.append((one, hubs, np.concatenate([[0], np.cumsum(one[hubs + 1] - one[hubs])])))

    def work_before(vertex: int) -> int:
        return vertex + sum(int(one[vertex] - sums[np.searchsorted(hubs, vertex)]) for one, hubs, sums in sides)

    bounds, total = [0], work_before(num_vertices)
    for rank in range(1, size):
        low, high = bounds[-1], num_vertices
        while low < high:
            middle = (low + high) // 2
            if work_before(middle) * size < total * rank:
                low = middle + 1
            else:
                high = middle
        bounds.append(low)
    return np.array([*bounds, num_vertices], np.int64)


# --- edges in any order ----------------------------------------------------------------------------------------------
def _read_edges(path: str | PathLike[str], format: str, group: Group, options: dict[str, Any]) -> ShardedGraph:
    """Read a part of the edges, number their ends, and send every edge to its owner."""
    how = {name: options[name] for name in BUILDING if name in options}
    layout = {name: value for name, value in options.items() if name not in BUILDING}
    duplicates, self_loops = how.get("duplicates", "keep"), how.get("self_loops", "keep")
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("self_loops", self_loops, SELF_LOOPS)
    if duplicates == "error" or self_loops == "error" or not isinstance(how.get("labels", "auto"), str | None):
        raise DeclaredGapError("ranks do not read with duplicates='error', self_loops='error' or given labels")
    with tempfile.TemporaryDirectory(prefix="tgraph-") as folder:
        parts = (group.rank, group.size)
        with open_chunks(path, format, lambda *_: CHUNK_BYTES, Path(folder), layout, parts) as opened:
            columns = _collect(group, opened)
            numbered = _number(group, columns[:2], opened, how)
    edges = EdgePart(numbered.sources, numbered.targets, columns[2])
    del columns
    directed = how.get("directed", True)
    edges = _arranged(edges, mirror=not directed, drop_loops=self_loops == "drop")
    bounds = _bounds_of(group, edges, numbered.num_vertices)
    edges = _send_to_owners(group, bounds, edges)
    return _build(group, bounds, edges, numbered, directed, duplicates, how)


def _collect(group: Group, opened: EdgeChunks) -> tuple[Any, Any, Array | None]:
    """Return the ids of sources and targets, and the weights, of this rank's part; types are the same on all ranks."""
    chunks = list(opened.chunks)
    is_text = opened.ids == "string"
    nothing: Any = pl.Series([], dtype=pl.String) if is_text else np.zeros(0, np.int64)
    columns = [[getattr(chunk, name) for chunk in chunks] or [nothing] for name in ("sources", "targets")]
    joined = [pl.concat(parts) if is_text else np.concatenate(parts, dtype=np.int64) for parts in columns]
    if opened.weight_dtype is None:
        return joined[0], joined[1], None
    weights = np.concatenate([chunk.weights for chunk in chunks] or [np.zeros(0, opened.weight_dtype)])
    has_real = group.share(np.array([weights.dtype.kind == "f"]))[:, 0].any()
    return joined[0], joined[1], weights.astype(np.float64) if has_real and weights.dtype.kind != "f" else weights


def _number(group: Group, ends: tuple[Any, ...], opened: EdgeChunks, how: dict[str, Any]) -> Numbered:
    """Return the edges' ends as vertex numbers: those that one machine would give."""
    sources, targets = ends
    given, labels = how.get("num_vertices"), how.get("labels", "auto")
    if isinstance(sources, pl.Series):
        if given is not None or labels is None:
            raise InvalidArgumentError("ids that are strings are no vertex numbers; leave num_vertices and labels out")
        return number_strings(group, sources, targets)
    sizes = np.array([sources.size, min(sources.min(initial=0), targets.min(initial=0))])
    highest = max(sources.max(initial=-1), targets.max(initial=-1))
    shared = group.share(np.array([*sizes, highest]))
    num_edges, lowest, highest = shared[:, 0].sum(), shared[:, 1].min(), int(shared[:, 2].max())
    is_near = num_edges > 0 and highest < MAX_VERTICES_PER_EDGE * num_edges + 1024
    if given is None and labels is not None and not (opened.keeps_gaps and lowest >= 0 and is_near):
        return number_ids(group, sources, targets)
    count = highest + 1 if given is None else given
    if lowest < 0 or highest >= count:
        wrong = lowest if lowest < 0 else highest
        raise InvalidArgumentError(f"the file holds id {wrong}; vertex numbers are from 0 to {count - 1}")
    return Numbered(sources, targets, count, None, np.zeros(group.size, np.int64))


def _arranged(edges: EdgePart, *, mirror: bool, drop_loops: bool) -> EdgePart:
    """Return the edges as they are stored: without loops, or each also the other way, right behind itself."""
    sources, targets, weights = edges
    if drop_loops:
        stays = sources != targets
        sources, targets = sources[stays], targets[stays]
        weights = None if weights is None else weights[stays]
    if not mirror:
        return EdgePart(sources, targets, weights)
    both = np.stack([sources, targets], axis=1).ravel(), np.stack([targets, sources], axis=1).ravel()
    stays = np.stack([np.ones(sources.size, bool), sources != targets], axis=1).ravel()
    return EdgePart(both[0][stays], both[1][stays], None if weights is None else np.repeat(weights, 2)[stays])


def _bounds_of(group: Group, edges: EdgePart, num_vertices: int) -> Array:
    """Return the first vertex of every rank and their number: about equally many edges for each."""
    per_bucket = max(-(-num_vertices // BUCKETS), 1)
    num_buckets = -(-num_vertices // per_bucket)
    ends = [np.bincount(column // per_bucket, minlength=num_buckets) for column in (edges.sources, edges.targets)]
    work = group.share((ends[0] + ends[1]).astype(np.int64)).sum(axis=0) + per_bucket
    return np.minimum(bounds_by_work(work, group.size) * per_bucket, num_vertices)


def _send_to_owners(group: Group, bounds: Array, edges: EdgePart) -> EdgePart:
    """Let every edge go to the rank that owns its source; the order of all edges is kept."""
    owners = (np.searchsorted(bounds, edges.sources, "right") - 1).astype(np.uint16)
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=group.size)
    dtype = index_dtype(int(bounds[-1]))
    sources, new_counts = exchange_uneven(group, edges.sources[order].astype(dtype), counts)
    targets = group.exchange(edges.targets[order].astype(dtype), counts, new_counts)
    weights = None if edges.weights is None else group.exchange(edges.weights[order], counts, new_counts)
    return EdgePart(sources, targets, weights)


def _build(
    group: Group,
    bounds: Array,
    edges: EdgePart,
    numbered: Numbered,
    directed: bool,
    duplicates: str,
    how: dict[str, Any],
) -> ShardedGraph:
    """Make the rows of the own vertices."""
    first, num_own = int(bounds[group.rank]), int(bounds[group.rank + 1] - bounds[group.rank])
    listed = Edges(as_unsigned(edges.sources - first), as_unsigned(edges.targets), None, edges.weights)
    rows = group_edges(listed, num_own, numbered.num_vertices, edges.targets.dtype, sort=True)
    if duplicates != "keep":
        rows = merge_duplicates(*rows, duplicates)
    owners = np.repeat(np.arange(first, first + num_own), np.diff(rows[0]))
    counts = group.share(np.array([rows[1].size, np.count_nonzero(owners == rows[1])])).sum(axis=0).tolist()
    num_edges = counts[0] if directed else sum(counts) // 2
    local = {"out": make_local(group, bounds, *rows)}
    labels = _own_labels(group, bounds, numbered)
    runtime = runtimes.get(how.get("runtime"), how.get("device"))
    kinds = {"directed": directed, "num_edges": num_edges, "is_sorted": True, "labels": labels}
    return ShardedGraph(group, bounds, local, runtime, **kinds)


def _own_labels(group: Group, bounds: Array, numbered: Numbered) -> VertexLabels | None:
    """Send the ids from where they were numbered to who owns their vertices."""
    if numbered.labels is None:
        return None
    ends = np.concatenate([[0], np.cumsum(numbered.label_counts)])
    cuts = np.clip(bounds, ends[group.rank], ends[group.rank + 1])
    return _as_labels(exchange_labels(group, numbered.labels, np.diff(cuts)))


def _as_labels(labels: Array | None) -> VertexLabels | None:
    return None if labels is None else VertexLabels(labels)
