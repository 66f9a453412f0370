"""Compressed graphs in a native file: the rows with virtual vertices, beside the tensors that every graph has.

| name | type | meaning |
|---|---|---|
| `layered_offsets` | int32 or int64 `[V+R+1]` | where the row of each vertex and virtual vertex begins |
| `layered_neighbors` | int32 `[S]` | vertices, and virtual vertices from V on |
| `layers` | int64 `[D+1]` | the first virtual vertex of every layer, and one more than the last |

The metadata holds `num_arcs`, the number of neighbours when virtual vertices are written out.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.dtypes import index_dtype
from tgraph.errors import FileFormatError
from tgraph.graph import Adjacency, CompressedGraph
from tgraph.io.rows import FilePath, check_offsets
from tgraph.kernels.cpu.virtual_rows import count_leaves
from tgraph.runtime import Array


def layer_tensors(graph: CompressedGraph) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the tensors of a compressed graph, and what the header says beside that of other graphs."""
    offsets, neighbors, _ = graph.rows.to_numpy()
    tensors = {"layered_offsets": offsets, "layered_neighbors": neighbors, "layers": graph.layers}
    return tensors, {"num_arcs": json.dumps(graph.num_arcs)}


def build_layered(
    path: FilePath, tensors: dict[str, Array], num_arcs: int, labels: Array | None, kinds: dict[str, Any], check: str
) -> CompressedGraph:
    """Return the graph of mapped tensors; unless `check` is `offsets`, every row is made sure of."""
    offsets, neighbors, layers = (tensors[name] for name in ("layered_offsets", "layered_neighbors", "layers"))
    check_offsets(path, "layered_offsets", offsets, neighbors.size)
    if layers.size == 0 or (np.diff(layers) <= 0).any() or layers[0] < 0 or layers[-1] != offsets.size - 1:
        raise FileFormatError(path, "layers", f"is {layers.tolist()}; it must ascend to {offsets.size - 1} rows")
    if offsets.dtype != index_dtype(neighbors.size + 1):
        expected = index_dtype(neighbors.size + 1).name
        raise FileFormatError(path, "layered_offsets", f"is {offsets.dtype.name}; {neighbors.size} need {expected}")
    if check != "offsets":
        _check_layers(path, offsets, neighbors, layers, num_arcs)
    rows = Adjacency(runtimes.get("numpy"), offsets, neighbors, None)
    return CompressedGraph(rows, layers=layers, num_arcs=num_arcs, labels=labels, **kinds)


def _check_layers(path: FilePath, offsets: Array, neighbors: Array, layers: Array, num_arcs: int) -> None:
    """Raise unless rows hold vertices and virtual vertices of lower layers only, none of them in vain."""
    num_vertices, ends = int(layers[0]), layers.tolist()
    spans = [(0, num_vertices, ends[-1]), *((first, last, first) for first, last in pairwise(ends))]
    for first, last, limit in spans:
        row = neighbors[int(offsets[first]) : int(offsets[last])]
        if row.size and (row.min() < 0 or row.max() >= limit):
            raise FileFormatError(
                path, "layered_neighbors", f"rows {first} to {last - 1} may hold 0 to {limit - 1} only"
            )
    used = np.zeros(ends[-1], bool)
    used[neighbors] = True
    if not used[num_vertices:].all():
        vertex = num_vertices + int(np.argmin(used[num_vertices:]))
        raise FileFormatError(path, "layered_neighbors", f"no row holds the virtual vertex {vertex}")
    found = int(count_leaves(offsets, neighbors, num_vertices).sum())
    if found != num_arcs:
        raise FileFormatError(path, "metadata", f"num_arcs is {num_arcs}, but rows hold {found} neighbours")
