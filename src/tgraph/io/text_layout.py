"""Find out how a text file of edges is laid out, from a look at its first lines and the user's wishes."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from os import PathLike

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io.edge_columns import name_edges
from tgraph.io.table import BLANKS, data_lines, split_line

SEPARATORS = ("\t", ",", ";", BLANKS)
HEAD_BYTES = 1 << 20
SAMPLE_LINES = 200


@dataclass(frozen=True)
class Layout:
    """What the first lines tell."""

    separator: str
    names: list[str] | None  # of the header line, None = there is none
    lines: list[str]  # data lines
    rows: list[list[str]]  # their fields
    seen_comment: str | None
    is_tidy: bool  # single separators, no blanks around fields

    @property
    def width(self) -> int:
        """The number of columns: those of the header, else those of the first data line."""
        return len(self.names or (self.rows[0] if self.rows else []))


def find_layout(
    path: str | PathLike[str], content: bytes, *, separator: str, comments: tuple[str, ...], header: str | bool
) -> Layout:
    """Return the layout of the lines in `content`, the beginning of the file or all of it."""
    if content.lstrip().startswith(b"%%MatrixMarket"):
        raise FileFormatError(path, "line 1", "says that this is a Matrix Market file; use format='matrix_market'")
    lines = _sample(path, content, comments)
    if separator == "auto":
        separator = _find_separator(lines)
    elif separator not in SEPARATORS:
        raise InvalidArgumentError(f"separator={separator!r} is not known; use 'auto' or one of {SEPARATORS}")
    try:
        rows = [split_line(line, separator) for line in lines]
    except csv.Error as error:
        raise FileFormatError(path, "first lines", f"the quotes do not fit ({error})") from error
    has_header = _is_header(rows) if header == "auto" else bool(header)
    names = rows.pop(0) if rows and has_header else None
    lines = lines[1:] if names else lines
    joined = (line == separator.join(row) or '"' in line for line, row in zip(lines, rows, strict=True))
    return Layout(separator, names, lines, rows, _find_comment(content, comments), all(joined))


def are_integers(layout: Layout, columns: tuple[int, ...]) -> bool:
    """Say whether the sampled fields of these columns are integers; those in quotes are strings."""
    return all(
        _is_integer(row[column]) and f'"{row[column]}"' not in line
        for line, row in zip(layout.lines, layout.rows, strict=True)
        for column in columns
        if column < len(row)
    )


def _sample(path: str | PathLike[str], content: bytes, comments: tuple[str, ...]) -> list[str]:
    lines: list[str] = []
    for number, line in data_lines(content, comments):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError as error:
            reason = f"byte {line[error.start]:#04x} is no UTF-8 text; is this a binary or compressed file?"
            raise FileFormatError(path, f"line {number}", reason) from error
        if len(lines) == SAMPLE_LINES:
            break
    return lines


def _find_separator(lines: list[str]) -> str:
    """Return the separator that every line has; runs of blanks where there is none."""
    for separator in SEPARATORS[:-1]:
        if lines and all(separator in line.strip() for line in lines):
            return BLANKS if separator == "\t" and _are_runs(lines) else separator
    return BLANKS


def _are_runs(lines: list[str]) -> bool:
    """Say whether tabs only align columns: several in a row, and the same number of words on every line."""
    return any("\t\t" in line.strip() for line in lines) and len({len(line.split()) for line in lines}) == 1


def _is_header(rows: list[list[str]]) -> bool:
    if not rows or len(rows[0]) < 2:
        return False
    if name_edges(rows[0]):
        return True
    is_number = [all(_is_integer(field) for field in row[:2]) for row in rows[:2]]
    return is_number == [False, True] and not any(_is_integer(field) for field in rows[0][:2])


def _find_comment(content: bytes, comments: tuple[str, ...]) -> str | None:
    present = [c for c in comments if content.startswith(c.encode()) or b"\n" + c.encode() in content]
    return present[0] if present else None


def _is_integer(field: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+", field) is not None
