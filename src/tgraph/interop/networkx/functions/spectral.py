"""Centralities by power iteration: PageRank, eigenvector, Katz, HITS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.pagerank import iterate
from tgraph.kernels.cpu.weighted_rows import add_neighbors
from tgraph.runtime import Array

HITS_ITERATIONS, HITS_CHANGE, HITS_DIFFERENCE = 1000, 1e-14, 1e-9


def _shares(graph: ConvertedGraph, weight: Any) -> Array:
    """Return 1 / the weight that leaves each vertex, 0 where none does."""
    if graph.incoming(weight)[2] is None:
        totals = graph.out_degrees()
    else:
        totals = np.bincount(graph.sources, graph.float_weights(weight), len(graph))
    return np.divide(1.0, totals, out=np.zeros(len(graph)), where=totals != 0)


def _vector(graph: ConvertedGraph, values: Any) -> Array | None:
    """Return numbers by node as shares that sum to 1; a node that is not named has 0."""
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise LeaveToNetworkX
    vector = np.array([values.get(node, 0) for node in graph], float)
    if vector.sum() == 0:
        raise LeaveToNetworkX
    return vector / vector.sum()


def _is_no_number(arguments: Arguments) -> bool | str:
    numbers = isinstance(arguments["alpha"], (int, float)) and isinstance(arguments["tol"], (int, float))
    return False if numbers and isinstance(arguments["max_iter"], int) else "alpha, tol or max_iter is no plain number"


@networkx_function(refuses=_is_no_number)
def pagerank(
    G: Any,
    alpha: Any = 0.85,
    personalization: Any = None,
    max_iter: Any = 100,
    tol: Any = 1e-06,
    nstart: Any = None,
    weight: Any = "weight",
    dangling: Any = None,
) -> dict[Any, float]:
    count = len(G)
    if not count:
        return {}
    even = np.repeat(1.0 / count, count)
    jumps, start, sinks = _vector(G, personalization), _vector(G, nstart), _vector(G, dangling)
    jumps = even if jumps is None else jumps
    sinks = jumps if sinks is None else sinks
    start = even if start is None else start
    ranks = iterate(
        G.incoming(weight), _shares(G, weight), start, jumps, sinks, float(alpha), count * float(tol), max_iter
    )
    if ranks is None:
        raise LeaveToNetworkX
    return G.by_node(ranks)


def _has_start(arguments: Arguments) -> bool | str:
    return "a start of the user's" if arguments["nstart"] is not None else False


@networkx_function(refuses=_has_start)
def eigenvector_centrality(
    G: Any, max_iter: Any = 100, tol: Any = 1e-06, nstart: Any = None, weight: Any = None
) -> dict[Any, float]:
    if not len(G):
        raise LeaveToNetworkX
    offsets, sources, weights = G.incoming(weight or None)
    scores = np.repeat(1 / len(G), len(G))
    for _ in range(max_iter):
        last, scores = scores, scores.copy()
        add_neighbors(offsets, sources, weights, last, scores)
        scores /= math.hypot(*scores.tolist()) or 1
        if np.absolute(scores - last).sum() < len(G) * tol:
            return G.by_node(scores)
    raise LeaveToNetworkX


@networkx_function(refuses=_has_start)
def katz_centrality(
    G: Any,
    alpha: Any = 0.1,
    beta: Any = 1.0,
    max_iter: Any = 1000,
    tol: Any = 1e-06,
    nstart: Any = None,
    normalized: Any = True,
    weight: Any = None,
) -> dict[Any, float]:
    if not len(G):
        return {}
    if not isinstance(beta, (int, float)) or not isinstance(alpha, (int, float)):
        raise LeaveToNetworkX
    offsets, sources, weights = G.incoming(weight)
    scores = np.zeros(len(G))
    for _ in range(max_iter):
        last, sums = scores, np.zeros(len(G))
        add_neighbors(offsets, sources, weights, last, sums)
        scores = alpha * sums + float(beta)
        change = float(np.absolute(scores - last).sum())
        if change < len(G) * tol:
            norm = math.hypot(*scores.tolist()) if normalized else 1.0
            return G.by_node(scores * (1.0 / norm if norm else 1.0))
        if not math.isfinite(change):
            break
    raise LeaveToNetworkX


def _is_ambiguous(arguments: Arguments) -> bool | str:
    if arguments["nstart"] is not None or not arguments["normalized"]:
        return "a start of the user's, or scores of either sign"
    return "no iterations" if arguments["max_iter"] <= 0 else False


@networkx_function(refuses=_is_ambiguous)
def hits(
    G: Any, max_iter: Any = 100, tol: Any = 1e-08, nstart: Any = None, normalized: Any = True
) -> tuple[dict[Any, float], dict[Any, float]]:
    if len(G) < 3:
        raise LeaveToNetworkX
    hubs, authorities = _dominant(G, np.ones(len(G)))
    _, again = _dominant(G, np.random.default_rng(0).random(len(G)))
    if np.absolute(authorities - again).sum() > HITS_DIFFERENCE:  # not unique: NetworkX chooses
        raise LeaveToNetworkX
    return G.by_node(hubs), G.by_node(authorities)


def _dominant(graph: ConvertedGraph, authorities: Array) -> tuple[Array, Array]:
    """Return hubs and authorities, sums 1, that a start leads to."""
    incoming = graph.incoming("weight")
    weights = None if incoming[2] is None else graph.float_weights("weight")
    authorities = authorities / authorities.sum()
    for _ in range(HITS_ITERATIONS):
        hubs, new = np.zeros(len(graph)), np.zeros(len(graph))
        add_neighbors(*graph.out_rows, weights, authorities, hubs)
        add_neighbors(*incoming, hubs, new)
        total = new.sum()
        if not total > 0 or new.min() < 0:
            break
        new /= total
        if np.absolute(new - authorities).sum() < HITS_CHANGE:
            return hubs / hubs.sum(), new
        authorities = new
    raise LeaveToNetworkX
