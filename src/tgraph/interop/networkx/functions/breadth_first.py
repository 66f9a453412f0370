"""Breadth-first traversal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import build_digraph, pairs_of
from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX, pieces
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.breadth_first import NO_LIMIT, label_edges, search
from tgraph.runtime import Array

EDGE_KINDS = ("tree", "level", "forward", "reverse")


def _is_sorted_by_user(arguments: Arguments) -> bool | str:
    return "neighbors in the user's own order" if arguments["sort_neighbors"] is not None else False


def _has_own_neighbors(arguments: Arguments) -> bool | str:
    return "neighbors by a function" if arguments["neighbors"] is not None else False


def level_limit(limit: Any) -> int:
    """Return the last level of a search with NetworkX's `cutoff` or `depth_limit`, which may be any number."""
    if limit is None:
        return NO_LIMIT
    if not isinstance(limit, (int, float)) or math.isnan(limit):
        raise LeaveToNetworkX
    return max(0, math.ceil(limit)) if math.isfinite(limit) else NO_LIMIT if limit > 0 else 0


def found_from(
    graph: ConvertedGraph, source: Any, limit: Any = None, *, along: str = "out"
) -> tuple[Array, Array, Array]:
    """Return order, parents and levels of a search from one node."""
    start = np.array([graph.number_of(source)])
    return search(graph.rows(along), start, level_limit(limit))


def _edges(graph: ConvertedGraph, source: Any, limit: Any, *, reverse: bool = False) -> list[tuple[Any, Any]]:
    order, parents, _ = found_from(graph, source, limit, along="in" if reverse else "out")
    return pairs_of(graph, parents[order[1:]], order[1:])


@networkx_function(multigraph=True, generator=True, refuses=_has_own_neighbors)
def generic_bfs_edges(G: Any, source: Any, neighbors: Any = None, depth_limit: Any = None) -> Any:
    return _edges(G, source, depth_limit)


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def bfs_edges(G: Any, source: Any, reverse: Any = False, depth_limit: Any = None, sort_neighbors: Any = None) -> Any:
    return _edges(G, source, depth_limit, reverse=reverse)


@networkx_function(multigraph=True, refuses=_is_sorted_by_user)
def bfs_tree(G: Any, source: Any, reverse: Any = False, depth_limit: Any = None, sort_neighbors: Any = None) -> Any:
    order, parents, _ = found_from(G, source, depth_limit, along="in" if reverse else "out")
    return build_digraph(G.nodes_of(order), pairs_of(G, parents[order[1:]], order[1:]))


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def bfs_predecessors(G: Any, source: Any, depth_limit: Any = None, sort_neighbors: Any = None) -> Any:
    order, parents, _ = found_from(G, source, depth_limit)
    return pairs_of(G, order[1:], parents[order[1:]])


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def bfs_successors(G: Any, source: Any, depth_limit: Any = None, sort_neighbors: Any = None) -> Iterator[Any]:
    order, parents, _ = found_from(G, source, depth_limit)
    children = G.nodes_of(order[1:])
    if not children:
        return iter([(source, [])])
    parent_of = parents[order[1:]]
    begins = np.flatnonzero(np.concatenate([[True], parent_of[1:] != parent_of[:-1]]))
    lists = pieces(children, np.append(begins, len(children)))
    return zip(G.nodes_of(parent_of[begins]), lists, strict=True)


def _starts(graph: ConvertedGraph, sources: Any) -> list[Any]:
    """Return the nodes that `sources` (a node or several) names, without repetition, in the order of their set."""
    return [sources] if sources in graph else list(set(sources))


def _layers(graph: ConvertedGraph, starts: Iterable[Any]) -> list[list[Any]]:
    order, _, levels = search(graph.out_rows, graph.numbers_of(starts))
    ends = np.searchsorted(levels[order], np.arange(levels.max(initial=-1) + 2))
    return list(pieces(graph.nodes_of(order), ends))


@networkx_function(multigraph=True, generator=True)
def bfs_layers(G: Any, sources: Any) -> Any:
    return _layers(G, _starts(G, sources))


@networkx_function(multigraph=True)
def descendants_at_distance(G: Any, source: Any, distance: Any) -> set[Any]:
    order, _, levels = found_from(G, source)
    return set(G.nodes_of(order[levels[order] == distance]))


@networkx_function(multigraph=True, generator=True)
def bfs_labeled_edges(G: Any, sources: Any) -> Any:
    starts = G.numbers_of([sources] if sources in G else dict.fromkeys(sources))
    edges = label_edges(G.out_rows, starts, G.directed)
    kinds = np.array(EDGE_KINDS, object)[edges[2]].tolist()
    return zip(G.nodes_of(edges[0]), G.nodes_of(edges[1]), kinds, strict=True)


@networkx_function(multigraph=True)
def descendants(G: Any, source: Any) -> set[Any]:
    return set(G.nodes_of(found_from(G, source)[0][1:]))


@networkx_function(multigraph=True)
def ancestors(G: Any, source: Any) -> set[Any]:
    return set(G.nodes_of(found_from(G, source, along="in")[0][1:]))
