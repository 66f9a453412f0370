"""Which edge of `Graph.edges()` each stored direction belongs to."""

from __future__ import annotations

import numpy as np

from tgraph.graph import Graph
from tgraph.kernels.cpu.csr import transpose
from tgraph.runtime import Array


def edge_numbers(graph: Graph, direction: str) -> Array:
    """Return for every entry of `graph.adjacency(direction)` its number in the order of `graph.edges()`, `[E] int64`.

    The two directions of an undirected edge have the same number. Of several edges between the same two vertices the
    k-th in the row of one end is taken to be the k-th in the row of the other, as building a graph leaves them.

    >>> import tgraph as tg
    >>> edge_numbers(tg.from_edges([0, 0, 1], [1, 2, 2]), "in").tolist()
    [0, 1, 2]
    >>> edge_numbers(tg.from_edges([0, 0, 1], [1, 2, 2], directed=False), "in").tolist()
    [0, 1, 0, 2, 1, 2]
    """
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    if graph.directed:
        numbers = np.arange(targets.size)
        return numbers if direction == "out" else _third(transpose(offsets, targets, numbers, graph.num_vertices))
    sources = np.repeat(np.arange(offsets.size - 1, dtype=targets.dtype), np.diff(offsets))
    once = sources <= targets
    numbers = np.cumsum(once) - 1
    forward = np.flatnonzero(sources < targets)
    backward = np.flatnonzero(sources > targets)
    if not graph.is_sorted:
        forward = forward[np.lexsort((targets[forward], sources[forward]))]
        backward = backward[np.lexsort((targets[backward], sources[backward]))]
    counts = np.bincount(sources[forward], minlength=graph.num_vertices)
    rows = np.concatenate([[0], np.cumsum(counts)])
    numbers[backward] = _third(transpose(rows, targets[forward], numbers[forward], graph.num_vertices))
    return numbers


def _third(rows: tuple[Array, Array, Array | None]) -> Array:
    assert rows[2] is not None
    return rows[2]
