"""The vertices that centralities start from: all, the user's, or a random sample."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.runtime import Array


def choose_sources(graph: Graph, sources: Iterable[Any] | None, samples: int | None, seed: int) -> Array:
    """Return vertex numbers: of the user's `sources`, of `samples` random vertices, or of all vertices.

    >>> import tgraph as tg
    >>> graph = tg.from_edges(["ann", "bob"], ["bob", "cy"])
    >>> choose_sources(graph, ["cy"], None, 0).tolist(), choose_sources(graph, None, None, 0).tolist()
    ([2], [0, 1, 2])
    """
    if sources is not None and samples is not None:
        raise InvalidArgumentError(f"sources and samples={samples} are both given; give one of them")
    if sources is not None:
        return distinct_vertices(graph, "sources", sources)
    if samples is None:
        return np.arange(graph.num_vertices, dtype=index_dtype(graph.num_vertices))
    is_whole = isinstance(samples, Integral) and not isinstance(samples, bool)
    if not is_whole or not min(1, graph.num_vertices) <= samples <= graph.num_vertices:
        raise InvalidArgumentError(f"samples={samples!r} must be a whole number, 1 to {graph.num_vertices} vertices")
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise InvalidArgumentError(f"seed={seed!r} must be a whole number, 0 or more")
    drawn = np.random.default_rng(int(seed)).choice(graph.num_vertices, int(samples), replace=False)
    return drawn.astype(index_dtype(graph.num_vertices))


def distinct_vertices(graph: Graph, argument: str, labels: Iterable[Any]) -> Array:
    """Return the numbers of the vertices with these ids, at least one and each once."""
    if isinstance(labels, str):
        raise InvalidArgumentError(f"{argument}={labels!r} must be a list of vertices; write [{labels!r}]")
    vertices = graph.vertices_of(labels)
    if not vertices.size:
        raise InvalidArgumentError(f"{argument} is empty; give at least one vertex")
    if np.unique(vertices).size < vertices.size:
        raise InvalidArgumentError(f"{argument} names a vertex more than once; give each once")
    return vertices
