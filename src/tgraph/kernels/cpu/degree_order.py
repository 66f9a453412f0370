"""Vertices in descending order of their degrees, by one stable counting sort.

Hubs come first, so that what belongs to them shares cache lines; vertices of one degree keep their order.
"""

from __future__ import annotations

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.runtime.protocol import Array

COUNTERS_PER_VERTEX = 4  # more possible degrees than this are sorted by comparison


def degree_order(offsets: Array) -> Array:
    """Return the vertices `[V]` of rows with these offsets, largest degree first. Deterministic.

    >>> degree_order(np.array([0, 1, 3, 3, 5])).tolist()
    [1, 3, 0, 2]
    """
    num_vertices = offsets.size - 1
    degrees = np.diff(offsets)
    missing = degrees.max(initial=0) - degrees
    vertices = np.arange(num_vertices, dtype=index_dtype(num_vertices))
    num_degrees = int(missing.max(initial=0)) + 1
    if num_degrees > COUNTERS_PER_VERTEX * num_vertices:
        return vertices[np.argsort(missing, kind="stable")]
    return rows_from_edges(missing, vertices, None, num_degrees)[1]
