"""Shortest paths that count edges."""

from __future__ import annotations

from typing import Any

from tgraph.interop.networkx.functions.breadth_first import found_from
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX, pieces
from tgraph.interop.networkx.paths import paths_by_node
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.ordered.breadth_first import meet
from tgraph.kernels.cpu.ordered.path_parents import all_parents


def lengths(graph: ConvertedGraph, source: Any, cutoff: Any = None, along: str = "out") -> dict[Any, int]:
    """Return how far every node is that a node reaches, in the order in which they are found."""
    order, _, levels = found_from(graph, source, cutoff, along=along)
    return graph.by_node(levels[order], order)


def paths(graph: ConvertedGraph, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    """Return a path to every node that a node reaches, in the order in which they are found."""
    order, parents, _ = found_from(graph, source, cutoff)
    return paths_by_node(graph, order, parents)


@networkx_function(multigraph=True)
def single_source_shortest_path_length(G: Any, source: Any, cutoff: Any = None) -> dict[Any, int]:
    return lengths(G, source, cutoff)


@networkx_function(multigraph=True)
def single_target_shortest_path_length(G: Any, target: Any, cutoff: Any = None) -> dict[Any, int]:
    return lengths(G, target, cutoff, along="in")


@networkx_function(multigraph=True, effort="heavy", generator=True)
def all_pairs_shortest_path_length(G: Any, cutoff: Any = None) -> Any:
    return ((node, lengths(G, node, cutoff)) for node in G)


@networkx_function(multigraph=True)
def single_source_shortest_path(G: Any, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    return paths(G, source, cutoff)


@networkx_function(multigraph=True)
def single_target_shortest_path(G: Any, target: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    order, parents, _ = found_from(G, target, cutoff, along="in")
    return paths_by_node(G, order, parents, backwards=True)


@networkx_function(multigraph=True, effort="heavy", generator=True)
def all_pairs_shortest_path(G: Any, cutoff: Any = None) -> Any:
    return ((node, paths(G, node, cutoff)) for node in G)


def path_between(graph: ConvertedGraph, source: Any, target: Any) -> list[Any]:
    """Return NetworkX's shortest path between two nodes."""
    found = meet(graph.out_rows, graph.in_rows, graph.number_of(source), graph.number_of(target))
    if not found.size:
        raise LeaveToNetworkX
    return graph.nodes_of(found)


@networkx_function(multigraph=True)
def bidirectional_shortest_path(G: Any, source: Any, target: Any) -> list[Any]:
    return path_between(G, source, target)


@networkx_function(multigraph=True)
def has_path(G: Any, source: Any, target: Any) -> bool:
    if source is None or target is None:
        raise LeaveToNetworkX
    return meet(G.out_rows, G.in_rows, G.number_of(source), G.number_of(target)).size > 0


@networkx_function(multigraph=True)
def predecessor(G: Any, source: Any, target: Any = None, cutoff: Any = None, return_seen: Any = None) -> Any:
    order, _, levels = found_from(G, source, cutoff or None)
    offsets, parents = all_parents(G.out_rows, order, levels)
    found = dict(zip(G.nodes_of(order), pieces(G.nodes_of(parents), offsets), strict=True))
    if target is not None:
        parents_of_target = found.get(target, [])
        level = int(levels[G.number_of(target)]) if target in found else -1
        return (parents_of_target, level) if return_seen else parents_of_target
    return (found, G.by_node(levels[order], order)) if return_seen else found
