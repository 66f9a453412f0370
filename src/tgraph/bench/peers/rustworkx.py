"""rustworkx. Its edges carry Python objects, so that only smaller graphs are given to it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.bench.peers.networkx import labels_of_groups
from tgraph.graph import Graph
from tgraph.runtime import Array


def _rx() -> Any:
    return importlib.import_module("rustworkx")


def _convert(graph: Graph) -> Any:
    sources, targets, weights = graph.edges()
    values = np.ones(sources.size) if weights is None else weights.astype(np.float64)
    kind = _rx().PyDiGraph if graph.directed else _rx().PyGraph
    view = kind(multigraph=True)
    view.add_nodes_from(range(graph.num_vertices))
    view.add_edges_from(list(zip(sources.tolist(), targets.tolist(), values.tolist(), strict=True)))
    return view


def _by_vertex(missing: float) -> Any:
    def answer(result: Any, view: Any, _parameters: Parameters) -> Array:
        found = dict(result)
        values = np.full(view.num_nodes(), missing)
        values[list(found)] = list(found.values())
        return values

    return answer


def _levels(result: Any, view: Any, parameters: Parameters) -> Array:
    levels = np.full(view.num_nodes(), -1)
    for level, members in enumerate(result):
        levels[list(members)] = level
    return levels


def _groups(result: Any, view: Any, parameters: Parameters) -> Array:
    return labels_of_groups(result, range(view.num_nodes()), parameters)


def _distances(view: Any, parameters: Parameters) -> Any:
    return _rx().dijkstra_shortest_path_lengths(view, parameters["source"], float)


def _from_source(result: Any, view: Any, parameters: Parameters) -> Array:
    distances: Array = _by_vertex(np.inf)(result, view, parameters)
    distances[parameters["source"]] = 0.0
    return distances


def _directed(view: Any) -> Any:
    return view if isinstance(view, _rx().PyDiGraph) else view.to_directed()


def _pagerank(view: Any, parameters: Parameters) -> Any:
    tolerance = parameters["tol_l1"] / view.num_nodes()  # it stops at tol times the number of vertices
    limit = parameters["max_iterations"]
    return _rx().pagerank(_directed(view), parameters["damping"], tol=tolerance, max_iter=limit)


def _hits(view: Any, parameters: Parameters) -> Any:
    return _rx().hits(_directed(view), tol=parameters["tol_l1"], max_iter=parameters["max_iterations"])[1]


def _mst(view: Any, _parameters: Parameters) -> float:
    return float(sum(weight for _, _, weight in _rx().minimum_spanning_edges(view, float)))


_scores = _by_vertex(0.0)

PEER = Peer(
    name="rustworkx",
    package="rustworkx",
    convert=_convert,
    max_arcs=7_000_000,
    algorithms={
        "bfs": Algorithm(lambda g, p: _rx().bfs_layers(g, [p["source"]]), _levels),
        "multi_source_bfs": Algorithm(lambda g, p: _rx().bfs_layers(g, p["sources"]), _levels),
        "sssp": Algorithm(_distances, _from_source),
        "wcc": Algorithm(lambda g, p: _rx().connected_components(g), _groups),
        "scc": Algorithm(lambda g, p: _rx().strongly_connected_components(g), _groups),
        "pagerank": Algorithm(_pagerank, _scores),
        "hits": Algorithm(_hits, _scores),
        "betweenness_exact": Algorithm(lambda g, p: _rx().betweenness_centrality(g, normalized=False), _scores),
        "k_core": Algorithm(lambda g, p: _rx().core_number(g), _by_vertex(0)),
        "eigenvector": Algorithm(
            lambda g, p: _rx().eigenvector_centrality(g, max_iter=p["max_iterations"], tol=p["tol"] / g.num_nodes()),
            _scores,
        ),
        "katz": Algorithm(
            lambda g, p: _rx().katz_centrality(g, alpha=p["alpha"], max_iter=p["max_iterations"], tol=p["tol_l1"]),
            _scores,
        ),
        "mst": Algorithm(_mst),
        "coloring": Algorithm(lambda g, p: _rx().graph_greedy_color(g), _by_vertex(0)),
    },
)
