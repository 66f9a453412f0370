"""Directed acyclic graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX, pieces
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.topological import generations, longest_paths
from tgraph.runtime import Array


def _sorted(graph: ConvertedGraph) -> tuple[Array, Array]:
    """Return the generations; NetworkX words what is wrong with cycles and undirected graphs."""
    if not graph.directed:
        raise LeaveToNetworkX
    found = generations(graph.out_rows)
    if found[0].size < len(graph):
        raise LeaveToNetworkX
    return found


@networkx_function(multigraph=True, generator=True)
def topological_generations(G: Any) -> Any:
    order, begins = _sorted(G)
    return pieces(G.nodes_of(order), begins)


@networkx_function(multigraph=True, generator=True)
def topological_sort(G: Any) -> Any:
    return G.nodes_of(_sorted(G)[0])


def _has_cycle(graph: ConvertedGraph) -> bool:
    return generations(graph.out_rows)[0].size < len(graph)


@networkx_function(multigraph=True)
def has_cycle(G: Any) -> bool:
    if not G.directed:
        raise LeaveToNetworkX
    return _has_cycle(G)


@networkx_function(multigraph=True)
def is_directed_acyclic_graph(G: Any) -> bool:
    return G.directed and not _has_cycle(G)


def _longest(graph: ConvertedGraph, weight: Any, default_weight: Any) -> tuple[list[int], Array]:
    """Return the vertices of the longest path and the lengths `[V]`."""
    order, _ = _sorted(graph)
    lengths, parents = longest_paths(graph.in_rows, graph.weights(weight, default_weight, "in"), order)
    path = [int(order[np.argmax(lengths[order])])]
    while parents[path[-1]] != path[-1]:
        path.append(int(parents[path[-1]]))
    return path[::-1], lengths


def _has_own_order(arguments: Arguments) -> bool | str:
    return "an order that the user gives" if arguments["topo_order"] is not None else False


@networkx_function(refuses=_has_own_order)
def dag_longest_path(G: Any, weight: Any = "weight", default_weight: Any = 1, topo_order: Any = None) -> list[Any]:
    return G.nodes_of(np.array(_longest(G, weight, default_weight)[0])) if len(G) else []


@networkx_function()
def dag_longest_path_length(G: Any, weight: Any = "weight", default_weight: Any = 1) -> Any:
    if not len(G):
        return 0
    path, lengths = _longest(G, weight, default_weight)
    return lengths[path[-1]].item() if len(path) > 1 else 0
