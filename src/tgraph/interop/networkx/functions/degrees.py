"""Measures made of degrees."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.functions.components import count_components, is_connected
from tgraph.interop.networkx.functions.strong_components import is_strongly_connected
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import networkx_function
from tgraph.runtime import Array


def _centrality(graph: ConvertedGraph, degrees: Array) -> dict[Any, float]:
    if len(graph) <= 1:
        raise LeaveToNetworkX
    return graph.by_node(degrees * (1.0 / (len(graph) - 1.0)))


@networkx_function(effort="trivial")
def degree_centrality(G: Any) -> dict[Any, float]:
    return _centrality(G, G.degrees())


@networkx_function(effort="trivial")
def in_degree_centrality(G: Any) -> dict[Any, float]:
    return _centrality(G, G.in_degrees())


@networkx_function(effort="trivial")
def out_degree_centrality(G: Any) -> dict[Any, float]:
    return _centrality(G, G.out_degrees())


def _alone(graph: ConvertedGraph) -> Array:
    return np.flatnonzero(graph.degrees() == 0)


@networkx_function(effort="trivial", multigraph=True)
def isolates(G: Any) -> Any:
    return (node for node in G.nodes_of(_alone(G)))


@networkx_function(effort="trivial", multigraph=True)
def number_of_isolates(G: Any) -> int:
    return _alone(G).size


@networkx_function(effort="trivial")
def number_of_selfloops(G: Any) -> int:
    return int(G.loops.sum())


@networkx_function(effort="trivial")
def score_sequence(G: Any) -> list[int]:
    return np.sort(G.out_degrees()).tolist()


@networkx_function(effort="linear")
def is_tournament(G: Any) -> bool:
    count = len(G)
    sources, targets = G.sources.astype(np.int64), G.out_rows[1].astype(np.int64)
    keys = np.minimum(sources, targets) * count + np.maximum(sources, targets)
    return not G.loops.any() and keys.size == count * (count - 1) // 2 and np.unique(keys).size == keys.size


@networkx_function()
def is_eulerian(G: Any) -> bool:
    if not G.directed:
        return not (G.degrees() % 2).any() and is_connected(G)
    return bool((G.in_degrees() == G.out_degrees()).all()) and is_strongly_connected(G)


@networkx_function()
def has_eulerian_path(G: Any, source: Any = None) -> bool:
    if source is not None or not len(G):
        raise LeaveToNetworkX
    if is_eulerian(G):
        return True
    if not G.directed:
        return int((G.degrees() % 2).sum()) == 2 and is_connected(G)
    surplus = G.out_degrees() - G.in_degrees()
    is_near = np.abs(surplus).max() <= 1 and (surplus == 1).sum() <= 1 and (surplus == -1).sum() <= 1
    return bool(is_near) and count_components(G) == 1


@networkx_function()
def s_metric(G: Any) -> float:
    degrees = G.degrees()
    return float(int((degrees[G.sources[G.once]] * degrees[G.out_rows[1][G.once]]).sum()))


@networkx_function()
def rich_club_coefficient(G: Any, normalized: Any = True, Q: Any = 100, seed: Any = None) -> dict[int, float]:
    if normalized or not G.num_arcs or G.loops.any():
        raise LeaveToNetworkX
    degrees = G.degrees()
    more = len(G) - np.cumsum(np.bincount(degrees))  # [d]: nodes of a larger degree
    more = more[more > 1].tolist()
    lower = np.minimum(degrees[G.sources[G.once]], degrees[G.out_rows[1][G.once]])
    edges = (lower.size - np.cumsum(np.bincount(lower, minlength=len(more)))).tolist()
    return {d: 2 * edges[d] / (count * (count - 1)) for d, count in enumerate(more)}


def _mutual(graph: ConvertedGraph) -> Array:
    """Return for every entry of the adjacency whether there is one back, `[E] bool`."""
    sources, targets = graph.sources.astype(np.int64), graph.out_rows[1].astype(np.int64)
    return np.isin(sources * len(graph) + targets, targets * len(graph) + sources)


@networkx_function()
def overall_reciprocity(G: Any) -> float:
    if not G.num_arcs or not G.directed:
        raise LeaveToNetworkX
    return int((_mutual(G) & (G.sources != G.out_rows[1])).sum()) / G.num_arcs


@networkx_function()
def reciprocity(G: Any, nodes: Any = None) -> Any:
    if nodes is None:
        return overall_reciprocity(G)
    if not G.directed or nodes in G or not isinstance(nodes, (list, tuple, set, dict)):
        raise LeaveToNetworkX
    overlaps = np.bincount(G.sources[_mutual(G)], minlength=len(G)).tolist()
    totals = (G.in_degrees() + G.out_degrees()).tolist()
    numbers = {node: G.numbers[node] for node in nodes if node in G}
    return {node: 2 * overlaps[i] / totals[i] if totals[i] else None for node, i in numbers.items()}
