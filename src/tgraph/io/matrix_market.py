"""Matrix Market coordinate files (`.mtx`): a square sparse matrix is a graph, entry (i, j) the edge from i to j.

Vertices are called 1 to n as in the file. A symmetric matrix is an undirected graph; it stores one triangle. A writer
numbers the vertices 1 to n in their order, whatever their labels are; isolated vertices are kept.
"""

from __future__ import annotations

from os import PathLike

import polars as pl

from tgraph.errors import FileFormatError
from tgraph.graph import Graph
from tgraph.io.edge_frame import edge_frame, write_lines
from tgraph.io.files import read_bytes
from tgraph.io.one_based import build_one_based, parse_counts
from tgraph.io.table import INTEGER, NUMBER, REAL, Table, data_lines, end_of_line, parse_table

BANNER = b"%%MatrixMarket"
VALUE_KINDS = {"pattern": None, "integer": INTEGER, "real": REAL, "double": REAL}


def read(
    path: str | PathLike[str],
    *,
    symmetric: bool | None = None,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    r"""Read a square coordinate matrix: pattern, integer or real; general or symmetric.

    Args:
        path: The file, maybe compressed (.gz, .zst).
        symmetric: Whether every entry is an undirected edge. None: as the first line says; general where the file
            begins with the sizes and has no such line.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "triangle.mtx")
    ...     _ = file.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 1\n3 2\n")
    ...     graph = read(file)
    >>> graph.directed, graph.num_edges, graph.vertex_labels.tolist()
    (False, 3, [1, 2, 3, 4])
    """
    content = read_bytes(path)
    value_kind, symmetry = _read_banner(path, content)
    number, size_line = next(data_lines(content, ("%",)), (1, b""))
    num_vertices, num_entries = _read_sizes(path, f"line {number}", size_line)
    body = content[end_of_line(content, number) :]
    del content
    first_entry = next(data_lines(body, ("%",)), (0, b""))[1].split()
    if value_kind == NUMBER and len(first_entry) < 3:
        value_kind = None
    width = 2 if value_kind is None else 3
    wanted = {0: INTEGER, 1: INTEGER} | ({} if value_kind is None else {2: value_kind})
    table = Table(width, wanted, comments=("%",), seen_comment="%", first_line=number + 1)
    columns = parse_table(path, body, table)
    if columns[0].size != num_entries:
        reason = f"declares {num_entries} entries, but the file holds {columns[0].size}; is it complete?"
        raise FileFormatError(path, f"line {number}", reason)
    undirected = symmetry == "symmetric" if symmetric is None else symmetric
    return build_one_based(
        path, body, table, num_vertices, columns, directed=not undirected, runtime=runtime, device=device
    )


def write(graph: Graph, path: str | PathLike[str]) -> None:
    """Write the graph as a coordinate matrix: general if directed, else symmetric with the lower triangle.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "edge.mtx")
    ...     write(from_edges([0], [1], weights=[0.5]), file)
    ...     file.read_text().splitlines()
    ['%%MatrixMarket matrix coordinate real general', '2 2 1', '1 2 0.5']
    """
    frame = edge_frame(graph.relabel(None)).with_columns(pl.col("source", "target").cast(pl.Int64) + 1)
    names = frame.columns
    if not graph.directed:  # edges come with source <= target, and the lower triangle has row >= column
        names = ["target", "source", *names[2:]]
    kind = "pattern"
    if "weight" in frame.columns:
        kind = "real" if frame.schema["weight"].is_float() else "integer"
    symmetry = "general" if graph.directed else "symmetric"
    sizes = f"{graph.num_vertices} {graph.num_vertices} {frame.height}"
    preface = f"{BANNER.decode()} matrix coordinate {kind} {symmetry}\n{sizes}\n"
    write_lines(path, frame.select(names), separator=" ", preface=preface)


def _read_banner(path: str | PathLike[str], content: bytes) -> tuple[str | None, str]:
    """Return the kind of values (NUMBER where the file does not say it) and the symmetry."""
    if content[: len(BANNER)].lower() != BANNER.lower():
        return NUMBER, "general"
    words = content[:1024].partition(b"\n")[0].decode(errors="replace").lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise FileFormatError(path, "line 1", "must be '%%MatrixMarket matrix coordinate <field> <symmetry>'")
    _, _, layout, field, symmetry = words
    if layout != "coordinate":
        raise FileFormatError(path, "line 1", f"says {layout!r}; only sparse matrices ('coordinate') are graphs")
    if field not in VALUE_KINDS:
        raise FileFormatError(path, "line 1", f"says {field!r}; weights can be {', '.join(VALUE_KINDS)}")
    if symmetry not in ("general", "symmetric"):
        reason = f"says {symmetry!r}, whose two directions have different weights; expand it to 'general' first"
        raise FileFormatError(path, "line 1", reason)
    return VALUE_KINDS[field], symmetry


def _read_sizes(path: str | PathLike[str], where: str, line: bytes) -> tuple[int, int]:
    fields = line.split()
    if len(fields) != 3:
        raise FileFormatError(path, where, "must hold the rows, the columns and the entries of the matrix")
    num_rows, num_columns, num_entries = parse_counts(path, where, fields)
    if num_rows != num_columns:
        reason = f"the matrix has {num_rows} rows and {num_columns} columns; only a square one is a graph"
        raise FileFormatError(path, where, reason)
    return num_rows, num_entries
