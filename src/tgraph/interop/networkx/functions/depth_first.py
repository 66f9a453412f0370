"""Depth-first traversal."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import build_digraph, pairs_of
from tgraph.interop.networkx.functions.breadth_first import level_limit
from tgraph.interop.networkx.graph import ConvertedGraph
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.depth_first import FORWARD, REVERSE, search
from tgraph.runtime import Array

STEP_KINDS = np.array(["forward", "nontree", "reverse", "reverse-depth_limit"], object)


def _is_sorted_by_user(arguments: Arguments) -> bool | str:
    return "neighbors in the user's own order" if arguments["sort_neighbors"] is not None else False


def steps(
    graph: ConvertedGraph, source: Any, limit: Any = None, *, tree_only: bool, along: str = "out"
) -> tuple[Array, Array, Array]:
    """Return sources, targets and kinds of the steps of a search from one node, or from all if it is None."""
    starts = np.arange(len(graph)) if source is None else np.array([graph.number_of(source)])
    depth = max(1, min(level_limit(limit), len(graph)))
    return search(graph.rows(along), starts, depth, tree_only=tree_only)


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def dfs_edges(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    sources, targets, _ = steps(G, source, depth_limit, tree_only=True)
    return pairs_of(G, sources, targets)


@networkx_function(multigraph=True, refuses=_is_sorted_by_user)
def dfs_tree(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    sources, targets, _ = steps(G, source, depth_limit, tree_only=True)
    nodes = G.nodes.tolist() if source is None else [source, *G.nodes_of(targets)]
    return build_digraph(nodes, pairs_of(G, sources, targets))


@networkx_function(multigraph=True, refuses=_is_sorted_by_user)
def dfs_predecessors(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    sources, targets, _ = steps(G, source, depth_limit, tree_only=True)
    return dict(pairs_of(G, targets, sources))


@networkx_function(multigraph=True, refuses=_is_sorted_by_user)
def dfs_successors(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    sources, targets, _ = steps(G, source, depth_limit, tree_only=True)
    children: dict[Any, list[Any]] = {}
    for parent, child in pairs_of(G, sources, targets):
        children.setdefault(parent, []).append(child)
    return children


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def dfs_preorder_nodes(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    _, targets, kinds = steps(G, source, depth_limit, tree_only=False)
    return G.nodes_of(targets[kinds == FORWARD])


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def dfs_postorder_nodes(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    _, targets, kinds = steps(G, source, depth_limit, tree_only=False)
    return G.nodes_of(targets[kinds == REVERSE])


@networkx_function(multigraph=True, generator=True, refuses=_is_sorted_by_user)
def dfs_labeled_edges(G: Any, source: Any = None, depth_limit: Any = None, *, sort_neighbors: Any = None) -> Any:
    sources, targets, kinds = steps(G, source, depth_limit, tree_only=False)
    return zip(G.nodes_of(sources), G.nodes_of(targets), STEP_KINDS[kinds].tolist(), strict=True)
