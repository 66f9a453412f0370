"""Strongly connected components and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import build_digraph
from tgraph.interop.networkx.functions.components import count_components
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.strong_components import components
from tgraph.runtime import Array


def labels_of(graph: ConvertedGraph, parts: tuple[Array, Array]) -> Array:
    """Return the number of every vertex's component, `[V] int64`."""
    labels = np.empty(len(graph), np.int64)
    labels[parts[0]] = np.repeat(np.arange(parts[1].size - 1), np.diff(parts[1]))
    return labels


def _crossing(graph: ConvertedGraph, labels: Array) -> tuple[Array, Array]:
    """Return the edges between components, by their numbers."""
    sources, targets = labels[graph.sources], labels[graph.out_rows[1]]
    return sources[sources != targets], targets[sources != targets]


def _attracting(graph: ConvertedGraph) -> tuple[tuple[Array, Array], Array]:
    """Return the components, and the numbers of those that no edge leaves."""
    parts = components(graph.out_rows)
    leaves = np.zeros(parts[1].size - 1, bool)
    leaves[_crossing(graph, labels_of(graph, parts))[0]] = True
    return parts, np.flatnonzero(~leaves)


@networkx_function(multigraph=True, generator=True)
def strongly_connected_components(G: Any) -> Any:
    return G.sets_of(*components(G.out_rows))


@networkx_function(multigraph=True)
def number_strongly_connected_components(G: Any) -> int:
    return components(G.out_rows)[1].size - 1


@networkx_function(multigraph=True)
def is_strongly_connected(G: Any) -> bool:
    if not len(G):
        raise LeaveToNetworkX
    return components(G.out_rows)[1].size == 2


@networkx_function(multigraph=True, generator=True)
def attracting_components(G: Any) -> Any:
    parts, numbers = _attracting(G)
    chosen = set(numbers.tolist())
    return (nodes for number, nodes in enumerate(G.sets_of(*parts)) if number in chosen)


@networkx_function(multigraph=True)
def number_attracting_components(G: Any) -> int:
    return _attracting(G)[1].size


@networkx_function(multigraph=True)
def is_attracting_component(G: Any) -> bool:
    return components(G.out_rows)[1].size == 2


def _has_own_components(arguments: Arguments) -> bool | str:
    return "components that the user gives" if arguments["scc"] is not None else False


@networkx_function(multigraph=True, refuses=_has_own_components)
def condensation(G: Any, scc: Any = None) -> Any:
    parts = components(G.out_rows)
    labels = labels_of(G, parts)
    count = parts[1].size - 1
    sources, targets = _crossing(G, labels)
    _, firsts = np.unique(sources * max(count, 1) + targets, return_index=True)
    firsts.sort()
    result = build_digraph(range(count), zip(sources[firsts].tolist(), targets[firsts].tolist(), strict=True))
    mapping = result.graph["mapping"] = {}
    for (number, data), members in zip(result._node.items(), G.sets_of(*parts), strict=True):
        data["members"] = members
        mapping.update(dict.fromkeys(members, number))  # in the order of the set, as NetworkX has it
    return result


@networkx_function(multigraph=True)
def is_semiconnected(G: Any) -> bool:
    if not len(G):
        raise LeaveToNetworkX
    if count_components(G) != 1:
        return False
    parts = components(G.out_rows)  # a component comes after those that it leads to
    sources, targets = _crossing(G, labels_of(G, parts))
    return np.unique(sources[sources == targets + 1]).size == parts[1].size - 2
