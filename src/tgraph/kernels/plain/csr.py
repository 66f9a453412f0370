"""Compressed rows by runtime primitives: the twin of `tgraph.kernels.cpu.csr`, with the same results.

It sorts by comparison, so it is slower, but it runs on every runtime and device.
"""

from __future__ import annotations

from typing import Any

from tgraph.runtime.protocol import Runtime, Tensor

Rows = tuple[Tensor, Tensor, "Tensor | None"]  # offsets [R+1], neighbours [E], weights [E] or None


def rows_from_edges(runtime: Runtime, keys: Tensor, neighbors: Tensor, weights: Tensor | None, num_rows: int) -> Rows:
    """Return the edges grouped by key; inside a row they keep their order. Needs 0 <= keys < num_rows."""
    counts = runtime.scatter_reduce(runtime.full(num_rows, 0, "int64"), keys, keys, "count")
    order = runtime.argsort(keys)
    new_weights = None if weights is None else runtime.index_select(weights, order)
    return _offsets(runtime, counts), runtime.index_select(neighbors, order), new_weights


def transpose(runtime: Runtime, offsets: Tensor, neighbors: Tensor, weights: Tensor | None, num_rows: int) -> Rows:
    """Return the reverse direction; inside a row the neighbours ascend. Needs 0 <= neighbors < num_rows."""
    return rows_from_edges(runtime, neighbors, _row_numbers(runtime, offsets, neighbors), weights, num_rows)


def ascending_rows(
    runtime: Runtime,
    sources: Tensor,
    targets: Tensor,
    weights: Tensor | None,
    num_vertices: int,
    dtype: Any,
    *,
    drop_loops: bool = False,
    mirror: bool = False,
) -> Rows:
    """Return the edges grouped by source, the targets of each ascending; equal edges keep their order.

    With `drop_loops` self-loops are left out; with `mirror` every other edge is also stored the other way.
    """
    if drop_loops:
        sources, targets, weights = _select(runtime, sources != targets, sources, targets, weights)
    if mirror:
        sources, targets, weights = _both_directions(runtime, sources, targets, weights)
    sources, targets = runtime.astype(sources, dtype), runtime.astype(targets, dtype)
    return transpose(runtime, *rows_from_edges(runtime, targets, sources, weights, num_vertices), num_vertices)


def mirror_rows(
    runtime: Runtime, offsets: Tensor, neighbors: Tensor, weights: Tensor | None, *, upper: bool = False
) -> Rows:
    """Return the edges in both directions, a self-loop once, with ascending neighbours.

    With `upper` only edges from a smaller to a larger vertex are taken, each in both directions.
    """
    rows = _row_numbers(runtime, offsets, neighbors)
    if upper:
        rows, neighbors, weights = _select(runtime, rows < neighbors, rows, neighbors, weights)
    num_rows = int(offsets.shape[0]) - 1
    return ascending_rows(runtime, rows, neighbors, weights, num_rows, runtime.dtype(neighbors), mirror=True)


def merge_duplicates(
    runtime: Runtime,
    offsets: Tensor,
    neighbors: Tensor,
    weights: Tensor | None,
    policy: str,
    *,
    drop_loops: bool = False,
) -> Rows:
    """Return rows in which every neighbour occurs once; `policy` (first, last, min, max, sum) joins the weights.

    With `drop_loops` a row is no neighbour of itself. Needs rows with ascending neighbours.
    """
    if drop_loops:
        owners = _row_numbers(runtime, offsets, neighbors)
        owners, neighbors, weights = _select(runtime, owners != neighbors, owners, neighbors, weights)
        num_rows = int(offsets.shape[0]) - 1
        offsets, neighbors, weights = rows_from_edges(runtime, owners, neighbors, weights, num_rows)
    rows = _row_numbers(runtime, offsets, neighbors)
    differs = (neighbors[1:] != neighbors[:-1]) | (rows[1:] != rows[:-1])
    is_first = runtime.concatenate([runtime.full(min(1, int(rows.shape[0])), True, "bool"), differs])
    starts = runtime.nonzero(is_first)
    run_offsets = runtime.concatenate([starts, runtime.full(1, int(rows.shape[0]), "int64")])
    num_rows = int(offsets.shape[0]) - 1
    kept_rows = runtime.index_select(rows, starts)
    counts = runtime.scatter_reduce(runtime.full(num_rows, 0, "int64"), kept_rows, kept_rows, "count")
    new_weights = None if weights is None else _join(runtime, weights, run_offsets, policy)
    return _offsets(runtime, counts), runtime.index_select(neighbors, starts), new_weights


def _offsets(runtime: Runtime, counts: Tensor) -> Tensor:
    return runtime.concatenate([runtime.full(1, 0, "int64"), runtime.cumsum(counts)])


def _row_numbers(runtime: Runtime, offsets: Tensor, neighbors: Tensor) -> Tensor:
    """Return the row of every edge, in the type of the neighbours."""
    rows = runtime.arange(0, int(offsets.shape[0]) - 1, runtime.dtype(neighbors))
    return runtime.repeat_interleave(rows, offsets[1:] - offsets[:-1], int(neighbors.shape[0]))


def _select(
    runtime: Runtime, mask: Tensor, sources: Tensor, targets: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the edges whose mask is set."""
    kept = runtime.nonzero(mask)
    new_weights = None if weights is None else runtime.index_select(weights, kept)
    return runtime.index_select(sources, kept), runtime.index_select(targets, kept), new_weights


def _both_directions(
    runtime: Runtime, sources: Tensor, targets: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return all edges, and right behind each that is no self-loop the same one turned around."""
    turned = _select(runtime, sources != targets, targets, sources, weights)
    places = [runtime.arange(0, int(sources.shape[0]), "int64"), runtime.nonzero(sources != targets)]
    order = runtime.argsort(runtime.concatenate(places))
    pairs = ((sources, turned[0]), (targets, turned[1]), (weights, turned[2]))
    both = [
        None if one is None else runtime.index_select(runtime.concatenate([one, other]), order) for one, other in pairs
    ]
    return both[0], both[1], both[2]


def _join(runtime: Runtime, weights: Tensor, run_offsets: Tensor, policy: str) -> Tensor:
    """Return one weight for every run of equal edges."""
    if policy == "first":
        return runtime.index_select(weights, run_offsets[:-1])
    if policy == "last":
        return runtime.index_select(weights, run_offsets[1:] - 1)
    return runtime.segment_reduce(weights, run_offsets, policy)
