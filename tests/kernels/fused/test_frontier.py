"""Programs compiled into the kernels with a frontier: waves, accumulators and priorities, on several threads."""

from __future__ import annotations

import math
import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import tgraph as tg
from tgraph.errors import InterruptedRunError, InvalidProgramError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import cuts, ordered

THREADS = [1, 2, 5]


class Flood(tg.Program):
    """One of everything, with `reduce` and `along` chosen by the test. It counts messages, so each must come once."""

    def __init__(self, reduce: str, along: str, seeds: tuple[int, ...] = (0, 5)) -> None:
        self.reduce, self.along, self.seeds = reduce, along, seeds

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        start = {seed: 10 + seed for seed in self.seeds}
        first = {"min": 10**6, "max": 0}.get(self.reduce, 0)
        values = graph.full(first, "int64", at=start)
        return {"value": values, "rounds": graph.full(0, "int32")}, graph.full(
            False, "bool", at=dict.fromkeys(self.seeds, True)
        )

    def message(self, value: Any, target_value: Any, weight: Any, source: Any) -> Any:
        return tg.where(source % 7 == 3, value, value + weight) + 0 * target_value

    def update(self, value: Any, rounds: Any, incoming: Any) -> Any:
        limited = tg.minimum(incoming, 10**6)
        if_min, if_max = tg.minimum(value, limited), tg.maximum(value, tg.minimum(limited, 400))
        chosen = tg.where(self.reduce_code == 0, if_min, tg.where(self.reduce_code == 1, if_max, limited % 1000))
        return {"value": chosen, "rounds": rounds + 1}

    @property
    def reduce_code(self) -> int:
        return {"min": 0, "max": 1}.get(self.reduce, 2)


def several_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(tg.config, "num_threads", threads)


@pytest.mark.parametrize("along", ["out", "in", "both"])
@pytest.mark.parametrize("reduce", ["min", "max", "sum", "count"])
def test_a_program_with_two_fields_equals_the_plain_path(
    monkeypatch: pytest.MonkeyPatch, reduce: str, along: str
) -> None:
    graph = tg.generate.rmat(8, 6, seed=7, weights=(1, 9), runtime="numpy")
    plain = tg.run(Flood(reduce, along), graph, kernel="plain", max_iterations=7)
    for threads in THREADS:
        several_threads(monkeypatch, threads)
        for direction in ("push", "pull", "auto"):
            fused = tg.run(Flood(reduce, along), graph, kernel="fused", max_iterations=7, direction=direction)
            for name in ("value", "rounds"):
                assert fused.fields[name].tolist() == plain.fields[name].tolist()
            seen = [(row.active_vertices, row.active_edges) for row in fused.trace]
            assert seen == [(row.active_vertices, row.active_edges) for row in plain.trace]
            assert fused.converged == plain.converged


class Reached(tg.Program):
    """Truth values; stops at vertices that bar the way."""

    reduce, monotonic = "any", True

    def __init__(self, source: int, barred: int = -1) -> None:
        self.source, self.barred = source, barred

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        start = graph.full(False, "bool", at={self.source: True})
        return {"reached": start, "number": graph.runtime.arange(0, graph.num_vertices, "int64")}, start

    def message(self, reached: Any, number: Any) -> Any:
        return reached & (number != self.barred)

    def update(self, reached: Any, incoming: Any) -> Any:
        return reached | incoming

    def settled(self, reached: Any) -> Any:
        return reached


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_truth_values_and_settled_vertices(monkeypatch: pytest.MonkeyPatch, threads: int, direction: str) -> None:
    several_threads(monkeypatch, threads)
    graph = tg.generate.grid(40, 30, runtime="numpy").symmetrize()
    fused = tg.run(Reached(0, 31), graph, kernel="fused", direction=direction)
    plain = tg.run(Reached(0, 31), graph, kernel="plain", direction=direction)
    assert fused.reached.tolist() == plain.reached.tolist()
    assert fused.iterations == plain.iterations


@pytest.mark.parametrize("threads", THREADS)
def test_a_hub_is_shared_by_all_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    several_threads(monkeypatch, threads)
    spokes = np.arange(1, 40_001)
    graph = tg.from_edges(
        np.concatenate([np.zeros_like(spokes), spokes[:-1]]), np.concatenate([spokes, spokes[1:]]), runtime="numpy"
    )
    for direction in ("push", "pull", "auto"):
        levels = tg.bfs(graph, 0, direction=direction, parents=False).levels
        assert levels[0] == 0
        assert (levels[1:] == 1).all()
    flood = Flood("min", "out", (0,))
    distances = tg.run(flood, graph, direction="push", kernel="fused", max_iterations=4).value
    assert distances.tolist() == tg.run(flood, graph, kernel="plain", max_iterations=4).value.tolist()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_sums_of_floats_are_the_same_for_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, kind: str, threads: int
) -> None:
    class Decay(tg.Program):
        reduce = kind

        def init(self, graph: tg.Graph) -> tuple[Any, None]:
            return graph.runtime.asarray(np.random.default_rng(1).random(graph.num_vertices)), None

        def message(self, value: Any, weight: Any) -> Any:
            return value * weight

        def update(self, value: Any, incoming: Any) -> Any:
            return tg.where(incoming > 1e-3, 0.01 * incoming, value)

    graph = tg.generate.rmat(9, 6, seed=2, weights=(0.1, 1.0), runtime="numpy")
    for direction in ("push", "auto"):
        several_threads(monkeypatch, 1)
        alone = tg.run(Decay(), graph, kernel="fused", direction=direction, max_iterations=9).value
        several_threads(monkeypatch, threads)
        together = tg.run(Decay(), graph, kernel="fused", direction=direction, max_iterations=9).value
        assert together.tobytes() == alone.tobytes()
        plain = tg.run(Decay(), graph, kernel="plain", direction=direction, max_iterations=9).value
        np.testing.assert_allclose(alone, plain, rtol=1e-11)


def test_a_long_run_goes_on_after_the_kernel_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.grid(60, 5, weights=(1, 9), runtime="numpy").symmetrize()
    whole = [tg.bfs(graph, 0, parents=False), tg.run(Flood("min", "out"), graph, kernel="fused", max_iterations=50)]
    monkeypatch.setattr("tgraph.engine.fused.FRONTIERS_PER_CALL", 3)
    parts = [tg.bfs(graph, 0, parents=False), tg.run(Flood("min", "out"), graph, kernel="fused", max_iterations=50)]
    for one, other in zip(whole, parts, strict=True):
        assert one.to_numpy().tolist() == other.to_numpy().tolist()
        assert [row.active_vertices for row in one.trace] == [row.active_vertices for row in other.trace]


def test_directed_graphs_are_pushed_until_incoming_edges_are_at_hand() -> None:
    graph = tg.generate.rmat(10, 16, seed=3, runtime="numpy")
    source = int(np.argmax(graph.out_degrees()))
    before = tg.bfs(graph, source, parents=False)
    assert not graph.has_in_edges
    graph.adjacency("in")
    after = tg.bfs(graph, source, parents=False)
    assert {row.direction for row in before.trace} == {"push"}
    assert {row.direction for row in after.trace} == {"push", "pull"}
    assert before.levels.tolist() == after.levels.tolist()


# --- priorities ------------------------------------------------------------------------------------------------------
class Nearest(tg.Program):
    """Shortest paths from two places, with a priority."""

    reduce, monotonic = "min", True

    def __init__(self, width: float = 3.0) -> None:
        self.width = width

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        start = graph.full(math.inf, "float64", at={0: 0.5, 9: 7.0})
        return {"distance": start}, graph.full(False, "bool", at={0: True, 9: True})

    def message(self, distance: Any, weight: Any) -> Any:
        return distance + weight

    def update(self, distance: Any, incoming: Any) -> Any:
        return tg.minimum(distance, incoming)

    def priority(self, distance: Any) -> Any:
        return distance

    def bucket_width(self, graph: tg.Graph) -> float:
        return self.width


def nearest(graph: tg.Graph) -> np.ndarray:
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    matrix = csr_array((weights, targets, offsets), (graph.num_vertices,) * 2)
    found = dijkstra(matrix, indices=[0, 9])
    return np.minimum(found[0] + 0.5, found[1] + 7.0)


@pytest.mark.parametrize("width", [1e-3, 3.0, 1e9])
@pytest.mark.parametrize("threads", THREADS)
def test_buckets_of_any_width_give_shortest_paths(monkeypatch: pytest.MonkeyPatch, threads: int, width: float) -> None:
    several_threads(monkeypatch, threads)
    graph = tg.generate.rmat(10, 5, seed=7, weights=(0.5, 20.0), runtime="numpy")
    result = tg.run(Nearest(width), graph, kernel="fused")
    np.testing.assert_allclose(result.to_numpy(), nearest(graph), rtol=1e-12)
    assert result.to_numpy().tolist() == tg.run(Nearest(width), graph, kernel="plain").to_numpy().tolist()
    assert result.converged


def test_a_limit_or_a_direction_counts_iterations() -> None:
    graph = tg.generate.grid(8, 8, weights=(0.5, 20.0), runtime="numpy")
    plain = tg.run(Nearest(), graph, kernel="plain", max_iterations=3)
    fused = tg.run(Nearest(), graph, kernel="fused", max_iterations=3)
    assert fused.to_numpy().tolist() == plain.to_numpy().tolist()
    assert fused.iterations == 3


def test_weights_below_0_are_right_though_not_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    several_threads(monkeypatch, 2)
    chain = np.arange(300)
    weights = np.where(chain % 3 == 0, -2.0, 5.0)
    graph = tg.from_edges(chain, chain + 1, weights, runtime="numpy")
    fused = tg.run(Nearest(1.0), graph, kernel="fused")
    assert fused.to_numpy().tolist() == tg.run(Nearest(1.0), graph, kernel="plain").to_numpy().tolist()
    assert fused.converged


def test_a_full_pool_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    several_threads(monkeypatch, 2)
    monkeypatch.setattr(ordered, "num_blocks_for", lambda room: 1)
    graph = tg.generate.rmat(10, 5, seed=7, weights=(0.5, 20.0), runtime="numpy")
    result = tg.run(Nearest(0.1), graph, kernel="fused")
    np.testing.assert_allclose(result.to_numpy(), nearest(graph), rtol=1e-12)


def test_a_priority_without_use_does_no_harm() -> None:
    class Halved(Nearest):
        def update(self, distance: Any, incoming: Any) -> Any:
            return tg.minimum(distance, 0.5 * incoming)

    graph = tg.generate.grid(6, 6, weights=(0.5, 20.0), runtime="numpy")
    fused = tg.run(Halved(), graph, kernel="fused")
    assert fused.trace.kernel == "fused"
    assert fused.to_numpy().tolist() == tg.run(Halved(), graph, kernel="plain").to_numpy().tolist()


def test_an_interrupted_run_keeps_its_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ordered.Watch.run

    def interrupted(self: Any, worker: Any, size: int, *args: Any) -> None:
        run(self, worker, size, *args)
        if args[2].size:  # not the call that compiles
            raise KeyboardInterrupt

    monkeypatch.setattr(ordered.Watch, "run", interrupted)
    graph = tg.generate.grid(8, 8, weights=(0.5, 20.0), runtime="numpy")
    with pytest.raises(InterruptedRunError) as caught:
        tg.run(Nearest(), graph, kernel="fused")
    trace = caught.value.result.trace
    assert len(trace) > 1
    assert trace.total_edges >= graph.num_arcs
    assert not caught.value.result.converged


def test_a_width_of_0_is_refused() -> None:
    with pytest.raises(InvalidProgramError, match=r"bucket_width gave 0\.0; it must be above 0"):
        tg.run(Nearest(0.0), tg.from_edges([0, 9], [9, 1], [1.0, 1.0], num_vertices=10))


# --- sweeps with hubs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("threads", THREADS)
def test_a_hub_is_reduced_in_pieces(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(cuts, "HUB_EDGES", 64)
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 16)
    spokes = np.arange(1, 3001)
    graph = tg.from_edges(np.concatenate([spokes, spokes]), np.concatenate([0 * spokes, spokes // 2]), runtime="numpy")
    several_threads(monkeypatch, 1)
    alone = tg.pagerank(graph, tol_l1=1e-14).ranks
    several_threads(monkeypatch, threads)
    assert tg.pagerank(graph, tol_l1=1e-14).ranks.tobytes() == alone.tobytes()
    plain = tg.pagerank(graph, tol_l1=1e-14, kernel="plain").ranks
    np.testing.assert_allclose(alone, plain, rtol=1e-11)


# --- interruption ----------------------------------------------------------------------------------------------------
def test_ctrl_c_ends_a_frontier_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(tg.Program):
        reduce = "max"

        def init(self, graph: tg.Graph) -> tuple[Any, None]:
            return {"steps": graph.full(0, "int64")}, None

        def message(self, steps: Any) -> Any:
            return steps + 1

        def update(self, steps: Any, incoming: Any) -> Any:
            return tg.maximum(steps, incoming)

    several_threads(monkeypatch, 2)
    graph = tg.from_edges(np.arange(100), (np.arange(100) + 1) % 100, runtime="numpy")
    tg.run(Endless(), graph, max_iterations=2)  # compiled before the clock runs
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(InterruptedRunError, match="Endless was interrupted after") as caught:
        tg.run(Endless(), graph)
    steps = caught.value.result.steps
    assert (steps == caught.value.result.iterations).all()
