"""Connected and weakly connected components."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.functions.breadth_first import found_from
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.ordered.breadth_first import components, search
from tgraph.runtime import Array


def parts_of(graph: ConvertedGraph) -> tuple[Array, Array]:
    """Return all vertices, component by component, and where each begins, with the end."""
    return components(graph.out_rows, graph.any_order_in_rows)


def _is_connected(graph: ConvertedGraph) -> bool:
    if not len(graph):
        raise LeaveToNetworkX
    if not graph.directed:
        return search(graph.out_rows, np.array([0]))[0].size == len(graph)
    return parts_of(graph)[1].size == 2


@networkx_function(multigraph=True, generator=True)
def connected_components(G: Any) -> Any:
    return G.sets_of(*parts_of(G))


@networkx_function(multigraph=True, generator=True)
def weakly_connected_components(G: Any) -> Any:
    return G.sets_of(*parts_of(G))


@networkx_function(multigraph=True)
def number_connected_components(G: Any) -> int:
    return parts_of(G)[1].size - 1


@networkx_function(multigraph=True)
def number_weakly_connected_components(G: Any) -> int:
    return parts_of(G)[1].size - 1


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
    return G.num_edges == len(G) - (parts_of(G)[1].size - 1)


@networkx_function()
def is_arborescence(G: Any) -> bool:
    return is_tree(G) and bool(G.in_degrees().max() <= 1)


@networkx_function()
def is_branching(G: Any) -> bool:
    return is_forest(G) and bool(G.in_degrees().max() <= 1)
