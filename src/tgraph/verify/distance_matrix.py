"""Proof of a matrix of distances by one serial search for each row, where the algorithm runs many at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import VerificationError
from tgraph.graph import Graph
from tgraph.verify.rules import name_of
from tgraph.verify.searches import search_each


def check_distance_matrix(graph: Graph, sources: Iterable[Any] | None, levels: Any) -> None:
    """Raise `VerificationError` unless row i of `levels` `[S, V]` holds the distances from source i.

    Args:
        graph: The graph that was searched.
        sources: The user's ids of the sources, in the order of the rows; None = all vertices.
        levels: `[S, V]` integers, -1 = not reached.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 1], [1, 2])
    >>> check_distance_matrix(graph, [1], [[-1, 0, 1]])
    >>> check_distance_matrix(graph, [1], [[1, 0, 1]])
    Traceback (most recent call last):
    ...
    tgraph.errors.VerificationError: from 1 to 0 (level 1, search -1) breaks the rule: levels are those of a search
    """
    array = runtimes.get("numpy").asarray(levels)
    rows = np.arange(graph.num_vertices) if sources is None else graph.vertices_of(sources)
    if array.shape != (rows.size, graph.num_vertices):
        raise VerificationError("levels has a row per source and a column per vertex", f"shape {array.shape}")
    if array.dtype.kind != "i":
        raise VerificationError("levels has the right type", f"type {array.dtype.name}")
    for row, (source, expected) in enumerate(zip(rows.tolist(), search_each(graph, rows), strict=True)):
        wrong = np.flatnonzero(array[row] != expected)
        if wrong.size:
            first = int(wrong[0])
            ends = f"from {name_of(graph, source)!r} to {name_of(graph, first)!r}"
            shown = f"level {array[row, first]}, search {expected[first]}"
            raise VerificationError("levels are those of a search", f"{ends} ({shown})")
