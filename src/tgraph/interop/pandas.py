"""From and to tables with one edge per row: pandas and polars."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_edges
from tgraph.runtime import Array


def from_pandas(
    frame: Any, source: str = "source", target: str = "target", weight: str | None = None, **options: Any
) -> Graph:
    """Build a graph from a pandas or polars frame with one edge per row.

    Args:
        frame: The table.
        source: The column with the vertices that edges come from.
        target: The column with the vertices that edges lead to.
        weight: The column with the weights, or None.
        options: As for `tgraph.from_edges`: `directed`, `num_vertices`, `labels`, `duplicates`, `self_loops`,
            `runtime`, `device`.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"from": ["ann", "bob"], "to": ["bob", "cy"], "cost": [1.5, 2.5]})
    >>> from_pandas(frame, "from", "to", weight="cost", runtime="numpy")
    Graph(3 vertices, 2 edges, directed, weighted, labelled, numpy on cpu)
    """
    if not hasattr(frame, "columns"):
        raise InvalidArgumentError(f"frame is a {type(frame).__name__}; give a pandas or polars frame")
    weights = None if weight is None else _column(frame, "weight", weight)
    return from_edges(_column(frame, "source", source), _column(frame, "target", target), weights, **options)


def to_pandas(graph: Graph, source: str = "source", target: str = "target", weight: str = "weight") -> Any:
    """Return the edges as a pandas frame under the user's ids; an undirected edge once.

    Isolated vertices have no row: `from_pandas(..., labels=graph.vertex_labels)` brings them back.

    >>> import tgraph as tg
    >>> to_pandas(tg.from_edges([7, 7], [8, 9], weights=[1, 2])).to_dict("list")
    {'source': [7, 7], 'target': [8, 9], 'weight': [1, 2]}
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("pandas", "to_pandas") from error
    sources, targets, weights = graph.edges()
    columns = {source: _plain(sources), target: _plain(targets)}
    if weights is not None:
        columns[weight] = weights.copy()
    return pd.DataFrame(columns)


def _column(frame: Any, argument: str, name: str) -> Any:
    """Return one column as an array, without missing values."""
    if name not in frame.columns:
        raise InvalidArgumentError(f"{argument}={name!r} is no column of the frame; it has {list(frame.columns)}")
    column = frame[name]
    missing = column.isna().sum() if hasattr(column, "isna") else column.null_count()
    if missing:
        raise InvalidArgumentError(f"{argument}={name!r} has {missing} missing values; drop or fill those rows first")
    numbers = getattr(column.dtype, "numpy_dtype", None)  # pandas' own types, which would turn into objects
    return column if numbers is None else column.to_numpy(dtype=numbers)


def _plain(ids: Array) -> Array:
    return ids.astype(object) if ids.dtype.kind == "T" else np.array(ids)
