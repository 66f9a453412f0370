"""A batch of changes of a graph, as the user gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.graph.build import as_weights
from tgraph.graph.labels import as_column, is_column
from tgraph.runtime import Array

Edges = tuple[Array, Array, "Array | None"]  # ids of sources and targets, weights


@dataclass(frozen=True)
class Batch:
    """Edges and vertices that come and go together, by the user's ids.

    In this order: `remove_vertices` (with their edges), `delete`, `change`, `add_vertices`, `insert`. Columns are
    whatever `tgraph.from_edges` takes.

    >>> batch = Batch(insert=([1, 2], [2, 3], [0.5, 0.25]), delete=([1], [3]))
    >>> batch
    Batch(2 to insert, 1 to delete)
    >>> len(batch)
    3
    """

    insert: Any = None  # (sources, targets) or (sources, targets, weights)
    delete: Any = None  # (sources, targets)
    change: Any = None  # (sources, targets, weights)
    add_vertices: Any = None  # ids
    remove_vertices: Any = None  # ids
    time: Any = None  # of the last change in it, where the source of batches knows times

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "insert", _edges("insert", self.insert, (2, 3)))
        put(self, "delete", _edges("delete", self.delete, (2,)))
        put(self, "change", _edges("change", self.change, (3,)))
        for name in ("add_vertices", "remove_vertices"):
            ids = getattr(self, name)
            put(self, name, np.empty(0, np.int64) if ids is None else as_column(name, ids))

    def __len__(self) -> int:
        """The number of changes."""
        return sum(size for _, size in self._sizes())

    def __repr__(self) -> str:
        words = [f"{size:,} {what}" for what, size in self._sizes() if size]
        return f"Batch({', '.join(words) or 'nothing'})"

    def _sizes(self) -> Iterable[tuple[str, int]]:
        return (
            ("to insert", self.insert[0].size),
            ("to delete", self.delete[0].size),
            ("to change", self.change[0].size),
            ("vertices to add", self.add_vertices.size),
            ("vertices to remove", self.remove_vertices.size),
        )


def _edges(argument: str, given: Any, lengths: tuple[int, ...]) -> Edges:
    """Return the columns of some edges."""
    if given is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), None
    kinds = "(sources, targets, weights)" if 3 in lengths else "(sources, targets)"
    if isinstance(given, (set, frozenset, Mapping)) or not is_column(given):
        raise InvalidArgumentError(f"{argument}={given!r} must be columns of edges; give {kinds}")
    columns = tuple(given)
    if len(columns) not in lengths:
        raise InvalidArgumentError(f"{argument} has {len(columns)} columns; give {kinds}")
    sources, targets = (as_column(f"{argument}: {name}", c) for name, c in zip(_ENDS, columns[:2], strict=True))
    weights = as_weights(columns[2]) if len(columns) == 3 and columns[2] is not None else None
    sizes = [column.size for column in (sources, targets, weights) if column is not None]
    if len(set(sizes)) > 1:
        raise InvalidArgumentError(f"{argument} has columns of {sizes} entries; give one of each per edge")
    return sources, targets, weights


_ENDS = ("sources", "targets")
