"""The rows that a sampler draws from: without edges of weight 0, ordered by time, with running sums, as asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.errors import DeclaredGapError, InvalidArgumentError
from tgraph.graph import Graph
from tgraph.graph.sharded import ShardedGraph
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.kernels.cpu.random_walks import row_sums
from tgraph.kernels.cpu.team import as_unsigned
from tgraph.nn.edge_numbers import edge_numbers
from tgraph.runtime import Array

LATEST = np.int64(2**63 - 1)


@dataclass(frozen=True)
class SampledRows:
    """One direction of a graph as kernels read it; whatever is not asked for is the graph's own memory, or None."""

    offsets: Array  # [V+1] uint64
    neighbors: Array  # [E] uint32 or uint64
    weights: Array | None  # [E]
    sums: Array | None  # [E] float64: running sums of the weights of each row; where edges are drawn by them
    times: Array | None  # [E] int64, ascending in each row; see `order_times`
    numbers: Array | None  # [E] int64: which edge of the graph


def build_rows(
    graph: Graph, direction: str, *, weighted: bool, replace: bool, times: Any, with_numbers: bool
) -> SampledRows:
    """Return the rows; copies are made where edges are left out or ordered by time."""
    offsets, neighbors, weights = _rows_of(graph, direction, with_numbers or times is not None)
    if weighted:
        _check_weights(graph, weights)
    numbers = edge_numbers(graph, direction) if with_numbers or times is not None else None
    ordered = None if times is None else _times_of_edges(graph, times)
    if weighted and weights is not None and not weights.all():
        offsets, kept = _without(offsets, weights != 0)
        neighbors, weights = neighbors[kept], weights[kept]
        numbers = None if numbers is None else numbers[kept]
    if ordered is not None:
        assert numbers is not None
        order = _order_by_time(offsets, ordered[numbers])
        neighbors, numbers = neighbors[order], numbers[order]
        weights = None if weights is None else weights[order]
        ordered = ordered[numbers]
    sums = row_sums(offsets, weights) if weighted and replace and weights is not None else None
    if sums is not None and np.isinf(sums.max(initial=0.0)):
        raise InvalidArgumentError("weights of one vertex sum up to infinity; divide them by a large number first")
    numbers = numbers if with_numbers else None
    return SampledRows(as_unsigned(offsets), as_unsigned(neighbors), weights, sums, ordered, numbers)


def _rows_of(graph: Graph, direction: str, wants_edges: bool) -> tuple[Array, Array, Array | None]:
    """Return rows of all vertices, or with local numbers those of the rank's own ones."""
    if not isinstance(graph, ShardedGraph):
        return graph.adjacency(direction).to_numpy()
    if wants_edges:
        raise DeclaredGapError("edges of a graph divided among ranks have no numbers; leave times and edges out")
    rows = graph.rows(direction)
    return rows.offsets, rows.neighbors, rows.weights


def order_times(argument: str, times: Any, count: int) -> Array:
    """Return times as int64 that are ordered in the same way, or raise.

    The bits of a float64 are such a number if those of a negative one are turned around.

    >>> order_times("times", [-2.5, -0.0, 0.0, 1e300], 4).argsort(kind="stable").tolist()
    [0, 1, 2, 3]
    """
    array = np.asarray(times)
    if array.shape != (count,) or array.dtype.kind not in "iuf":
        raise InvalidArgumentError(
            f"{argument} has the shape {array.shape} and the type {array.dtype}; give {count} numbers"
        )
    if array.dtype.kind != "f":
        return array.astype(np.int64)
    if np.isnan(array).any():
        raise InvalidArgumentError(f"{argument} holds NaN; a time must be a number")
    bits = (array.astype(np.float64) + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & LATEST)


def restore_times(ordered: Array, dtype: np.dtype[Any]) -> Array:
    """Return what `order_times` was given, as float64 or int64."""
    if dtype.kind != "f":
        return ordered
    return (ordered ^ ((ordered >> 63) & LATEST)).view(np.float64)


def _times_of_edges(graph: Graph, times: Any) -> Array:
    return order_times("times", times, graph.num_edges)


def _check_weights(graph: Graph, weights: Array | None) -> None:
    if weights is None:
        raise InvalidArgumentError("weighted=True needs a graph with weights; build it with some, or leave it out")
    lowest, highest, num_nan = graph.weight_range  # of all ranks, so that all say it
    if num_nan or lowest < 0 or np.isinf(highest):
        worst = np.nan if num_nan else lowest if lowest < 0 else highest
        raise InvalidArgumentError(f"weights hold {worst}; sampling by weight needs finite weights of 0 or more")


def _without(offsets: Array, is_kept: Array) -> tuple[Array, Array]:
    """Return the offsets of rows of which some entries are left out, and the positions of the others."""
    kept_before = np.concatenate([[0], np.cumsum(is_kept)])
    return kept_before[offsets], np.flatnonzero(is_kept)


def _order_by_time(offsets: Array, times: Array) -> Array:
    """Return positions that put every row in ascending order of times; what is equal keeps its order."""
    order = np.argsort(times, kind="stable")
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))[order]
    return rows_from_edges(owners, order, None, offsets.size - 1)[1]
