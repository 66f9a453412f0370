"""Building a graph from edges: one counting sort in two levels, no comparison sort of edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.dtypes import OFFSET_DTYPE, index_dtype
from tgraph.errors import InvalidArgumentError, check_choice, check_flag
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.check import rows_ascend
from tgraph.graph.graph import Graph
from tgraph.graph.labels import VertexLabels, as_column, check_distinct, check_ordered, number_vertices, to_array
from tgraph.kernels.cpu.csr import ascending_rows, count_self_loops, merge_duplicates
from tgraph.kernels.cpu.vertex_ids import id_range
from tgraph.runtime import Array

DUPLICATES = ("keep", "first", "last", "min", "max", "sum", "error")
SELF_LOOPS = ("keep", "drop", "error")


def from_edges(
    sources: Any,
    targets: Any,
    weights: Any = None,
    directed: bool = True,
    num_vertices: int | None = None,
    labels: Any = "auto",
    duplicates: str = "keep",
    self_loops: str = "keep",
    *,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Build a graph from its edges.

    Args:
        sources: One vertex id per edge: integers or strings, as a NumPy array, a torch tensor, a pandas, polars or
            Arrow column, or a list.
        targets: As `sources`.
        weights: One number per edge, or None.
        directed: If False, every edge is stored in both directions (a self-loop once).
        num_vertices: If given, ids are the vertex numbers 0 to num_vertices - 1, isolated ones included.
        labels: `"auto"`: the vertices are the ids that occur, numbered in ascending order, and results carry them.
            A sequence: these are the vertices, in this order, isolated ones included. None: ids are vertex numbers.
        duplicates: What becomes of edges that occur more than once: `keep` all; keep the `first`, `last`, `min` or
            `max` weight; `sum` the weights; or raise an `error`.
        self_loops: `keep` edges from a vertex to itself, `drop` them, or raise an `error`.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> graph = from_edges(["ann", "bob", "ann"], ["bob", "cy", "cy"], weights=[1.0, 2.0, 4.0])
    >>> graph.num_vertices, graph.num_edges, graph.vertex_of("cy")
    (3, 3, 2)
    """
    check_flag("directed", directed)
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("self_loops", self_loops, SELF_LOOPS)
    for argument, column in (("sources", sources), ("targets", targets), ("weights", weights)):
        check_ordered(argument, column)
    source_ids, target_ids = _as_ids("sources", sources), _as_ids("targets", targets)
    edge_weights = None if weights is None else as_weights(weights)
    _check_lengths(source_ids, target_ids, edge_weights)
    (source_numbers, target_numbers), label_array, count = _number(source_ids, target_ids, num_vertices, labels)
    del sources, targets, column, source_ids, target_ids  # each step lets go of what the one before needed
    if self_loops == "error":
        _check_no_loops(source_numbers, target_numbers)
    rows = ascending_rows(
        source_numbers,
        target_numbers,
        edge_weights,
        count,
        index_dtype(count),
        drop_loops=self_loops == "drop",
        mirror=not directed,
    )
    del source_numbers, target_numbers, edge_weights
    rows = _apply_duplicates(rows, duplicates)
    return _wrap(rows, directed, label_array, runtime, device, is_sorted=True)


def from_csr(
    offsets: Any,
    targets: Any,
    weights: Any = None,
    directed: bool = True,
    labels: Any = None,
    *,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Wrap compressed rows as a graph, without a copy where the types fit.

    `offsets` has V + 1 entries; the targets of vertex v are `targets[offsets[v]:offsets[v + 1]]`. An undirected graph
    (`directed=False`) must hold both directions of every edge. The arrays are checked, and must not be changed later.

    >>> from_csr([0, 2, 2, 3], [1, 2, 0]).num_edges
    3
    """
    check_flag("directed", directed)
    offset_array = _as_integers("offsets", offsets, "offsets").astype(OFFSET_DTYPE, copy=False)
    count = offset_array.size - 1
    raw_targets = _as_integers("targets", targets, "vertex numbers")
    if count < 0:
        raise InvalidArgumentError("offsets is empty; it needs one entry more than there are vertices")
    target_array = np.ascontiguousarray(raw_targets.astype(_safe_index_dtype(raw_targets, count), copy=False))
    weight_array = None if weights is None else as_weights(weights)
    label_array = None if labels is None else _given_labels(labels, count)
    is_sorted = rows_ascend(offset_array, target_array)
    rows = (np.ascontiguousarray(offset_array), target_array, weight_array)
    return _wrap(rows, directed, label_array, runtime, device, is_sorted=is_sorted, check=True)


def _as_integers(argument: str, data: Any, what: str) -> Array:
    """Return a column of compressed rows as integers of whatever width."""
    array = to_array(argument, data)
    if array.ndim != 1:
        raise InvalidArgumentError(f"{argument} has {array.ndim} dimensions; give a column, or a flat list")
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidArgumentError(f"{argument} holds {array.dtype.name}; {what} must be integers")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidArgumentError(f"{argument} holds {array.max()}; {what} must be below 2^63")
    return array


def as_weights(data: Any) -> Array:
    """Return a column of weights as float32, float64, int32 or int64."""
    array = to_array("weights", data)
    if array.ndim != 1:
        raise InvalidArgumentError(f"weights has {array.ndim} dimensions; give one number per edge")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise InvalidArgumentError(f"weights holds {array.dtype.name}; weights must be numbers of at most 64 bits")
    if array.dtype.kind in "fi" and array.dtype.itemsize >= 4:
        return np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidArgumentError(f"weights holds {array.max()}; integer weights must be below 2^63")
    wider = {"f": np.float32, "b": np.int32, "i": np.int32, "u": np.int64}
    return array.astype(wider[array.dtype.kind])


def _as_ids(argument: str, data: Any) -> Array:
    """Return a column of ids as `as_column` does, but leave 32-bit integers as they are."""
    array = to_array(argument, data)
    is_narrow = array.ndim == 1 and array.dtype == np.int32
    return np.ascontiguousarray(array) if is_narrow else as_column(argument, array)


def _check_lengths(sources: Array, targets: Array, weights: Array | None) -> None:
    if sources.size != targets.size:
        raise InvalidArgumentError(
            f"sources has {sources.size} entries and targets {targets.size}; give one of each per edge"
        )
    if weights is not None and weights.size != sources.size:
        raise InvalidArgumentError(f"weights has {weights.size} entries for {sources.size} edges; give one per edge")


def _number(
    sources: Array, targets: Array, num_vertices: int | None, labels: Any
) -> tuple[list[Array], Array | None, int]:
    """Turn ids into vertex numbers; return them, the labels (or None) and the number of vertices."""
    if isinstance(labels, str) and labels != "auto":
        raise InvalidArgumentError(f"labels={labels!r} is not known; use 'auto', None or a sequence of labels")
    if labels is None or (num_vertices is not None and isinstance(labels, str)):
        return _check_numbers(sources, targets, num_vertices)
    if not isinstance(labels, str):
        label_array = _given_labels(labels, num_vertices)
        lookup = VertexLabels(label_array)
        numbers = [lookup.numbers_of(column) for column in (sources, targets)]
        return numbers, label_array, label_array.size
    columns, found = number_vertices([sources, targets])
    if found is not None:
        return columns, found, found.size
    return columns, None, max(id_range(column)[1] for column in columns) + 1


def _check_numbers(sources: Array, targets: Array, num_vertices: int | None) -> tuple[list[Array], None, int]:
    """Check that ids are vertex numbers."""
    count = None if num_vertices is None else _check_count(num_vertices)
    largest = -1
    for argument, column in (("sources", sources), ("targets", targets)):
        if column.size and column.dtype.kind != "i":
            raise InvalidArgumentError(
                f"{argument} holds no integers, so its ids are no vertex numbers; use labels='auto'"
            )
        low, high = id_range(column)
        if low < 0:
            raise InvalidArgumentError(f"{argument} holds {low}; vertex numbers start at 0, or use labels='auto'")
        if count is not None and high >= count:
            raise InvalidArgumentError(f"{argument} holds {high}, beyond num_vertices={count}; use {high + 1} or more")
        largest = max(largest, high)
    return [sources, targets], None, largest + 1 if count is None else count


def _check_count(num_vertices: Any) -> int:
    if isinstance(num_vertices, bool) or not isinstance(num_vertices, (int, np.integer)) or num_vertices < 0:
        raise InvalidArgumentError(f"num_vertices={num_vertices!r} must be a whole number, 0 or more")
    return int(num_vertices)


def _given_labels(labels: Any, num_vertices: int | None) -> Array:
    label_array = as_column("labels", labels)
    check_distinct(label_array)
    if num_vertices is not None and label_array.size != num_vertices:
        raise InvalidArgumentError(f"labels has {label_array.size} entries for {num_vertices} vertices; give one each")
    return label_array


def _check_no_loops(sources: Array, targets: Array) -> None:
    is_loop = sources == targets
    if is_loop.any():
        position = int(np.argmax(is_loop))
        raise InvalidArgumentError(f"edge {position} is a self-loop and self_loops='error'; use 'keep' or 'drop'")


def _apply_duplicates(rows: tuple[Array, Array, Array | None], policy: str) -> tuple[Array, Array, Array | None]:
    if policy == "keep":
        return rows
    merged = merge_duplicates(*rows, "first" if policy == "error" else policy)
    excess = rows[1].size - merged[1].size
    if policy == "error" and excess:
        raise InvalidArgumentError(
            f"{excess} stored edges repeat another one and duplicates='error'; use 'keep' or 'first'"
        )
    return merged


def _safe_index_dtype(targets: Array, num_vertices: int) -> np.dtype[Any]:
    """Keep out-of-range values wide, so that the check can name them."""
    fits = not targets.size or (targets.min() >= -(2**31) and targets.max() < 2**31)
    return index_dtype(num_vertices) if fits else np.dtype(np.int64)


def _wrap(
    rows: tuple[Array, Array, Array | None],
    directed: bool,
    labels: Array | None,
    runtime: str | None,
    device: str | None,
    *,
    is_sorted: bool,
    check: bool = False,
) -> Graph:
    host = runtimes.get("numpy")
    adjacency = Adjacency(host, *rows)
    num_edges = adjacency.num_arcs
    if not directed and not check:
        num_edges = (num_edges + count_self_loops(rows[0], rows[1])) // 2
    graph = Graph(adjacency, directed=directed, num_edges=num_edges, labels=labels, is_sorted=is_sorted)
    if check:
        graph.check()
        if not directed:
            num_edges = (num_edges + count_self_loops(rows[0], rows[1])) // 2
            graph = Graph(adjacency, directed=directed, num_edges=num_edges, labels=labels, is_sorted=is_sorted)
    return graph.to(runtime, device)
