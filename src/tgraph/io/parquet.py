"""Edges as a table in Parquet (`.parquet`) or Arrow IPC (`.arrow`, `.feather`) files.

Columns source, target and maybe weight, found by their names or, where they have other names, by their places. A table
of edges cannot hold isolated vertices, nor say whether edges are directed: `directed=` does.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import polars as pl

from tgraph.errors import FileFormatError
from tgraph.graph import Graph
from tgraph.io.edge_columns import find_id_columns, find_weight_column
from tgraph.io.edge_frame import build_graph, edge_frame, open_for_writing
from tgraph.io.files import read_bytes, split_ending
from tgraph.runtime import Array


def read(
    path: str | PathLike[str],
    *,
    directed: bool = True,
    weights: str | int | None = "auto",
    columns: tuple[str | int, str | int] | None = None,
    num_vertices: int | None = None,
    labels: Any = "auto",
    duplicates: str = "keep",
    self_loops: str = "keep",
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Read a graph from a table of edges.

    Args:
        path: The file; .parquet, else Arrow IPC.
        directed: If False, every row is an undirected edge.
        weights: `"auto"`: the column called weight (or value, cost, distance, ...), if there is one. None: no
            weights. A name or a number, counted from 0: that column.
        columns: The columns of sources and targets, by name or number; else those called so, else the first two.
        num_vertices: As in `from_edges`: ids are the numbers 0 to num_vertices - 1, isolated vertices included.
        labels: As in `from_edges`.
        duplicates: As in `from_edges`.
        self_loops: As in `from_edges`.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "edges.parquet")
    ...     write(from_edges(["ulm"], ["bonn"], weights=[420.5]), file)
    ...     graph = read(file)
    >>> graph.vertex_labels.tolist(), graph.weights.tolist()
    (['bonn', 'ulm'], [420.5])
    """
    content = read_bytes(path) if split_ending(path)[1] else None
    with naming_damage(path):
        names = find_columns(path, str(path) if content is None else io.BytesIO(content), columns, weights)
        read_table = pl.read_parquet if is_parquet(path) else pl.read_ipc
        frame = read_table(str(path) if content is None else io.BytesIO(content), columns=names).select(names)
    del content
    parts = take_columns(path, frame)
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
    """Write the columns source, target and maybe weight; an undirected edge once."""
    frame = edge_frame(graph)
    with open_for_writing(path) as file:
        if is_parquet(path):
            frame.write_parquet(file)
        else:
            frame.write_ipc(file)


def is_parquet(path: str | PathLike[str]) -> bool:
    """Say whether a file is Parquet, else Arrow IPC."""
    return split_ending(path)[0] == ".parquet"


@contextmanager
def naming_damage(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever polars says about a file that it cannot read into an error that names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        kind = "Parquet" if is_parquet(path) else "Arrow IPC"
        reason = str(error).partition("\n")[0]
        raise FileFormatError(path, "content", f"is no {kind} file, or a damaged one ({reason})") from error


def find_columns(path: str | PathLike[str], source: str | io.BytesIO, columns: Any, weights: Any) -> list[str]:
    """Return the names of the columns of sources, targets and maybe weights."""
    read_schema = pl.read_parquet_schema if is_parquet(path) else pl.read_ipc_schema
    names = list(read_schema(source))
    if len(names) < 2:
        raise FileFormatError(path, "columns", f"are {names}; sources and targets are needed")
    id_columns = find_id_columns(columns, names, len(names))
    weight_column = find_weight_column(weights, names, len(names), id_columns)
    return [names[i] for i in (*id_columns, weight_column) if i is not None]


def take_columns(path: str | PathLike[str], frame: pl.DataFrame, first_row: int = 0) -> list[Any]:
    """Return the columns, which leave the table one by one so that memory is freed early."""
    source, target, *weight = frame.columns
    parts = [_ids(path, frame.drop_in_place(name), first_row) for name in (source, target)]
    return parts + [_weights(path, frame.drop_in_place(name), first_row) for name in weight]


def _ids(path: str | PathLike[str], column: pl.Series, first_row: int) -> Array | pl.Series:
    _check_complete(path, column, first_row)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return column
    if not column.dtype.is_integer():
        raise FileFormatError(path, f"column {column.name!r}", f"is {column.dtype}; ids are integers or strings")
    try:
        return column.cast(pl.Int64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise FileFormatError(path, f"column {column.name!r}", "has ids beyond 64 bits; store strings") from error


def _weights(path: str | PathLike[str], column: pl.Series, first_row: int) -> Array:
    _check_complete(path, column, first_row)
    if not column.dtype.is_numeric() and column.dtype != pl.Boolean:
        reason = f"is {column.dtype}; weights are numbers, or use weights=None to read none"
        raise FileFormatError(path, f"column {column.name!r}", reason)
    return (column.cast(pl.Float64) if column.dtype.is_decimal() else column).to_numpy()


def _check_complete(path: str | PathLike[str], column: pl.Series, first_row: int) -> None:
    if column.null_count():
        row = first_row + (column.is_null().arg_max() or 0)
        reason = f"has {column.null_count()} missing values, the first in row {row}; drop those rows"
        raise FileFormatError(path, f"column {column.name!r}", reason)
