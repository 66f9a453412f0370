"""Edges that come and go in time, some rows at a time: what changing graphs are fed with.

A chunk is a table with the columns `source` and `target` (integers or strings) and, where the file has them, `weight`,
`time` (ascending) and `is_deletion`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io.event_columns import EventColumns
from tgraph.io.files import Reader, open_stream, read_bytes, split_ending
from tgraph.io.parquet import is_parquet, naming_damage, take_columns
from tgraph.io.table import INTEGER, NUMBER, REAL, STRING, Table, data_lines, parse_table, row_error
from tgraph.io.text import COMMENTS, check_layout_options, check_skip_rows
from tgraph.io.text_layout import Layout, are_integers, find_layout

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]

CHUNK_BYTES = 1 << 24  # of text
CHUNK_ROWS = 1 << 18  # of tables
INSERT_WORDS = {"+", "insert", "inserted", "add", "added", "create", "i", "a"}
DELETE_WORDS = {"-", "delete", "deleted", "remove", "removed", "drop", "d", "r"}
HINTS = {INTEGER: "the first lines have integers there; use ids='string' if ids are words"}
HINTS |= {NUMBER: "use weight=None to ignore that column", REAL: "times are numbers; use time=None to ignore them"}
TABLE_ENDINGS = (".parquet", ".arrow", ".feather")
OTHER_ENDINGS = (".tar", ".mtx", ".metis", ".graph", ".gr", ".sg", ".wsg", ".npz", ".safetensors")


def read_text_events(
    name: str | PathLike[str],
    reader: Reader,
    columns: EventColumns,
    *,
    is_sorted: bool = True,
    separator: str = "auto",
    comments: str | tuple[str, ...] = COMMENTS,
    header: str | bool = "auto",
    skip_rows: int = 0,
    ids: str = "auto",
) -> Iterator[pl.DataFrame]:
    """Yield the changes in lines of text; `name` stands for the file in errors."""
    comments = check_layout_options(ids, header, comments)
    check_skip_rows(skip_rows)
    pieces = _whole_lines(reader)
    how = {"separator": separator, "comments": comments, "header": header}
    content, number, layout = _find_first_lines(name, pieces, skip_rows, how)
    if not layout.rows:
        return
    places = columns.find(layout.names, layout.width)
    table, last = replace(_table(name, layout, places, ids), comments=comments), None
    for piece in chain([content], pieces):
        table, number = replace(table, first_line=number), number + piece.count(b"\n")
        if next(data_lines(piece, comments), None) is None:
            continue
        events = pl.DataFrame(dict(zip(places, parse_table(name, piece, table), strict=True)))
        wrong, reason = _find_fault(events, last, is_sorted)
        if reason:
            raise row_error(name, piece, table, wrong, reason)
        last = events["time"][-1] if "time" in places else None
        yield _tidied(events)


def read_table_events(
    path: str | PathLike[str], columns: EventColumns, *, is_sorted: bool = True, time_unit: TimeUnit = "s"
) -> Iterator[pl.DataFrame]:
    """Yield the changes in a Parquet or Arrow file; dates become numbers of `time_unit` since 1970."""
    source: Any = io.BytesIO(read_bytes(path)) if split_ending(path)[1] else str(path)
    with naming_damage(path):
        table = (pl.scan_parquet if is_parquet(path) else pl.scan_ipc)(source)
        names = table.collect_schema().names()
        num_rows = table.select(pl.len()).collect().item()
    places = columns.find(names, len(names))
    table, last = table.select([names[place] for place in places.values()]), None
    for first in range(0, num_rows, CHUNK_ROWS):
        with naming_damage(path):
            frame = table.slice(first, CHUNK_ROWS).collect()
        events = pl.DataFrame(_take_parts(path, frame, list(places), first, time_unit))
        wrong, reason = _find_fault(events, last, is_sorted)
        if reason:
            raise FileFormatError(path, f"row {first + wrong}", reason)
        last = events["time"][-1] if "time" in events.columns else None
        yield _tidied(events)


def read_file_events(
    path: str | PathLike[str], columns: EventColumns, *, time_unit: TimeUnit = "s", **options: Any
) -> Iterator[pl.DataFrame]:
    """Yield the changes in a file; the options are those of the function for its format."""
    kind = format_of(path)
    if kind == "parquet":
        yield from read_table_events(path, columns, time_unit=time_unit, **options)
        return
    with open_stream(path) as stream:
        yield from read_text_events(path, stream, columns, **options)


def format_of(path: str | PathLike[str]) -> str:
    """Return `text` or `parquet`, the formats of which changes are read."""
    ending = split_ending(path)[0]
    if ending in TABLE_ENDINGS:
        return "parquet"
    if ending in OTHER_ENDINGS:
        raise InvalidArgumentError(f"{path}: changes are read from lines of text, .parquet, .arrow and .feather files")
    return "text"


# --- text ------------------------------------------------------------------------------------------------------------
def _whole_lines(reader: Reader) -> Iterator[bytes]:
    """Yield the content in pieces that end where lines end, as soon as they are there."""
    rest: list[bytes] = []
    while content := reader.read(CHUNK_BYTES):
        end = content.rfind(b"\n") + 1
        if not end:
            rest.append(content)
            continue
        yield b"".join([*rest, content[:end]])
        rest = [content[end:]]
    if any(rest):
        yield b"".join(rest)


def _find_first_lines(
    name: str | PathLike[str], pieces: Iterator[bytes], skip_rows: int, how: dict[str, Any]
) -> tuple[bytes, int, Layout]:
    """Read until there is a line of data: return the content from it on, the number of its line, and the layout."""
    content, number = b"", 1
    layout = find_layout(name, content, **how)
    for piece in pieces:
        content, number, skip_rows = _skip(content + piece, number, skip_rows)
        layout = find_layout(name, content, **how)
        if layout.rows:
            break  # else there are comments, or a header alone
    if layout.rows and layout.names is not None:
        content, number, _ = _skip(content, number, next(data_lines(content, how["comments"]))[0])
    return content, number, layout


def _skip(content: bytes, number: int, count: int) -> tuple[bytes, int, int]:
    """Leave out lines: return the rest, the number of its first line, and how many lines are still to be left out."""
    place = 0
    while count and (end := content.find(b"\n", place) + 1):
        place, number, count = end, number + 1, count - 1
    return content[place:] if not count else b"", number, count


def _table(name: str | PathLike[str], layout: Layout, places: dict[str, int], ids: str) -> Table:
    if layout.width < 2:
        reason = f"has {layout.width} column(s) where 2 are needed; is separator={layout.separator!r} right?"
        raise FileFormatError(name, "first line of data", reason)
    if ids == "auto":
        ids = INTEGER if are_integers(layout, (places["source"], places["target"])) else STRING
    kinds = {"source": ids, "target": ids, "weight": NUMBER, "op": STRING}
    if "time" in places:
        kinds["time"] = INTEGER if are_integers(layout, (places["time"],)) else REAL
    return Table(
        width=layout.width,
        wanted={place: kinds[part] for part, place in places.items()},
        separator=layout.separator,
        seen_comment=layout.seen_comment,
        is_tidy=layout.is_tidy,
        hints=HINTS,
    )


# --- tables ----------------------------------------------------------------------------------------------------------
def _take_parts(
    path: str | PathLike[str], frame: pl.DataFrame, parts: list[str], first: int, time_unit: TimeUnit
) -> dict[str, Any]:
    """Return the columns of some rows by what they hold."""
    frame.columns = parts
    others = frame.select([part for part in parts if part in ("time", "op")])
    numbers = frame.select([part for part in parts if part not in ("time", "op")])
    taken = dict(zip(numbers.columns, take_columns(path, numbers, first), strict=True))
    for column in others:
        if column.null_count():
            row = first + (column.is_null().arg_max() or 0)
            raise FileFormatError(path, f"row {row}", f"has no value in the column of {column.name}; drop such rows")
        taken[column.name] = _times(path, column, time_unit) if column.name == "time" else column.cast(pl.String)
    return taken


def _times(path: str | PathLike[str], column: pl.Series, time_unit: TimeUnit) -> pl.Series:
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return column.dt.epoch(time_unit)
    if not column.dtype.is_numeric():
        raise FileFormatError(path, "time", f"is a column of {column.dtype}; times are numbers or dates")
    return column


# --- all -------------------------------------------------------------------------------------------------------------
def check_events(frames: Iterator[pl.DataFrame], *, is_sorted: bool) -> Iterator[pl.DataFrame]:
    """Yield changes that come from anywhere but a file, with operations turned into `is_deletion`."""
    last, first, is_integer = None, 0, False
    for events in frames:
        wrong, reason = _find_fault(events, last, is_sorted)
        if reason:
            raise InvalidArgumentError(f"edge {first + wrong}: {reason}")
        if first and events.schema["source"].is_integer() != is_integer:
            raise InvalidArgumentError(f"edge {first}: ids are integers here and text there; give ids of one kind")
        is_integer = events.schema["source"].is_integer()
        last, first = events["time"][-1] if "time" in events.columns else None, first + events.height
        yield _tidied(events)


def _find_fault(events: pl.DataFrame, last: Any, is_sorted: bool) -> tuple[int, str]:
    """Return the first row that is wrong and why: its time is before that of the row before, or its operation is none.

    `last` is the time of the row before the first.
    """
    if "op" in events.columns:
        unknown = events["op"].is_in([word for word in events["op"].unique() if _sign_of(word) is None])
        if unknown.any():
            row = int(unknown.arg_max() or 0)
            word = events["op"][row]
            return row, f"the operation is {word!r}; use + or -, insert or delete, or numbers above and below 0"
    if "time" not in events.columns:
        return 0, ""
    times = events["time"].to_numpy()
    if not np.isfinite(times).all():
        return int(np.argmin(np.isfinite(times))), "the time is not a finite number"
    before = np.concatenate([[times[0] if last is None else last], times[:-1]]).astype(times.dtype)
    if is_sorted and (times < before).any():
        row = int(np.argmax(times < before))
        return row, f"the time {times[row]} is before {before[row]} of the edge before; use sort=True to sort them"
    return 0, ""


def _tidied(events: pl.DataFrame) -> pl.DataFrame:
    """Turn the column of operations into `is_deletion`, and all integers into such of 64 bits."""
    if "op" in events.columns:
        deletions = [word for word in events["op"].unique() if _sign_of(word) == "-"]
        events = events.with_columns(is_deletion=pl.col("op").is_in(deletions)).drop("op")
    names = [name for name in ("source", "target", "time") if name in events.columns]
    return events.with_columns(pl.col(name).cast(pl.Int64) for name in names if events.schema[name].is_integer())


def _sign_of(word: str) -> str | None:
    """Return + or - for an operation, None if it is none."""
    plain = word.strip().lower()
    if plain in INSERT_WORDS:
        return "+"
    if plain in DELETE_WORDS:
        return "-"
    try:
        number = float(plain)
    except ValueError:
        return None
    return "+" if number > 0 else "-" if number < 0 else None
