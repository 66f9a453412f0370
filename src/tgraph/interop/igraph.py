"""From and to igraph's graphs. The vertex attribute `name` holds the user's ids, as igraph has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_edges
from tgraph.graph.labels import object_array


def from_igraph(
    graph: Any,
    weight: str | None = "weight",
    name: str | None = "name",
    *,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Return an igraph graph; parallel edges, self-loops and isolated vertices are kept.

    Args:
        graph: An `igraph.Graph`.
        weight: The edge attribute that holds the weights, if there is one by that name. None ignores all attributes.
        name: The vertex attribute that holds the user's ids, if there is one by that name; else ids are 0, 1, 2, ...
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> import igraph
    >>> from_igraph(igraph.Graph.TupleList([("ann", "bob"), ("bob", "cy")]), runtime="numpy").vertex_labels.tolist()
    ['ann', 'bob', 'cy']
    """
    if not hasattr(graph, "get_edgelist"):
        raise InvalidArgumentError(f"graph is a {type(graph).__name__}; give an igraph graph")
    pairs = np.asarray(graph.get_edgelist(), np.int64).reshape(-1, 2)
    weights = graph.es[weight] if weight in graph.es.attributes() else None
    built = from_edges(
        pairs[:, 0],
        pairs[:, 1],
        weights,
        directed=graph.is_directed(),
        num_vertices=graph.vcount(),
        runtime=runtime,
        device=device,
    )
    return built.relabel(object_array(graph.vs[name])) if name in graph.vs.attributes() else built


def to_igraph(graph: Graph, weight: str = "weight", name: str = "name") -> Any:
    """Return the graph as an igraph graph, vertices in their order; an undirected edge once.

    >>> import tgraph as tg
    >>> other = to_igraph(tg.from_edges(["ann", "bob"], ["bob", "cy"], weights=[1.5, 2.5]))
    >>> other.vs["name"], other.es["weight"], other.is_directed()
    (['ann', 'bob', 'cy'], [1.5, 2.5], True)
    """
    try:
        import igraph
    except ImportError as error:
        raise MissingDependencyError("igraph", "to_igraph") from error
    sources, targets, weights = graph.relabel(None).edges()
    made = igraph.Graph(n=graph.num_vertices, edges=np.stack([sources, targets], axis=1), directed=graph.directed)
    if graph.vertex_labels is not None:
        made.vs[name] = graph.vertex_labels.tolist()
    if weights is not None:
        made.es[weight] = weights.tolist()
    return made
