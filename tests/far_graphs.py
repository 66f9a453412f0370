"""Graphs in files with a budget, and what is run on them, for tests of the engine for graphs larger than memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import tgraph as tg
from tgraph.memory import FarGraph
from user_programs import WidestPath


@contextmanager
def stored(graph: tg.Graph, runtime: str = "numpy", memory: int | str = "1MiB") -> Iterator[FarGraph]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.safetensors")
        tg.write(graph, path, reverse=True)
        yield tg.open(path, memory, runtime)


class Heat(tg.Program):
    """Every vertex takes the mean of its neighbours' values; a sweep whose messages depend on the edge."""

    reduce, active, tolerance = "mean", "all", 1e-12

    def init(self, graph: tg.Graph) -> Any:
        return graph.runtime.astype(graph.out_degrees(), "float64"), None

    def message(self, value: Any, weight: Any) -> Any:
        return value * weight / (weight + 1.0)

    def update(self, value: Any, incoming: Any) -> Any:
        return 0.5 * value + 0.25 * incoming


class Degrees(tg.Program):
    """Frontier and sum: no block kernel is for it, so the mapped file is read in place."""

    reduce = "sum"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(1.0, "float64"), None

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value + incoming, 7.0)


def _power_steps(graph: tg.Graph) -> dict[str, Any]:
    """How a graph in memory takes the steps of the power method, as far ones do."""
    return {} if graph.is_far else {"kernel": "plain"}


ALGORITHMS = {
    "bfs": lambda graph, **how: tg.bfs(graph, 0, **how),
    "sssp": lambda graph, **how: tg.sssp(graph, 0, **how),
    "wcc": tg.wcc,
    "widest": lambda graph, **how: tg.run(WidestPath(0), graph, **how),
    "degrees": lambda graph, **how: tg.run(Degrees(), graph, max_iterations=9, **how),
    "multi_source_bfs": lambda graph, **how: tg.multi_source_bfs(graph, [0], **how),
}
SCORES = {
    "pagerank": lambda graph, **how: tg.pagerank(graph, tol_l1=1e-13, max_iterations=3000, **how),
    "pagerank_20": lambda graph, **how: tg.pagerank(graph, tol_l1=0, max_iterations=20, **how),
    "pagerank_to_one": lambda graph, **how: tg.pagerank(
        graph, tol_l1=1e-13, max_iterations=3000, personalization={0: 1.0}, **how
    ),
    "hits": lambda graph, **how: tg.hits(graph, max_iterations=30, **_power_steps(graph), **how),
    "katz": lambda graph, **how: tg.katz(graph, tol_l1=1e-12, **how),
    "pagerank_delta": lambda graph, **how: SCORES["pagerank"](graph, **how, **by_changes(graph)),
    "pagerank_to_one_delta": lambda graph, **how: SCORES["pagerank_to_one"](graph, **how, **by_changes(graph)),
    "php_delta": lambda graph, **how: tg.php(graph, 0, tol_l1=1e-13, **how, **by_changes(graph)),
    "katz_delta": lambda graph, **how: SCORES["katz"](graph, **how, **by_changes(graph)),
    "weighted_delta": lambda graph, **how: tg.php(
        graph, 0, tol_l1=1e-13, weighted=graph.weighted, **how, **by_changes(graph)
    ),
    "heat": lambda graph, **how: tg.run(Heat(), graph, max_iterations=40, **how),
}


def by_changes(graph: tg.Graph) -> dict[str, str]:
    return {"schedule": "delta"} if isinstance(graph, FarGraph) else {}


def web_like() -> tg.Graph:
    """Pages that link to their neighbours: sweeps go on for long."""
    random = np.random.default_rng(5)
    sources = random.integers(0, 4000, 40_000)
    targets = (sources + random.geometric(0.2, 40_000)) % 4000
    return tg.from_edges(sources, targets, runtime="numpy")
