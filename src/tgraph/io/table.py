"""Tables of text lines, parsed by polars on all cores; every format made of lines stands on it.

The fast way reads the text as it is. Only where that fails is it tidied (runs of blanks, blanks at the ends of lines,
several kinds of comments) and read once more, and only where that fails too are the lines walked one by one, to name
the first one that is wrong.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tgraph.errors import FileFormatError
from tgraph.runtime import Array

BLANKS = " "  # as a separator: any run of spaces and tabs
INTEGER, STRING, NUMBER, REAL = "integer", "string", "number", "real"  # NUMBER: integers if all are, else reals
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True)
class Table:
    """The layout of the lines, and the fields that are wanted, as position -> kind."""

    width: int
    wanted: dict[int, str]
    separator: str = BLANKS
    comments: tuple[str, ...] = ()
    seen_comment: str | None = None  # the kind of comment that the first lines have
    has_header: bool = False
    may_be_wider: bool = False  # further fields of a line are ignored
    is_tidy: bool = True  # as far as the first lines tell
    first_line: int = 1  # the number in the file of the content's first line
    hints: Mapping[str, str] = field(default_factory=dict)  # kind -> what to do about a field that is not of it


def parse_table(path: str | PathLike[str], content: bytes | None, table: Table) -> list[Any]:
    """Return the wanted columns: numbers as NumPy arrays, strings as polars columns, no value missing.

    `content` is the text, or None for the plain file at `path`.
    """
    # Polars knows one kind of comment. Where lines with another kind could pass as ids, they are taken out before.
    is_ambiguous = STRING in table.wanted.values() and len(table.comments) > 1
    frame = None
    if table.is_tidy and not is_ambiguous:
        frame = _parse(str(path) if content is None else content, table)
    if frame is None:
        frame = _parse_prepared(path, Path(path).read_bytes() if content is None else content, table, is_ambiguous)
    return [_to_array(frame.drop_in_place(name)) for name in frame.columns]  # frees each before it copies the next


def _parse_prepared(path: str | PathLike[str], content: bytes, table: Table, is_ambiguous: bool) -> pl.DataFrame:
    """Return the wanted columns of text that must lose its comments or be tidied, or raise for the first bad line."""
    clean, content = replace(table, seen_comment=None), content.removeprefix(BYTE_ORDER_MARK)
    if table.is_tidy and is_ambiguous:
        frame = _parse(_without_comments(content, table), clean)
        if frame is not None:
            return frame
    frame = _parse(_tidied(content, table), clean)
    if frame is None:
        raise _damage(path, content, table)
    return frame


def _to_array(column: pl.Series) -> Array | pl.Series:
    return column if column.dtype == pl.String else column.to_numpy()


def _parse(source: str | bytes, table: Table) -> pl.DataFrame | None:
    """Return the wanted columns, or None where any line does not fit."""
    types = {INTEGER: pl.Int64, STRING: pl.String, REAL: pl.Float64}
    for number in (pl.Int64, pl.Float64) if NUMBER in table.wanted.values() else (pl.Int64,):
        kinds = [table.wanted.get(position, STRING) for position in range(table.width)]
        try:
            frame = pl.read_csv(
                source,
                schema={str(position): types.get(kind, number) for position, kind in enumerate(kinds)},
                columns=sorted(table.wanted),
                has_header=False,
                skip_rows=int(table.has_header),
                separator=table.separator,
                quote_char=None if table.separator == BLANKS else '"',
                comment_prefix=table.seen_comment,
                truncate_ragged_lines=table.may_be_wider,
            )
        except pl.exceptions.PolarsError:
            continue
        frame = frame.select([str(position) for position in table.wanted])
        if sum(frame.null_count().row(0)):
            frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # empty lines
        if not sum(frame.null_count().row(0)):
            return frame
    return None


def _tidied(content: bytes, table: Table) -> bytes:
    """Return the text with single separators, without blanks at the ends of lines and without comments."""
    content = content.replace(b"\r\n", b"\n")
    separator = table.separator.encode()
    if table.separator == BLANKS:
        content = _replace_all(content.replace(b"\t", b" "), b"  ", b" ")
    elif b'"' in content:
        return _without_comments(content, table)  # blanks between quotes belong to the id
    else:
        for blank in {b" ", b"\t"} - {separator}:
            content = _replace_all(_replace_all(content, blank + separator, separator), separator + blank, separator)
    content = _replace_all(_replace_all(content, b" \n", b"\n"), b"\n ", b"\n")
    if table.separator == "\t":
        content = _replace_all(content, b"\t\n", b"\n").rstrip(b"\t")
    return _without_comments(content.strip(b" "), table)


def _replace_all(content: bytes, old: bytes, new: bytes) -> bytes:
    """Replace until none is left; many times as fast as a regular expression where there are many."""
    while old in content:
        content = content.replace(old, new)
    return content


def _without_comments(content: bytes, table: Table) -> bytes:
    for prefix in table.comments:
        marker = b"\n" + prefix.encode()
        if content.startswith(marker[1:]) or marker in content:
            content = _cut_lines(b"\n" + content, marker)[1:]
    return content.lstrip(b"\r\n")  # polars counts the columns of the first line


def _cut_lines(content: bytes, marker: bytes) -> bytes:
    """Leave out the lines that begin with the marker; both begin with the end of the line before."""
    pieces, start = [], 0
    while (place := content.find(marker, start)) >= 0:
        pieces.append(content[start:place])
        end = content.find(b"\n", place + 1)
        start = len(content) if end < 0 else end
    return b"".join([*pieces, content[start:]])


def data_lines(content: bytes, comments: tuple[str, ...], first_line: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the text of every line that is neither empty nor a comment."""
    prefixes = tuple(prefix.encode() for prefix in comments)
    start, number = len(BYTE_ORDER_MARK) if content.startswith(BYTE_ORDER_MARK) else 0, first_line
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        line = content[start:end].rstrip(b"\r")
        if line.strip() and not line.lstrip().startswith(prefixes):
            yield number, line
        start, number = end + 1, number + 1


def end_of_line(content: bytes, number: int) -> int:
    """Return where the line behind line `number` (counted from 1) begins, at most the end of the content."""
    place = 0
    for _ in range(number):
        place = content.find(b"\n", place) + 1 or len(content)
    return place


def split_line(line: str, separator: str) -> list[str]:
    """Return the fields of a line; fields in quotes come without them."""
    if separator == BLANKS:
        return line.split()
    if '"' in line:
        return next(csv.reader([line], delimiter=separator))
    fields = [field.strip() for field in line.split(separator)]
    while separator == "\t" and len(fields) > 1 and not fields[-1]:
        fields.pop()
    return fields


def row_error(path: str | PathLike[str], content: bytes, table: Table, row: int, reason: str) -> FileFormatError:
    """Return the error about one row of the table, with its line number."""
    lines = data_lines(content, table.comments, table.first_line)
    number = next((number for k, (number, _) in enumerate(lines) if k == row + table.has_header), row + 1)
    return FileFormatError(path, f"line {number}", reason)


def _damage(path: str | PathLike[str], content: bytes, table: Table) -> FileFormatError:
    """Walk the lines until one is wrong, and return the error that names it."""
    lines = data_lines(content, table.comments, table.first_line)
    if table.has_header:
        next(lines, None)
    for number, line in lines:
        try:
            reason = _find_fault(split_line(line.decode(), table.separator), table)
        except UnicodeDecodeError as error:
            reason = (
                f"byte {line[error.start]:#04x} is no UTF-8 text; convert the file to UTF-8, or is it a binary one?"
            )
        except csv.Error as error:
            reason = f"the quotes do not fit ({error})"
        if reason:
            return FileFormatError(path, f"line {number}", reason)
    return FileFormatError(path, "lines", "cannot be read as a table, though no single line is wrong; unclosed quotes?")


def _find_fault(fields: list[str], table: Table) -> str | None:
    needed = max(table.wanted) + 1
    if len(fields) < needed:
        return f"has {len(fields)} column(s) where {needed} are needed: {_shortened(' '.join(fields))!r}"
    if len(fields) > table.width and not table.may_be_wider:
        return f"has {len(fields)} columns, more than the {table.width} that were expected"
    for position, kind in table.wanted.items():
        fault = _find_field_fault(fields[position], kind)
        if fault:
            hint = f"; {table.hints[kind]}" if kind in table.hints else ""
            return f"column {position} (counted from 0) holds {_shortened(fields[position])!r}, {fault}{hint}"
    return None


def _find_field_fault(text: str, kind: str) -> str | None:
    if kind == STRING:
        return None if text else "which is empty"
    if kind == INTEGER:
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            return "which is no integer"
        fits = len(text) <= 20 and LIMITS.min <= int(text) <= LIMITS.max
        return None if fits else "which does not fit into 64 bits"
    try:
        float(text)
    except ValueError:
        return "which is no number"
    return None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
