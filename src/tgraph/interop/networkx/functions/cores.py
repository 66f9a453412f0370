"""Cores, shells and trusses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.interop.networkx.graph import ConvertedGraph, LeaveToNetworkX
from tgraph.interop.networkx.registry import networkx_function
from tgraph.kernels.cpu.bucket_peeling import peel_by_buckets
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.kernels.cpu.k_core import core_numbers
from tgraph.kernels.cpu.ordered.onion import onion
from tgraph.kernels.cpu.ordered.truss import edges_of_truss
from tgraph.runtime import Array


def _cores(graph: ConvertedGraph) -> Array:
    if graph.loops.any():
        raise LeaveToNetworkX
    if not graph.directed:
        return core_numbers(graph.simple_rows, None, True)
    sources, targets = graph.sources, graph.out_rows[1]  # an edge each way counts twice
    both = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    return peel_by_buckets(*rows_from_edges(*both, None, len(graph))[:2])


def _cores_given(graph: ConvertedGraph, given: Any) -> Array:
    if given is not None or not len(graph):
        raise LeaveToNetworkX
    return _cores(graph)


def _subgraph(graph: ConvertedGraph, mask: Array) -> Any:
    return graph.original.subgraph(graph.nodes_of(np.flatnonzero(mask))).copy()


@networkx_function()
def core_number(G: Any) -> dict[Any, int]:
    return G.by_node(_cores(G))


@networkx_function()
def k_core(G: Any, k: Any = None, core_number: Any = None) -> Any:
    cores = _cores_given(G, core_number)
    return _subgraph(G, cores >= (cores.max() if k is None else k))


@networkx_function()
def k_shell(G: Any, k: Any = None, core_number: Any = None) -> Any:
    cores = _cores_given(G, core_number)
    return _subgraph(G, cores == (cores.max() if k is None else k))


@networkx_function()
def k_crust(G: Any, k: Any = None, core_number: Any = None) -> Any:
    cores = _cores_given(G, core_number)
    return _subgraph(G, cores <= (cores.max() - 1 if k is None else k))


@networkx_function()
def k_corona(G: Any, k: Any, core_number: Any = None) -> Any:
    cores = _cores_given(G, core_number)
    if k is None:
        raise LeaveToNetworkX
    inside = np.bincount(G.sources, cores[G.out_rows[1]] >= k, len(G))
    return _subgraph(G, (cores == k) & (inside == k))


@networkx_function(effort="heavy")
def k_truss(G: Any, k: Any) -> Any:
    if G.loops.any() or not isinstance(k, int):
        raise LeaveToNetworkX
    stays = edges_of_truss(G.simple_rows, k)
    sources = np.repeat(np.arange(len(G)), np.diff(G.simple_rows[0]))
    result = G.original.copy()
    goes = ~stays & (sources < G.simple_rows[1])
    pairs = zip(G.nodes_of(sources[goes]), G.nodes_of(G.simple_rows[1][goes]), strict=True)
    result.remove_edges_from(pairs)
    result.remove_nodes_from(G.nodes_of(np.flatnonzero(np.bincount(sources, stays, len(G)) == 0)))
    return result


@networkx_function(effort="heavy")
def onion_layers(G: Any) -> dict[Any, int]:
    if G.loops.any():
        raise LeaveToNetworkX
    order, layers = onion(G.out_rows)
    return G.by_node(layers, order)
