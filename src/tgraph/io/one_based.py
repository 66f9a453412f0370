"""Graphs of files that declare their counts and number the vertices from 1.

Counts in a file are claims: they are compared with what the file holds before anything is allocated for them.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io.table import Table, row_error
from tgraph.runtime import Array

# More vertices than these are taken for a damaged count: an edge has two, and isolated ones are few beside them.
MAX_VERTICES_PER_EDGE = 64
MAX_ISOLATED_VERTICES = 1_000_000


def parse_counts(path: str | PathLike[str], where: str, fields: list[bytes]) -> list[int]:
    """Return fields as counts, whole numbers of at most 18 digits."""
    for text in fields:
        if not re.fullmatch(rb"[0-9]{1,18}", text):
            shown = text[:40].decode(errors="replace")
            raise FileFormatError(path, where, f"gives {shown!r} as a count; counts are whole numbers below 10^18")
    return [int(text) for text in fields]


def check_num_vertices(path: str | PathLike[str], where: str, num_vertices: int, num_edges: int) -> None:
    """Raise where a file declares far more vertices than its edges can have."""
    limit = MAX_VERTICES_PER_EDGE * num_edges + MAX_ISOLATED_VERTICES
    if num_vertices > limit:
        raise FileFormatError(
            path, where, f"declares {num_vertices} vertices, but with {num_edges} edges at most {limit} are believed"
        )


def build_one_based(
    path: str | PathLike[str],
    content: bytes,
    table: Table,
    num_vertices: int,
    columns: list[Array],
    **options: Any,
) -> Graph:
    """Return the graph of sources, targets and maybe weights whose vertices are called 1 to `num_vertices`."""
    check_num_vertices(path, "counts", num_vertices, columns[0].size)
    for column in columns[:2]:
        wrong = np.flatnonzero((column < 1) | (column > num_vertices))
        if wrong.size:
            reason = f"names vertex {column[wrong[0]]}, but the vertices are 1 to {num_vertices}"
            raise row_error(path, content, table, int(wrong[0]), reason)
    sources, targets = columns[0] - 1, columns[1] - 1
    weights = columns[2] if len(columns) > 2 else None
    graph = from_edges(sources, targets, weights, num_vertices=num_vertices, **options)
    return graph.relabel(np.arange(1, num_vertices + 1))


def whole_weights(weights: Array, format_name: str) -> Array:
    """Return weights as integers, for formats that hold no others."""
    whole = weights.astype(np.int64) if np.isfinite(weights).all() and np.abs(weights).max(initial=0) < 2**63 else None
    if whole is None or (whole != weights).any():
        raise InvalidArgumentError(
            f"{format_name} holds whole numbers as weights and some of the graph's are not; use .mtx, .csv or .parquet"
        )
    return whole
