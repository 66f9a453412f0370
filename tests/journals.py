"""Streams to try journals with, and all that a stream is."""

from __future__ import annotations

from typing import Any

import numpy as np

import tgraph as tg
from tgraph.service import Stream


def state_of(stream: Stream) -> dict[str, Any]:
    """Return all that a stream is, down to vertex numbers."""
    graph = stream.graph
    rows = graph.all_places()
    return {
        "version": stream.version,
        "num_edges": graph.num_edges,
        "options": [getattr(graph, name) for name in ("directed", "weighted", "multi_edges", "existing", "missing")],
        "labels": None if graph.labels is None else graph.labels.tolist(),
        "removed": graph.removed.tolist(),
        "rows": [None if array is None else array.tolist() for array in rows.adjacency("out").to_numpy()],
        "in_rows": [None if array is None else array.tolist() for array in rows.adjacency("in").to_numpy()],
        "weights": None if rows.weights is None else rows.weights.dtype.name,
        "results": {name: kept.result().to_numpy().tolist() for name, kept in stream.results.items()},
    }


def small_batch(number: int) -> tg.Batch:
    """Return the batch of this number, made of nothing but the number."""
    random = np.random.default_rng(number)
    ends = random.integers(0, 12, (2, 6))
    gone = random.integers(0, 12, (2, 3))
    removed = random.integers(0, 12, int(number % 4 == 0))
    return tg.Batch(insert=(*ends, random.integers(1, 9, 6).astype(float)), delete=gone, remove_vertices=removed)


def fresh(number: int) -> Stream:
    """Return a stream in memory after so many small batches."""
    stream = tg.stream(tg.DynamicGraph(weighted=True))
    for one in range(1, number + 1):
        stream.apply(small_batch(one))
    return stream
