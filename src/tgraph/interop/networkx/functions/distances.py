"""Measures made of the distances between all pairs of nodes, in edges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tgraph.interop.networkx.functions.components import is_connected, is_tree
from tgraph.interop.networkx.functions.strong_components import is_strongly_connected
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.multi_source import Reach, levels_from_sources, reach_of_sources, reach_of_vertices
from tgraph.runtime import Array

LEVELS_AT_ONCE = 2**24  # levels held at a time: 64 MiB


def is_weighted(arguments: Arguments) -> bool | str:
    """Say why a call is refused that gives weights, lengths it has found itself, or asks for bounds."""
    if any(arguments.get(name) is not None for name in ("weight", "distance", "sp", "e", "attr")):
        return "only distances in edges, found here"
    return "bounds are left to NetworkX" if arguments.get("usebounds") else False


def _reach(graph: ConvertedGraph) -> Reach:
    """Return what every vertex reaches."""
    return reach_of_sources(graph.simple_rows, graph.simple_in_rows, np.arange(len(graph)))


def _levels(graph: ConvertedGraph, sources: Array) -> Iterator[tuple[Array, Array]]:
    """Yield sources and their distances to all vertices `[S, V]`, -1 = not reached, some at a time."""
    step = max(1, LEVELS_AT_ONCE // max(len(graph), 1))
    for first in range(0, sources.size, step):
        some = sources[first : first + step]
        yield some, levels_from_sources(graph.simple_rows, graph.simple_in_rows, some)


def _eccentricities(graph: ConvertedGraph, vertices: Array) -> Array:
    found = []
    for _, levels in _levels(graph, vertices):
        if (levels < 0).any():
            raise LeaveToNetworkX
        found.append(levels.max(axis=1))
    return np.concatenate(found) if found else np.zeros(0, np.int32)


def _all_eccentricities(graph: ConvertedGraph) -> Array:
    if not len(graph):
        raise LeaveToNetworkX
    return _eccentricities(graph, np.arange(len(graph)))


@networkx_function(multigraph=True, effort="heavy", refuses=is_weighted)
def eccentricity(G: Any, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    if v is None:
        return G.by_node(_eccentricities(G, np.arange(len(G))))
    if v not in G:
        raise LeaveToNetworkX
    return int(_eccentricities(G, np.array([G.number_of(v)]))[0])


@networkx_function(multigraph=True, effort="heavy", refuses=is_weighted)
def diameter(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> int:
    return int(_all_eccentricities(G).max())


@networkx_function(multigraph=True, effort="heavy", refuses=is_weighted)
def radius(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> int:
    return int(_all_eccentricities(G).min())


@networkx_function(multigraph=True, effort="heavy", refuses=is_weighted)
def periphery(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> list[Any]:
    found = _all_eccentricities(G)
    return G.nodes_of(np.flatnonzero(found == found.max()))


def _check_no_tree(graph: ConvertedGraph) -> None:
    """NetworkX has a quick way for trees, with an order of its own."""
    if not len(graph) or (not graph.directed and is_tree(graph)):
        raise LeaveToNetworkX


@networkx_function(effort="heavy", refuses=is_weighted)
def center(G: Any, e: Any = None, usebounds: Any = False, weight: Any = None) -> list[Any]:
    _check_no_tree(G)
    found = _all_eccentricities(G)
    return G.nodes_of(np.flatnonzero(found == found.min()))


@networkx_function(effort="heavy", refuses=is_weighted)
def barycenter(G: Any, weight: Any = None, attr: Any = None, sp: Any = None) -> list[Any]:
    _check_no_tree(G)
    found = _reach(G)
    if (found.counts < len(G) - 1).any():
        raise LeaveToNetworkX
    return G.nodes_of(np.flatnonzero(found.totals == found.totals.min()))


@networkx_function(effort="heavy", multigraph=True, refuses=is_weighted)
def harmonic_diameter(G: Any, sp: Any = None, *, weight: Any = None) -> float:
    total = float(_reach(G).inverses.sum())
    if total != 0:
        return len(G) * (len(G) - 1) / total
    return math.inf if len(G) > 1 else math.nan


def _is_connected(graph: ConvertedGraph) -> bool:
    return is_strongly_connected(graph) if graph.directed else is_connected(graph)


def _has_method(arguments: Arguments) -> bool | str:
    return is_weighted(arguments) or ("a method" if arguments["method"] not in (None, "unweighted") else False)


@networkx_function(effort="heavy", multigraph=True, refuses=_has_method)
def average_shortest_path_length(G: Any, weight: Any = None, method: Any = None) -> float:
    count = len(G)
    if count < 2 or not _is_connected(G):
        raise LeaveToNetworkX
    return int(_reach(G).totals.sum()) / (count * (count - 1))


@networkx_function(effort="heavy", multigraph=True, refuses=is_weighted)
def wiener_index(G: Any, weight: Any = None) -> Any:
    if not _is_connected(G):
        return math.inf
    total = int(_reach(G).totals.sum())
    return total if G.directed else total / 2


@networkx_function(effort="heavy", refuses=is_weighted)
def schultz_index(G: Any, weight: Any = None) -> float:
    if not is_connected(G):
        return math.inf
    return 2 * int((_reach(G).totals * G.degrees()).sum()) / 2


@networkx_function(effort="heavy", refuses=is_weighted)
def gutman_index(G: Any, weight: Any = None) -> float:
    if not is_connected(G):
        return math.inf
    degrees = G.degrees()
    return sum(int(degrees[some] @ (levels @ degrees)) for some, levels in _levels(G, np.arange(len(G)))) / 2


@networkx_function(effort="heavy", refuses=is_weighted)
def hyper_wiener_index(G: Any, weight: Any = None) -> float:
    if not is_connected(G):
        return math.inf
    squares = (levels.astype(np.int64) for _, levels in _levels(G, np.arange(len(G))))
    return sum(int((levels + levels**2).sum()) for levels in squares) / 2


@networkx_function(effort="heavy", multigraph=True)
def global_efficiency(G: Any) -> Any:
    pairs = len(G) * (len(G) - 1)
    total = float(_reach(G).inverses.sum()) if pairs else 0
    return total / pairs if pairs else 0


@networkx_function(effort="heavy", multigraph=True, refuses=is_weighted)
def closeness_centrality(G: Any, u: Any = None, distance: Any = None, wf_improved: Any = True) -> Any:
    vertices = np.arange(len(G)) if u is None else np.array([G.number_of(u)])
    counts, totals, _ = reach_of_sources(G.simple_in_rows, G.simple_rows, vertices)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = counts / totals
        if wf_improved:
            scores *= counts / max(len(G) - 1, 1)
    scores = np.where(totals > 0, scores, 0.0)
    return G.by_node(scores) if u is None else float(scores[0])


@networkx_function(effort="heavy", multigraph=True, refuses=is_weighted)
def harmonic_centrality(G: Any, nbunch: Any = None, distance: Any = None, sources: Any = None) -> dict[Any, float]:
    if nbunch is not None or sources is not None:
        raise LeaveToNetworkX
    found = reach_of_vertices(G.simple_rows, G.simple_in_rows, np.arange(len(G)))
    scores = G.by_node(found.inverses)
    return {node: scores[node] or 0 for node in set(G)}  # in the order of NetworkX's set
