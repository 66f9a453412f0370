"""Edge lists as text: SNAP files, CSV, TSV, and GAP's `.el` and `.wel`.

One edge per line: source, target, and maybe more columns. Separators (tab, comma, semicolon, blanks), a header line
and comments are found by looking at the first lines; options say it where that is not enough.

| ending | written as |
|---|---|
| `.txt`, `.edges`, `.edgelist` | tabs, after comment lines with the counts |
| `.csv` | commas, after a header line |
| `.tsv` | tabs, after a header line |
| `.el`, `.wel` | blanks, vertex numbers for ids; `.wel` has weights and `.el` none |

Lines of edges cannot hold isolated vertices; `.el` and `.wel`, whose ids are vertex numbers, keep those below the
largest id. An undirected edge is written once, and read back by `directed=False`.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tgraph.errors import FileFormatError, InvalidArgumentError, check_choice
from tgraph.graph import Graph
from tgraph.io.edge_columns import find_id_columns, find_weight_column
from tgraph.io.edge_frame import build_graph, edge_frame, write_lines
from tgraph.io.files import read_bytes, split_ending
from tgraph.io.table import INTEGER, NUMBER, STRING, Table, end_of_line, parse_table
from tgraph.io.text_layout import HEAD_BYTES, Layout, are_integers, find_layout
from tgraph.runtime import Array

COMMENTS = ("#", "%", "//")
VERTEX_NUMBER_ENDINGS = (".el", ".wel")
HINTS = {INTEGER: "use ids='string' if ids are words", NUMBER: "use weights=None to ignore that column"}
MAX_VERTICES_PER_EDGE = 4  # above this a vertex number is taken for a label, so that an id of 10^15 needs no table


def read(
    path: str | PathLike[str],
    *,
    directed: bool = True,
    weights: str | int | None = "auto",
    columns: tuple[str | int, str | int] | None = None,
    separator: str = "auto",
    comments: str | tuple[str, ...] = COMMENTS,
    header: str | bool = "auto",
    skip_rows: int = 0,
    ids: str = "auto",
    num_vertices: int | None = None,
    labels: Any = "auto",
    duplicates: str = "keep",
    self_loops: str = "keep",
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    r"""Read a graph from lines of text, also compressed (.gz, .zst) or as the only file of a .tar.gz.

    Args:
        path: The file.
        directed: If False, every line is an undirected edge.
        weights: `"auto"`: the column that the header calls weight (or value, cost, distance, ...); without a header
            the third column, if there is one. None: no weights, further columns are ignored (so for
            `source target time`). A name in the header or a column number, counted from 0: that column.
        columns: The columns of sources and targets, by name or number; else those that the header calls so, else the
            first two.
        separator: `"auto"`, a tab, `","`, `";"`, or `" "` for runs of blanks.
        comments: Lines that begin so are skipped; `()` for none.
        header: Whether the first line names the columns. `"auto"`: if it has names such as source and target, or if
            it has words where the second line has integers.
        skip_rows: How many lines to leave out at the beginning, such as a line with the counts.
        ids: `"integer"`, `"string"`, or `"auto"`: integers if those of the first lines are and have no quotes.
        num_vertices: As in `from_edges`: ids are the numbers 0 to num_vertices - 1, isolated vertices included.
        labels: As in `from_edges`.
        duplicates: As in `from_edges`.
        self_loops: As in `from_edges`.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "roads.csv")
    ...     _ = file.write_text("from,to,length\nulm,bonn,420.5\nulm,kiel,800\n")
    ...     graph = read(file)
    >>> graph.num_edges, graph.vertex_labels.tolist(), graph.weights.tolist()
    (2, ['bonn', 'kiel', 'ulm'], [420.5, 800.0])
    """
    comments = check_layout_options(ids, header, comments)
    content = _load(path, skip_rows)
    layout = find_layout(path, _head(path, content), separator=separator, comments=comments, header=header)
    if not layout.rows and content is None:
        content = Path(path).read_bytes()  # comments alone may fill the head
        layout = find_layout(path, content, separator=separator, comments=comments, header=header)
    if layout.rows:
        table = choose_columns(path, layout, columns, weights, ids)
        parts = parse_table(path, content, replace(table, comments=comments, first_line=skip_rows + 1))
    else:
        parts = no_edges(layout, weights)
    del content
    if num_vertices is None and isinstance(labels, str) and split_ending(path)[0] in VERTEX_NUMBER_ENDINGS:
        num_vertices = _count_numbers(*parts[:2])
    return build_graph(
        parts,
        directed=directed,
        num_vertices=num_vertices,
        labels=labels,
        duplicates=duplicates,
        self_loops=self_loops,
        runtime=runtime,
        device=device,
    )


def write(graph: Graph, path: str | PathLike[str]) -> None:
    r"""Write the edges as lines of text, in the form that the file's ending asks for.

    Strings are written in quotes, so that they are read as strings again; the ids of `.el` and `.wel` are vertex
    numbers, whatever the labels are.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "edges.csv")
    ...     write(from_edges([5, 5], [7, 9], weights=[1, 2]), file)
    ...     file.read_text()
    'source,target,weight\n5,7,1\n5,9,2\n'
    """
    ending = split_ending(path)[0]
    if ending == ".tar":
        raise InvalidArgumentError(f"{path} would be an archive, which is only read; use the ending .txt.gz")
    if ending in VERTEX_NUMBER_ENDINGS:
        if graph.weighted != (ending == ".wel"):
            held = "no weights and the graph has some; use .wel" if graph.weighted else "weights; use .el"
            raise InvalidArgumentError(f"a {ending} file holds {held}")
        write_lines(path, edge_frame(graph.relabel(None)), separator=" ")
        return
    frame = edge_frame(graph)
    _check_labels(frame)
    separator = "," if ending == ".csv" else "\t"
    has_header = ending in (".csv", ".tsv")
    kind = "directed" if graph.directed else "undirected, every edge once"
    preface = (
        f"# {kind}\n# vertices: {graph.num_vertices} edges: {graph.num_edges}\n# {separator.join(frame.columns)}\n"
    )
    write_lines(
        path,
        frame,
        separator=separator,
        preface="" if has_header else preface,
        has_header=has_header,
        quote_strings=frame.schema["source"] == pl.String,
    )


def check_layout_options(ids: str, header: str | bool, comments: str | tuple[str, ...]) -> tuple[str, ...]:
    """Raise unless the options are known; return the kinds of comments."""
    check_choice("ids", ids, ("auto", "integer", "string"))
    if header != "auto" and not isinstance(header, bool):
        raise InvalidArgumentError(f"header={header!r} is not known; use 'auto', True or False")
    kinds = (comments,) if isinstance(comments, str) else comments
    if not isinstance(kinds, (tuple, list)) or not all(isinstance(kind, str) for kind in kinds):
        raise InvalidArgumentError(f"comments={comments!r} must be the text that comments begin with, or several")
    return tuple(kinds)


def check_skip_rows(skip_rows: int) -> None:
    """Raise unless `skip_rows` is a number of lines."""
    if isinstance(skip_rows, bool) or not isinstance(skip_rows, int) or skip_rows < 0:
        raise InvalidArgumentError(f"skip_rows={skip_rows!r} must be a whole number, 0 or more")


def _load(path: str | PathLike[str], skip_rows: int) -> bytes | None:
    """Return the content to parse, or None where the parser may read the plain file itself."""
    check_skip_rows(skip_rows)
    ending, compression = split_ending(path)
    if not compression and ending != ".tar" and not skip_rows:
        return None
    content = read_bytes(path)
    if ending == ".tar":
        content = _only_member(path, content)
    return content[end_of_line(content, skip_rows) :] if skip_rows else content


def _only_member(path: str | PathLike[str], archive: bytes) -> bytes:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            files = [member for member in tar.getmembers() if member.isfile()]
            stream = tar.extractfile(files[0]) if len(files) == 1 else None
            if stream is None:
                raise several_files(path, [member.name for member in files])
            return stream.read()
    except tarfile.TarError as error:
        raise FileFormatError(path, "archive", f"cannot be unpacked ({error})") from error


def several_files(path: str | PathLike[str], names: list[str]) -> FileFormatError:
    """Return the error about an archive that does not hold exactly one file."""
    listed = ", ".join(names[:5]) or "none"
    return FileFormatError(path, "archive", f"holds {len(names)} files ({listed}); unpack it and read one")


def _head(path: str | PathLike[str], content: bytes | None) -> bytes:
    """Return the first lines, the last of them complete."""
    if content is None:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    else:
        head = content[:HEAD_BYTES]
    return head[: head.rfind(b"\n") + 1] or head if len(head) == HEAD_BYTES else head


def no_edges(layout: Layout, weights: Any) -> list[Any]:
    """Return empty columns of sources and targets, and of weights where a header names them."""
    has_weights = layout.names and find_weight_column(weights, layout.names, layout.width, (0, 1)) is not None
    return [np.empty(0, np.int64)] * 2 + ([np.empty(0)] if has_weights else [])


def choose_columns(path: str | PathLike[str], layout: Layout, columns: Any, weights: Any, ids: str) -> Table:
    """Return the table to parse: sources, targets and maybe weights."""
    if layout.width < 2:
        reason = f"has {layout.width} column(s) where 2 are needed; is separator={layout.separator!r} right?"
        raise FileFormatError(path, "first line of data", reason)
    id_columns = find_id_columns(columns, layout.names, layout.width)
    weight_column = find_weight_column(weights, layout.names, layout.width, id_columns)
    if ids == "auto":
        ids = INTEGER if are_integers(layout, id_columns) else STRING
    return Table(
        width=layout.width,
        wanted=dict.fromkeys(id_columns, ids) | ({} if weight_column is None else {weight_column: NUMBER}),
        separator=layout.separator,
        seen_comment=layout.seen_comment,
        has_header=layout.names is not None,
        may_be_wider=weights != "auto",
        is_tidy=layout.is_tidy,
        hints=HINTS,
    )


def _count_numbers(sources: Array, targets: Array) -> int | None:
    """Return one more than the largest vertex number, or None where the ids can only be labels."""
    if not isinstance(sources, np.ndarray) or not sources.size or min(sources.min(), targets.min()) < 0:
        return None
    count = int(max(sources.max(), targets.max())) + 1
    return count if count <= MAX_VERTICES_PER_EDGE * sources.size + 1024 else None


def _check_labels(frame: pl.DataFrame) -> None:
    for name in ("source", "target"):
        if frame.schema[name] == pl.String and frame[name].str.contains(r"[\r\n]").any():
            raise InvalidArgumentError("some vertex labels hold line breaks, which lines of text cannot; use .parquet")
