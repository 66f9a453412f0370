from __future__ import annotations

import math
import tracemalloc
from collections import deque
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from engine.reference import check_all_ways, graphs
from tgraph.algorithms import BFS
from tgraph.engine import in_memory
from tgraph.errors import InterruptedRunError, InvalidProgramError
from tgraph.operators import changed_mask
from tgraph.runtime.numpy import NumpyRuntime


class Drift(tg.Program):
    """Values that rise and fall by one: no reduction may hide who sent and who did not."""

    def __init__(self, reduce: str, active: str, along: str, starters: list[bool] | None) -> None:
        self.reduce, self.active, self.along, self.starters = reduce, active, along, starters
        if reduce == "any":
            self.message = self.bool_message
            self.update = self.bool_update

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        values = graph.runtime.asarray(np.arange(graph.num_vertices) % 4 * 1.0)
        if self.starters is None:
            return values, None
        return values, graph.runtime.asarray(np.resize(np.asarray(self.starters), graph.num_vertices))

    def message(self, value: Any, weight: Any) -> Any:
        return value + weight

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.where(incoming > value, value + 1, tg.maximum(value - 1, 0.0))

    def bool_message(self, value: Any, weight: Any) -> Any:
        return value + weight > 3

    def bool_update(self, value: Any, incoming: Any) -> Any:
        return tg.where(incoming, value + 1, tg.maximum(value - 1, 0.0))


@pytest.mark.parametrize("along", ["out", "in", "both"])
@pytest.mark.parametrize("active", ["changed", "all"])
@pytest.mark.parametrize("reduce", ["min", "max", "sum", "mean", "any", "count"])
@settings(max_examples=12, deadline=None)
@given(graph=graphs(), starters=st.none() | st.lists(st.booleans(), min_size=1, max_size=7))
def test_every_way_gives_the_answer_of_the_interpreter(
    reduce: str, active: str, along: str, graph: tg.Graph, starters: list[bool] | None
) -> None:
    check_all_ways(Drift(reduce, active, along, starters), graph)


class Falling(tg.Program):
    """Distances from some vertices, monotonic: pull may let vertices send again."""

    monotonic = True

    def __init__(self, reduce: str, along: str, settles: bool) -> None:
        self.reduce, self.along = reduce, along
        self.sign = 1 if reduce == "min" else -1
        if settles:
            self.settled = self.is_reached

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        values = graph.full(self.sign * math.inf, "float64")
        if not graph.num_vertices:
            return values, graph.full(False, "bool")
        starter = graph.runtime.asarray(np.asarray([0]))
        return graph.runtime.index_put(values, starter, 0.0), graph.full(False, "bool", at={0: True})

    def message(self, value: Any) -> Any:
        return value + self.sign

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming) if self.sign == 1 else tg.maximum(value, incoming)

    def is_reached(self, value: Any) -> Any:
        return self.sign * value < math.inf


@settings(max_examples=40, deadline=None)
@given(
    graph=graphs(10),
    reduce=st.sampled_from(["min", "max"]),
    along=st.sampled_from(["out", "in", "both"]),
    settles=st.booleans(),
)
def test_monotonic_programs_in_every_way(graph: tg.Graph, reduce: str, along: str, settles: bool) -> None:
    check_all_ways(Falling(reduce, along, settles), graph, max_iterations=12)


def test_pull_counts_only_active_senders(runtime_name: str) -> None:
    class Rings(tg.Program):
        reduce = "sum"

        def init(self, graph: tg.Graph) -> tuple[Any, Any]:
            return graph.full(1, "int64"), graph.full(False, "bool", at={0: True})

        def message(self, value: Any) -> Any:
            return value

        def update(self, value: Any, incoming: Any) -> Any:
            return value + incoming

    graph = tg.from_edges([0, 1, 2], [3, 3, 3], runtime=runtime_name)
    for direction in ("push", "pull"):
        assert tg.run(Rings(), graph, direction=direction, max_iterations=5).values.tolist() == [1, 1, 1, 2]


# --- work per iteration ----------------------------------------------------------------------------------------------
def long_path_among_many(num_vertices: int, length: int) -> tg.Graph:
    """A path over a few vertices that lie far apart, in a graph of many isolated ones."""
    stops = np.linspace(0, num_vertices - 1, length, dtype=np.int64)
    return tg.from_edges(stops[:-1], stops[1:], num_vertices=num_vertices, runtime="numpy")


LOOKED_UP = {"index_select", "index_put"}  # their first argument is a table: its length costs nothing


def record_sizes(monkeypatch: pytest.MonkeyPatch, sizes: list[tuple[str, int]]) -> None:
    """Note the largest tensor that every primitive of the NumPy runtime gets or makes."""

    def recorded(name: str, original: Any) -> Any:
        def primitive(self: NumpyRuntime, *arguments: Any, **keywords: Any) -> Any:
            result = original(self, *arguments, **keywords)
            seen = [*arguments[1:]] if name in LOOKED_UP else [*arguments]
            seen += [] if name == "index_put" else [result]
            flat = [part for value in seen for part in (value if isinstance(value, list) else [value])]
            sizes.append((name, max((part.size for part in flat if isinstance(part, np.ndarray)), default=0)))
            return result

        return primitive

    for name, original in list(vars(NumpyRuntime).items()):
        if callable(original) and not name.startswith("_") and name not in ("dtype", "to_numpy"):
            monkeypatch.setattr(NumpyRuntime, name, recorded(name, original))


def test_no_work_on_all_vertices_for_a_small_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = long_path_among_many(10_000, 40)
    sizes: list[tuple[str, int]] = []
    per_iteration: list[list[tuple[str, int]]] = []
    iterate = in_memory.Run.iterate

    def watched(self: Any) -> Any:
        sizes.clear()
        done = iterate(self)
        per_iteration.append(list(sizes))
        return done

    monkeypatch.setattr(in_memory.Run, "iterate", watched)
    record_sizes(monkeypatch, sizes)
    result = tg.run(BFS(0), graph, direction="push", kernel="plain")
    assert len(per_iteration) == 40
    assert result.values.max() == 39
    assert all(len(seen) > 5 for seen in per_iteration[:-1])
    assert max(size for seen in per_iteration for _, size in seen) <= 8


def test_no_memory_for_all_vertices_for_a_small_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = long_path_among_many(1_000_000, 20)
    peaks: list[int] = []
    iterate = in_memory.Run.iterate

    def watched(self: Any) -> Any:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        done = iterate(self)
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
        return done

    monkeypatch.setattr(in_memory.Run, "iterate", watched)
    tracemalloc.start()
    try:
        tg.run(BFS(0), graph, direction="auto", kernel="plain")
    finally:
        tracemalloc.stop()
    assert len(peaks) == 20
    assert max(peaks[1:-1]) < 100_000  # a bool for each of the vertices would take ten times as much


def plain_levels(graph: tg.Graph, source: int) -> list[int]:
    offsets, targets = graph.out_offsets.tolist(), graph.out_targets.tolist()
    levels = [-1] * graph.num_vertices
    levels[source] = 0
    queue = deque([source])
    while queue:
        vertex = queue.popleft()
        for target in targets[offsets[vertex] : offsets[vertex + 1]]:
            if levels[target] < 0:
                levels[target] = levels[vertex] + 1
                queue.append(target)
    return levels


def test_auto_takes_both_directions_on_a_skewed_graph(runtime_name: str) -> None:
    graph = tg.generate.rmat(11, 16, seed=3, directed=False, runtime=runtime_name)
    source = int(np.argmin(np.where(tg.runtime.get("numpy").asarray(graph.out_degrees()) > 0, 1, 9)))
    result = tg.run(BFS(source), graph)
    assert {iteration.direction for iteration in result.trace} == {"push", "pull"}
    assert result.trace[0].direction == "push"
    assert result.values.tolist() == plain_levels(graph, source)


@pytest.mark.parametrize("edges_per_block", [1, 7])
@pytest.mark.parametrize("direction", ["push", "pull", "auto"])
def test_small_blocks_change_nothing(
    runtime_name: str, direction: str, edges_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tg.generate.rmat(4, 3, seed=5, weights=(1, 9), runtime=runtime_name)
    source = int(np.argmax(tg.runtime.get("numpy").asarray(graph.out_degrees())))

    def answers() -> list[Any]:
        drift = Drift("mean", "all", "both", None)
        return [
            tg.bfs(graph, source, direction=direction, kernel="plain").parents.tolist(),
            tg.sssp(graph, source, direction=direction, kernel="plain").distances.tolist(),
            tg.wcc(graph, direction=direction, kernel="plain").labels.tolist(),
            tg.run(drift, graph, direction=direction, kernel="plain", max_iterations=3).values.tolist(),
            tg.pagerank(graph, max_iterations=3, direction=direction, kernel="plain").ranks.tolist(),
        ]

    *expected, expected_ranks = answers()
    monkeypatch.setattr(import_module("tgraph.operators.reconstruct"), "EDGES_PER_BLOCK", edges_per_block)
    *found, ranks = answers()
    assert found == expected
    assert ranks == pytest.approx(expected_ranks, rel=1e-12)


# --- how a run ends --------------------------------------------------------------------------------------------------
class Counting(tg.Program):
    """Adds one to every vertex in each iteration; may raise in one of them."""

    reduce, active = "count", "all"

    def __init__(
        self, last: int = 5, stop_at: int | None = None, error: type[BaseException] = KeyboardInterrupt
    ) -> None:
        self.last, self.stop_at, self.error, self.calls = last, stop_at, error, 0

    def init(self, graph: tg.Graph) -> tuple[Any, None]:
        return {"steps": graph.full(0, "int64")}, None

    def message(self) -> int:
        return 1

    def update(self, steps: Any) -> Any:
        self.calls += 1
        if self.calls == self.stop_at:
            raise self.error("stop")
        return steps + 1

    def is_done(self, iteration: int, residual: float) -> bool:
        return iteration == self.last


def test_interruption_keeps_what_was_computed(runtime_name: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2], runtime=runtime_name)
    with pytest.raises(InterruptedRunError, match="Counting was interrupted after 2 iterations") as caught:
        tg.run(Counting(stop_at=3), graph)
    result = caught.value.result
    assert len(result.trace) == result.iterations == 2
    assert result.steps.tolist() == [2, 2, 2]
    assert not result.converged
    assert isinstance(caught.value, KeyboardInterrupt)


def test_other_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        tg.run(Counting(stop_at=2, error=ZeroDivisionError), tg.from_edges([0], [1]))


@pytest.mark.parametrize(("limit", "steps", "converged"), [(None, 5, True), (0, 0, False), (3, 3, False), (5, 5, True)])
def test_max_iterations(limit: int | None, steps: int, converged: bool, runtime_name: str) -> None:
    result = tg.run(Counting(), tg.from_edges([0, 1], [1, 2], runtime=runtime_name), max_iterations=limit)
    assert result.steps.tolist() == [steps] * 3
    assert (result.iterations, result.converged) == (steps, converged)
    assert result.residual == (3.0 if steps else None)


def test_a_graph_without_vertices_is_done_at_once(runtime_name: str) -> None:
    graph = tg.from_edges([], [], num_vertices=0, runtime=runtime_name)
    for program in (Counting(), Drift("sum", "changed", "out", None)):
        result = tg.run(program, graph)
        assert (result.iterations, result.converged, result.values.tolist()) == (0, True, [])


GIVEN = {
    "the tensor itself": lambda kept, runtime: kept,
    "a view of it": lambda kept, runtime: kept[:],
    "a mapping": lambda kept, runtime: {"value": kept},
    "memory of NumPy": lambda kept, runtime: runtime.asarray(runtime.to_numpy(kept)),
}


@pytest.mark.parametrize("kernel", ["plain", "auto"])
@pytest.mark.parametrize("how", GIVEN)
def test_init_tensors_that_others_see_are_not_written_into(runtime_name: str, how: str, kernel: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2], runtime=runtime_name)
    kept = graph.full(math.inf, "float64", at={0: 0.0})

    class Kept(Falling):
        def init(self, graph: tg.Graph) -> tuple[Any, Any]:
            return GIVEN[how](kept, graph.runtime), graph.full(False, "bool", at={0: True})

    result = tg.run(Kept("min", "out", False), graph, direction="push", kernel=kernel)
    assert result.values.tolist() == [0, 1, 2]
    assert kept.tolist() == [0, math.inf, math.inf]


def test_one_tensor_may_be_two_fields(runtime_name: str) -> None:
    class Twice(tg.Program):
        active = "all"

        def init(self, graph: tg.Graph) -> tuple[dict[str, Any], None]:
            start = graph.full(1.0, "float64")
            return {"moving": start, "first": start}, None

        def message(self, moving: Any) -> Any:
            return moving

        def update(self, moving: Any) -> Any:
            return moving + 1.0

    result = tg.run(Twice(), tg.from_edges([0], [1], runtime=runtime_name), max_iterations=3)
    assert (result.moving.tolist(), result.first.tolist()) == ([4.0, 4.0], [1.0, 1.0])


# --- the residual ----------------------------------------------------------------------------------------------------
class Relaxing(tg.Program):
    """Bellman-Ford with all vertices active: most values are infinite at first."""

    active = "all"

    def __init__(self, dtype: str = "float64", far: float = math.inf) -> None:
        self.dtype, self.far = dtype, far

    def init(self, graph: tg.Graph) -> tuple[Any, None]:
        return graph.full(self.far, self.dtype, at={0: 0}), None

    def message(self, value: Any) -> Any:
        return tg.where(value < self.far, value + 1, value)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


def test_infinite_values_that_stay_are_no_change(runtime_name: str) -> None:
    graph = tg.from_edges([0, 1, 3], [1, 2, 4], runtime=runtime_name)
    result = tg.run(Relaxing(), graph, max_iterations=10)
    assert result.values.tolist() == [0, 1, 2, math.inf, math.inf]
    assert result.converged
    assert [iteration.residual for iteration in result.trace] == [math.inf, math.inf, 0.0]


def test_changes_of_small_integers_do_not_overflow_to_zero(runtime_name: str) -> None:
    graph = tg.from_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], runtime=runtime_name)
    result = tg.run(Relaxing("int32", 2**30), graph, max_iterations=10)
    assert result.values.tolist() == [0, 1, 1, 1, 1, 2]
    assert result.trace[0].residual == 4.0 * (2**30 - 1)


def test_bool_fields_have_a_residual(runtime_name: str) -> None:
    class Reached(tg.Program):
        reduce, active = "any", "all"

        def init(self, graph: tg.Graph) -> tuple[Any, None]:
            return graph.full(False, "bool", at={0: True}), None

        def message(self, value: Any) -> Any:
            return value

        def update(self, value: Any, incoming: Any) -> Any:
            return value | incoming

    graph = tg.from_edges([0, 0, 1, 4], [1, 2, 3, 3], runtime=runtime_name)
    result = tg.run(Reached(), graph)
    assert result.values.tolist() == [True, True, True, True, False]
    assert [iteration.residual for iteration in result.trace] == [2.0, 1.0, 0.0]


# --- compute ---------------------------------------------------------------------------------------------------------
class Halving(tg.Program):
    """A program of whole tensors."""

    tolerance = 1.0

    def init(self, graph: tg.Graph) -> tuple[Any, None]:
        return {"numbers": graph.full(16.0, "float64")}, None

    def compute(self, state: Any, edges: Any) -> Any:
        old = state.fields["numbers"]
        state.fields["numbers"] = old / 2
        return edges.graph.runtime.reduce(tg.absolute(state.fields["numbers"] - old), "sum")


def test_compute_runs_until_its_residual_is_small(runtime_name: str) -> None:
    result = tg.run(Halving(), tg.from_edges([0], [1], runtime=runtime_name))
    assert result.numbers.tolist() == [0.5, 0.5]
    assert [iteration.residual for iteration in result.trace] == [16.0, 8.0, 4.0, 2.0, 1.0]
    assert (result.residual, result.converged) == (1.0, True)
    assert [iteration.active_vertices for iteration in result.trace] == [2] * 5


def test_compute_may_return_a_number_but_not_nothing() -> None:
    class Once(Halving):
        def compute(self, state: Any, edges: Any) -> Any:
            return self.answer

    program = Once()
    program.answer = np.int64(0)
    assert tg.run(program, tg.from_edges([0], [1])).iterations == 1
    program.answer = None
    with pytest.raises(InvalidProgramError, match=r"Once\.compute returned nothing; return the residual"):
        tg.run(program, tg.from_edges([0], [1]))


def test_a_program_of_vertices_that_changed_ends_with_nan(runtime_name: str) -> None:
    class Spread(tg.Program):
        reduce = "max"

        def init(self, graph: tg.Graph) -> tuple[Any, None]:
            return graph.full(0.0, "float64", at={0: math.nan}), None

        def message(self, value: Any) -> Any:
            return value

        def update(self, value: Any, incoming: Any) -> Any:
            return tg.maximum(value, incoming)

    graph = tg.from_edges([0, 1, 2], [1, 2, 0], runtime=runtime_name)
    result = tg.run(Spread(), graph, max_iterations=20)
    assert result.converged
    assert not changed_mask(result.values, graph.full(math.nan, "float64")).any()
