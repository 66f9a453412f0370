"""Shortest paths by weights that may be negative, with the Bellman-Ford algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX, pieces
from tgraph.interop.networkx.paths import path_to, paths_by_node
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.ordered.bellman_ford import Relaxed, search
from tgraph.runtime import Array


def relax(graph: ConvertedGraph, source: Any, weight: Any, *, heuristic: bool = True, along: str = "out") -> Relaxed:
    """Run the algorithm; NetworkX tells about negative cycles."""
    weights = graph.weights(weight, along=along)
    found = search(graph.rows(along), weights, graph.number_of(source), heuristic=heuristic)
    if found is None:
        raise LeaveToNetworkX
    return found


def lengths(graph: ConvertedGraph, found: Relaxed) -> dict[Any, Any]:
    """Return the lengths in the order in which nodes were reached; that of the source is the number 0."""
    values = graph.by_node(found.lengths[found.order], found.order)
    values[graph.nodes[found.order[0]]] = 0
    return values


def _first_parents(graph: ConvertedGraph, found: Relaxed) -> tuple[Array, Array]:
    """Return vertices, parents before children, and first parents `[V]`; NetworkX leads around cycles of length 0."""
    parents = np.full(len(graph), -1)
    has_any = np.diff(found.parent_offsets) > 0
    parents[found.order[has_any]] = found.parents[found.parent_offsets[:-1][has_any]]
    if has_any[0] or not has_any[1:].all():
        raise LeaveToNetworkX
    jumps, depths = np.where(parents < 0, np.arange(len(graph)), parents), (parents >= 0).astype(np.int64)
    for _ in range(len(graph).bit_length() + 1):
        depths, jumps = depths + depths[jumps], jumps[jumps]
    if (jumps[found.order] != found.order[0]).any():
        raise LeaveToNetworkX
    return found.order[np.argsort(depths[found.order], kind="stable")], parents


def paths(graph: ConvertedGraph, found: Relaxed) -> dict[Any, list[Any]]:
    """Return the paths in the order in which nodes were reached."""
    order, parents = _first_parents(graph, found)
    by_depth = paths_by_node(graph, order, parents)
    return {node: by_depth[node] for node in graph.nodes_of(found.order)}


def _length_and_path(graph: ConvertedGraph, source: Any, target: Any, weight: Any) -> Any:
    if source is None or target is None or target not in graph or source == target:
        raise LeaveToNetworkX
    found = relax(graph, source, weight)
    vertex = graph.number_of(target)
    if not (found.order == vertex).any():
        raise LeaveToNetworkX
    return found.lengths[vertex].item(), path_to(graph, _first_parents(graph, found)[1], vertex)


@networkx_function(effort="heavy")
def bellman_ford_predecessor_and_distance(
    G: Any, source: Any, target: Any = None, weight: Any = "weight", heuristic: Any = False
) -> Any:
    found = relax(G, source, weight, heuristic=bool(heuristic))
    weights = G.weights(weight)
    if (weights[G.sources == G.out_rows[1]] < 0).any():
        raise LeaveToNetworkX
    lists = pieces(G.nodes_of(found.parents), found.parent_offsets)
    return dict(zip(G.nodes_of(found.order), lists, strict=True)), lengths(G, found)


@networkx_function(effort="heavy")
def single_source_bellman_ford(G: Any, source: Any, target: Any = None, weight: Any = "weight") -> Any:
    if target is not None:
        return _length_and_path(G, source, target, weight)
    found = relax(G, source, weight)
    return lengths(G, found), paths(G, found)


@networkx_function(effort="heavy")
def single_source_bellman_ford_path(G: Any, source: Any, weight: Any = "weight") -> Any:
    return paths(G, relax(G, source, weight))


@networkx_function(effort="heavy")
def single_source_bellman_ford_path_length(G: Any, source: Any, weight: Any = "weight") -> Any:
    return lengths(G, relax(G, source, weight))


@networkx_function(effort="heavy")
def bellman_ford_path(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    return _length_and_path(G, source, target, weight)[1]


@networkx_function(effort="heavy")
def bellman_ford_path_length(G: Any, source: Any, target: Any, weight: Any = "weight") -> Any:
    return _length_and_path(G, source, target, weight)[0]


def _check_no_cycles(graph: ConvertedGraph, weight: Any) -> None:
    """Leave all pairs to NetworkX if a length may be negative: it then fails half-way, or leads around cycles."""
    weights = graph.weights(weight)
    if weights.size and weights.min() <= 0:
        raise LeaveToNetworkX


@networkx_function(effort="heavy", generator=True)
def all_pairs_bellman_ford_path(G: Any, weight: Any = "weight") -> Any:
    _check_no_cycles(G, weight)
    return ((node, paths(G, relax(G, node, weight))) for node in G)


@networkx_function(effort="heavy", generator=True)
def all_pairs_bellman_ford_path_length(G: Any, weight: Any = "weight") -> Any:
    _check_no_cycles(G, weight)
    return ((node, lengths(G, relax(G, node, weight))) for node in G)
