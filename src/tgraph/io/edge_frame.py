"""From columns of edges to graphs, from graphs to columns, and columns as lines of text."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any, cast

import polars as pl
import zstandard

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io.files import replacing, split_ending
from tgraph.runtime import Array


def build_graph(columns: list[Any], *, num_vertices: int | None, labels: Any, **options: Any) -> Graph:
    """Return the graph of sources, targets and maybe weights; the list is emptied, so that memory is freed early.

    Strings get their numbers here, without becoming Python objects, of which `from_edges` would make one per edge end.
    """
    names: list[str] | None = None
    if columns[0].dtype == pl.String and num_vertices is None and isinstance(labels, str) and labels == "auto":
        distinct = pl.concat(columns[:2]).unique().sort()
        kind = pl.Enum(distinct)
        columns[:2] = [column.cast(kind).to_physical().to_numpy() for column in columns[:2]]
        names, num_vertices = distinct.to_list(), len(distinct)
    weights = columns.pop(2) if len(columns) > 2 else None
    graph = from_edges(columns.pop(0), columns.pop(0), weights, num_vertices=num_vertices, labels=labels, **options)
    return graph if names is None else graph.relabel(names)


def edge_frame(graph: Graph) -> pl.DataFrame:
    """Return the columns source and target (the user's ids) and weight where there are weights.

    >>> from tgraph.graph import from_edges
    >>> edge_frame(from_edges(["a"], ["b"], weights=[2])).rows()
    [('a', 'b', 2)]
    """
    sources, targets, weights = graph.edges()
    columns = {"source": id_series(sources), "target": id_series(targets)}
    if weights is not None:
        columns["weight"] = pl.Series(weights)
    return pl.DataFrame(columns)


def id_series(ids: Array) -> pl.Series:
    """Return vertex ids as a column of integers or strings."""
    if ids.dtype.kind == "O":
        kinds = sorted({type(label).__name__ for label in ids.tolist()})
        raise InvalidArgumentError(
            f"the vertex labels are of type {', '.join(kinds)}, and a file holds integers or strings; "
            "use graph.relabel(str) or graph.relabel(None) first"
        )
    return pl.Series(ids.tolist(), dtype=pl.String) if ids.dtype.kind == "T" else pl.Series(ids)


def write_lines(
    path: str | PathLike[str],
    frame: pl.DataFrame,
    *,
    separator: str,
    preface: str = "",
    has_header: bool = False,
    quote_strings: bool = False,
) -> None:
    """Write the preface and one line per row, compressed where the name ends in .gz or .zst."""
    with open_for_writing(path) as file:
        file.write(preface.encode())
        frame.write_csv(
            file,
            include_header=has_header,
            separator=separator,
            quote_style="non_numeric" if quote_strings else "never",
        )


@contextmanager
def open_for_writing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the name `path` at the end, compressed where that ends in .gz or .zst."""
    compression = split_ending(path)[1]
    with replacing(path) as temporary, open(temporary, "wb") as raw:
        if compression == ".gz":
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        elif compression == ".zst":
            with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as stream:
                yield cast(IO[bytes], stream)
        else:
            yield raw
