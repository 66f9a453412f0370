"""NetworkX's general functions for shortest paths, which choose a method by their arguments."""

from __future__ import annotations

from typing import Any

from tgraph.interop.networkx.functions import bellman_ford, dijkstra, unweighted_paths
from tgraph.interop.networkx.functions.breadth_first import found_from
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.paths import paths_by_node
from tgraph.interop.networkx.registry import Arguments, networkx_function


def _needs_two_searches(arguments: Arguments) -> bool | str:
    if arguments["method"] not in ("dijkstra", "bellman-ford"):
        return "an unknown method"
    pair = arguments["source"] is not None and arguments["target"] is not None
    if pair and arguments["weight"] is not None and arguments["method"] == "dijkstra":
        return "Dijkstra's search from both ends is left to NetworkX"
    return "paths of all pairs come from all_pairs_shortest_path" if _is_all_pairs(arguments) else False


def _is_all_pairs(arguments: Arguments) -> bool:
    return arguments["source"] is None and arguments["target"] is None


def _is_odd(arguments: Arguments) -> bool | str:
    if arguments["method"] not in ("dijkstra", "bellman-ford"):
        return "an unknown method"
    return "lengths of all pairs come from all_pairs_shortest_path_length" if _is_all_pairs(arguments) else False


def _paths(graph: ConvertedGraph, source: Any, weight: Any, method: str, *, backwards: bool) -> dict[Any, list[Any]]:
    along = "in" if backwards else "out"
    if weight is None:
        order, parents, _ = found_from(graph, source, along=along)
        return paths_by_node(graph, order, parents, backwards=backwards)
    if method == "dijkstra":
        found = dijkstra.settle(graph, [source], weight, along=along)
        return paths_by_node(graph, found.order, found.parents, backwards=backwards)
    if backwards:
        raise LeaveToNetworkX
    return bellman_ford.paths(graph, bellman_ford.relax(graph, source, weight))


def _lengths(graph: ConvertedGraph, source: Any, weight: Any, method: str, along: str) -> dict[Any, Any]:
    if weight is None:
        return unweighted_paths.lengths(graph, source, along=along)
    if method == "dijkstra":
        return dijkstra.lengths(graph, dijkstra.settle(graph, [source], weight, along=along))
    return bellman_ford.lengths(graph, bellman_ford.relax(graph, source, weight, along=along))


@networkx_function(refuses=_needs_two_searches)
def shortest_path(G: Any, source: Any = None, target: Any = None, weight: Any = None, method: Any = "dijkstra") -> Any:
    if source is None:
        return _paths(G, target, weight, method, backwards=True)
    if target is None:
        return _paths(G, source, weight, method, backwards=False)
    if weight is None:
        return unweighted_paths.path_between(G, source, target)
    return bellman_ford.bellman_ford_path(G, source, target, weight)


@networkx_function(refuses=_is_odd)
def shortest_path_length(
    G: Any, source: Any = None, target: Any = None, weight: Any = None, method: Any = "dijkstra"
) -> Any:
    if source is None:
        return _lengths(G, target, weight, method, "in")
    if target is None:
        return _lengths(G, source, weight, method, "out")
    if weight is None:
        return len(unweighted_paths.path_between(G, source, target)) - 1
    family = dijkstra.dijkstra_path_length if method == "dijkstra" else bellman_ford.bellman_ford_path_length
    return family(G, source, target, weight)
