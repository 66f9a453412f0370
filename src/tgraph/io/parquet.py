"""Edges as a table in Parquet (`.parquet`) or Arrow IPC (`.arrow`, `.feather`) files.

Columns source, target and maybe weight, found by their names or, where they have other names, by their places. A table
of edges cannot hold isolated vertices, nor say whether edges are directed: `directed=` does.
"""

from __future__ import annotations

import io
from os import PathLike
from typing import Any

import polars as pl

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io.edge_frame import edge_frame, open_for_writing
from tgraph.io.files import read_bytes, split_ending
from tgraph.io.text_layout import find_id_columns, find_weight_column


def read(
    path: str | PathLike[str],
    *,
    directed: bool = True,
    weights: str | int | None = "auto",
    columns: tuple[str | int, str | int] | None = None,
    num_vertices: int | None = None,
    labels: Any = "auto",
    duplicates: str = "keep",
    self_loops: str = "keep",
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Read a graph from a table of edges.

    Args:
        path: The file; .parquet, else Arrow IPC.
        directed: If False, every row is an undirected edge.
        weights: `"auto"`: the column called weight (or value, cost, distance, ...), if there is one. None: no
            weights. A name or a number, counted from 0: that column.
        columns: The columns of sources and targets, by name or number; else those called so, else the first two.
        num_vertices: As in `from_edges`: ids are the numbers 0 to num_vertices - 1, isolated vertices included.
        labels: As in `from_edges`.
        duplicates: As in `from_edges`.
        self_loops: As in `from_edges`.
        runtime: The tensor runtime of the graph.
        device: The device of the tensors.

    >>> import pathlib, tempfile
    >>> from tgraph.graph import from_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "edges.parquet")
    ...     write(from_edges(["ulm"], ["bonn"], weights=[420.5]), file)
    ...     graph = read(file)
    >>> graph.vertex_labels.tolist(), graph.weights.tolist()
    (['bonn', 'ulm'], [420.5])
    """
