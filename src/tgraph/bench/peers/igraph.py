"""igraph."""

from __future__ import annotations

import importlib
from itertools import pairwise
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.graph import Graph
from tgraph.runtime import Array

MAX_WEIGHTED_ARCS = 60_000_000  # weights are Python objects


def _convert(graph: Graph) -> Any:
    sources, targets, weights = graph.edges()
    pairs = np.stack([sources, targets], axis=1).astype(np.int64)
    view = importlib.import_module("igraph").Graph(graph.num_vertices, pairs, directed=graph.directed)
    if weights is not None:
        view.es["weight"] = weights.astype(np.float64).tolist()
    return view


def _levels(result: Any, view: Any, _parameters: Parameters) -> Array:
    vertices, starts, _ = (np.asarray(part) for part in result)
    levels = np.full(view.vcount(), -1)
    for level, (begin, end) in enumerate(pairwise(starts)):
        levels[vertices[begin:end]] = level
    return levels


def _array(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.asarray(result)


def _first_row(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.asarray(result[0])


def _hops(result: Any, _view: Any, _parameters: Parameters) -> Array:
    distances = np.asarray(result)
    return np.where(np.isfinite(distances), distances, -1).astype(np.int64)


def _membership(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.asarray(result.membership)


def _closeness(result: Any, view: Any, parameters: Parameters) -> Array:
    """Scale by the share of vertices in the component, as Wasserman and Faust do."""
    component = len(view.subcomponent(parameters["sources"][0]))
    scaled: Array = np.asarray(result) * (component - 1) / max(view.vcount() - 1, 1)
    return scaled


def _tree_weight(result: Any, _view: Any, _parameters: Parameters) -> float:
    return float(sum(result.es["weight"]))


def _leiden(view: Any, _parameters: Parameters) -> Any:
    return view.community_leiden(objective_function="modularity", n_iterations=2)


def _walks(view: Any, parameters: Parameters) -> Any:
    return [view.random_walk(start, parameters["length"]) for start in parameters["starts"].tolist()]


def _padded(result: Any, _view: Any, parameters: Parameters) -> Array:
    walks = np.full((len(result), parameters["length"] + 1), -1)
    for row, walk in zip(walks, result, strict=True):
        row[: len(walk)] = walk[: row.size]
    return walks


def _seeded(run: Any) -> Any:
    def seeded(view: Any, parameters: Parameters) -> Any:
        importlib.import_module("random").seed(1)
        return run(view, parameters)

    return seeded


PEER = Peer(
    name="igraph",
    package="igraph",
    convert=_convert,
    algorithms={
        "bfs": Algorithm(lambda g, p: g.bfs(p["source"]), _levels),
        "distance_matrix": Algorithm(lambda g, p: g.distances(p["sources"]), _hops, max_arcs=60_000_000),
        "sssp": Algorithm(
            lambda g, p: g.distances(p["source"], weights="weight"), _first_row, max_arcs=MAX_WEIGHTED_ARCS
        ),
        "wcc": Algorithm(lambda g, p: g.connected_components("weak"), _membership),
        "scc": Algorithm(lambda g, p: g.connected_components("strong"), _membership),
        "pagerank": Algorithm(lambda g, p: g.pagerank(damping=p["damping"]), _array),
        "hits": Algorithm(lambda g, p: g.authority_score(), _array),
        "triangles": Algorithm(lambda g, p: len(g.list_triangles()), max_arcs=2_500_000),
        "lcc": Algorithm(lambda g, p: g.transitivity_local_undirected(mode="zero"), _array),
        "betweenness": Algorithm(lambda g, p: g.betweenness(sources=p["sources"]), _array),
        "betweenness_exact": Algorithm(lambda g, p: g.betweenness(), _array),
        "closeness": Algorithm(lambda g, p: g.closeness(p["sources"]), _closeness),
        "k_core": Algorithm(lambda g, p: g.coreness(), _array),
        "louvain": Algorithm(_seeded(lambda g, p: g.community_multilevel()), _membership),
        "leiden": Algorithm(_seeded(_leiden), _membership),
        "eigenvector": Algorithm(lambda g, p: g.eigenvector_centrality(), _array),
        "mst": Algorithm(lambda g, p: g.spanning_tree(weights="weight"), _tree_weight, max_arcs=MAX_WEIGHTED_ARCS),
        "coloring": Algorithm(lambda g, p: g.vertex_coloring_greedy(), _array),
        "cdlp": Algorithm(
            _seeded(lambda g, p: g.community_label_propagation()),
            _membership,
            unchecked="another algorithm: asynchronous",
        ),
        "random_walks": Algorithm(_seeded(_walks), _padded),
    },
)
