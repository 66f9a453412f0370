"""Tables of edges in Parquet or Arrow IPC files, some rows at a time: what `tgraph.io.parquet` reads as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import polars as pl

from tgraph.graph.build import as_weights
from tgraph.io.edge_chunks import INTEGER, STRING, EdgeChunk, EdgeChunks, Part, Room
from tgraph.io.files import READ_BYTES, open_stream, split_ending
from tgraph.io.parquet import find_columns, is_parquet, naming_damage, take_columns

MAX_CHUNK_ROWS = 1 << 22
BYTES_PER_ROW = {INTEGER: 160, STRING: 448}  # while rows are decoded, and of what is made of them
TEXT_COPIES = 4  # of strings, likewise
FEWEST_ROWS = 1000  # that there must be room for


@contextmanager
def open_chunks(
    path: str | PathLike[str],
    room: Room,
    folder: Path,
    part: Part = (0, 1),
    *,
    weights: str | int | None = "auto",
    columns: tuple[str | int, str | int] | None = None,
) -> Iterator[EdgeChunks]:
    """Open a table of edges, decompressed in `folder`; the options are those of `tgraph.io.parquet.read`."""
    plain = _decompressed(path, folder) if split_ending(path)[1] else str(path)
    with naming_damage(path):
        names = find_columns(path, plain, columns, weights)
        table = (pl.scan_parquet if is_parquet(path) else pl.scan_ipc)(plain).select(names)
        num_rows = table.select(pl.len()).collect().item()
        beginning = table.head(0).collect()
    source, _, *weight = take_columns(path, beginning)
    kind = STRING if source.dtype == pl.String else INTEGER
    number, count = part
    chunks = _chunks(path, table, num_rows * number // count, num_rows * (number + 1) // count, kind, room)
    yield EdgeChunks(chunks, kind, as_weights(weight[0]).dtype if weight else None)


def _chunks(
    path: str | PathLike[str], table: pl.LazyFrame, first: int, num_rows: int, kind: str, room: Room
) -> Iterator[EdgeChunk]:
    beginning, size = first, BYTES_PER_ROW[kind]
    while first < num_rows:
        count = min(room("a chunk of rows", FEWEST_ROWS * size) // size, MAX_CHUNK_ROWS)
        if kind == STRING and first == beginning:
            count = min(count, FEWEST_ROWS)  # how long strings are is not known yet
        with naming_damage(path):
            frame = table.slice(first, min(count, num_rows - first)).collect()
        sources, targets, *weight = take_columns(path, frame, first)
        first += len(sources)
        if kind == STRING:
            text_bytes = sum(column.str.len_bytes().sum() for column in (sources, targets))
            size = BYTES_PER_ROW[kind] + TEXT_COPIES * text_bytes // len(sources)
        yield EdgeChunk(sources, targets, as_weights(weight[0]) if weight else None, str(path), first / num_rows)


def _decompressed(path: str | PathLike[str], folder: Path) -> str:
    """Return the name of a temporary file with the content: tables are read here and there, which a stream cannot."""
    copy = folder / "table"
    with open_stream(path) as stream, copy.open("wb") as file:
        while content := stream.read(READ_BYTES):
            file.write(content)
    return str(copy)
