"""Biconnected components, articulation points and bridges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.edges import pairs_of
from tgraph.interop.networkx.graph import ConvertedGraph, pieces
from tgraph.interop.networkx.registry import Arguments, networkx_function
from tgraph.kernels.cpu.ordered.biconnected import split
from tgraph.runtime import Array


def _edge_lists(graph: ConvertedGraph) -> Any:
    found = split(graph.out_rows)
    return pieces(pairs_of(graph, found.sources, found.targets), found.begins)


def _bridges(graph: ConvertedGraph) -> Array:
    """Return positions in the adjacency of the edges that are on no cycle, as NetworkX's `edges()` has them."""
    found = split(graph.out_rows)
    labels = np.repeat(np.arange(found.begins.size - 1), np.diff(found.begins))
    straight = found.sources != found.targets
    alone = np.bincount(labels[straight], minlength=found.begins.size - 1) == 1
    chosen = straight & alone[labels]
    ends = np.sort(np.stack([found.sources[chosen], found.targets[chosen]]), axis=0)
    sources, targets = graph.sources[graph.once], graph.out_rows[1][graph.once]
    keys = sources.astype(np.int64) * len(graph) + targets
    return graph.once[np.isin(keys, ends[0] * len(graph) + ends[1])]


@networkx_function(multigraph=True, generator=True)
def biconnected_component_edges(G: Any) -> Any:
    return _edge_lists(G)


@networkx_function(multigraph=True, generator=True)
def biconnected_components(G: Any) -> Any:
    return ({node for edge in edges for node in edge} for edges in _edge_lists(G))


@networkx_function(multigraph=True, generator=True)
def articulation_points(G: Any) -> Any:
    return G.nodes_of(split(G.out_rows).joints)


@networkx_function(multigraph=True)
def is_biconnected(G: Any) -> bool:
    found = split(G.out_rows)
    return found.begins.size == 2 and np.unique(np.concatenate([found.sources, found.targets])).size == len(G)


def _has_root(arguments: Arguments) -> bool | str:
    return "the part around a root" if arguments["root"] is not None else False


@networkx_function(generator=True, refuses=_has_root)
def bridges(G: Any, root: Any = None) -> Any:
    places = _bridges(G)
    return pairs_of(G, G.sources[places], G.out_rows[1][places])


@networkx_function(refuses=_has_root)
def has_bridges(G: Any, root: Any = None) -> bool:
    return _bridges(G).size > 0
