"""Edges between two sets of nodes, counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import pairs_of
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.greedy_matching import matched
from tgraph.runtime import Array

COLLECTIONS = (list, tuple, set, frozenset, dict)


def _is_odd(arguments: Arguments) -> bool | str:
    if arguments.get("weight") is not None:
        return "weights are left to NetworkX"
    named = isinstance(arguments["S"], COLLECTIONS) and isinstance(arguments.get("T", []), (*COLLECTIONS, type(None)))
    return False if named else "sets that can be read only once"


def _mask(graph: ConvertedGraph, nodes: Any) -> Array:
    mask = np.zeros(len(graph), bool)
    mask[graph.numbers_of(nodes)] = True
    return mask


def _masks(graph: ConvertedGraph, first: Any, second: Any) -> tuple[Array, Array]:
    mask = _mask(graph, first)
    return mask, ~mask if second is None else _mask(graph, second)


def _cut(graph: ConvertedGraph, first: Array, second: Array) -> int:
    """Return the number of edges between two sets; in a directed graph those from either to the other."""
    sources, targets = graph.sources[graph.once], graph.out_rows[1][graph.once]
    crosses = (first[sources] & second[targets]) | (first[targets] & second[sources])
    if not graph.directed:
        return int(crosses.sum())
    return int((crosses & first[sources]).sum() + (crosses & second[sources]).sum())


def _volume(graph: ConvertedGraph, mask: Array) -> int:
    return int((graph.out_degrees() if graph.directed else graph.degrees())[mask].sum())


def _check_not_zero(*numbers: int) -> None:
    if not all(numbers):
        raise LeaveToNetworkX


@networkx_function(refuses=_is_odd)
def cut_size(G: Any, S: Any, T: Any = None, weight: Any = None) -> int:
    if T is None and G.directed:
        raise LeaveToNetworkX
    return _cut(G, *_masks(G, S, T))


@networkx_function(refuses=_is_odd)
def normalized_cut_size(G: Any, S: Any, T: Any = None, weight: Any = None) -> float:
    first, second = _masks(G, S, T)
    volumes = _volume(G, first), _volume(G, second)
    _check_not_zero(*volumes)
    return _cut(G, first, second) * (1 / volumes[0] + 1 / volumes[1])


@networkx_function(refuses=_is_odd)
def conductance(G: Any, S: Any, T: Any = None, weight: Any = None) -> float:
    first, second = _masks(G, S, T)
    volumes = _volume(G, first), _volume(G, second)
    _check_not_zero(*volumes)
    return _cut(G, first, second) / min(volumes)


@networkx_function(refuses=_is_odd)
def edge_expansion(G: Any, S: Any, T: Any = None, weight: Any = None) -> float:
    first, second = _masks(G, S, T)
    sizes = len(S), int(second.sum()) if T is None else len(T)
    _check_not_zero(*sizes)
    return _cut(G, first, second) / min(sizes)


@networkx_function(refuses=_is_odd)
def mixing_expansion(G: Any, S: Any, T: Any = None, weight: Any = None) -> float:
    _check_not_zero(G.num_arcs, T is not None or not G.directed)
    return _cut(G, *_masks(G, S, T)) / (2 * G.num_edges)


@networkx_function(refuses=_is_odd)
def boundary_expansion(G: Any, S: Any) -> float:
    _check_not_zero(len(S))
    mask = _mask(G, S)
    reached = np.unique(G.out_rows[1][mask[G.sources]])
    return int((~mask[reached]).sum()) / len(S)


@networkx_function()
def maximal_matching(G: Any) -> set[tuple[Any, Any]]:
    sources, targets = G.sources[G.once], G.out_rows[1][G.once]
    chosen = matched(len(G), sources, targets)
    return set(pairs_of(G, sources[chosen], targets[chosen]))
