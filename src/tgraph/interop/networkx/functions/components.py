"""Connected and weakly connected components."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.functions.breadth_first import found_from
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.components import smallest_connected
from tgraph.runtime import Array


def labels_of(graph: ConvertedGraph) -> Array:
    """Return the first vertex of the component of every vertex; of a directed graph the weakly connected one."""
    return smallest_connected(*graph.out_rows, not graph.directed)


def count_components(graph: ConvertedGraph) -> int:
    """Return the number of components: their first vertices are labels of their own."""
    return int((labels_of(graph) == np.arange(len(graph))).sum())


def _is_connected(graph: ConvertedGraph) -> bool:
    if not len(graph):
        raise LeaveToNetworkX
    return not labels_of(graph).any()


@networkx_function(multigraph=True, generator=True)
def connected_components(G: Any) -> Any:
    return G.sets_by_label(labels_of(G))


@networkx_function(multigraph=True, generator=True)
def weakly_connected_components(G: Any) -> Any:
    return G.sets_by_label(labels_of(G))


@networkx_function(multigraph=True)
def number_connected_components(G: Any) -> int:
    return count_components(G)


@networkx_function(multigraph=True)
def number_weakly_connected_components(G: Any) -> int:
    return count_components(G)


@networkx_function(multigraph=True)
def is_connected(G: Any) -> bool:
    return _is_connected(G)


@networkx_function(multigraph=True)
def is_weakly_connected(G: Any) -> bool:
    return _is_connected(G)


@networkx_function(multigraph=True)
def node_connected_component(G: Any, n: Any) -> set[Any]:
    return set(G.nodes_of(found_from(G, n)[0]))


def _check_has_nodes(graph: ConvertedGraph) -> None:
    if not len(graph):
        raise LeaveToNetworkX


@networkx_function()
def is_tree(G: Any) -> bool:
    _check_has_nodes(G)
    return len(G) - 1 == G.num_edges and _is_connected(G)


@networkx_function()
def is_forest(G: Any) -> bool:
    _check_has_nodes(G)
    return G.num_edges == len(G) - count_components(G)


@networkx_function()
def is_arborescence(G: Any) -> bool:
    return is_tree(G) and bool(G.in_degrees().max() <= 1)


@networkx_function()
def is_branching(G: Any) -> bool:
    return is_forest(G) and bool(G.in_degrees().max() <= 1)
