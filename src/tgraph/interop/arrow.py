"""From and to Arrow tables and polars frames with one edge per row; `from_pandas` takes polars frames too."""

from __future__ import annotations

from typing import Any

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_edges
from tgraph.runtime import Array


def from_arrow(
    table: Any, source: str = "source", target: str = "target", weight: str | None = None, **options: Any
) -> Graph:
    """Build a graph from an Arrow table with one edge per row.

    Args:
        table: A `pyarrow.Table` or record batch.
        source: The column with the vertices that edges come from.
        target: The column with the vertices that edges lead to.
        weight: The column with the weights, or None.
        options: As for `tgraph.from_edges`.

    >>> import pyarrow as pa
    >>> from_arrow(pa.table({"source": ["ann", "bob"], "target": ["bob", "cy"]}), runtime="numpy")
    Graph(3 vertices, 2 edges, directed, unweighted, labelled, numpy on cpu)
    """
    if not hasattr(table, "schema"):
        raise InvalidArgumentError(f"table is a {type(table).__name__}; give a pyarrow table")
    weights = None if weight is None else _column(table, "weight", weight)
    return from_edges(_column(table, "source", source), _column(table, "target", target), weights, **options)


def to_arrow(graph: Graph, source: str = "source", target: str = "target", weight: str = "weight") -> Any:
    """Return the edges as an Arrow table under the user's ids; an undirected edge once. Isolated vertices have no row.

    >>> import tgraph as tg
    >>> to_arrow(tg.from_edges([7, 7], [8, 9], weights=[1, 2])).to_pydict()
    {'source': [7, 7], 'target': [8, 9], 'weight': [1, 2]}
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingDependencyError("pyarrow", "to_arrow") from error
    return pa.table({name: pa.array(_plain(column)) for name, column in _columns(graph, source, target, weight)})


def to_polars(graph: Graph, source: str = "source", target: str = "target", weight: str = "weight") -> Any:
    """Return the edges as a polars frame under the user's ids; an undirected edge once. Isolated vertices have no row.

    >>> import tgraph as tg
    >>> to_polars(tg.from_edges([7, 7], [8, 9])).to_dict(as_series=False)
    {'source': [7, 7], 'target': [8, 9]}
    """
    try:
        import polars as pl
    except ImportError as error:
        raise MissingDependencyError("polars", "to_polars") from error
    return pl.DataFrame({name: _plain(column) for name, column in _columns(graph, source, target, weight)})


def _columns(graph: Graph, source: str, target: str, weight: str) -> list[tuple[str, Array]]:
    sources, targets, weights = graph.edges()
    columns = [(source, sources), (target, targets)]
    return columns if weights is None else [*columns, (weight, weights)]


def _column(table: Any, argument: str, name: str) -> Any:
    names = table.schema.names
    if name not in names:
        raise InvalidArgumentError(f"{argument}={name!r} is no column of the table; it has {names}")
    column = table.column(name)
    if column.null_count:
        raise InvalidArgumentError(
            f"{argument}={name!r} has {column.null_count} missing values; drop or fill those rows first"
        )
    return column


def _plain(column: Array) -> Any:
    """Return strings and other objects as a list, numbers as they are."""
    return column.tolist() if column.dtype.kind in "TO" else column
