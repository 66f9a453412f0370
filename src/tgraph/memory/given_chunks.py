"""Chunks of edges that the user gives, checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from tgraph.errors import InvalidArgumentError
from tgraph.graph.build import as_weights
from tgraph.graph.labels import as_column
from tgraph.io.edge_chunks import INTEGER, NUMBER, STRING, EdgeChunk, EdgeChunks
from tgraph.runtime import Array

Chunk: TypeAlias = Sequence[Any]  # sources, targets, and weights if there are any


def given_chunks(chunks: Iterable[Chunk], has_numbers: bool) -> EdgeChunks:
    """Return the user's chunks; the first ones say the kind of the ids and the type of the weights."""
    checked = _checked(chunks, has_numbers)
    first = next(checked, None)
    dtype = None if first is None or first.weights is None else first.weights.dtype
    while first is not None and not len(first.sources):
        first = next(checked, None)
    if first is None:
        return EdgeChunks(iter(()), INTEGER, dtype)
    kind = NUMBER if has_numbers else STRING if isinstance(first.sources, pl.Series) else INTEGER
    return EdgeChunks(chain([first], (chunk for chunk in checked if len(chunk.sources))), kind, dtype)


def _checked(chunks: Iterable[Chunk], has_numbers: bool) -> Iterator[EdgeChunk]:
    """Yield chunks whose columns fit each other and those of the chunks before."""
    weight_types: set[np.dtype[Any] | None] = set()
    id_kinds: set[type] = set()
    if not isinstance(chunks, Iterable):
        raise InvalidArgumentError(f"edges={chunks!r} must be a file, or chunks of edges: (sources, targets) each")
    for number, chunk in enumerate(chunks):
        if not hasattr(chunk, "__len__"):
            raise InvalidArgumentError(f"chunk {number} of edges is a {type(chunk).__name__}; give (sources, targets)")
        if not 2 <= len(chunk) <= 3:
            raise InvalidArgumentError(f"chunk {number} of edges has {len(chunk)} columns; give 2, or 3 with weights")
        sources = _ids(f"sources of chunk {number}", chunk[0], has_numbers)
        targets = _ids(f"targets of chunk {number}", chunk[1], has_numbers)
        weights = None if len(chunk) == 2 else as_weights(chunk[2])
        if len({len(column) for column in (sources, targets, weights) if column is not None}) > 1:
            raise InvalidArgumentError(f"the columns of chunk {number} have different lengths; give one entry per edge")
        weight_types.add(None if weights is None else weights.dtype)
        if len(weight_types) > 1:
            raise InvalidArgumentError(f"the weights of chunk {number} are not of the type of those before")
        id_kinds |= {type(sources), type(targets)} if len(sources) else set()
        if len(id_kinds) > 1:
            raise InvalidArgumentError(f"the ids of chunk {number} are not of one kind with all before")
        yield EdgeChunk(sources, targets, weights, f"chunk {number}")


def _ids(argument: str, column: Any, has_numbers: bool) -> Array | pl.Series:
    """Return ids as an array of integers or a column of strings."""
    given = np.asarray(column) if has_numbers else None
    if given is not None and given.size and given.dtype.kind not in "iu":
        raise InvalidArgumentError(f"{argument} holds {given.dtype.name}; give vertex numbers")
    if given is not None and given.dtype.kind == "i":
        return given
    ids = as_column(argument, column)
    if ids.dtype.kind == "T":
        return pl.Series(ids.tolist(), dtype=pl.String)
    if ids.dtype.kind != "i":
        raise InvalidArgumentError(f"{argument} holds {type(ids[0]).__name__}; give integers or strings")
    return ids
