"""NetworkX graphs made of arrays, quicker than by adding edges one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx

from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.runtime import Array


def pairs_of(graph: ConvertedGraph, sources: Array, targets: Array) -> list[tuple[Any, Any]]:
    """Return edges as pairs of nodes."""
    return list(zip(graph.nodes_of(sources), graph.nodes_of(targets), strict=True))


def build_digraph(nodes: Iterable[Any], edges: Iterable[tuple[Any, Any]]) -> Any:
    """Return a DiGraph of these nodes and edges without attributes; both ends of every edge are among the nodes."""
    result = nx.DiGraph()
    result._node.update((node, {}) for node in nodes)
    successors, predecessors = result._succ, result._pred
    for node in result._node:
        successors[node], predecessors[node] = {}, {}
    for source, target in edges:
        successors[source][target] = predecessors[target][source] = {}
    return result


def build_graph(nodes: Iterable[Any], edges: Iterable[tuple[Any, Any]]) -> Any:
    """Return a Graph of these nodes and edges without attributes; both ends of every edge are among the nodes."""
    result = nx.Graph()
    result._node.update((node, {}) for node in nodes)
    adjacency = result._adj
    for node in result._node:
        adjacency[node] = {}
    for source, target in edges:
        adjacency[source][target] = adjacency[target][source] = {}
    return result
