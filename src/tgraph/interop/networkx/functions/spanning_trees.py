"""Minimum and maximum spanning trees by Kruskal's algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.kruskal import spanning_forest


def _has_other_algorithm(arguments: Arguments) -> bool | str:
    return "other algorithms than Kruskal's" if arguments["algorithm"] != "kruskal" else False


def _has_partition(arguments: Arguments) -> bool | str:
    return "a partition of the edges" if arguments["partition"] is not None else False


def _edges(graph: ConvertedGraph, weight: Any, *, minimum: bool, data: bool) -> Any:
    weights = graph.weights(weight)[graph.once]
    order = np.argsort(weights if minimum else -weights, kind="stable")
    places = graph.once[order]
    chosen = places[spanning_forest(len(graph), graph.sources[places], graph.out_rows[1][places])]
    firsts, seconds = graph.nodes_of(graph.sources[chosen]), graph.nodes_of(graph.out_rows[1][chosen])
    if not data:
        return zip(firsts, seconds, strict=True)
    adjacency = graph.original._adj
    return ((first, second, adjacency[first][second]) for first, second in zip(firsts, seconds, strict=True))


def _tree(graph: ConvertedGraph, weight: Any, *, minimum: bool) -> Any:
    result = graph.original.__class__()
    result.graph.update(graph.original.graph)
    result.add_nodes_from(graph.original.nodes.items())
    result.add_edges_from(_edges(graph, weight, minimum=minimum, data=True))
    return result


@networkx_function(generator=True, refuses=_has_partition)
def kruskal_mst_edges(
    G: Any,
    minimum: Any,
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
    partition: Any = None,
) -> Any:
    return _edges(G, weight, minimum=minimum, data=data)


@networkx_function(generator=True, refuses=_has_other_algorithm)
def minimum_spanning_edges(
    G: Any,
    algorithm: Any = "kruskal",
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
) -> Any:
    return _edges(G, weight, minimum=True, data=data)


@networkx_function(generator=True, refuses=_has_other_algorithm)
def maximum_spanning_edges(
    G: Any,
    algorithm: Any = "kruskal",
    weight: Any = "weight",
    keys: Any = True,
    data: Any = True,
    ignore_nan: Any = False,
) -> Any:
    return _edges(G, weight, minimum=False, data=data)


def _is_directed_or_other(arguments: Arguments) -> bool | str:
    return "directed graphs" if arguments["G"].is_directed() else _has_other_algorithm(arguments)


@networkx_function(refuses=_is_directed_or_other)
def minimum_spanning_tree(G: Any, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False) -> Any:
    return _tree(G, weight, minimum=True)


@networkx_function(refuses=_is_directed_or_other)
def maximum_spanning_tree(G: Any, weight: Any = "weight", algorithm: Any = "kruskal", ignore_nan: Any = False) -> Any:
    return _tree(G, weight, minimum=False)
