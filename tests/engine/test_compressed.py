"""Programs on compressed graphs: the answers of the graph itself, compiled and plain, in every direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import odd_graphs
from shared_rows import copies, shared_rows
from tgraph.errors import DeclaredGapError, InvalidArgumentError, InvalidProgramError
from tgraph.kernels.cpu.fused import layers
from tgraph.verify import check_hits
from user_programs import WidestPath

KERNELS = ("fused", "plain")
DIRECTIONS = ("auto", "push", "pull")
SUM_TOLERANCE = 1e-10  # sums of at most a few thousand numbers of size 1, added in another order


class Reached(tg.Program):
    reduce, monotonic = "any", True

    def init(self, graph: tg.Graph) -> Any:
        start = graph.full(False, "bool", at={0: True})
        return start, start

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return value | incoming


class Visits(tg.Program):
    """Counts messages of vertices that changed: sent once each, so nobody may send again."""

    reduce = "count"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(0, "int64"), graph.full(False, "bool", at={0: True})

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value + incoming, 9)


class Largest(tg.Program):
    """The largest number among those who reach a vertex: both ways, and numbers instead of values."""

    reduce, active, along = "max", "all", "both"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(-1, "int32"), None

    def message(self, value: Any, source: Any) -> Any:
        return tg.maximum(value, source)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


class Smoothed(tg.Program):
    """A mean of neighbours, with a total over all vertices."""

    reduce, active, tolerance, along = "mean", "all", 1e-9, "in"

    def init(self, graph: tg.Graph) -> Any:
        return graph.runtime.astype(graph.runtime.arange(0, graph.num_vertices, "int64"), "float64"), None

    def message(self, value: Any) -> Any:
        return value

    def total(self, value: Any) -> Any:
        return value * 0.01

    def update(self, value: Any, incoming: Any, total: Any) -> Any:
        return 0.3 * value + 0.5 * incoming + 0.001 * total


class MeanOfChanged(Smoothed):
    """The same for changed vertices only, which no kernel does."""

    active, tolerance, total, along = "changed", 0.0, None, "out"

    def update(self, value: Any, incoming: Any) -> Any:  # type: ignore[override]
        return tg.minimum(value, incoming)


class ToSmaller(tg.Program):
    reduce, active = "min", "all"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(0, "int64"), None

    def message(self, value: Any, target: Any) -> Any:
        return value + target

    def update(self, value: Any, incoming: Any) -> Any:
        return incoming


PROGRAMS = {
    "any": Reached,
    "count": Visits,
    "max": Largest,
    "mean": Smoothed,
    "plain mean": MeanOfChanged,
    "user": WidestPath,
}


def assert_equal(small: tg.Result, expected: tg.Result, tolerance: float = 0.0) -> None:
    for name, values in expected.fields.items():
        found, wanted = small.graph.runtime.to_numpy(small.fields[name]), expected.graph.runtime.to_numpy(values)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def check_algorithms(graph: tg.Graph, source: int, **how: Any) -> None:
    small = tg.compress(graph)
    assert_equal(tg.bfs(small, source, **how), tg.bfs(graph, source))
    assert_equal(tg.sssp(small, source, **how), tg.sssp(graph, source))
    assert_equal(tg.wcc(small, **how), tg.wcc(graph))
    exact = {"tol_l1": 1e-13, "max_iterations": 300}
    assert_equal(tg.pagerank(small, **exact, **how), tg.pagerank(graph, **exact), SUM_TOLERANCE)
    assert_equal(
        tg.hits(small, max_iterations=20, tol_l1=0, **how), tg.hits(graph, max_iterations=20, tol_l1=0), SUM_TOLERANCE
    )


@settings(deadline=None, max_examples=30)
@given(graph=st.one_of(odd_graphs(weights=("none",)), shared_rows()))
def test_algorithms_on_odd_graphs(graph: tg.Graph) -> None:
    if graph.num_vertices:
        check_algorithms(graph, 0)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_algorithms_in_every_way(kernel: str, direction: str, directed: bool) -> None:
    check_algorithms(copies(directed=directed), 7, kernel=kernel, direction=direction)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kernel", ["auto", "plain"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_users_programs(name: str, kernel: str, direction: str, directed: bool) -> None:
    graph = copies(300, directed=directed, seed=5)
    found = tg.run(PROGRAMS[name](), tg.compress(graph), kernel=kernel, direction=direction, max_iterations=30)
    expected = tg.run(PROGRAMS[name](), graph, kernel="plain", max_iterations=30)
    assert_equal(found, expected, SUM_TOLERANCE if "mean" in name else 0.0)
    assert (found.iterations, found.converged) == (expected.iterations, expected.converged)
    assert found.trace.engine == "compressed"
    assert found.trace[0].active_edges == expected.trace[0].active_edges


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_answers_do_not_depend_on_threads(threads: int) -> None:
    graph = tg.generate.web_like(30_000, 8, seed=2, runtime="numpy")
    small = tg.compress(graph)
    ranks = tg.pagerank(small, threads=threads).ranks
    assert np.array_equal(ranks, tg.pagerank(small, threads=1).ranks)
    scores = tg.hits(small, max_iterations=500, threads=threads)
    assert scores.trace.engine == "compressed"
    assert np.array_equal(scores.hubs, tg.hits(small, max_iterations=500, threads=1).hubs)
    check_hits(graph, scores.hubs, scores.authorities, 2e-8)
    power = {"tol_l1": 0.0, "max_iterations": 20}
    assert_equal(tg.hits(small, **power, threads=threads), tg.hits(graph, **power), SUM_TOLERANCE)
    assert_equal(tg.bfs(small, 0, threads=threads), tg.bfs(graph, 0))
    small.turned_rows  # noqa: B018 - now pull has its rows
    assert_equal(tg.bfs(small, 0, threads=threads), tg.bfs(graph, 0))
    assert_equal(tg.wcc(small, threads=threads), tg.wcc(graph))


@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.parametrize("small_layer", [0, 100, layers.SMALL_LAYER])
def test_virtual_vertices_come_before_whoever_has_them(
    small_layer: int, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "SMALL_LAYER", small_layer)
    monkeypatch.setattr(layers, "SMALLEST_CHUNK", 64)
    graph = tg.generate.web_like(3000, 8, seed=2, runtime="numpy")
    small = tg.compress(graph)
    side = small.side(direction)
    order, begins, meets = side.virtual_order
    assert sorted(order.tolist()) == list(range(small.num_vertices, small.num_vertices + small.num_virtual))
    chunks = np.searchsorted(begins, np.arange(order.size), "right") - 1
    turns = np.searchsorted(meets, chunks, "right")  # threads meet between turns
    turn_of, place_of, chunk_of = (np.full(side.offsets.size - 1, -1) for _ in range(3))
    turn_of[order], place_of[order], chunk_of[order] = turns, np.arange(order.size), chunks
    for row in order:
        for neighbor in side.neighbors[side.offsets[row] : side.offsets[row + 1]]:
            in_same_chunk = chunk_of[neighbor] == chunk_of[row] and place_of[neighbor] < place_of[row]
            assert turn_of[neighbor] < turn_of[row] or in_same_chunk
    scores = tg.hits(small, max_iterations=500)
    check_hits(graph, scores.hubs, scores.authorities, 2e-8)
    power = {"tol_l1": 0.0, "max_iterations": 20}
    assert_equal(tg.hits(small, **power), tg.hits(graph, **power), SUM_TOLERANCE)
    assert_equal(tg.pagerank(small), tg.pagerank(graph), 1e-6)


def test_runtimes_give_the_same(runtime_name: str) -> None:
    graph = copies()
    small = tg.compress(graph).to(runtime_name)
    assert_equal(tg.bfs(small, 3), tg.bfs(graph, 3))
    assert_equal(tg.wcc(small, kernel="plain"), tg.wcc(graph))
    assert_equal(
        tg.pagerank(small, tol_l1=1e-13, max_iterations=300),
        tg.pagerank(graph, tol_l1=1e-13, max_iterations=300),
        SUM_TOLERANCE,
    )


@pytest.mark.parametrize("directed", [True, False])
def test_other_algorithms_made_of_programs_run_too(directed: bool) -> None:
    graph = copies(directed=directed)
    small = tg.compress(graph)
    for call in (tg.scc, tg.mis, tg.coloring):
        assert_equal(call(small), call(graph))
    for call in (tg.eigenvector, tg.katz, tg.closeness, lambda one: tg.php(one, 0)):
        assert_equal(call(small), call(graph), 1e-6)  # each stops at a tolerance of its own


def test_limits_mean_the_same() -> None:
    graph = copies(directed=False)
    small = tg.compress(graph)
    for limit in (0, 1, 2):
        assert_equal(tg.bfs(small, 0, max_iterations=limit), tg.bfs(graph, 0, max_iterations=limit))
        assert_equal(tg.wcc(small, max_iterations=limit), tg.wcc(graph, max_iterations=limit))


def test_a_message_that_cannot_be_shared_is_refused() -> None:
    with pytest.raises(InvalidProgramError, match=r"ToSmaller\.message asks for 'target'.*graph\.decompress\(\)"):
        tg.run(ToSmaller(), tg.compress(copies()))


def test_algorithms_that_need_rows_say_so() -> None:
    small = tg.compress(copies())
    for call in (tg.triangles, tg.leiden, tg.k_core, tg.betweenness, tg.cdlp):
        with pytest.raises(DeclaredGapError, match=r"graph\.decompress\(\)"):
            call(small)
    with pytest.raises(InvalidArgumentError, match=r"engine='compressed' .* tgraph\.compress"):
        tg.run(Reached(), copies(), engine="compressed")


def test_kernels_can_be_asked_for() -> None:
    small = tg.compress(copies())
    for kernel in KERNELS:
        assert tg.run(Reached(), small, kernel=kernel).trace.kernel == kernel
    with pytest.raises(InvalidProgramError, match="a mean of changing vertices is not compiled"):
        tg.run(MeanOfChanged(), small, kernel="fused")
