"""Checks on compressed rows that come from a file, before any kernel follows them.

Kernels do not check bounds, so whatever a file says must be made sure of here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph
from tgraph.runtime import Array

FilePath: TypeAlias = str | os.PathLike[str]


def check_offsets(path: FilePath, name: str, offsets: Array, num_arcs: int) -> None:
    """Raise unless the offsets start at 0, never fall and end at the number of stored edges. O(V)."""
    check_parts_of_offsets(path, name, [offsets] if offsets.size else [], num_arcs)


def check_parts_of_offsets(path: FilePath, name: str, parts: Iterable[Array], num_arcs: int) -> None:
    """Check offsets that come in parts, none of them empty; each begins with the last entry of the one before."""
    vertex, last = 0, None  # the first of a part, the last entry so far
    for offsets in parts:
        if last is None and offsets[0] != 0:
            raise FileFormatError(path, name, f"starts at {offsets[0]}, not at 0")
        falls = np.flatnonzero(offsets[1:] < offsets[:-1])
        if falls.size:
            values = f"from {offsets[falls[0]]} to {offsets[falls[0] + 1]}"
            raise FileFormatError(path, name, f"falls {values} at vertex {vertex + falls[0]}")
        vertex, last = vertex + offsets.size - 1, int(offsets[-1])
    if last is None:
        raise FileFormatError(path, name, "is empty; it needs one entry more than there are vertices")
    if last != num_arcs:
        raise FileFormatError(path, name, f"ends at {last}, but {num_arcs} edges are stored")


def check_neighbors(path: FilePath, name: str, neighbors: Array, num_vertices: int) -> None:
    """Raise unless every neighbour is a vertex number. O(E)."""
    if not neighbors.size or (neighbors.min() >= 0 and neighbors.max() < num_vertices):
        return
    position = int(np.flatnonzero((neighbors < 0) | (neighbors >= num_vertices))[0])
    reach = f"vertices are 0 to {num_vertices - 1}" if num_vertices else "there are no vertices"
    raise FileFormatError(path, name, f"holds {neighbors[position]} at position {position}, but {reach}")


def check_has_no_labels(graph: Graph, path: FilePath) -> None:
    """Raise if the graph has vertex labels, for formats that hold vertex numbers only."""
    if graph.vertex_labels is not None:
        raise InvalidArgumentError(
            f"the graph has vertex labels, which {os.fspath(path)} cannot hold; write graph.relabel(None) for plain "
            "vertex numbers, or choose the ending .safetensors"
        )
