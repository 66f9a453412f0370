"""NetworkX, without a back end, on graphs that are small enough for it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.graph import Graph
from tgraph.runtime import Array


def _nx() -> Any:
    return importlib.import_module("networkx")


def _convert(graph: Graph) -> Any:
    view = _nx().DiGraph() if graph.directed else _nx().Graph()
    view.add_nodes_from(range(graph.num_vertices))
    sources, targets, weights = graph.edges()
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    if weights is None:
        view.add_edges_from(pairs)
    else:
        view.add_weighted_edges_from((u, v, w) for (u, v), w in zip(pairs, weights.tolist(), strict=True))
    return view


def _by_vertex(missing: float, dtype: Any = np.float64) -> Any:
    """Return how a dictionary becomes an array."""

    def answer(result: dict[int, Any], view: Any, _parameters: Parameters) -> Array:
        values = np.full(len(view), missing, dtype)
        values[list(result)] = list(result.values())
        return values

    return answer


def labels_of_groups(groups: Any, view: Any, _parameters: Parameters) -> Array:
    """Turn sets of vertices into one label per vertex."""
    labels = np.full(len(view), -1)
    for number, members in enumerate(groups):
        labels[list(members)] = number
    return labels


def _pagerank(view: Any, parameters: Parameters) -> Any:
    nx = _nx()
    tolerance = parameters["tol_l1"] / max(len(view), 1)  # it stops at tol times the number of vertices
    try:
        return nx.pagerank(view, parameters["damping"], max_iter=parameters["max_iterations"], tol=tolerance)
    except nx.PowerIterationFailedConvergence:
        return {}


def _closeness(view: Any, parameters: Parameters) -> Any:
    return [_nx().closeness_centrality(view, vertex) for vertex in parameters["sources"]]


def _betweenness(view: Any, parameters: Parameters) -> Any:
    return _nx().betweenness_centrality_subset(view, parameters["sources"], list(view))


def _mis_answer(result: list[int], view: Any, _parameters: Parameters) -> Array:
    members = np.zeros(len(view), bool)
    members[result] = True
    return members


def _levels_of_many(view: Any, parameters: Parameters) -> Any:
    return [_nx().single_source_shortest_path_length(view, source) for source in parameters["sources"]]


def _rows(result: list[dict[int, int]], view: Any, parameters: Parameters) -> Array:
    return np.stack([_by_vertex(-1, np.int64)(row, view, parameters) for row in result])


_levels = _by_vertex(-1, np.int64)
_scores = _by_vertex(0.0)

PEER = Peer(
    name="networkx",
    package="networkx",
    convert=_convert,
    max_arcs=2_500_000,
    algorithms={
        "bfs": Algorithm(lambda g, p: _nx().single_source_shortest_path_length(g, p["source"]), _levels),
        "multi_source_bfs": Algorithm(
            lambda g, p: _nx().multi_source_dijkstra_path_length(g, p["sources"], weight=None), _levels
        ),
        "distance_matrix": Algorithm(_levels_of_many, _rows),
        "sssp": Algorithm(lambda g, p: _nx().single_source_dijkstra_path_length(g, p["source"]), _by_vertex(np.inf)),
        "wcc": Algorithm(lambda g, p: list(_nx().connected_components(g)), labels_of_groups),
        "scc": Algorithm(lambda g, p: list(_nx().strongly_connected_components(g)), labels_of_groups),
        "pagerank": Algorithm(_pagerank, _scores),
        "hits": Algorithm(lambda g, p: _nx().hits(g, p["max_iterations"], p["tol_l1"])[1], _scores),
        "triangles": Algorithm(lambda g, p: sum(_nx().triangles(g).values()) // 3),
        "lcc": Algorithm(lambda g, p: _nx().clustering(g), _scores),
        "betweenness": Algorithm(_betweenness, _scores),
        "betweenness_exact": Algorithm(lambda g, p: _nx().betweenness_centrality(g, normalized=False), _scores),
        "closeness": Algorithm(_closeness),
        "k_core": Algorithm(lambda g, p: _nx().core_number(g), _levels),
        "louvain": Algorithm(lambda g, p: _nx().community.louvain_communities(g, seed=1), labels_of_groups),
        "eigenvector": Algorithm(
            lambda g, p: _nx().eigenvector_centrality(g, max_iter=p["max_iterations"], tol=p["tol"] / len(g)), _scores
        ),
        "katz": Algorithm(
            lambda g, p: _nx().katz_centrality(g, p["alpha"], max_iter=p["max_iterations"], tol=p["tol_l1"]), _scores
        ),
        "mst": Algorithm(lambda g, p: _nx().minimum_spanning_tree(g).size(weight="weight")),
        "mis": Algorithm(lambda g, p: _nx().maximal_independent_set(g, seed=1), _mis_answer),
        "coloring": Algorithm(lambda g, p: _nx().greedy_color(g), _levels),
    },
)
