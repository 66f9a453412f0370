"""Asking the ranks that own some vertices: for edges drawn from their rows, and for rows of tables.

Every rank asks for vertices of its own choice, and answers what others ask; all call it, in the same order. What a rank
gets depends on what it asks for and not on the number of ranks: edges are drawn by hashes of the vertex.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from tgraph.errors import DeclaredGapError
from tgraph.graph.sharded import ShardedGraph
from tgraph.group import exchange_uneven, part_ends
from tgraph.nn.draws import Counted, Drawn, LocalDraws
from tgraph.nn.lookup import Features
from tgraph.nn.rows import bytes_of, rows_of_bytes
from tgraph.nn.tables import as_table
from tgraph.runtime import Array


class Request:
    """Vertices that this rank asks for, and those that it is asked for."""

    def __init__(self, graph: ShardedGraph, vertices: Array) -> None:
        self._group = graph.group
        owners = np.searchsorted(graph.bounds, vertices, "right") - 1
        order = np.argsort(owners, kind="stable")
        self._places = np.empty_like(order)  # [n] where the answer for each vertex comes
        self._places[order] = np.arange(order.size)
        self._counts = np.bincount(owners, minlength=self._group.size)
        self.asked, self._asked_counts = exchange_uneven(
            self._group, vertices[order].astype(np.int64), self._counts
        )  # vertex numbers, own ones

    def answer(self, rows: Array) -> Array:
        """Give a row for every vertex asked for, `[A, B]`; return those of this rank's vertices, `[n, B]`."""
        width = rows.shape[1]
        came = self._group.exchange(rows.ravel(), self._asked_counts * width, self._counts * width)
        return came.reshape(-1, width)[self._places]

    def answer_uneven(self, offsets: Array, columns: list[Array]) -> tuple[Array, list[Array]]:
        """Do it with rows of any length, columns of which lie one behind the other; return new offsets and columns."""
        lengths = np.diff(offsets)
        came = self._group.exchange(lengths, self._asked_counts, self._counts)
        sent_sizes = np.diff(offsets[part_ends(self._asked_counts)])
        came_offsets = part_ends(came)
        came_sizes = np.diff(came_offsets[part_ends(self._counts)])
        new_lengths = came[self._places]
        new_offsets = part_ends(new_lengths)
        starts = came_offsets[:-1][self._places]
        taken = np.repeat(starts - new_offsets[:-1], new_lengths) + np.arange(int(new_offsets[-1]))
        columns = [self._group.exchange(column, sent_sizes, came_sizes)[taken] for column in columns]
        return new_offsets, columns


class OwnerDraws:
    """Draws from the rows of all ranks: who owns a vertex draws its edges."""

    def __init__(self, graph: ShardedGraph, direction: str, local: LocalDraws) -> None:
        self._graph, self._local = graph, local
        self._numbers = graph.rows(direction).vertex_numbers(graph.first)

    def draw(
        self, vertices: Array, times: Array | None, fanout: int, key: np.uint64, counted: Counted | None = None
    ) -> Drawn:
        request = Request(self._graph, vertices)
        own = self._local.draw_rows(request.asked - self._graph.first, request.asked, None, fanout, key)
        weights = [] if own.weights is None else [own.weights]
        offsets, columns = request.answer_uneven(own.offsets, [self._numbers[own.neighbors], *weights])
        if counted is not None:
            counted(columns[0].size)
        return Drawn(offsets, columns[0], weights=columns[1] if weights else None)


class OwnerLookup:
    """Tables with a row per own vertex on every rank, of which batches get rows of any rank."""

    copies = False  # in the background

    def __init__(self, features: Any, graph: ShardedGraph, how: str) -> None:
        if how != "copy":
            raise DeclaredGapError(f"lookup={how!r}: rows of other ranks cannot be read in place; use lookup='copy'")
        self._graph, self._is_single = graph, not isinstance(features, Mapping)
        named = {} if features is None else {"": features} if self._is_single else features
        self._tables = {
            name: as_table(f"features[{name!r}]" if name else "features", table, graph.num_own)
            for name, table in named.items()
        }

    def ask(self, vertices: Array) -> None:
        """Do nothing: rows are those of owners."""

    def begin(self, most: int) -> dict[str, Array]:
        """Return no room: what owners send is the batch's."""
        return {}

    def copy(self, room: dict[str, Array], vertices: Array, first: int) -> None:
        """Do nothing before all vertices are known: asking costs a message to every rank."""

    def finish(self, room: dict[str, Array], vertices: Tensor) -> Features:
        """Return the features of a batch."""
        found: dict[str, Any] = {
            name: fetch_rows(self._graph, table, vertices.numpy()) for name, table in self._tables.items()
        }
        return found.get("") if self._is_single else found


def fetch_rows(graph: ShardedGraph, table: Tensor, vertices: Array) -> Tensor:
    """Return the rows of vertices of any ranks, of a table of which every rank has those of its own vertices."""
    request = Request(graph, vertices)
    width = math.prod(table.shape[1:]) * table.element_size()
    rows = bytes_of(table).reshape(table.shape[0], width)[request.asked - graph.first]
    return rows_of_bytes(request.answer(rows), table)
