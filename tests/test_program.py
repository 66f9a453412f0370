from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from engine.reference import DIRECTIONS, RUNTIMES, check_all_ways, graphs, shuffle_rows
from tgraph.errors import InvalidArgumentError, InvalidProgramError
from tgraph.program import default_change, plan

WAYS = pytest.mark.parametrize("direction", ["push", "pull"])


class OneStep(tg.Program):
    """One iteration in which every vertex keeps the sum of what it received."""

    reduce, active = "sum", "all"

    def init(self, graph: tg.Graph) -> tuple[Any, None]:
        return graph.runtime.asarray(np.asarray([2.0, 3.0, 5.0, 7.0])), None

    def message(self, value: Any) -> Any:
        return value

    def update(self, incoming: Any) -> Any:
        return incoming

    def is_done(self, iteration: int, residual: float) -> bool:
        return True


def with_message(message: Any, **attributes: Any) -> OneStep:
    program = OneStep()
    for name, value in {"message": message, **attributes}.items():
        setattr(program, name, value)
    return program


def square(directed: bool, runtime: str, weighted: bool = False) -> tg.Graph:
    """0 -> 1, 0 -> 2, 1 -> 2, 2 -> 3 with the weights 10, 20, 30, 40."""
    weights = [10.0, 20.0, 30.0, 40.0] if weighted else None
    return tg.from_edges([0, 0, 1, 2], [1, 2, 2, 3], weights, directed, runtime=runtime)


# --- one test for each row of the table of names in Program's docstring ----------------------------------------------
@WAYS
def test_a_field_in_message_is_that_of_the_sender(direction: str, runtime_name: str) -> None:
    result = tg.run(OneStep(), square(True, runtime_name), direction=direction)
    assert result.values.tolist() == [0, 2, 5, 5]
    assert list(result.fields) == ["value"]
    result = tg.run(OneStep(), square(False, runtime_name), direction=direction)
    assert result.values.tolist() == [8, 7, 12, 5]


@WAYS
def test_target_field_is_that_of_the_receiver(direction: str, runtime_name: str) -> None:
    program = with_message(lambda value, target_value: value * 100 + target_value)
    assert tg.run(program, square(True, runtime_name), direction=direction).values.tolist() == [0, 203, 510, 507]
    program.along = "in"
    assert tg.run(program, square(True, runtime_name), direction=direction).values.tolist() == [804, 503, 705, 0]


@WAYS
def test_weight(direction: str, runtime_name: str) -> None:
    program = with_message(lambda value, weight: value * weight)
    weighted = tg.run(program, square(True, runtime_name, weighted=True), direction=direction)
    assert weighted.values.tolist() == [0, 20, 130, 200]
    assert tg.run(program, square(True, runtime_name), direction=direction).values.tolist() == [0, 2, 5, 5]
    undirected = tg.run(program, square(False, runtime_name, weighted=True), direction=direction)
    assert undirected.values.tolist() == [130, 170, 410, 200]


@WAYS
def test_weight_alone_is_one_in_an_unweighted_graph(direction: str, runtime_name: str) -> None:
    result = tg.run(with_message(lambda weight: weight), square(True, runtime_name), direction=direction)
    assert result.values.tolist() == [0, 1, 2, 1]


@WAYS
def test_source_and_target_are_vertex_numbers(direction: str, runtime_name: str) -> None:
    program = with_message(lambda source, target: 10 * source + target)
    assert tg.run(program, square(True, runtime_name), direction=direction).values.tolist() == [0, 1, 14, 23]
    program.along = "in"
    assert tg.run(program, square(True, runtime_name), direction=direction).values.tolist() == [30, 21, 32, 0]


@WAYS
def test_source_alone_has_the_type_of_vertices(direction: str, runtime_name: str) -> None:
    program = with_message(lambda source: source, reduce="min")
    program.init = lambda graph: (graph.full(0, "int32"), None)
    result = tg.run(program, square(True, runtime_name), direction=direction)
    assert result.values.tolist() == [2**31 - 1, 0, 0, 2]


class Labelled(OneStep):
    """Sums 1000 * the number of the stored edge, and the sender."""

    def edge_data(self, graph: tg.Graph) -> dict[str, Any]:
        return {"number": graph.runtime.asarray(np.arange(graph.num_arcs, dtype=np.float64))}

    def message(self, value: Any, number: Any) -> Any:
        return value + 1000 * number


@WAYS
@pytest.mark.parametrize(
    ("directed", "along", "expected"),
    [
        (True, "out", [0, 2, 1000 + 2 + 2000 + 3, 3000 + 5]),
        (True, "in", [3 + 1000 + 5, 2000 + 5, 3000 + 7, 0]),
        (True, "both", [1008, 2007, 3000 + 5 + 3000 + 7, 3005]),
        # stored: 0-1, 0-2, 1-0, 1-2, 2-0, 2-1, 2-3, 3-2
        (False, "out", [2000 + 3 + 4000 + 5, 2 + 5000 + 5, 1000 + 2 + 3000 + 3 + 7000 + 7, 6000 + 5]),
        (False, "in", [3 + 1000 + 5, 2000 + 2 + 3000 + 5, 4000 + 2 + 5000 + 3 + 6000 + 7, 7000 + 5]),
    ],
)
def test_edge_data(direction: str, directed: bool, along: str, expected: list[float], runtime_name: str) -> None:
    program = Labelled()
    program.along = along
    assert tg.run(program, square(directed, runtime_name), direction=direction).values.tolist() == expected


@WAYS
@pytest.mark.parametrize("directed", [True, False])
def test_edge_data_of_rows_in_any_order(direction: str, directed: bool, runtime_name: str) -> None:
    graph = shuffle_rows(square(directed, "numpy"), 0)
    assert not graph.is_sorted
    program = Labelled()
    program.message = lambda value, number: value * 10**number  # the digits say which sender met which edge
    for turned in (graph, graph.reverse()):
        moved = turned.to(runtime_name)
        expected = [0.0] * 4
        sources = np.repeat(np.arange(4), turned.out_degrees())
        for number, (source, target) in enumerate(zip(sources, turned.out_targets.tolist(), strict=True)):
            expected[target] += [2.0, 3.0, 5.0, 7.0][source] * 10**number
        assert tg.run(program, moved, direction=direction).values.tolist() == expected


@WAYS
@pytest.mark.parametrize("active", ["all", "changed"])
def test_total_is_the_sum_over_all_vertices(direction: str, active: str, runtime_name: str) -> None:
    program = with_message(lambda value: value, active=active)
    program.total = lambda value: value * 2
    program.update = lambda value, incoming, total: value + incoming + total
    result = tg.run(program, square(True, runtime_name), direction=direction, max_iterations=1)
    untouched = 2 if active == "changed" else 2 + 34
    assert result.values.tolist() == [untouched, 3 + 2 + 34, 5 + 5 + 34, 7 + 5 + 34]


def test_total_alone_is_spread_over_all_vertices(runtime_name: str) -> None:
    program = with_message(lambda value: value)
    program.total = lambda value: value
    program.update = lambda total: total
    assert tg.run(program, square(True, runtime_name)).values.tolist() == [17, 17, 17, 17]


def test_new_fields_in_change(runtime_name: str) -> None:
    program = with_message(lambda value: value)
    program.change = lambda value, new_value: (new_value - value) * (new_value - value)
    result = tg.run(program, square(True, runtime_name))
    assert result.values.tolist() == [0, 2, 5, 5]
    assert result.residual == 2.0**2 + 1 + 0 + 2**2


def test_change_may_say_how_many_changed(runtime_name: str) -> None:
    program = with_message(lambda value: value)
    program.change = lambda value, new_value: value != new_value
    assert tg.run(program, square(True, runtime_name)).residual == 3.0


# --- several fields --------------------------------------------------------------------------------------------------
class Everything(tg.Program):
    """Uses every name at once, with three fields and updates of two of them."""

    tolerance = 1.0

    def __init__(self, reduce: str, active: str, along: str) -> None:
        self.reduce, self.active, self.along = reduce, active, along

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        count = graph.num_vertices
        fields = {
            "height": graph.runtime.asarray(np.arange(count) % 3 * 1.0),
            "visits": graph.full(0, "int64"),
            "is_odd": graph.runtime.asarray(np.arange(count) % 2 == 1),
        }
        return fields, graph.runtime.asarray(np.arange(count) % 3 < 2)

    def edge_data(self, graph: tg.Graph) -> dict[str, Any]:
        return {"slope": graph.runtime.asarray(np.arange(graph.num_arcs) % 5 * 1.0)}

    def message(
        self,
        height: Any,
        visits: Any,
        is_odd: Any,
        target_height: Any,
        weight: Any,
        source: Any,
        target: Any,
        slope: Any,
    ) -> Any:
        return height + visits - target_height + weight * slope + tg.where(is_odd, source, 2 * target)

    def total(self, height: Any, is_odd: Any) -> Any:
        return tg.where(is_odd, height, 1.0)

    def update(self, height: Any, visits: Any, incoming: Any, total: Any) -> dict[str, Any]:
        return {"height": tg.where(incoming > total, height + 1, height), "visits": visits + 1}

    def change(self, height: Any, new_height: Any, new_visits: Any) -> Any:
        return tg.absolute(new_height - height) + 0 * new_visits


@settings(max_examples=25, deadline=None)
@given(
    graph=graphs(),
    reduce=st.sampled_from(["min", "max", "sum", "mean", "count"]),
    active=st.sampled_from(["changed", "all"]),
    along=st.sampled_from(["out", "in", "both"]),
)
def test_every_name_at_once(graph: tg.Graph, reduce: str, active: str, along: str) -> None:
    check_all_ways(Everything(reduce, active, along), graph, max_iterations=4)


def test_the_first_field_is_the_main_one(runtime_name: str) -> None:
    result = tg.run(Everything("sum", "all", "out"), square(True, runtime_name), max_iterations=1)
    assert list(result.fields) == ["height", "visits", "is_odd"]
    assert result.values is result.fields["height"]
    assert result.visits.tolist() == [1, 1, 1, 1]


# --- the sixth algorithm ---------------------------------------------------------------------------------------------
class WidestPath(tg.Program):
    reduce, monotonic = "max", True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> tuple[Any, Any]:
        widths = graph.full(0.0, "float64", at={self.source: math.inf})
        return widths, graph.full(False, "bool", at={self.source: True})

    def message(self, value: Any, weight: Any) -> Any:
        return tg.minimum(value, weight)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


def widest_by_all_paths(graph: tg.Graph, source: int) -> list[float]:
    """Try every path without a repeated vertex."""
    widths = [0.0] * graph.num_vertices
    sources, targets, weights = (column.tolist() for column in graph.edges())
    edges: dict[tuple[int, int], float] = {}
    for start, end, weight in zip(sources, targets, weights, strict=True):
        for pair in [(start, end)] if graph.directed else [(start, end), (end, start)]:
            edges[pair] = max(weight, edges.get(pair, 0.0))
    others = [vertex for vertex in range(graph.num_vertices) if vertex != source]
    for length in range(1, len(others) + 1):
        for path in permutations(others, length):
            steps = zip((source, *path[:-1]), path, strict=True)
            widths[path[-1]] = max(widths[path[-1]], min(edges.get(step, 0.0) for step in steps))
    widths[source] = math.inf
    return widths


@settings(max_examples=25, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=14),
    directed=st.booleans(),
    source=st.integers(0, 4),
)
def test_widest_path(edges: list[tuple[int, int, int]], directed: bool, source: int) -> None:
    sources, targets, weights = (np.asarray([edge[part] for edge in edges], np.int64) for part in range(3))
    graph = tg.from_edges(sources, targets, weights * 1.0, directed, 5, runtime="numpy")
    expected = widest_by_all_paths(graph, source)
    for runtime in RUNTIMES:
        for direction in DIRECTIONS:
            result = tg.run(WidestPath(source), graph.to(runtime), direction=direction)
            assert result.values.tolist() == expected
            assert result.converged


# --- errors ----------------------------------------------------------------------------------------------------------
GRAPH_SIZE = "a tensor with one entry for each of the 4 vertices"


def broken(**attributes: Any) -> OneStep:
    """A program with some parts replaced, named Broken in messages."""
    program = type("Broken", (OneStep,), {})()
    for name, value in attributes.items():
        setattr(program, name, value)
    return program


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            broken(init=lambda graph: (graph.full(0.0, "float64")[:2], None)),
            rf"init gave 'value' as shape \(2,\).*{GRAPH_SIZE}",
        ),
        (broken(init=lambda graph: ({"a": 3.0}, None)), f"init gave 'a' as float; it must be {GRAPH_SIZE}"),
        (broken(init=lambda graph: ({}, None)), "init gave no field"),
        (broken(init=lambda graph: graph.full(0.0, "float64")), "init gave a Tensor; it must return"),
        (broken(init=lambda graph: (1, 2, 3)), "init gave 3 values; it must return"),
        (
            broken(init=lambda graph: (graph.full(0.0, "float64"), graph.full(1, "int64"))),
            "active mask of int64.*must be bool",
        ),
        (
            broken(init=lambda graph: (graph.full(0.0, "float64"), graph.full(True, "bool")[1:])),
            r"'active' as shape \(3,\)",
        ),
        (
            broken(message=lambda value, wieght: value),
            r"Broken\.message asks for 'wieght'; it can ask for value, target_value",
        ),
        (
            broken(update=lambda value, incomming: value),
            "update asks for 'incomming'; it can ask for value, incoming, total",
        ),
        (broken(update=lambda target_value: target_value), "update asks for 'target_value'"),
        (broken(change=lambda old_value: old_value), "change asks for 'old_value'; it can ask for value, new_value"),
        (broken(settled=lambda incoming: incoming), "settled asks for 'incoming'; it can ask for value"),
        (broken(update=lambda incoming, total: incoming), "update asks for 'total' but the program has no total"),
        (broken(message=None), "Broken has no message; write one, or override compute"),
        (broken(update=None), "Broken has no update; write one, or override compute"),
        (broken(update=lambda value: {"volume": value}), "update gave 'volume', which is no field; it has value"),
        (broken(update=lambda value: value[:2]), r"update gave 'value' as shape \(2,\)"),
        (
            broken(edge_data=lambda graph: {"data": graph.full(0, "int64")[:2]}),
            "edge_data gave 'data' as .* each of the 4 stored",
        ),
        (broken(init=lambda graph: ({"weight": graph.full(0.0, "float64")}, None)), "'weight' with two meanings"),
        (broken(edge_data=lambda graph: {"value": graph.full(0, "int64")}), "'value' with two meanings"),
    ],
)
def test_mistakes_in_programs(program: OneStep, message: str) -> None:
    with pytest.raises(InvalidProgramError, match=message):
        tg.run(program, square(True, "torch"))


@pytest.mark.parametrize(
    "mistake",
    [
        {"message": lambda value: value if value > 1 else 0.0},
        {"message": lambda value: min(value, 1.0)},
        {"update": lambda value, incoming: value or incoming},
    ],
)
@pytest.mark.parametrize("kernel", ["auto", "plain"])
def test_asking_whether_a_tensor_is_true(mistake: dict[str, Any], kernel: str, runtime_name: str) -> None:
    program = broken(**mistake)
    graph = tg.from_edges([0, 1, 2, 3], [1, 2, 3, 0], runtime=runtime_name)
    words = r"asks whether a whole tensor is true .* use tgraph.where"
    with pytest.raises(InvalidProgramError, match=rf"Broken\.{min(mistake)} {words}"):
        tg.run(program, graph, kernel=kernel)


@pytest.mark.parametrize("mistake", [{"message": lambda value: None}, {"update": lambda value, incoming: "x"}])
def test_returning_nothing(mistake: dict[str, Any], runtime_name: str) -> None:
    program, graph = broken(**mistake), tg.from_edges([0, 1, 2, 3], [1, 2, 3, 0], runtime=runtime_name)
    with pytest.raises(InvalidProgramError, match=rf"Broken\.{min(mistake)} returned .* a tensor or a number"):
        tg.run(program, graph)


def test_a_program_without_anything() -> None:
    with pytest.raises(InvalidProgramError, match=r"Program has no init\(graph\)"):
        tg.run(tg.Program(), square(True, "torch"))


@pytest.mark.parametrize(("name", "value"), [("reduce", "median"), ("active", "some"), ("along", "up")])
def test_unknown_choices(name: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"Program\.{name}='{value}' is not known; use one of"):
        tg.run(broken(**{name: value}), square(True, "torch"))


@WAYS
@pytest.mark.parametrize(
    ("reduce", "message"),
    [("any", "needs bool values, not float64"), ("sum", "needs numbers, not bool"), ("mean", "float")],
)
def test_reductions_that_do_not_fit_the_messages(direction: str, reduce: str, message: str, runtime_name: str) -> None:
    messages = {"any": lambda value: value, "sum": lambda value: value > 3, "mean": lambda source: source}
    with pytest.raises(InvalidArgumentError, match=message):
        tg.run(broken(reduce=reduce, message=messages[reduce]), square(True, runtime_name), direction=direction)


# --- plans -----------------------------------------------------------------------------------------------------------
def test_plan_knows_what_an_engine_needs() -> None:
    made = plan(WidestPath(0), ("value",))
    assert made.parameters == {"message": ("value", "weight"), "update": ("value", "incoming")}
    assert made.main_field == "value"
    assert made.may_resend
    assert not made.is_message_per_vertex
    assert not made.has_compute
    assert plan(with_message(lambda value, source: value), ("value",)).is_message_per_vertex
    assert not plan(with_message(lambda value, reduce: value), ("value",), ("reduce",)).is_message_per_vertex


def test_only_idempotent_reductions_may_resend() -> None:
    for reduce in ("min", "max", "any"):
        assert plan(with_message(lambda value: value, reduce=reduce, monotonic=True), ("value",)).may_resend
    for reduce in ("sum", "mean", "count"):
        assert not plan(with_message(lambda value: value, reduce=reduce, monotonic=True), ("value",)).may_resend
    assert not plan(with_message(lambda value: value, reduce="min"), ("value",)).may_resend


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([1.0, math.inf, -math.inf, math.nan], [3.5, math.inf, math.inf, math.nan], [2.5, 0.0, math.inf, 0.0]),
        ([True, False, True], [True, True, False], [0.0, 1.0, 1.0]),
        ([5, -5, 2**62], [7, -5, 2**62 + 1], [2.0, 0.0, 1.0]),
    ],
)
def test_default_change(old: list[Any], new: list[Any], expected: list[float], runtime_name: str) -> None:
    runtime = tg.runtime.get(runtime_name)
    assert default_change(runtime.asarray(np.asarray(old)), runtime.asarray(np.asarray(new))).tolist() == expected
