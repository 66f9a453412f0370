"""Programs through the public API: a user's against the built-in one, and compiled against plain tensors.

    python benchmarks/programs.py [--scale 20] [--rounds 5]

A user writes BFS, SSSP and PageRank as programs; their times are compared with `tg.bfs`, `tg.sssp` and `tg.pagerank`.
Then `tg.bfs` and `tg.pagerank` on the torch runtime, compiled and with `kernel="plain"`. Interleaved, medians.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import interleave

import tgraph as tg


class Levels(tg.Program):
    """Breadth-first search."""

    reduce, monotonic = "min", True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(2**31 - 1, "int32", at={self.source: 0}), graph.full(False, "bool", at={self.source: True})

    def message(self, value: Any) -> Any:
        return value + 1

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


class Distances(tg.Program):
    """Shortest paths, the nearest vertices first, in float64 or int32."""

    reduce, monotonic = "min", True

    def __init__(self, source: int, dtype: str) -> None:
        self.source, self.dtype = source, dtype
        self.unreached = np.inf if dtype == "float64" else 2**30

    def init(self, graph: tg.Graph) -> Any:
        distances = graph.full(self.unreached, self.dtype, at={self.source: 0})
        return distances, graph.full(False, "bool", at={self.source: True})

    def message(self, value: Any, weight: Any) -> Any:
        return value + weight

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)

    def priority(self, value: Any) -> Any:
        return value

    def bucket_width(self, graph: tg.Graph) -> float:
        return 2.0


class Ranks(tg.Program):
    """PageRank of a graph in which every vertex counts, 20 iterations."""

    reduce, active = "sum", "all"

    def init(self, graph: tg.Graph) -> Any:
        self.jump = 0.15 / graph.num_vertices
        degrees = graph.runtime.astype(graph.out_degrees(), "float64")
        return {"rank": graph.full(1.0 / graph.num_vertices, "float64"), "degree": degrees}, None

    def message(self, rank: Any, degree: Any) -> Any:
        return rank / tg.maximum(degree, 1.0)

    def update(self, incoming: Any) -> Any:
        return self.jump + 0.85 * incoming


def show(title: str, first: Callable[[], object], second: Callable[[], object], rounds: int) -> None:
    """Print one line: the times of two candidates and their ratio."""
    timings = interleave({"first": first, "second": second}, rounds)
    left, right = timings["first"].median, timings["second"].median
    print(f"{title}: {left:.4f} s against {right:.4f} s, {left / right:.2f}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    graph = tg.generate.rmat(given.scale, 16, seed=1, weights=(1, 256), runtime="numpy").symmetrize().simplify("min")
    source = int(np.argmax(graph.out_degrees()))
    weights = np.asarray(graph.weights) + 0.5  # so that the built-in one adds in float64
    uneven = tg.from_csr(graph.out_offsets, graph.out_targets, weights, directed=False, runtime="numpy")
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "bfs, user / built-in": (lambda: tg.run(Levels(source), graph), lambda: tg.bfs(graph, source, parents=False)),
        **{
            f"sssp, user in {dtype} / built-in in {built_in}": (
                lambda dtype=dtype, weighted=weighted: tg.run(Distances(source, dtype), weighted),
                lambda weighted=weighted: tg.sssp(weighted, source, parents=False),
            )
            for dtype, built_in, weighted in (
                ("int32", "int32", graph),
                ("float64", "float64", uneven),
                ("float64", "int32", graph),
            )
        },
        "pagerank 20, user / built-in": (
            lambda: tg.run(Ranks(), graph, max_iterations=20),
            lambda: tg.pagerank(graph, tol_l1=0, max_iterations=20),
        ),
    }
    for title, (user, built_in) in pairs.items():
        show(title, user, built_in, given.rounds)
    torch_graph = graph.to("torch")
    algorithms: dict[str, Callable[[str], object]] = {
        "bfs": lambda kernel: tg.bfs(torch_graph, source, kernel=kernel),
        "pagerank 20": lambda kernel: tg.pagerank(torch_graph, tol_l1=0, max_iterations=20, kernel=kernel),
        "pagerank to 1e-4": lambda kernel: tg.pagerank(torch_graph, tol_l1=1e-4, kernel=kernel),
    }
    for title, run in algorithms.items():
        show(
            f"{title}, plain torch / compiled", lambda run=run: run("plain"), lambda run=run: run("auto"), given.rounds
        )


if __name__ == "__main__":
    main()
