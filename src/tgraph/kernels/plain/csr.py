"""Compressed rows by runtime primitives: the twin of `tgraph.kernels.cpu.csr`, with the same results.

It sorts by comparison, so it is slower, but it runs on every runtime and device.
"""

from __future__ import annotations

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


def merge_duplicates(runtime: Runtime, offsets: Tensor, neighbors: Tensor, weights: Tensor | None, policy: str) -> Rows:
    """Return rows in which every neighbour occurs once; `policy` (first, last, min, max, sum) joins the weights.

    Needs rows with ascending neighbours.
    """
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


def _join(runtime: Runtime, weights: Tensor, run_offsets: Tensor, policy: str) -> Tensor:
    """Return one weight for every run of equal edges."""
    if policy == "first":
        return runtime.index_select(weights, run_offsets[:-1])
    if policy == "last":
        return runtime.index_select(weights, run_offsets[1:] - 1)
    return runtime.segment_reduce(weights, run_offsets, policy)
