"""From and to NetworKit's graphs, whose nodes are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_edges


def from_networkit(graph: Any, *, runtime: str | None = None, device: str | None = None) -> Graph:
    """Return a NetworKit graph; its node numbers are the ids where nodes were removed, else ids are 0, 1, 2, ...

    >>> import networkit
    >>> other = networkit.Graph(3, weighted=True)
    >>> _ = other.addEdge(0, 2, 1.5)
    >>> from_networkit(other, runtime="numpy")
    Graph(3 vertices, 1 edges, undirected, weighted, numpy on cpu)
    """
    if not hasattr(graph, "iterEdgesWeights"):
        raise InvalidArgumentError(f"graph is a {type(graph).__name__}; give a NetworKit graph")
    nodes = np.fromiter(graph.iterNodes(), np.int64, graph.numberOfNodes())
    count = graph.numberOfEdges()
    columns = np.fromiter(graph.iterEdgesWeights(), np.dtype([("u", "i8"), ("v", "i8"), ("w", "f8")]), count)
    built = from_edges(
        np.searchsorted(nodes, columns["u"]),
        np.searchsorted(nodes, columns["v"]),
        np.ascontiguousarray(columns["w"]) if graph.isWeighted() else None,
        directed=graph.isDirected(),
        num_vertices=nodes.size,
        runtime=runtime,
        device=device,
    )
    return built if np.array_equal(nodes, np.arange(nodes.size)) else built.relabel(nodes)


def to_networkit(graph: Graph) -> Any:
    """Return the graph as a NetworKit graph: node i is the vertex `graph.vertex_labels[i]`; weights become doubles.

    >>> import tgraph as tg
    >>> other = to_networkit(tg.from_edges(["ann", "bob"], ["bob", "cy"], weights=[1.5, 2.5]))
    >>> other.numberOfNodes(), other.weight(1, 2), other.isDirected()
    (3, 2.5, True)
    """
    try:
        import networkit
    except ImportError as error:
        raise MissingDependencyError("networkit", "to_networkit") from error
    sources, targets, weights = graph.relabel(None).edges()
    made = networkit.Graph(graph.num_vertices, weighted=weights is not None, directed=graph.directed)
    ends = sources.astype(np.uint64), targets.astype(np.uint64)
    made.addEdges(ends if weights is None else (weights.astype(np.float64), ends))
    return made
