"""Lines of edges, chunk by chunk: what `tgraph.io.text` reads as a whole, with the same options and errors."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import IO, cast

import numpy as np

from tgraph.errors import FileFormatError
from tgraph.io.edge_chunks import INTEGER, EdgeChunk, EdgeChunks, Part, Room
from tgraph.io.files import ByteStream, Reader, open_stream, split_ending
from tgraph.io.table import BLANKS, STRING, Table, data_lines, parse_table
from tgraph.io.text import (
    COMMENTS,
    VERTEX_NUMBER_ENDINGS,
    check_layout_options,
    check_skip_rows,
    choose_columns,
    no_edges,
    several_files,
)
from tgraph.io.text_layout import HEAD_BYTES, Layout, find_layout

MAX_CHUNK_BYTES = 1 << 26  # of text; larger chunks are not faster
TEXT_COPIES = 4  # of a chunk's text while it is read, tidied and parsed
BYTES_PER_EDGE = {INTEGER: 128, STRING: 384}  # of what is made of its lines
FEWEST_LINES = 1000  # that there must be room for


@contextmanager
def open_chunks(
    path: str | PathLike[str],
    room: Room,
    folder: Path,
    part: Part = (0, 1),
    *,
    weights: str | int | None = "auto",
    columns: tuple[str | int, str | int] | None = None,
    separator: str = "auto",
    comments: str | tuple[str, ...] = COMMENTS,
    header: str | bool = "auto",
    skip_rows: int = 0,
    ids: str = "auto",
) -> Iterator[EdgeChunks]:
    """Open lines of edges; the options are those of `tgraph.io.text.read`. Needs no temporary files in `folder`.

    All of the file is read for a part of it, but only that part is parsed.
    """
    comments = check_layout_options(ids, header, comments)
    check_skip_rows(skip_rows)
    with open_stream(path) as stream, _text_of(path, stream) as text:
        lines = Lines(text)
        lines.skip(skip_rows)
        head, layout = _look(path, lines, room, separator=separator, comments=comments, header=header)
        keeps_gaps = split_ending(path)[0] in VERTEX_NUMBER_ENDINGS
        if not layout.rows:
            nothing = no_edges(layout, weights)
            lines.drain()
            dtype = nothing[2].dtype if len(nothing) > 2 else None
            yield EdgeChunks(iter(()), INTEGER, dtype, keeps_gaps=keeps_gaps)
            return
        table = choose_columns(path, layout, columns, weights, ids)
        if table.has_header:
            lines.skip(next(data_lines(head, comments))[0])
            table = replace(table, has_header=False)
        lines.has_quotes = table.separator != BLANKS
        kinds = list(table.wanted.values())
        chunks = _chunks(path, stream, lines, replace(table, comments=comments), room, _mean_length(layout), part)
        is_weighted = len(kinds) > 2
        dtype = np.dtype(np.int64) if is_weighted else None
        yield EdgeChunks(chunks, kinds[0], dtype, may_turn_real=is_weighted, keeps_gaps=keeps_gaps)


class Lines:
    """Whole lines of a stream, some at a time; `number` is that of the next one."""

    def __init__(self, stream: Reader) -> None:
        self._stream, self._rest, self._is_at_end = stream, b"", False
        self.number = 1
        self.has_quotes = False  # line breaks between quotes end no line

    def peek(self, num_bytes: int) -> bytes:
        """Return what comes next, less than `num_bytes` at the end only."""
        pieces, missing = [self._rest], num_bytes - len(self._rest)
        while missing > 0 and not self._is_at_end:
            piece = self._stream.read(missing)
            pieces.append(piece)
            missing -= len(piece)
            self._is_at_end = not piece
        if len(pieces) > 1:
            self._rest = b"".join(pieces)
        return self._rest[:num_bytes]

    def take(self, num_bytes: int) -> bytes:
        """Return about so many bytes of whole lines, at least one line; nothing at the end only."""
        while True:
            content = self.peek(num_bytes)
            is_rest = self._is_at_end and len(content) == len(self._rest)
            end = len(content) if is_rest else self._end_of_lines(content)
            if end or is_rest:
                break
            num_bytes *= 2
        self._rest = self._rest[end:]
        self.number += content.count(b"\n", 0, end)
        return content[:end]

    def give_back(self, content: bytes) -> None:
        """Take back what `take` gave last."""
        self._rest = content + self._rest
        self.number -= content.count(b"\n")

    def skip(self, count: int) -> None:
        """Leave out lines."""
        for _ in range(count):
            size = 1 << 12
            while (end := self.peek(size).find(b"\n")) < 0 and not self._is_at_end:
                size *= 2
            self._rest = self._rest[end + 1 :] if end >= 0 else b""
            self.number += 1

    def drain(self) -> None:
        """Read to the end, so that damage is found."""
        while self.take(HEAD_BYTES):
            pass

    def _end_of_lines(self, content: bytes) -> int:
        """Return where the last whole line ends; of lines that end outside quotes, if there is such a one."""
        last = end = content.rfind(b"\n") + 1
        num_quotes = content.count(b'"', 0, end) if self.has_quotes else 0
        while num_quotes % 2 and end:
            start = content.rfind(b"\n", 0, end - 1) + 1
            num_quotes -= content.count(b'"', start, end)
            end = start
        return end or last


def _look(
    path: str | PathLike[str],
    lines: Lines,
    room: Room,
    *,
    separator: str,
    comments: tuple[str, ...],
    header: str | bool,
) -> tuple[bytes, Layout]:
    """Return the first lines and their layout: more of them where comments alone fill the beginning."""
    size = HEAD_BYTES
    while True:
        head = lines.peek(size)
        is_all = len(head) < size
        head = head if is_all else head[: head.rfind(b"\n") + 1] or head
        layout = find_layout(path, head, separator=separator, comments=comments, header=header)
        if layout.rows or is_all:
            return head, layout
        size *= 2
        room("the comments before the first edge", size * TEXT_COPIES)


def _chunks(
    path: str | PathLike[str],
    stream: ByteStream,
    lines: Lines,
    table: Table,
    room: Room,
    mean_length: float,
    part: Part,
) -> Iterator[EdgeChunk]:
    bytes_per_edge = BYTES_PER_EDGE[next(iter(table.wanted.values()))]
    while True:
        bytes_per_line = int(TEXT_COPIES * mean_length) + bytes_per_edge
        num_lines = room("a chunk of text", FEWEST_LINES * bytes_per_line) // bytes_per_line
        number, owner = lines.number, int(stream.done * part[1])
        content = lines.take(max(int(min(num_lines * mean_length, MAX_CHUNK_BYTES)), 1))
        if not content:
            return
        count = lines.number - number
        if count > num_lines + num_lines // 2:  # lines are shorter here than they were
            mean_length = len(content) / count
            lines.give_back(content)
            continue
        is_other = min(owner, part[1] - 1) != part[0]
        if is_other or next(data_lines(content, table.comments), None) is None:
            continue
        parts = parse_table(path, content, replace(table, first_line=number))
        del content
        yield EdgeChunk(parts[0], parts[1], parts[2] if len(parts) > 2 else None, str(path), stream.done)


def _mean_length(layout: Layout) -> float:
    return sum(len(line) + 1 for line in layout.lines) / len(layout.lines)


@contextmanager
def _text_of(path: str | PathLike[str], stream: ByteStream) -> Iterator[Reader]:
    """Give the stream itself, or the only file of an archive."""
    if split_ending(path)[0] != ".tar":
        yield stream
        return
    try:
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as tar:
            yield _Member(path, tar)
    except tarfile.TarError as error:
        raise FileFormatError(path, "archive", f"cannot be unpacked ({error})") from error


class _Member:
    """The content of the only file of an archive; that it is the only one is known at its end."""

    def __init__(self, path: str | PathLike[str], archive: tarfile.TarFile) -> None:
        self._path, self._archive = path, archive
        first = self._next_file()
        self._names = [] if first is None else [first.name]
        if first is None:
            raise several_files(path, [])
        self._content = archive.extractfile(first) or io.BytesIO()

    def read(self, size: int, /) -> bytes:
        content = self._content.read(size)
        if not content:
            while (other := self._next_file()) is not None:
                self._names.append(other.name)
            if len(self._names) > 1:
                raise several_files(self._path, self._names)
        return content

    def _next_file(self) -> tarfile.TarInfo | None:
        while (member := self._archive.next()) is not None:
            if member.isfile():
                return member
        return None
