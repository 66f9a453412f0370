"""Batches as bytes: the safetensors format, which executes nothing when it is read."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Batch
from tgraph.graph.labels import STRING_DTYPE
from tgraph.runtime import Array

EDGES = ("insert", "delete", "change")
VERTICES = ("add_vertices", "remove_vertices")
PARTS = ("sources", "targets", "weights")


def encode(batch: Batch) -> bytes:
    """Return a batch as bytes.

    >>> decode(encode(Batch(insert=(["a"], ["b"], [0.5]), time=7)))
    Batch(1 to insert)
    """
    tensors: dict[str, Array] = {"time": np.frombuffer(json.dumps(_as_time(batch.time)).encode(), np.uint8)}
    for name in EDGES:
        columns = getattr(batch, name)
        for part, column in zip(PARTS, columns, strict=True):
            if column is not None and columns[0].size:
                tensors |= _tensors(f"{name}.{part}", column)
    for name in VERTICES:
        if getattr(batch, name).size:
            tensors |= _tensors(name, getattr(batch, name))
    return save(tensors)


def decode(content: bytes) -> Batch:
    """Return the batch that `encode` made these bytes of."""
    tensors = load(content)
    given: dict[str, Any] = {name: _column(tensors, name) for name in VERTICES}
    for name in EDGES:
        columns = [_column(tensors, f"{name}.{part}") for part in PARTS]
        if columns[0] is not None:
            given[name] = columns if columns[2] is not None else columns[:2]
    return Batch(**given, time=json.loads(tensors["time"].tobytes()))


def _tensors(name: str, column: Array) -> dict[str, Array]:
    """Return a column as tensors: numbers as they are, texts as UTF-8 and where each begins."""
    if column.dtype.kind == "O":
        raise InvalidArgumentError(
            f"{name.replace('.', ': ')} holds {column[0]!r}; in a journal, ids are integers or strings"
        )
    if column.dtype.kind != "T":
        return {name: np.ascontiguousarray(column)}
    texts = [text.encode() for text in column.tolist()]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return {f"{name}.bytes": np.frombuffer(b"".join(texts), np.uint8), f"{name}.offsets": offsets}


def _column(tensors: dict[str, Array], name: str) -> Array | None:
    if f"{name}.bytes" not in tensors:
        return tensors.get(name)
    content, bounds = tensors[f"{name}.bytes"].tobytes(), tensors[f"{name}.offsets"].tolist()
    return np.asarray([content[begin:end].decode() for begin, end in pairwise(bounds)], STRING_DTYPE)


def _as_time(time: Any) -> Any:
    """Return a time as a number or a text."""
    plain = time.item() if isinstance(time, np.generic) else time
    return plain if plain is None or isinstance(plain, (int, float, str)) else str(plain)
