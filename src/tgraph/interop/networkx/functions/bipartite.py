"""Graphs whose nodes fall into two sets without edges inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.functions.components import is_connected
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.two_colors import UNKNOWN, two_colors
from tgraph.runtime import Array


def _colors(graph: ConvertedGraph) -> tuple[Array, Array]:
    """Return vertices and their colours, in NetworkX's order."""
    found = two_colors(graph.out_rows, graph.in_rows if graph.directed else None)
    if found is None:
        raise LeaveToNetworkX
    order, colors = found
    order = np.concatenate([order, np.flatnonzero(colors == UNKNOWN)])
    return order, np.where(colors[order] == 1, 1, 0)


@networkx_function(multigraph=True)
def color(G: Any) -> dict[Any, int]:
    order, colors = _colors(G)
    return G.by_node(colors, order)


@networkx_function(multigraph=True)
def is_bipartite(G: Any) -> bool:
    reverse = G.any_order_in_rows if G.directed else None
    return two_colors(G.out_rows, reverse) is not None


def _has_top(arguments: Arguments) -> bool | str:
    return "sets that the user gives" if arguments["top_nodes"] is not None else False


@networkx_function(multigraph=True, refuses=_has_top)
def sets(G: Any, top_nodes: Any = None) -> tuple[set[Any], set[Any]]:
    if not is_connected(G):
        raise LeaveToNetworkX
    order, colors = _colors(G)
    return set(G.nodes_of(order[colors == 1])), set(G.nodes_of(order[colors == 0]))
