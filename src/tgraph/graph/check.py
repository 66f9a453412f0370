"""Find every broken invariant of a graph's tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tgraph.dtypes import OFFSET_DTYPE, index_dtype
from tgraph.kernels.cpu.csr import transpose
from tgraph.runtime import Array

if TYPE_CHECKING:
    from tgraph.graph.adjacency import Adjacency
    from tgraph.graph.graph import Graph


def find_problems(graph: Graph) -> list[str]:
    """Return one sentence per broken invariant; an empty list for a sound graph."""
    problems = _find_row_problems("out", graph.adjacency("out"), graph.num_vertices)
    problems += _find_label_problems(graph)
    if problems:
        return problems  # the rest would read outside the tensors
    rows = graph.adjacency("out").to_numpy()
    if graph.is_sorted and not rows_ascend(rows[0], rows[1]):
        problems.append("is_sorted is set but some neighbours descend")
    if not graph.directed and not _is_symmetric(rows):
        problems.append("the graph is undirected but some edge is stored in one direction only")
    if graph.directed and graph._in is not None:
        problems += _find_reverse_problems(rows, graph.adjacency("in"), graph.num_vertices)
    return problems


def _find_row_problems(side: str, adjacency: Adjacency, num_vertices: int) -> list[str]:
    offsets, neighbors, weights = adjacency.to_numpy()
    if not offsets.size:
        return [f"{side}_offsets is empty; it needs one entry more than there are vertices"]
    problems = []
    if offsets.dtype != OFFSET_DTYPE:
        problems.append(f"{side}_offsets is {offsets.dtype.name}, not int64")
    if offsets[0] != 0:
        problems.append(f"{side}_offsets starts at {offsets[0]}, not 0")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        problems.append(
            f"{side}_offsets falls from {offsets[falls[0]]} to {offsets[falls[0] + 1]} at vertex {falls[0]}"
        )
    if offsets[-1] != neighbors.size:
        problems.append(f"{side}_offsets ends at {offsets[-1]} but there are {neighbors.size} edges")
    if neighbors.dtype != index_dtype(num_vertices):
        problems.append(f"{side} neighbours are {neighbors.dtype.name}, not {index_dtype(num_vertices).name}")
    wrong = np.flatnonzero((neighbors < 0) | (neighbors >= num_vertices))
    if wrong.size:
        reach = f"0 to {num_vertices - 1}" if num_vertices else "none"
        problems.append(
            f"{wrong.size} edges lead outside the vertices ({reach}); position {wrong[0]} to {neighbors[wrong[0]]}"
        )
    if weights is not None and weights.size != neighbors.size:
        problems.append(f"there are {weights.size} weights for {neighbors.size} edges")
    return problems


def _find_label_problems(graph: Graph) -> list[str]:
    labels = graph.vertex_labels
    if labels is None:
        return []
    if labels.size != graph.num_vertices:
        return [f"there are {labels.size} labels for {graph.num_vertices} vertices"]
    if len(set(labels.tolist())) != labels.size:
        return ["some vertices share a label"]
    return []


def _find_reverse_problems(rows: tuple[Array, Array, Array | None], reverse: Adjacency, num_vertices: int) -> list[str]:
    problems = _find_row_problems("in", reverse, num_vertices)
    if not problems and not _same_edges(transpose(*rows, num_vertices), reverse.to_numpy()):
        problems.append("the incoming edges are not the outgoing edges turned around")
    return problems


def _is_symmetric(rows: tuple[Array, Array, Array | None]) -> bool:
    return _same_edges(rows, transpose(*rows, rows[0].size - 1))


def _same_edges(left: tuple[Array, Array, Array | None], right: tuple[Array, Array, Array | None]) -> bool:
    """Compare rows as sets of (neighbour, weight), whatever their order inside a row."""
    if not np.array_equal(left[0], right[0]):
        return False
    if np.array_equal(left[1], right[1]) and (left[2] is None or np.array_equal(left[2], right[2])):  # type: ignore[arg-type]
        return True  # in the same order too: no need to sort
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(_canonical(left), _canonical(right), strict=True)
    )


def _canonical(rows: tuple[Array, Array, Array | None]) -> list[Array]:
    offsets, neighbors, weights = rows
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    keys = (neighbors, owners) if weights is None else (weights, neighbors, owners)
    order = np.lexsort(keys)
    return [neighbors[order]] if weights is None else [neighbors[order], weights[order]]


def rows_ascend(offsets: Array, neighbors: Array) -> bool:
    """Say whether the neighbours of every vertex ascend. Needs checked offsets. O(V + E)."""
    falls = neighbors[1:] < neighbors[:-1]
    starts = offsets[(offsets > 0) & (offsets < neighbors.size)]
    falls[starts - 1] = False  # from the last neighbour of one row to the first of the next
    return not falls.any()
