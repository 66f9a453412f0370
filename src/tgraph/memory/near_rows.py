"""Rows of a graph whose edges have come near, as the operators take them.

    all_rows      a whole block                                   filter
    some_rows     the active rows of a block that is near         filter
    listed_rows   active rows that were gathered far              compact
    read_rows     active rows that the device reads in place      zero_copy

Sizes are known to the host, so nobody waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass

from tgraph.dtypes import OFFSET_DTYPE
from tgraph.operators import Subgraph, find_edge_positions
from tgraph.runtime import Runtime, Tensor


@dataclass(frozen=True)
class NearRows(Subgraph):
    """Some vertices and their edges, with the weights of those edges."""

    weights: Tensor | None = None


@dataclass(frozen=True)
class NearBlock:
    """The edges of consecutive rows."""

    first_row: int
    sizes: Tensor  # [S] int32, the edges of each row
    columns: tuple[Tensor, ...]  # neighbours [N], and weights [N] where they were asked for


def all_rows(runtime: Runtime, block: NearBlock) -> NearRows:
    """Return all rows of a block; its tensors are used in place."""
    last_row = block.first_row + int(block.sizes.shape[0])
    ends = runtime.cumsum(block.sizes)
    return _near_rows(runtime, range(block.first_row, last_row), ends, block.columns)


def some_rows(runtime: Runtime, block: NearBlock, positions: Tensor, total: int) -> NearRows:
    """Return the rows at these positions of a block; they have `total` edges."""
    starts = runtime.index_select(runtime.cumsum(block.sizes) - block.sizes, positions)
    return read_rows(
        runtime, positions + block.first_row, starts, runtime.index_select(block.sizes, positions), block.columns, total
    )


def listed_rows(runtime: Runtime, vertices: Tensor, sizes: Tensor, columns: tuple[Tensor, ...]) -> NearRows:
    """Return rows whose edges lie one behind the other."""
    return _near_rows(runtime, vertices, runtime.cumsum(sizes), columns)


def read_rows(
    runtime: Runtime, vertices: Tensor, starts: Tensor, sizes: Tensor, columns: tuple[Tensor, ...], total: int
) -> NearRows:
    """Return rows that begin at `starts` in the columns; their edges are read from there, and copied, now."""
    ends = runtime.cumsum(sizes)
    positions = find_edge_positions(runtime, starts, sizes, ends, total)
    selected = tuple(runtime.index_select(column, positions) for column in columns)
    return _near_rows(runtime, vertices, ends, selected)


def _near_rows(runtime: Runtime, vertices: Tensor | range, ends: Tensor, columns: tuple[Tensor, ...]) -> NearRows:
    offsets = runtime.concatenate([runtime.full(1, 0, OFFSET_DTYPE), ends])
    neighbors, *weights = columns
    edges = slice(0, int(neighbors.shape[0]))
    return NearRows(runtime, vertices, offsets, neighbors, edges, weights[0] if weights else None)
