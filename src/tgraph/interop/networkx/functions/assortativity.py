"""How degrees at the two ends of edges go together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.runtime import Array

LEAST_VARIANCE = 1e-12  # below, NetworkX divides rounding errors by each other


def _is_weighted_or_part(arguments: Arguments) -> bool | str:
    is_plain = arguments["weight"] is None and arguments["nodes"] is None
    return False if is_plain else "weights and parts of the nodes are left to NetworkX"


def _degrees(graph: ConvertedGraph, kind: Any) -> Array:
    if not graph.directed:
        return graph.degrees()
    try:
        return {"in": graph.in_degrees, "out": graph.out_degrees, "in+out": graph.degrees}[kind]()
    except (KeyError, TypeError):
        raise LeaveToNetworkX from None


def _ends(graph: ConvertedGraph, x: Any, y: Any) -> tuple[Array, Array]:
    """Return the degrees at the two ends of every entry of the adjacency."""
    if x not in ("in", "out") or y not in ("in", "out") or not graph.num_arcs:
        raise LeaveToNetworkX
    return _degrees(graph, x)[graph.sources], _degrees(graph, y)[graph.out_rows[1]]


@networkx_function(refuses=_is_weighted_or_part)
def degree_assortativity_coefficient(
    G: Any, x: Any = "out", y: Any = "in", weight: Any = None, nodes: Any = None
) -> float:
    firsts, seconds = (side.astype(np.float64) for side in _ends(G, x, y))
    variance = float(firsts.var()) * float(seconds.var())
    if variance < LEAST_VARIANCE:
        raise LeaveToNetworkX
    return float(((firsts - firsts.mean()) * (seconds - seconds.mean())).mean()) / math.sqrt(variance)


@networkx_function(refuses=_is_weighted_or_part)
def degree_pearson_correlation_coefficient(
    G: Any, x: Any = "out", y: Any = "in", weight: Any = None, nodes: Any = None
) -> float:
    return degree_assortativity_coefficient(G, x, y)


@networkx_function(refuses=_is_weighted_or_part)
def average_neighbor_degree(
    G: Any, source: Any = "out", target: Any = "out", nodes: Any = None, weight: Any = None
) -> dict[Any, float]:
    if not G.directed and (source != "out" or target != "out"):
        raise LeaveToNetworkX
    own, others = _degrees(G, source), _degrees(G, target)
    sums = np.zeros(len(G))
    if "out" in source:
        sums += np.bincount(G.sources, others[G.out_rows[1]], len(G))
    if "in" in source:
        sums += np.bincount(G.out_rows[1], others[G.sources], len(G))
    return G.by_node(np.divide(sums, own, out=np.zeros(len(G)), where=own != 0))


@networkx_function(refuses=_is_weighted_or_part)
def average_degree_connectivity(
    G: Any, source: Any = "in+out", target: Any = "in+out", nodes: Any = None, weight: Any = None
) -> dict[int, Any]:
    if not G.directed and (source != "in+out" or target != "in+out"):
        raise LeaveToNetworkX
    own, others = _degrees(G, source), _degrees(G, target)
    ends = (G.out_rows[1], G.sources) if source == "in" and G.directed else (G.sources, G.out_rows[1])
    sums = np.bincount(own, np.bincount(ends[0], others[ends[1]], len(G))).astype(np.int64).tolist()
    norms = np.bincount(own, own).astype(np.int64).tolist()
    first_seen = dict.fromkeys(own.tolist())
    return {degree: sums[degree] / norms[degree] if norms[degree] else sums[degree] for degree in first_seen}
