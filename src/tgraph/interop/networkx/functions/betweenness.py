"""Betweenness: how much of the shortest paths passes through nodes and along edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import pairs_of
from tgraph.interop.networkx.functions.distances import is_weighted
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.betweenness import path_shares
from tgraph.kernels.cpu.multi_source import reach_of_sources, reach_of_vertices
from tgraph.kernels.cpu.ordered.brandes import edge_shares
from tgraph.runtime import Array


def _chosen(graph: ConvertedGraph, k: Any, seed: Any) -> Array | None:
    """Return the sources that NetworkX draws with this random state, None = all."""
    if k is None:
        return None
    if not isinstance(k, int) or not 0 < k <= len(graph):
        raise LeaveToNetworkX
    return np.array(seed.sample(range(len(graph)), k), np.int64)


def _scales(graph: ConvertedGraph, normalized: bool, endpoints: bool, chosen: Array | None) -> Array | float:
    """Return what sums over sources are multiplied with: one number, or one per vertex."""
    others = len(graph) if endpoints else len(graph) - 1
    if others < 2:
        return 1
    count = others if chosen is None else chosen.size
    correction = 1 if graph.directed else 2
    if chosen is None or endpoints:
        if not count:
            raise LeaveToNetworkX
        return 1 / (count * (others - 1)) if normalized else others / (count * correction)

    def scale(count: int) -> float:
        if not count:
            return math.nan
        return 1 / (count * (others - 1)) if normalized else others / (count * correction)

    scales = np.full(len(graph), scale(count))
    scales[chosen] = scale(count - 1)
    return scales


@networkx_function(effort="heavy", multigraph=True, refuses=is_weighted)
def betweenness_centrality(
    G: Any,
    k: Any = None,
    normalized: Any = True,
    weight: Any = None,
    endpoints: Any = False,
    seed: Any = None,
) -> dict[Any, float]:
    chosen = _chosen(G, None if k == len(G) else k, seed)
    sources = np.arange(len(G)) if chosen is None else chosen
    scales = _scales(G, normalized, endpoints, chosen)
    scores = path_shares(G.simple_rows, G.simple_in_rows, sources)
    if endpoints:
        scores += reach_of_vertices(G.simple_rows, G.simple_in_rows, sources).counts
        scores[sources] += reach_of_sources(G.simple_rows, G.simple_in_rows, sources).counts
    return G.by_node(scores * scales)


@networkx_function(effort="heavy", refuses=is_weighted)
def edge_betweenness_centrality(
    G: Any, k: Any = None, normalized: Any = True, weight: Any = None, seed: Any = None
) -> dict[Any, float]:
    chosen = _chosen(G, k, seed)
    sources = np.arange(len(G)) if chosen is None else chosen
    scale = _scales(G, normalized, True, chosen)
    firsts, seconds = G.sources[G.once], G.out_rows[1][G.once]
    shares = edge_shares(G.out_rows, edge_numbers(G), sources, G.once.size)
    return dict(zip(pairs_of(G, firsts, seconds), (shares * scale).tolist(), strict=True))


def edge_numbers(graph: ConvertedGraph) -> Array:
    """Return for every entry of the adjacency the position of its edge in NetworkX's `edges()`."""
    if graph.directed:
        return np.arange(graph.num_arcs)
    sources, targets = graph.sources.astype(np.int64), graph.out_rows[1].astype(np.int64)
    keys = np.minimum(sources, targets) * len(graph) + np.maximum(sources, targets)
    once = keys[graph.once]
    ranks = np.argsort(once, kind="stable")
    return ranks[np.searchsorted(once[ranks], keys)]
