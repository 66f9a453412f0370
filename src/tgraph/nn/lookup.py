"""Lookup of the features of a batch's vertices, in one piece or as vertices become known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from torch import Tensor

from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu.page_requests import ask_for_rows, is_of_file, read_at_random
from tgraph.kernels.cpu.row_lookup import copy_rows
from tgraph.nn.buffers import BufferPool
from tgraph.nn.rows import Rows, bytes_of, rows_of_bytes
from tgraph.nn.tables import as_table
from tgraph.runtime import Array

Features: TypeAlias = "Tensor | Rows | dict[str, Tensor | Rows] | None"

_ONLY = ""  # the name of a table that came without one


class FileRows:
    """The tables among some that are mapped from files, of which rows are read here and there."""

    def __init__(self, tables: Iterable[Tensor]) -> None:
        here = (bytes_of(table) for table in tables if table.device.type == "cpu")
        self._tables = [rows for rows in here if is_of_file(rows)]
        for rows in self._tables:
            read_at_random(rows)

    def ask(self, vertices: Array) -> None:
        """Have the rows of vertices read in the background."""
        for rows in self._tables:
            ask_for_rows(rows, vertices)


class Lookup:
    """Tables with a row per vertex, of which batches get some rows: copied, or as `Rows` that are read in place."""

    def __init__(self, features: Any, num_vertices: int, how: str, pool: BufferPool) -> None:
        """Take one table, a mapping of names to tables, or None."""
        self._is_single = not isinstance(features, Mapping)
        named = {} if features is None else {_ONLY: features} if self._is_single else features
        self._tables: dict[str, Tensor] = {
            name: as_table(f"features[{name!r}]" if name else "features", table, num_vertices)
            for name, table in named.items()
        }
        self.copies = how == "copy" and bool(self._tables)
        if self.copies and any(table.device.type != "cpu" for table in self._tables.values()):
            raise InvalidArgumentError("features are on another device; leave them on the CPU, or use lookup='through'")
        self._bytes = {name: bytes_of(table) for name, table in self._tables.items()} if self.copies else {}
        self._in_files = FileRows(self._tables.values())
        self._pool = pool

    def ask(self, vertices: Array) -> None:
        """Have the rows of vertices read in the background, where tables are mapped from files."""
        self._in_files.ask(vertices)

    def begin(self, most: int) -> dict[str, Array]:
        """Return room for the rows of `most` vertices, `[most, B]` bytes per table."""
        return {
            name: self._pool.take(most * rows.shape[1], "u1").reshape(most, rows.shape[1])
            for name, rows in self._bytes.items()
        }

    def copy(self, room: dict[str, Array], vertices: Array, first: int) -> None:
        """Copy the rows of vertices from the `first`-th on to their places."""
        for name, rows in self._bytes.items():
            copy_rows(rows, vertices[first:], room[name][first : vertices.size])

    def finish(self, room: dict[str, Array], vertices: Tensor) -> Features:
        """Return the features of a batch: what was copied, or rows to be read in place."""
        found: dict[str, Tensor | Rows] = {}
        for name, table in self._tables.items():
            copied = room[name][: vertices.shape[0]] if self.copies else None
            found[name] = _read_in_place(table, vertices) if copied is None else rows_of_bytes(copied, table)
        if not self._is_single:
            return found
        return found.get(_ONLY)


def _read_in_place(table: Tensor, vertices: Tensor) -> Rows:
    is_here = table.device.type == "cpu" and vertices.device.type == "cpu"
    return Rows.unchecked(table, vertices) if is_here else Rows(table, vertices)
