"""scikit-network."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.bench.peers.scipy import closeness_of, convert
from tgraph.runtime import Array


def _module(name: str) -> Any:
    return importlib.import_module(f"sknetwork.{name}")


def _pagerank(view: Any, parameters: Parameters) -> Any:
    kind = _module("ranking").PageRank
    model = kind(parameters["damping"], "piteration", parameters["max_iterations"], parameters["tol_l1"])
    return model.fit_predict(view)


def _many_distances(view: Any, parameters: Parameters) -> Any:
    return [_module("path").get_distances(view, source) for source in parameters["sources"]]


def _rows(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.stack(result)


def _closeness(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return closeness_of(np.maximum(np.stack(result), 0).astype(np.float64))


def _communities(name: str) -> Algorithm:
    return Algorithm(lambda g, p: getattr(_module("clustering"), name)(random_state=1).fit_predict(g))


def _both_ways(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return 2.0 * np.asarray(result)


PEER = Peer(
    name="sknetwork",
    package="scikit-network",
    convert=convert,
    max_arcs=60_000_000,
    algorithms={
        "bfs": Algorithm(lambda g, p: _module("path").get_distances(g, p["source"])),
        "multi_source_bfs": Algorithm(lambda g, p: _module("path").get_distances(g, p["sources"])),
        "distance_matrix": Algorithm(_many_distances, _rows),
        "wcc": Algorithm(lambda g, p: _module("topology").get_connected_components(g)),
        "scc": Algorithm(lambda g, p: _module("topology").get_connected_components(g, "strong")),
        "pagerank": Algorithm(_pagerank),
        "hits": Algorithm(lambda g, p: _module("ranking").HITS().fit(g).scores_col_),
        "triangles": Algorithm(lambda g, p: _module("topology").count_triangles(g, parallelize=True)),
        "betweenness_exact": Algorithm(lambda g, p: _module("ranking").Betweenness().fit_predict(g), _both_ways),
        "closeness": Algorithm(_many_distances, _closeness),
        "k_core": Algorithm(lambda g, p: _module("topology").get_core_decomposition(g)),
        "cdlp": Algorithm(
            lambda g, p: _module("clustering").PropagationClustering(10).fit_predict(g),
            unchecked="another algorithm: asynchronous",
        ),
        "louvain": _communities("Louvain"),
        "leiden": _communities("Leiden"),
    },
)
