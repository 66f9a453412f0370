"""The same answers on every runtime: five algorithms and a user's program, against NumPy's.

Integers are equal. Floats are sums whose order is up to the runtime: a relative error of 1e-9, where each of at most a
few thousand additions in float64 may round by 1e-16.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from runtimes import PARTNERS, RUNTIMES, get, place
from tgraph.errors import DeclaredGapError
from tgraph.gaps import find_gap
from user_programs import WidestPath

Run = Callable[..., Any]
RUNS: dict[str, Run] = {
    "bfs": lambda graph, **how: tg.bfs(graph, 0, **how),
    "sssp": lambda graph, **how: tg.sssp(graph, 0, **how),
    "wcc": tg.wcc,
    "pagerank": lambda graph, **how: tg.pagerank(graph, tol_l1=0.0, max_iterations=15, **how),
    "hits": lambda graph, **how: tg.hits(graph, tol_l1=0.0, max_iterations=15, **how),
    "widest path": lambda graph, **how: tg.run(WidestPath(0), graph, **how),
}


def _edges(pairs: list[tuple[int, int]], num_vertices: int, directed: bool = True, weights: Any = None) -> tg.Graph:
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    return tg.from_edges(sources, targets, weights, directed, num_vertices, labels=None, runtime="numpy")


@cache
def make_graph(name: str) -> tg.Graph:
    """Return a graph on NumPy."""
    if name == "one vertex":
        return _edges([], 1)
    if name == "isolated":
        return _edges([(1, 2)], 5)
    if name == "loops and duplicates":
        pairs = [(0, 0), (0, 1), (0, 1), (1, 2), (2, 2), (2, 0), (3, 3)]
        return _edges(pairs, 4, weights=np.array([5, 3, 2, 7, 1, 4, 0]))
    if name == "undirected star":
        return _edges([(0, spoke) for spoke in range(1, 300)], 301, directed=False, weights=np.arange(299) / 8)
    if name == "long path":
        return _edges([(step, step + 1) for step in range(80)], 81, weights=np.full(80, 0.5, np.float32))
    if name == "weights beyond 2^53":
        return _edges([(0, 1), (1, 2), (0, 2)], 3, weights=np.array([2**53, 2**53, 2**54 + 3]))
    return tg.generate.rmat(11, 8, seed=5, weights=(1, 256), runtime="numpy")


GRAPHS = (
    "one vertex",
    "isolated",
    "loops and duplicates",
    "undirected star",
    "long path",
    "weights beyond 2^53",
    "rmat",
)


@cache
def expected(graph: str, run: str, direction: str) -> dict[str, np.ndarray[Any, Any]]:
    return dict(RUNS[run](make_graph(graph), kernel="plain", direction=direction).fields)


def check(result: tg.Result, wanted: dict[str, np.ndarray[Any, Any]]) -> None:
    runtime = result.graph.runtime
    assert set(result.fields) == set(wanted)
    for name, values in wanted.items():
        array = runtime.to_numpy(result.fields[name])
        assert array.dtype == values.dtype
        if values.dtype.kind == "f":
            np.testing.assert_allclose(array, values, rtol=1e-9, atol=0)
        else:
            np.testing.assert_array_equal(array, values)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "numpy"])
def test_plain_answers_are_those_of_numpy(name: str, graph: str, run: str) -> None:
    result = RUNS[run](make_graph(graph), **place(name), kernel="plain")
    assert result.graph.runtime is get(name)
    assert result.trace.kernel == "plain"
    check(result, expected(graph, run, "auto"))


@pytest.mark.parametrize("run", ["bfs", "pagerank", "widest path"])
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "numpy"])
def test_both_directions_give_the_answers_of_numpy(name: str, direction: str, run: str) -> None:
    result = RUNS[run](make_graph("rmat"), **place(name), kernel="plain", direction=direction)
    check(result, expected("rmat", run, direction))


@pytest.mark.parametrize("run", ["bfs", "sssp", "pagerank", "hits", "widest path"])
@pytest.mark.parametrize("name", RUNTIMES)
def test_fused_answers_are_the_plain_ones(name: str, run: str) -> None:
    """Kernels work on NumPy views of any runtime's tensors on the CPU; the results are tensors of that runtime.

    A device without kernels runs the plain path.
    """
    result = RUNS[run](make_graph("rmat"), **place(name))
    assert all(tg.runtime.of(tensor) is get(name) for tensor in result.fields.values())
    check(result, expected("rmat", run, "auto"))


@pytest.mark.parametrize("there", PARTNERS)
@pytest.mark.parametrize("here", PARTNERS)
def test_graphs_move_between_runtimes(here: str, there: str) -> None:
    graph = make_graph("rmat").to(*place(here).values())
    moved = graph.to(*place(there).values())
    assert moved.runtime is get(there)
    moved.check()
    rows, wanted = (one.adjacency("out").to_numpy() for one in (moved.to("numpy"), make_graph("rmat")))
    for one, other in zip(rows, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", RUNTIMES)
def test_results_keep_nothing_of_the_graph_that_changes(name: str) -> None:
    """A run writes into its own fields: the tensor that `init` gave stays as it was."""

    class FromGiven(WidestPath):
        def init(self, graph: tg.Graph) -> Any:
            self.given = graph.full(0.0, "float64", at={0: np.inf})
            return {"width": self.given}, graph.full(False, "bool", at={0: True})

    for kernel in ("plain", "auto"):
        program = FromGiven(0)
        result = tg.run(program, make_graph("rmat"), **place(name), kernel=kernel)
        array = result.graph.runtime.to_numpy(program.given)
        assert array[0] == np.inf
        assert not array[1:].any()


@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "fake"])
def test_graphs_with_a_budget_run_or_the_gap_is_declared(name: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.safetensors"
    tg.write(make_graph("rmat"), path, reverse=True)
    if find_gap("out_of_memory", name) is None:
        check(tg.wcc(tg.open(path, "4MiB", name)), expected("rmat", "wcc", "auto"))
        return
    with pytest.raises(DeclaredGapError, match=f"runtime='{name}' does not run out_of_memory: .*; use runtime="):
        tg.open(path, "4MiB", name)
    with pytest.raises(DeclaredGapError, match="out_of_memory"):
        tg.wcc(tg.open(path, "4MiB", "numpy"), runtime=name)
