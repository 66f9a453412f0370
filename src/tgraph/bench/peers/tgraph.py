"""tgraph itself, on its numpy runtime. An algorithm that this version does not have is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tgraph as tg
from tgraph.bench.peers import Algorithm, Parameters, Peer
from tgraph.graph import Graph


def _convert(graph: Graph) -> Graph:
    return graph


def _set_threads(threads: int) -> None:
    tg.config.num_threads = threads


def _field(name: str) -> Callable[[Any, Any, Parameters], Any]:
    def answer(result: Any, _view: Any, _parameters: Parameters) -> Any:
        return result.graph.runtime.to_numpy(getattr(result, name))

    return answer


def _scores_of_sources(result: Any, view: Any, parameters: Parameters) -> Any:
    return _field("scores")(result, view, parameters)[parameters["sources"]]


def _katz(graph: Graph, parameters: Parameters) -> Any:
    tolerance = parameters["tol_l1"] * graph.num_vertices
    return tg.katz(graph, parameters["alpha"], 1.0, tolerance, parameters["max_iterations"], normalized=False)


_TABLE: dict[str, tuple[str, Callable[[Any, Parameters], Any], Callable[[Any, Any, Parameters], Any]]] = {
    "bfs": ("bfs", lambda g, p: tg.bfs(g, p["source"], parents=False), _field("levels")),
    "multi_source_bfs": (
        "multi_source_bfs",
        lambda g, p: tg.multi_source_bfs(g, p["sources"], origins=False),
        _field("levels"),
    ),
    "distance_matrix": (
        "distance_matrix",
        lambda g, p: tg.distance_matrix(g, p["sources"]),
        lambda result, view, _p: view.runtime.to_numpy(result),
    ),
    "sssp": ("sssp", lambda g, p: tg.sssp(g, p["source"], parents=False), _field("distances")),
    "wcc": ("wcc", lambda g, p: tg.wcc(g), _field("labels")),
    "pagerank": (
        "pagerank",
        lambda g, p: tg.pagerank(g, p["damping"], p["tol_l1"], p["max_iterations"]),
        _field("ranks"),
    ),
    "pagerank_f32": (
        "pagerank",
        lambda g, p: tg.pagerank(g, p["damping"], p["tol_l1"], p["max_iterations"], dtype="float32"),
        _field("ranks"),
    ),
    "pagerank_20": ("pagerank", lambda g, p: tg.pagerank(g, p["damping"], 0.0, p["max_iterations"]), _field("ranks")),
    "scc": ("scc", lambda g, p: tg.scc(g), _field("labels")),
    "triangles": ("triangles", lambda g, p: tg.triangles(g), lambda result, _view, _p: result.total),
    "lcc": ("lcc", lambda g, p: tg.lcc(g), _field("coefficients")),
    "betweenness": (
        "betweenness",
        lambda g, p: tg.betweenness(g, sources=p["sources"], normalized=False),
        _field("scores"),
    ),
    "betweenness_exact": ("betweenness", lambda g, p: tg.betweenness(g, normalized=False), _field("scores")),
    "closeness": ("closeness", lambda g, p: tg.closeness(g, vertices=p["sources"]), _scores_of_sources),
    "k_core": ("k_core", lambda g, p: tg.k_core(g), _field("cores")),
    "louvain": ("louvain", lambda g, p: tg.louvain(g), _field("labels")),
    "leiden": ("leiden", lambda g, p: tg.leiden(g), _field("labels")),
    "eigenvector": ("eigenvector", lambda g, p: tg.eigenvector(g, p["tol"], p["max_iterations"]), _field("scores")),
    "katz": ("katz", _katz, _field("scores")),
    "mst": ("mst", lambda g, p: tg.mst(g), lambda result, _view, _p: result.weight),
    "mis": ("mis", lambda g, p: tg.mis(g), _field("members")),
    "coloring": ("coloring", lambda g, p: tg.coloring(g), _field("colors")),
    "php": ("php", lambda g, p: tg.php(g, p["source"], p["damping"], p["tol_l1"]), _field("scores")),
    "random_walks": (
        "random_walks",
        lambda g, p: tg.random_walks(g, p["starts"], length=p["length"]),
        lambda result, _view, _p: result.to_numpy(),
    ),
    "node2vec": (
        "random_walks",
        lambda g, p: tg.random_walks(g, p["starts"], length=p["length"], p=p["p"], q=p["q"]),
        lambda result, _view, _p: result.to_numpy(),
    ),
    "cdlp": ("cdlp", lambda g, p: tg.cdlp(g, max_iterations=p["max_iterations"]), _field("labels")),
    "hits": ("hits", lambda g, p: tg.hits(g, p["tol_l1"], p["max_iterations"]), _field("authorities")),
}

PEER = Peer(
    name="tgraph",
    package="tgraph",
    convert=_convert,
    algorithms={
        task: Algorithm(run, answer)
        for task, (function, run, answer) in _TABLE.items()
        if getattr(tg, function, None) is not None
    },
    set_threads=_set_threads,
)
