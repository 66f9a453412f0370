"""neighbor_select: the edges of some vertices, one behind the other, without a loop over vertices.

    vertices              2      4  5
    starts                3      7  8         offsets[v]
    sizes                 3      1  2         offsets[v + 1] - offsets[v]
    ends                  3      4  6         running sum of sizes
    starts - (ends-sizes) 3      4  4         what separates an edge's position here from its position in the graph

    arange                0 1 2  3  4 5
    + repeat_interleave   3 3 3  4  4 4
    = edge_positions      3 4 5  7  8 9
    neighbors             3 4 5  6  0 6

Work: O(vertices + edges selected).
"""

from __future__ import annotations

from tgraph.dtypes import OFFSET_DTYPE
from tgraph.graph import Adjacency
from tgraph.runtime import Runtime, Tensor


def neighbor_select(adjacency: Adjacency, vertices: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return `neighbors [N]`, `edge_positions [N]` (into the adjacency's tensors) and `ends [S]`.

    `ends[i]` is where the edges of `vertices[i]` end in the first two. Reads one number back from the device.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1, 2, 2, 2, 3, 4, 5, 5], [1, 2, 3, 3, 4, 5, 6, 6, 0, 6], runtime="numpy")
    >>> neighbor_select(graph.adjacency("out"), graph.vertices_of([2, 4, 5]))[0]
    array([3, 4, 5, 6, 0, 6], dtype=int32)
    """
    runtime = adjacency.runtime
    starts = runtime.index_select(adjacency.offsets, vertices)
    sizes = runtime.index_select(adjacency.offsets[1:], vertices) - starts
    ends = runtime.cumsum(sizes)
    total = int(runtime.item(ends[-1:])) if int(ends.shape[0]) else 0
    edge_positions = find_edge_positions(runtime, starts, sizes, ends, total)
    return runtime.index_select(adjacency.neighbors, edge_positions), edge_positions, ends


def find_edge_positions(runtime: Runtime, starts: Tensor, sizes: Tensor, ends: Tensor, total: int) -> Tensor:
    """Return the positions `[N]` of rows one behind the other; `ends` is the running sum of `sizes`, `total` its last.

    >>> import numpy as np
    >>> from tgraph import runtime
    >>> starts, sizes, ends = np.array([3, 7, 8]), np.array([3, 1, 2]), np.array([3, 4, 6])
    >>> find_edge_positions(runtime.get("numpy"), starts, sizes, ends, 6)
    array([3, 4, 5, 7, 8, 9])
    """
    shifts = runtime.repeat_interleave(starts - (ends - sizes), sizes, total)
    return runtime.arange(0, total, OFFSET_DTYPE) + shifts
