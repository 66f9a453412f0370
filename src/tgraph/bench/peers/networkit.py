"""NetworKit."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.bench.peers.scipy import closeness_of
from tgraph.graph import Graph
from tgraph.runtime import Array

FAR = 1e300  # its distance of a vertex that is not reached is the largest float64


def _nk() -> Any:
    return importlib.import_module("networkit")


def _convert(graph: Graph) -> Any:
    sources, targets, weights = graph.edges()
    pairs = (sources.astype(np.int64), targets.astype(np.int64))
    edges = pairs if weights is None else (weights.astype(np.float64), pairs)
    return _nk().GraphFromCoo(edges, n=graph.num_vertices, weighted=weights is not None, directed=graph.directed)


def _run(make: Callable[[Any, Any, Parameters], Any]) -> Callable[[Any, Parameters], Any]:
    """Return a function that makes one of NetworKit's objects and runs it."""
    return lambda view, parameters: make(_nk(), view, parameters).run()


def _scores(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.asarray(result.scores())


def _halved(result: Any, _view: Any, _parameters: Parameters) -> Array:
    """Count a pair of an undirected graph once."""
    return np.asarray(result.scores()) / 2.0


def _partition(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.asarray(result.getPartition().getVector())


def _distances(result: Any, _view: Any, _parameters: Parameters) -> Array:
    found = np.asarray(result.getDistances())
    return np.where(found < FAR, found, np.inf)


def _levels(result: Any, view: Any, parameters: Parameters) -> Array:
    found = _distances(result, view, parameters)
    return np.where(np.isfinite(found), found, -1).astype(np.int64)


def _pagerank(view: Any, parameters: Parameters) -> Any:
    nk = _nk()
    sinks = nk.centrality.SinkHandling.DistributeSinks
    run = nk.centrality.PageRank(view, parameters["damping"], parameters["tol_l1"], distributeSinks=sinks)
    run.norm, run.maxIterations = nk.centrality.Norm.L1_NORM, parameters["max_iterations"]
    return run.run()


def _many_bfs(view: Any, parameters: Parameters) -> Any:
    return [_nk().distance.BFS(view, source, storePaths=False).run() for source in parameters["sources"]]


def _rows(result: Any, view: Any, parameters: Parameters) -> Array:
    return np.stack([_levels(each, view, parameters) for each in result])


def _closeness(result: Any, view: Any, parameters: Parameters) -> Array:
    return closeness_of(np.maximum(_rows(result, view, parameters), 0).astype(np.float64))


def _communities(make: Callable[[Any, Any, Parameters], Any]) -> Callable[[Any, Parameters], Any]:
    def run(view: Any, parameters: Parameters) -> Any:
        nk = _nk()
        nk.setSeed(1, False)
        return make(nk, view, parameters).run()

    return run


def _triangles(view: Any, _parameters: Parameters) -> Any:
    view.indexEdges()
    return _nk().sparsification.TriangleEdgeScore(view).run()


def _katz(result: Any, view: Any, parameters: Parameters) -> Array:
    """Turn x = alpha A (x + 1) + 1, which it solves up to a factor, into y = alpha A y + 1 = (x + 1) / 2."""
    found, alpha = np.asarray(result.scores()), parameters["alpha"]
    degrees = np.asarray(_nk().centrality.DegreeCentrality(view).run().scores())
    factor = (alpha * degrees.sum() + found.size) / (found.sum() - alpha * degrees @ found)
    scores: Array = (factor * found + 1.0) / 2.0
    return scores


def _total(result: Any, _view: Any, _parameters: Parameters) -> int:
    return int(np.asarray(result.scores()).sum()) // 3


def _independent_set(view: Any, _parameters: Parameters) -> Any:
    return _nk().independentset.Luby().run(view)


def _members(result: Any, _view: Any, _parameters: Parameters) -> Array:
    return np.asarray(result, bool)


PEER = Peer(
    name="networkit",
    package="networkit",
    convert=_convert,
    set_threads=lambda threads: _nk().setNumberOfThreads(threads),
    algorithms={
        "bfs": Algorithm(_run(lambda nk, g, p: nk.distance.BFS(g, p["source"], storePaths=False)), _levels),
        "distance_matrix": Algorithm(_many_bfs, _rows),
        "sssp": Algorithm(_run(lambda nk, g, p: nk.distance.Dijkstra(g, p["source"], storePaths=False)), _distances),
        "wcc": Algorithm(_run(lambda nk, g, p: nk.components.ParallelConnectedComponents(g)), _partition),
        "scc": Algorithm(_run(lambda nk, g, p: nk.components.StronglyConnectedComponents(g)), _partition),
        "pagerank": Algorithm(_pagerank, _scores),
        "pagerank_20": Algorithm(_pagerank, _scores),
        "triangles": Algorithm(_triangles, _total),
        "lcc": Algorithm(_run(lambda nk, g, p: nk.centrality.LocalClusteringCoefficient(g, turbo=True)), _scores),
        "betweenness": Algorithm(
            _run(lambda nk, g, p: nk.centrality.EstimateBetweenness(g, len(p["sources"]), False, True)),
            _scores,
            unchecked="it draws its own 4 vertices",
        ),
        "betweenness_exact": Algorithm(_run(lambda nk, g, p: nk.centrality.Betweenness(g)), _halved),
        "closeness": Algorithm(_many_bfs, _closeness),
        "k_core": Algorithm(_run(lambda nk, g, p: nk.centrality.CoreDecomposition(g)), _scores),
        "cdlp": Algorithm(
            _communities(lambda nk, g, p: nk.community.PLP(g)), _partition, unchecked="another algorithm: asynchronous"
        ),
        "louvain": Algorithm(_communities(lambda nk, g, p: nk.community.PLM(g, refine=False)), _partition),
        "leiden": Algorithm(_communities(lambda nk, g, p: nk.community.ParallelLeiden(g)), _partition),
        "eigenvector": Algorithm(_run(lambda nk, g, p: nk.centrality.EigenvectorCentrality(g, tol=p["tol"])), _scores),
        "katz": Algorithm(
            _run(lambda nk, g, p: nk.centrality.KatzCentrality(g, alpha=p["alpha"], beta=1.0, tol=p["tol_l1"])), _katz
        ),
        "mst": Algorithm(
            _run(lambda nk, g, p: nk.graph.KruskalMSF(g)), lambda result, _view, _p: result.getTotalWeight()
        ),
        "mis": Algorithm(_independent_set, _members),
    },
)
