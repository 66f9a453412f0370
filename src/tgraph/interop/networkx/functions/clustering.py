"""Triangles, squares and clustering coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.half_graph import HalfGraph, build_half_graph
from tgraph.kernels.cpu.row_overlaps import multiplied_triangles, squares
from tgraph.kernels.cpu.triangles import are_rows_merged, count_by_rank, count_triangles
from tgraph.kernels.cpu.watch import Watch
from tgraph.runtime import Array


def at_nodes(graph: ConvertedGraph, values: list[Any], nodes: Any) -> Any:
    """Return values `[V]` as NetworkX does for its `nodes`: None = all, one node its value, others a dictionary."""
    if nodes is None:
        return dict(zip(graph, values, strict=True))
    if nodes in graph:
        return values[graph.number_of(nodes)]
    if not isinstance(nodes, (list, tuple, set, frozenset, dict)):
        raise LeaveToNetworkX
    return {node: values[graph.numbers[node]] for node in nodes if node in graph}


def _half(graph: ConvertedGraph) -> HalfGraph | None:
    """Return the half graph that triangles are counted on, None if the rows are as good."""
    if are_rows_merged(graph.both_rows[0], Watch()):
        return None
    return build_half_graph(graph.both_rows, None, True, False, Watch())


def _triangles(graph: ConvertedGraph) -> Array:
    half = graph.kept("half", lambda: _half(graph))
    return count_triangles(graph.both_rows, None, True) if half is None else count_by_rank(half, Watch())[half.ranks]


def _ratios(found: Array, possible: Array) -> list[Any]:
    """Return found / possible as NetworkX has it: the whole number 0 where nothing was found."""
    ratios = np.divide(found, possible, out=np.zeros(found.size), where=found != 0).tolist()
    for place in np.flatnonzero(found == 0).tolist():
        ratios[place] = 0
    return ratios


def _coefficients(graph: ConvertedGraph) -> list[Any]:
    degrees = np.diff(graph.both_rows[0])
    if not graph.directed:
        return _ratios(2 * _triangles(graph), degrees * (degrees - 1))
    offsets, neighbors = graph.both_rows
    ends = np.repeat(np.arange(len(graph)), degrees), neighbors.astype(np.int64)
    rows, columns = graph.simple_rows[0], graph.simple_rows[1].astype(np.int64)
    keys = np.repeat(np.arange(len(graph)), np.diff(rows)) * len(graph) + columns
    multiplicities = np.isin(ends[0] * len(graph) + ends[1], keys).astype(np.int64)
    multiplicities += np.isin(ends[1] * len(graph) + ends[0], keys)
    totals = np.bincount(ends[0], multiplicities, len(graph)).astype(np.int64)
    mutual = np.bincount(ends[0], multiplicities == 2, len(graph)).astype(np.int64)
    found = multiplied_triangles((offsets, neighbors), multiplicities)
    return _ratios(found, (totals * (totals - 1) - 2 * mutual) * 2)


def _is_weighted(arguments: Arguments) -> bool | str:
    return "weighted triangles are left to NetworkX" if arguments["weight"] is not None else False


@networkx_function(effort="heavy")
def triangles(G: Any, nodes: Any = None) -> Any:
    counts = _triangles(G)
    return G.by_node(counts) if nodes is None else at_nodes(G, counts.tolist(), nodes)


@networkx_function(effort="heavy", refuses=_is_weighted)
def clustering(G: Any, nodes: Any = None, weight: Any = None) -> Any:
    return at_nodes(G, _coefficients(G), nodes)


@networkx_function(effort="heavy", refuses=_is_weighted)
def average_clustering(G: Any, nodes: Any = None, weight: Any = None, count_zeros: Any = True) -> Any:
    found = at_nodes(G, _coefficients(G), nodes)
    if not isinstance(found, dict) or not found:
        raise LeaveToNetworkX
    values = list(found.values()) if count_zeros else [value for value in found.values() if abs(value) > 0]
    if not values:
        raise LeaveToNetworkX
    return sum(values) / len(values)


@networkx_function(effort="heavy")
def transitivity(G: Any) -> Any:
    if G.directed:
        raise LeaveToNetworkX
    degrees = np.diff(G.both_rows[0])
    found = 2 * int(_triangles(G).sum())
    return found / int((degrees * (degrees - 1)).sum()) if found else 0


@networkx_function(effort="heavy", multigraph=True)
def square_clustering(G: Any, nodes: Any = None) -> Any:
    if G.directed:
        raise LeaveToNetworkX
    found, possible = squares(G.both_rows)
    ratios = np.divide(found, possible, out=np.zeros(found.size), where=possible > 0).tolist()
    for place in np.flatnonzero(possible <= 0).tolist():
        ratios[place] = 0
    return at_nodes(G, ratios, nodes)
