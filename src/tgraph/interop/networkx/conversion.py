"""From and to NetworkX graphs. Their nodes become vertex labels, whatever objects they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.graph import Graph, from_edges
from tgraph.graph.labels import object_array
from tgraph.interop.networkx.graph import ConvertedGraph, dict_rows
from tgraph.runtime import Array


def from_networkx(
    graph: Any,
    weight: str | None = "weight",
    default_weight: float | None = None,
    *,
    runtime: str | None = None,
    device: str | None = None,
) -> Graph:
    """Return a NetworkX graph of any class as a graph; parallel edges and self-loops are kept.

    Args:
        graph: A `Graph`, `DiGraph`, `MultiGraph` or `MultiDiGraph`. Its nodes keep their order and become the vertex
            labels, unless they are just 0, 1, 2, ...
        weight: The edge attribute that holds the weights; a graph without any such attribute has no weights. None
            ignores all attributes.
        default_weight: The weight of edges that lack the attribute. Without it, such an edge among others that have
            the attribute is an error.
        runtime: The tensor runtime of the graph, the configured one if None.
        device: The device of the tensors, the configured one if None.

    >>> import networkx as nx
    >>> graph = from_networkx(nx.Graph([("ann", "bob"), ("bob", "cy")]))
    >>> graph.num_edges, graph.directed, graph.vertex_labels.tolist()
    (2, False, ['ann', 'bob', 'cy'])
    """
    if not hasattr(graph, "is_multigraph"):
        raise InvalidArgumentError(f"graph is a {type(graph).__name__}; give a NetworkX graph")
    is_simple = hasattr(graph, "_adj") and hasattr(graph, "__networkx_cache__") and not graph.is_multigraph()
    converted = ConvertedGraph(graph) if is_simple else None  # reads the adjacency without a step of Python's per edge
    nodes = list(graph if converted is None else converted)
    built = from_edges(
        *_ends(graph, nodes, converted),
        None if weight is None else _edge_weights(graph, weight, default_weight, converted),
        directed=graph.is_directed(),
        num_vertices=len(nodes),
        runtime=runtime,
        device=device,
    )
    is_numbered = all(type(node) is int for node in nodes) and nodes == list(range(len(nodes)))
    return built if is_numbered else built.relabel(object_array(nodes))


def to_networkx(graph: Graph, weight: str = "weight") -> Any:
    """Return the graph as a NetworkX graph; a multigraph where it has parallel edges.

    Nodes are the vertex labels in vertex order, isolated ones included; weights become the edge attribute `weight`.

    >>> import tgraph as tg
    >>> to_networkx(tg.from_edges(["ann", "bob"], ["bob", "cy"], weights=[1.5, 2.5])).edges(data="weight")
    OutEdgeDataView([('ann', 'bob', 1.5), ('bob', 'cy', 2.5)])
    """
    try:
        import networkx as nx
    except ImportError as error:
        raise MissingDependencyError("networkx", "to_networkx", extra="networkx") from error
    sources, targets, weights = graph.relabel(None).edges()
    classes = [[nx.Graph, nx.MultiGraph], [nx.DiGraph, nx.MultiDiGraph]]
    result = classes[graph.directed][_has_parallel(sources, targets)]()
    labels = graph.labels_of(np.arange(graph.num_vertices)).tolist()
    result.add_nodes_from(labels)
    pairs = [
        (labels[source], labels[target]) for source, target in zip(sources.tolist(), targets.tolist(), strict=True)
    ]
    if weights is None:
        result.add_edges_from(pairs)
    else:
        result.add_weighted_edges_from(
            ((*pair, value) for pair, value in zip(pairs, weights.tolist(), strict=True)), weight=weight
        )
    return result


def _ends(graph: Any, nodes: list[Any], converted: ConvertedGraph | None) -> tuple[Array, Array]:
    """Return the numbers of both ends of all edges, in NetworkX's order."""
    if converted is not None:
        return converted.sources[converted.once], converted.out_rows[1][converted.once]
    numbers = {node: number for number, node in enumerate(nodes)}
    ends = [(numbers[source], numbers[target]) for source, target in graph.edges()]
    pairs = np.asarray(ends, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _edge_weights(graph: Any, weight: str, default_weight: float | None, converted: ConvertedGraph | None) -> Any:
    """Return the weights in NetworkX's order, None if there are none."""
    if converted is not None and converted.num_arcs and isinstance(weight, str):
        weights = dict_rows(graph._adj).numbers(weight, default_weight)
        if weights is not None:
            return weights[converted.once]
    found = [data.get(weight, default_weight) for _, _, data in graph.edges(data=True)]
    missing = sum(value is None for value in found)
    if missing == len(found) and default_weight is None:
        return None
    if missing:
        edge = next(pair for pair, value in zip(graph.edges(), found, strict=True) if value is None)
        raise InvalidArgumentError(
            f"{missing} of {len(found)} edges have no {weight!r}, {edge} for one; give default_weight, or weight=None"
        )
    return found


def _has_parallel(sources: Array, targets: Array) -> bool:
    order = np.lexsort((targets, sources))
    sources, targets = sources[order], targets[order]
    return bool(((sources[1:] == sources[:-1]) & (targets[1:] == targets[:-1])).any())
