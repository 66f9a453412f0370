"""The GAP benchmark suite's serialised graphs: `.sg` (unweighted) and `.wsg` (32-bit integer weights).

Little-endian, without padding: one byte `directed`, int64 stored edges, int64 vertices, int64 offsets `[V+1]`, then
the neighbours as int32 (`.wsg`: pairs of neighbour and weight). A directed file repeats offsets and neighbours for
the incoming edges; an undirected one holds both directions of every edge.
"""

from __future__ import annotations

import struct

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Adjacency, Graph, from_csr
from tgraph.graph.check import rows_ascend
from tgraph.io.files import read_bytes, split_ending, write_bytes
from tgraph.io.rows import FilePath, check_has_no_labels, check_neighbors, check_offsets
from tgraph.kernels.cpu.csr import Rows, count_self_loops, transpose
from tgraph.runtime import Array

_HEADER = struct.Struct("<Bqq")  # directed, stored edges, vertices
_MAX_VERTICES = 2**31 - 1


def read(path: FilePath, *, runtime: str | None = None, device: str | None = None) -> Graph:
    """Read an `.sg` or `.wsg` file, also as `.gz` or `.zst`.

    The incoming edges that a directed file holds are taken over, so that they need not be built. Their number per
    vertex is checked; `graph.check()` compares them one by one.

    >>> import tempfile, tgraph as tg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(tg.from_edges([0, 0, 1], [1, 2, 2]), folder + "/small.sg")
    ...     read(folder + "/small.sg").out_targets.tolist()
    [1, 2, 2]
    """
    weighted = _is_weighted(path)
    content = read_bytes(path)
    directed, num_arcs, num_vertices = _read_header(path, content, weighted)
    sides = [("out", _HEADER.size)]
    if directed:
        sides.append(("in", _HEADER.size + _side_bytes(num_arcs, num_vertices, weighted)))
    rows = [_read_rows(path, name, content, start, num_arcs, num_vertices, weighted) for name, start in sides]
    del content
    graph = _directed(path, *rows) if directed else _undirected(path, *rows)
    return graph.to(runtime, device)


def write(graph: Graph, path: FilePath) -> None:
    """Write an `.sg` file (a graph without weights) or a `.wsg` file (whole 32-bit weights).

    Vertices are written by number: a graph with vertex labels is refused.
    """
    weighted = _is_weighted(path)
    check_has_no_labels(graph, path)
    if weighted != graph.weighted:
        hint = "use the ending .wsg" if graph.weighted else "use the ending .sg"
        has = "weights" if graph.weighted else "no weights"
        raise InvalidArgumentError(f"the graph has {has}, which {path} cannot say; {hint}")
    if graph.num_vertices > _MAX_VERTICES:
        raise InvalidArgumentError(f"the graph has {graph.num_vertices} vertices; GAP files hold up to {_MAX_VERTICES}")
    parts = [_HEADER.pack(graph.directed, graph.num_arcs, graph.num_vertices)]
    for side in ("out", "in") if graph.directed else ("out",):
        offsets, neighbors, weights = graph.adjacency(side).to_numpy()
        parts.append(offsets.astype("<i8", copy=False).tobytes())
        columns = [neighbors] if weights is None else [neighbors, _as_int32(weights)]
        parts.append(np.stack(columns, axis=1).astype("<i4", copy=False).tobytes())
    write_bytes(path, b"".join(parts))


def _is_weighted(path: FilePath) -> bool:
    ending = split_ending(path)[0]
    if ending not in (".sg", ".wsg"):
        raise InvalidArgumentError(f"{path} ends in {ending!r}; GAP files end in .sg, or in .wsg with weights")
    return ending == ".wsg"


def _side_bytes(num_arcs: int, num_vertices: int, weighted: bool) -> int:
    return 8 * (num_vertices + 1) + (8 if weighted else 4) * num_arcs


def _read_header(path: FilePath, content: bytes, weighted: bool) -> tuple[bool, int, int]:
    """Return directed, stored edges and vertices, once they explain the file's length exactly."""
    if len(content) < _HEADER.size:
        raise FileFormatError(path, "header", f"the file has {len(content)} bytes; the header alone has {_HEADER.size}")
    directed, num_arcs, num_vertices = _HEADER.unpack_from(content)
    if directed > 1:
        raise FileFormatError(path, "byte 0", f"the flag for directed is {directed}; it must be 0 or 1")
    if num_arcs < 0 or not 0 <= num_vertices <= _MAX_VERTICES:
        raise FileFormatError(path, "header", f"{num_arcs} edges and {num_vertices} vertices cannot be")
    lengths = [_HEADER.size + (1 + directed) * _side_bytes(num_arcs, num_vertices, kind) for kind in (False, True)]
    if len(content) != lengths[weighted]:
        other = lengths[not weighted] == len(content)
        hint = f"; it looks like a {'.sg' if weighted else '.wsg'} file: rename it" if other else "; is it complete?"
        raise FileFormatError(path, "header", f"needs {lengths[weighted]} bytes, the file has {len(content)}{hint}")
    return bool(directed), num_arcs, num_vertices


def _read_rows(
    path: FilePath, side: str, content: bytes, start: int, num_arcs: int, num_vertices: int, weighted: bool
) -> Rows:
    offsets = np.frombuffer(content, "<i8", num_vertices + 1, start).astype(np.int64)
    start += offsets.nbytes
    check_offsets(path, f"{side} offsets", offsets, num_arcs)
    columns = np.frombuffer(content, "<i4", num_arcs * (1 + weighted), start).reshape(num_arcs, 1 + weighted)
    neighbors = columns[:, 0].astype(np.int32)
    check_neighbors(path, f"{side} neighbours", neighbors, num_vertices)
    return offsets, neighbors, columns[:, 1].astype(np.int32) if weighted else None


def _undirected(path: FilePath, rows: Rows) -> Graph:
    """Make sure that both directions are there; where rows ascend, turning them around must change nothing."""
    offsets, neighbors, _ = rows
    turned = transpose(*rows, offsets.size - 1)
    pairs = [(one, other) for one, other in zip(rows, turned, strict=True) if one is not None and other is not None]
    if all(np.array_equal(one, other) for one, other in pairs):
        num_edges = (neighbors.size + count_self_loops(offsets, neighbors)) // 2
        return Graph(_adjacency(rows), directed=False, num_edges=num_edges, is_sorted=True)
    try:
        return from_csr(*rows, directed=False, runtime="numpy")  # rows in another order, or an edge without its twin
    except ValueError as error:
        raise FileFormatError(path, "out neighbours", str(error)) from error


def _directed(path: FilePath, rows: Rows, incoming: Rows) -> Graph:
    """Take the incoming edges over, where their rows ascend as those that the graph would build itself."""
    counts, found = np.bincount(rows[1], minlength=rows[0].size - 1), np.diff(incoming[0])
    wrong = np.flatnonzero(counts != found)
    if wrong.size:
        vertex = wrong[0]
        raise FileFormatError(
            path, "in offsets", f"vertex {vertex} has {found[vertex]} incoming edges, not {counts[vertex]}"
        )
    reverse = _adjacency(incoming) if rows_ascend(*incoming[:2]) else None
    is_sorted = rows_ascend(*rows[:2])
    return Graph(_adjacency(rows), directed=True, num_edges=rows[1].size, is_sorted=is_sorted, reverse=reverse)


def _adjacency(rows: Rows) -> Adjacency:
    return Adjacency(runtimes.get("numpy"), *rows)


def _as_int32(weights: Array) -> Array:
    with np.errstate(invalid="ignore"):
        whole = weights.astype(np.int32)
    wrong = np.flatnonzero(whole != weights)
    if wrong.size:
        raise InvalidArgumentError(
            f"weight {weights[wrong[0]]} at position {wrong[0]} is no whole number of 32 bits, which .wsg files need; "
            "scale and round the weights first, or choose another format"
        )
    return whole
