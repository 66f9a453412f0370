"""SciPy: `scipy.sparse.csgraph`, and products with sparse matrices where it has no function of its own."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.graph import Graph
from tgraph.runtime import Array


def convert(graph: Graph) -> Any:
    """Return the graph as a CSR matrix of float64, the type that csgraph computes with."""
    sparse = importlib.import_module("scipy.sparse")
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    values = np.ones(targets.size) if weights is None else weights.astype(np.float64)
    indices = np.int32 if targets.size < 2**31 else np.int64
    shape = (graph.num_vertices, graph.num_vertices)
    return sparse.csr_matrix((values, targets.astype(indices), offsets.astype(indices)), shape=shape)


def _csgraph() -> Any:
    return importlib.import_module("scipy.sparse.csgraph")


def _bfs(matrix: Any, parameters: Parameters) -> Any:
    return _csgraph().breadth_first_order(matrix, parameters["source"])


def levels_from_order(result: Any, matrix: Any, _parameters: Parameters) -> Array:
    """Turn a visiting order and its predecessors into levels: whoever has a parent in one level is in the next one."""
    order, parents = result
    levels = np.full(matrix.shape[0], -1)
    places = np.empty(matrix.shape[0], np.int64)
    places[order] = np.arange(order.size)
    parent_places = np.concatenate([[-1], places[parents[order[1:]]]])  # ascending
    begin, end, level = 0, 1, 0
    while begin < end:
        levels[order[begin:end]] = level
        begin, end, level = end, int(np.searchsorted(parent_places, end)), level + 1
    return levels


def _distances(matrix: Any, parameters: Parameters) -> Any:
    return _csgraph().dijkstra(matrix, indices=parameters["source"])


def _nearest_levels(matrix: Any, parameters: Parameters) -> Any:
    return _csgraph().dijkstra(matrix, indices=parameters["sources"], unweighted=True, min_only=True)


def _levels_of_many(matrix: Any, parameters: Parameters) -> Any:
    return _csgraph().dijkstra(matrix, indices=parameters["sources"], unweighted=True)


def _whole_levels(result: Any, _matrix: Any, _parameters: Parameters) -> Array:
    return np.where(np.isfinite(result), result, -1).astype(np.int64)


def _closeness(matrix: Any, parameters: Parameters) -> Any:
    distances = _csgraph().dijkstra(matrix, indices=parameters["sources"], unweighted=True)
    return closeness_of(np.where(np.isfinite(distances), distances, 0.0))


def closeness_of(distances: Array) -> Array:
    """Return Wasserman and Faust's closeness of each row's vertex; 0 stands for not reached, and for itself."""
    reached, total = np.count_nonzero(distances, axis=1), distances.sum(axis=1)
    scores: Array = reached / np.maximum(total, 1.0) * reached / max(distances.shape[1] - 1, 1)
    return scores


def _components(connection: str) -> Algorithm:
    return Algorithm(lambda matrix, _: _csgraph().connected_components(matrix, directed=True, connection=connection)[1])


def _pagerank(matrix: Any, parameters: Parameters) -> Array:
    damping, size = parameters["damping"], matrix.shape[0]
    degrees = np.diff(matrix.indptr)
    shares = 1.0 / np.maximum(degrees, 1)
    incoming, ranks = matrix.T, np.full(size, 1.0 / size)
    for _ in range(parameters["max_iterations"]):
        dangling = ranks[degrees == 0].sum()
        new = damping * (incoming @ (ranks * shares) + dangling / size) + (1 - damping) / size
        change, ranks = np.abs(new - ranks).sum(), new
        if change <= parameters["tol_l1"]:
            break
    return ranks


def _hits(matrix: Any, parameters: Parameters) -> Array:
    hubs = np.full(matrix.shape[0], 1.0 / matrix.shape[0])
    for _ in range(parameters["max_iterations"]):
        authorities = matrix.T @ hubs
        authorities /= authorities.sum()
        new = matrix @ authorities
        new /= new.sum()
        change, hubs = np.abs(new - hubs).sum(), new
        if change <= parameters["tol_l1"]:
            break
    return authorities


def _half_square(matrix: Any, _parameters: Parameters) -> int:
    lower = importlib.import_module("scipy.sparse").tril(matrix, -1, format="csr")
    return int((lower @ lower).multiply(lower).sum())


def _lcc(matrix: Any, _parameters: Parameters) -> Array:
    closed = np.asarray((matrix @ matrix).multiply(matrix).sum(axis=1)).ravel()
    degrees = np.diff(matrix.indptr)
    pairs = degrees * (degrees - 1.0)
    return np.divide(closed, pairs, out=np.zeros(pairs.size), where=pairs > 0)


def _eigenvector(matrix: Any, parameters: Parameters) -> Array:
    start = np.ones(matrix.shape[0])
    found = importlib.import_module("scipy.sparse.linalg").eigsh(matrix, k=1, v0=start, tol=parameters["tol"])
    return np.abs(found[1][:, 0])


def _katz(matrix: Any, parameters: Parameters) -> Array:
    scores = np.zeros(matrix.shape[0])
    for _ in range(parameters["max_iterations"]):
        new = parameters["alpha"] * (matrix.T @ scores) + 1.0
        change, scores = np.abs(new - scores).sum(), new
        if change <= parameters["tol_l1"] * matrix.shape[0]:
            break
    return scores


def _php(matrix: Any, parameters: Parameters) -> Array:
    shares = 1.0 / np.maximum(np.diff(matrix.indptr), 1)
    scores, incoming = np.zeros(matrix.shape[0]), matrix.T
    scores[parameters["source"]] = 1.0
    for _ in range(1000):
        new = parameters["damping"] * (incoming @ (scores * shares))
        new[parameters["source"]] = 1.0
        change, scores = np.abs(new - scores).sum(), new
        if change <= parameters["tol_l1"]:
            break
    return scores


def _mst(matrix: Any, _parameters: Parameters) -> float:
    return float(_csgraph().minimum_spanning_tree(matrix).sum())


PEER = Peer(
    name="scipy",
    package="scipy",
    convert=convert,
    algorithms={
        "bfs": Algorithm(_bfs, levels_from_order),
        "multi_source_bfs": Algorithm(_nearest_levels, _whole_levels),
        "distance_matrix": Algorithm(_levels_of_many, _whole_levels),
        "sssp": Algorithm(_distances),
        "wcc": _components("weak"),
        "scc": _components("strong"),
        "pagerank": Algorithm(_pagerank),
        "pagerank_20": Algorithm(_pagerank),
        "hits": Algorithm(_hits),
        "triangles": Algorithm(_half_square, max_arcs=5_000_000),
        "lcc": Algorithm(_lcc, max_arcs=2_500_000),
        "closeness": Algorithm(_closeness),
        "eigenvector": Algorithm(_eigenvector),
        "katz": Algorithm(_katz),
        "php": Algorithm(_php),
        "mst": Algorithm(_mst),
    },
)
