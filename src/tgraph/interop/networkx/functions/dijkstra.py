"""Shortest paths by weights, with Dijkstra's algorithm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.paths import path_to, paths_by_node
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.ordered.bucket_dijkstra import NOBODY
from tgraph.kernels.cpu.ordered.dijkstra import Settled, search, search_by_buckets


def settle(
    graph: ConvertedGraph,
    sources: Iterable[Any],
    weight: Any,
    *,
    target: Any = None,
    cutoff: Any = None,
    ties: bool = False,
    along: str = "out",
) -> Settled:
    """Run Dijkstra's algorithm; what it cannot do is left to NetworkX."""
    starts = graph.numbers_of(dict.fromkeys(sources))
    if not starts.size or not (cutoff is None or isinstance(cutoff, (int, float))):
        raise LeaveToNetworkX
    goal = NOBODY if target is None else graph.number_of(target)
    edges = graph.packed_edges(weight, along)
    if edges is not None:
        return search_by_buckets(graph.rows(along)[0], edges, starts, target=goal, cutoff=cutoff, ties=ties)
    weights = graph.weights(weight, along=along)
    if weights.min(initial=0) < 0:
        raise LeaveToNetworkX
    found = search(graph.rows(along), weights, starts, target=goal, cutoff=cutoff, ties=ties)
    if found is None:
        raise LeaveToNetworkX
    return found


def lengths(graph: ConvertedGraph, found: Settled) -> dict[Any, Any]:
    """Return the length of every settled node, in order; that of a source is the number 0 whatever weights are."""
    result = graph.by_node(found.lengths[found.order], found.order)
    if found.lengths.dtype.kind == "f":
        roots = found.order[found.parents[found.order] == NOBODY]
        result.update(dict.fromkeys(graph.nodes_of(roots), 0))
    return result


def length_of(found: Settled, vertex: int) -> Any:
    """Return the length of one vertex."""
    return 0 if found.parents[vertex] == NOBODY else found.lengths[vertex].item()


def _check_settled(found: Settled, vertex: int) -> None:
    if not found.order.size or found.order[-1] != vertex:  # the search ended before: NetworkX says so
        raise LeaveToNetworkX


def _lengths_and_paths(graph: ConvertedGraph, sources: Iterable[Any], cutoff: Any, weight: Any) -> Any:
    found = settle(graph, sources, weight, cutoff=cutoff)
    return lengths(graph, found), paths_by_node(graph, found.order, found.parents)


def length_and_path(graph: ConvertedGraph, sources: Any, target: Any, cutoff: Any, weight: Any) -> Any:
    """Return what `multi_source_dijkstra` returns."""
    if target is None:
        return _lengths_and_paths(graph, sources, cutoff, weight)
    graph.numbers_of(sources)
    if target in sources:
        return 0, [target]
    found = settle(graph, sources, weight, target=target, cutoff=cutoff)
    vertex = graph.number_of(target)
    _check_settled(found, vertex)
    return length_of(found, vertex), path_to(graph, found.parents, vertex)


@networkx_function()
def multi_source_dijkstra(G: Any, sources: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight") -> Any:
    return length_and_path(G, sources, target, cutoff, weight)


@networkx_function()
def multi_source_dijkstra_path(G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    return _lengths_and_paths(G, sources, cutoff, weight)[1]


@networkx_function()
def multi_source_dijkstra_path_length(G: Any, sources: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    return lengths(G, settle(G, sources, weight, cutoff=cutoff))


@networkx_function()
def single_source_dijkstra(G: Any, source: Any, target: Any = None, cutoff: Any = None, weight: Any = "weight") -> Any:
    return length_and_path(G, [source], target, cutoff, weight)


@networkx_function()
def single_source_dijkstra_path(G: Any, source: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    return _lengths_and_paths(G, [source], cutoff, weight)[1]


@networkx_function()
def single_source_dijkstra_path_length(G: Any, source: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    return lengths(G, settle(G, [source], weight, cutoff=cutoff))


@networkx_function()
def dijkstra_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    return length_and_path(G, [source], target, None, weight)[1]


@networkx_function()
def dijkstra_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    if target is None:
        raise LeaveToNetworkX
    return length_and_path(G, [source], target, None, weight)[0]


@networkx_function(effort="heavy", generator=True)
def all_pairs_dijkstra(G: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    G.weights(weight)
    return ((node, _lengths_and_paths(G, [node], cutoff, weight)) for node in G)


@networkx_function(effort="heavy", generator=True)
def all_pairs_dijkstra_path(G: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    G.weights(weight)
    return ((node, _lengths_and_paths(G, [node], cutoff, weight)[1]) for node in G)


@networkx_function(effort="heavy", generator=True)
def all_pairs_dijkstra_path_length(G: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    G.weights(weight)
    return ((node, lengths(G, settle(G, [node], weight, cutoff=cutoff))) for node in G)


@networkx_function()
def dijkstra_predecessor_and_distance(G: Any, source: Any, cutoff: Any = None, weight: Any = "weight") -> Any:
    found = settle(G, [source], weight, cutoff=cutoff, ties=True)
    vertices, parents, replaces = found.ties
    begins = np.zeros(len(G), np.int64)  # the last step that replaced the parents of a vertex
    begins[vertices[replaces]] = np.flatnonzero(replaces)
    first_seen = dict.fromkeys([source, *G.nodes_of(vertices)])
    kept = np.flatnonzero(np.arange(vertices.size) >= begins[vertices])
    lists: dict[Any, list[Any]] = {node: [] for node in first_seen}
    for node, parent in zip(G.nodes_of(vertices[kept]), G.nodes_of(parents[kept]), strict=True):
        lists[node].append(parent)
    return lists, lengths(G, found)
