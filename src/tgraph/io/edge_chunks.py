"""Edges of a file that need not fit into memory, chunk by chunk: formats `text`, `parquet` and `store`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.runtime import Array

# room(purpose, least): the bytes of memory for a chunk and all that is made of it; raises where there are fewer than
# `least`.
Room: TypeAlias = Callable[[str, int], int]

Part: TypeAlias = tuple[int, int]  # the number of a part, and how many there are

NUMBER, INTEGER, STRING = "number", "integer", "string"  # ids are vertex numbers, any integers, strings

_HOMES = {"text": "text_chunks", "parquet": "parquet_chunks", "store": "store_chunks"}


class EdgeChunk(NamedTuple):
    """Some edges, in the order of the file."""

    sources: Any  # [N]: an array of integers, or a polars column of strings
    targets: Any
    weights: Array | None
    where: str  # the name of the file or of the chunk, for errors
    done: float | None = None  # the part of the file that was read with these, 0 to 1


@dataclass(frozen=True)
class EdgeChunks:
    """The edges of a file, and what is known of them before they are read."""

    chunks: Iterator[EdgeChunk]
    ids: str  # one of the kinds above
    weight_dtype: np.dtype[Any] | None = None  # None = there are no weights
    may_turn_real: bool = False  # integer weights so far, maybe none later
    keeps_gaps: bool = False  # numbers that do not occur are vertices too, if they are not too many
    is_mirrored: bool = False  # both directions of every undirected edge are in the chunks
    num_vertices: int | None = None
    labels: dict[str, Array] = field(default_factory=dict)  # tensors of a native file, as they are to be stored


def open_chunks(
    path: str | PathLike[str],
    format: str,
    room: Room,
    folder: Path,
    options: dict[str, Any],
    part: Part | None = None,
) -> AbstractContextManager[EdgeChunks]:
    """Open a file to be read chunk by chunk; `options` are those that the format's `read` has for its layout.

    `folder` is for temporary files. With `part` (of text and tables) only that part of the edges is given; all parts in
    their order are all edges in theirs.
    """
    if format not in _HOMES:
        raise InvalidArgumentError(
            f"format {format!r} of {path} is read as a whole, not in chunks, as {', '.join(map(repr, _HOMES))} are; "
            "use tgraph.read and tgraph.write if it fits into memory"
        )
    function = importlib.import_module(f"tgraph.io.{_HOMES[format]}").open_chunks
    known = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
    for option, value in options.items():
        if option not in known:
            takes = ", ".join(known)
            raise InvalidArgumentError(f"{option}={value!r} is no option: to build from {format!r} takes {takes}")
    parts = () if part is None else (part,)
    opened: AbstractContextManager[EdgeChunks] = function(path, room, folder, *parts, **options)
    return opened
