"""Graphs made of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import build_digraph, build_graph
from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.interop.networkx.registry import Arguments, networkx_function


def _has_own_class(arguments: Arguments) -> bool | str:
    import networkx as nx

    graph = arguments["G"]
    graph = graph.original if isinstance(graph, ConvertedGraph) else graph
    return False if type(graph) in (nx.Graph, nx.DiGraph) else "a class of the user's"


def _missing_edges(graph: ConvertedGraph) -> Iterator[tuple[Any, Any]]:
    offsets, targets = graph.out_rows[0].tolist(), graph.out_rows[1]
    nodes = graph.nodes
    is_missing = np.ones(len(graph), bool)
    for number, node in enumerate(nodes.tolist()):
        row = targets[offsets[number] : offsets[number + 1]]
        is_missing[row] = is_missing[number] = False
        first = 0 if graph.directed else number
        for other in nodes[first:][is_missing[first:]].tolist():
            yield node, other
        is_missing[row] = is_missing[number] = True


@networkx_function(refuses=_has_own_class)
def complement(G: Any) -> Any:
    build = build_digraph if G.directed else build_graph
    return build(G.nodes.tolist(), _missing_edges(G))


def _is_view(arguments: Arguments) -> bool | str:
    if not arguments["copy"] or not arguments["G"].is_directed():
        return "a view"
    return _has_own_class(arguments)


@networkx_function(refuses=_is_view)
def reverse(G: Any, copy: Any = True) -> Any:
    original = G.original
    edges = [(target, source) for source, row in original._adj.items() for target in row]
    result = build_digraph(original._node, edges)
    result.graph.update(deepcopy(original.graph))
    for node, data in original._node.items():
        if data:
            result._node[node].update(deepcopy(data))
    for source, row in original._adj.items():
        for target, data in row.items():
            if data:
                result._succ[target][source].update(deepcopy(data))
    return result
