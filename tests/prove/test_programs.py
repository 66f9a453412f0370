"""`tgraph.check` on the built-in programs, on odd ones, and on what it cannot see through."""

from __future__ import annotations

import math
import random
import sys
from typing import Any

import numpy as np
import pytest
import z3

import tgraph as tg
from prove.broken import is_broken
from prove.wrong_programs import Scores, Shortest, TwoFields
from tgraph.algorithms.bfs import BFS, Parents
from tgraph.algorithms.eigenvector import Eigenvector
from tgraph.algorithms.hits import HITS
from tgraph.algorithms.katz import Katz, WeightedKatz
from tgraph.algorithms.multi_source_bfs import MultiSourceBFS
from tgraph.algorithms.pagerank import PageRank, PersonalizedWeightedPageRank, WeightedPageRank
from tgraph.algorithms.php import PHP, WeightedPHP
from tgraph.algorithms.sssp import SSSP, ShortestPathHops
from tgraph.algorithms.wcc import WCC
from tgraph.prove.solve import _solve
from user_programs import WidestPath

MONOTONIC = {
    *("reduce_associative", "reduce_commutative", "reduce_idempotent"),
    *("update_commutative", "update_idempotent", "update_combines", "update_directed"),
    *("message_monotonic", "never_improves"),
}
LINEAR = {
    *("reduce_associative", "reduce_commutative", "message_additive", "message_homogeneous"),
    *("update_additive", "update_homogeneous", "update_ignores_old_value"),
}
TOTAL = {"total_additive", "total_homogeneous"}


def personalized() -> PersonalizedWeightedPageRank:
    program = PersonalizedWeightedPageRank(0.85, 1e-6)
    program.jumps = np.full(4, 0.25)
    return program


def weighted_graph(*weights: Any) -> tg.Graph:
    return tg.from_edges(range(len(weights)), range(1, len(weights) + 1), list(weights), runtime="numpy")


# --- built-in programs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [BFS(0), SSSP(3), SSSP(0, "int32"), SSSP(0, "int64"), WCC(), WidestPath(), MultiSourceBFS(np.array([0, 2]))],
    ids=lambda program: type(program).__name__,
)
def test_monotonic_programs_are_proved(program: tg.Program) -> None:
    found = tg.check(program)
    assert {known.name for known in found.properties} == MONOTONIC
    assert found.is_proved, found
    assert found.never_improves is True


@pytest.mark.parametrize(
    "program",
    [
        *(PageRank(0.85, 1e-6), PageRank(0.85, 1e-6, settles=True), WeightedPageRank(0.85, 1e-6), personalized()),
        *(PHP(0, 0.8, 1e-6), WeightedPHP(0, 0.8, 1e-6), Katz(0.1, 1.0, 1e-6), WeightedKatz(0.1, 1.0, 1e-6)),
    ],
    ids=lambda program: type(program).__name__,
)
def test_linear_programs_are_proved(program: tg.Program) -> None:
    found = tg.check(program, timeout_seconds=30)
    assert {known.name for known in found.properties} == LINEAR | (TOTAL if program.total else set())
    assert found.is_proved, found
    assert found.never_improves is None


@pytest.mark.parametrize("program", [Parents(np.array([0, 1, 1, 2], np.int32)), Eigenvector(1e-6)])
def test_a_program_that_says_nothing_needs_its_reduction_alone(program: tg.Program) -> None:
    found = tg.check(program)
    assert [known.name for known in found.properties] == ["reduce_associative", "reduce_commutative"]
    assert found.is_proved


def test_whole_tensors_are_unknown() -> None:
    found = tg.check(HITS(1e-6, False))
    assert [(known.name, known.verdict) for known in found.properties] == [("compute", "unknown")]
    assert not found.is_proved
    assert not found.refuted


# --- weights and graphs ----------------------------------------------------------------------------------------------


def test_weights_are_0_or_more_unless_said_otherwise() -> None:
    assert "weights from 0 to inf, as no graph is given" in str(tg.check(SSSP(0))).splitlines()[0]
    found = tg.check(SSSP(0), weights=(-1, 1))
    assert "weights from -1 to 1" in str(found).splitlines()[0]
    assert found.is_proved
    assert found.never_improves is False
    example = dict(found["never_improves"].example)
    assert -1 <= example["weight"] < 0
    assert is_broken(SSSP(0), "never_improves", example, "distances")


def test_weights_are_those_of_the_graph() -> None:
    assert tg.check(SSSP(0), weighted_graph(2.0, 5.0)).never_improves is True
    found = tg.check(SSSP(0), weighted_graph(2.0, -5.0))
    assert found.never_improves is False
    assert "weights from -5 to 2" in found.assumptions
    assert "no graph" not in found.assumptions
    assert tg.check(SSSP(0), weighted_graph(2.0, -5.0), weights=(0, 1)).never_improves is True
    unweighted = tg.from_edges([0, 1], [1, 2], runtime="numpy")
    assert "whole weights from 1 to 1" in tg.check(Shortest(), unweighted).assumptions


def test_weights_must_be_a_range() -> None:
    with pytest.raises(tg.errors.InvalidArgumentError, match=r"weights=\(2, 1\) must be \(smallest, largest\)"):
        tg.check(SSSP(0), weights=(2, 1))


def test_a_graph_limits_what_never_changes() -> None:
    class Scaled(Shortest):
        def init(self, graph: tg.Graph) -> Any:
            shares = graph.runtime.asarray(np.linspace(0.0, 2.0, graph.num_vertices))
            return {"value": graph.full(0.0, "float64"), "share": shares}, None

        def message(self, value: Any, share: Any) -> Any:
            return value * share

    anywhere = tg.check(Scaled())
    assert [wrong.name for wrong in anywhere.refuted] == ["message_monotonic"]
    assert anywhere["message_monotonic"].example["share"] < 0
    assert tg.check(Scaled(), weighted_graph(1.0, 1.0)).is_proved


def test_a_graph_limits_edge_data() -> None:
    class Tolls(Shortest):
        def edge_data(self, graph: tg.Graph) -> Any:
            return {"toll": graph.runtime.full(graph.num_arcs, 3, "int64")}

        def message(self, value: Any, toll: Any) -> Any:
            return value + toll

    found = tg.check(Tolls())
    assert found.is_proved
    assert found.never_improves is False
    assert tg.check(Tolls(), weighted_graph(1.0)).never_improves is True


def test_a_value_is_never_worse_than_at_first() -> None:
    program = ShortestPathHops(0, np.array([0.0, 1.0, 2.0, 3.0]))
    assert tg.check(program).never_improves is False  # hops above those of a vertex that is not reached
    graph = weighted_graph(1.0, 1.0, 1.0)
    found = tg.check(program, graph)
    assert found.is_proved
    assert found.never_improves is True


def test_vertex_numbers_are_those_of_the_graph() -> None:
    class FromVertex(Shortest):
        def message(self, value: Any, source: Any, target: Any) -> Any:
            return value * (5 - source) + target

    assert not tg.check(FromVertex()).is_proved
    assert tg.check(FromVertex(), weighted_graph(1.0, 1.0)).is_proved


# --- odd programs ----------------------------------------------------------------------------------------------------


def test_a_constant_message() -> None:
    class Constant(Shortest):
        def message(self) -> Any:
            return 7

    found = tg.check(Constant())
    assert found.is_proved
    assert found.never_improves is False
    assert found["never_improves"].example["value"] > 7


def test_a_message_that_ignores_the_value() -> None:
    class Weights(Shortest):
        def message(self, weight: Any) -> Any:
            return weight

    assert tg.check(Weights()).is_proved


def test_a_message_that_looks_at_its_receiver() -> None:
    class OnlyIfBetter(Shortest):
        def message(self, value: Any, target_value: Any, weight: Any) -> Any:
            return tg.where(value + weight < target_value, value + weight, math.inf)

    found = tg.check(OnlyIfBetter())
    assert found.is_proved
    assert found.never_improves is True


def test_reachability() -> None:
    class Reached(tg.Program):
        reduce, monotonic = "any", True

        def init(self, graph: tg.Graph) -> Any:
            return {"reached": graph.full(False, "bool"), "open": graph.full(True, "bool")}, None

        def message(self, reached: Any, open: Any, target_open: Any) -> Any:
            return reached & open & target_open

        def update(self, reached: Any, incoming: Any) -> Any:
            return reached | incoming

    found = tg.check(Reached())
    assert found.is_proved
    assert found.never_improves is True


def test_numpys_functions_and_numbers() -> None:
    class Numpy(Shortest):
        step = np.float64(0.5)

        def message(self, value: Any, weight: Any) -> Any:
            return np.where(value > 0, self.step * np.minimum(value, weight), value) ** 3 - np.int64(1)

        def update(self, value: Any, incoming: Any) -> Any:
            return np.minimum(value, incoming)

    assert tg.check(Numpy()).is_proved


def test_square_roots() -> None:
    class Roots(Shortest):
        def message(self, value: Any) -> Any:
            return tg.sqrt(value)

    found = tg.check(Roots())
    assert found["message_monotonic"].verdict == "proved"
    assert "NaN" in found["message_monotonic"].explanation
    assert found["never_improves"].example["value"] > 1


def test_a_mean_and_a_count() -> None:
    class Mean(Shortest):
        reduce, monotonic = "mean", False

    class Count(Mean):
        reduce = "count"

    assert tg.check(Mean()).is_proved
    assert tg.check(Count()).is_proved


def test_fields_with_confusing_names() -> None:
    class Names(tg.Program):
        reduce, monotonic = "min", True

        def init(self, graph: tg.Graph) -> Any:
            names = ("value", "better_value", "other_incoming", "first", "factor")
            return {name: graph.full(0.0, "float64") for name in names}, None

        def message(self, value: Any, better_value: Any) -> Any:
            return value + better_value

        def update(self, value: Any, other_incoming: Any, incoming: Any) -> Any:
            return tg.where(other_incoming > 0, tg.minimum(value, incoming), value)

    assert tg.check(Names()).is_proved


def test_the_program_stays_as_it_is() -> None:
    program = PageRank(0.85, 1e-6)
    before = dict(vars(program))
    tg.check(program)
    assert vars(program) == before


def test_a_second_field_that_messages_use_is_unknown() -> None:
    class Uses(TwoFields):
        def message(self, value: Any, seen: Any) -> Any:
            return value + seen

        def update(self, value: Any, seen: Any, incoming: Any) -> Any:
            return {"value": tg.minimum(value, incoming), "seen": tg.minimum(seen, 0)}

    found = tg.check(Uses())
    assert found["message_fields"].verdict == "unknown"
    assert not found.is_proved


@pytest.mark.parametrize("reduce", ["min", "max"])
def test_linear_programs_sum(reduce: str) -> None:
    kind = type("Smallest", (Scores,), {"reduce": reduce})
    assert [wrong.name for wrong in tg.check(kind()).refuted] == ["linear_reduce"]


def test_linear_programs_change_one_field() -> None:
    class Two(Scores):
        def update(self, share: Any, incoming: Any) -> Any:
            return {"value": incoming, "share": share / 2}

    assert [wrong.name for wrong in tg.check(Two()).refuted] == ["linear_fields"]


# --- unknown ---------------------------------------------------------------------------------------------------------


def exponential(value: Any) -> Any:
    return tg.exp(value)


def logarithm(value: Any) -> Any:
    return tg.log(tg.absolute(value) + 1)


def branches(value: Any) -> Any:
    return value if value > 1 else 2


def pythons_minimum(value: Any) -> Any:
    return min(value, 3)


def forgets(value: Any) -> Any:
    value + 1


def rolls_dice(value: Any) -> Any:
    return value + random.random()


def asks_numpy(value: Any) -> Any:
    return np.tanh(value)


def has_an_array(value: Any) -> Any:
    return np.array([1.0, 2.0]) * value


def asks_the_type(value: Any) -> Any:
    return value.astype("float64")


def raises_to_a_power(value: Any) -> Any:
    return value**0.3


def uses_bits(value: Any) -> Any:
    return (value > 0) & 1


def divides_by_0(value: Any) -> Any:
    return value / 0


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (exponential, "message has no meaning for symbols: it uses exp"),
        (logarithm, "it uses log"),
        (branches, "it asks whether a value is true"),
        (pythons_minimum, "use where, &, |, ~, minimum, maximum"),
        (forgets, "Odd.message returned None"),
        (rolls_dice, "message gives something else when it is called again"),
        (asks_numpy, "it uses tanh of NumPy"),
        (has_an_array, "an array of shape (2,)"),
        (asks_the_type, "message cannot be called on symbols (AttributeError: "),
        (raises_to_a_power, "it raises to the power 0.3"),
        (uses_bits, "have a meaning for bool only"),
        (divides_by_0, "whatever the values are, the result is no number"),
    ],
)
def test_what_has_no_meaning_is_unknown(message: Any, reason: str) -> None:
    class Odd(Shortest):
        pass

    Odd.message = staticmethod(message)
    found = tg.check(Odd())
    for name in ("message_monotonic", "never_improves"):
        assert found[name].verdict == "unknown"
        assert reason in found[name].explanation
    assert found.never_improves is None
    assert not found.is_proved
    assert found["update_commutative"].verdict == "proved"  # update is not in doubt


def test_an_update_without_meaning_leaves_messages_provable() -> None:
    class Odd(Shortest):
        def update(self, value: Any, incoming: Any) -> Any:
            return tg.minimum(value, tg.exp(incoming))

    found = tg.check(Odd())
    verdicts = {known.name: known.verdict for known in found.properties}
    assert {verdict for name, verdict in verdicts.items() if name.startswith("update")} == {"unknown"}
    assert verdicts["message_monotonic"] == "proved"


def test_fields_are_not_limited_where_an_update_has_no_meaning() -> None:
    class Odd(TwoFields):
        def message(self, value: Any, seen: Any) -> Any:
            return value + seen

        def update(self, value: Any, seen: Any, incoming: Any) -> Any:
            return {"value": tg.minimum(value, incoming), "seen": seen - tg.exp(incoming)}

    assert tg.check(Odd(), weighted_graph(1.0)).never_improves is False  # seen is 0 at first, but goes down


def test_what_z3_does_not_find_out_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tgraph.prove.solve._solve", lambda formula, seconds: ("unknown", None, "no idea"))
    found = tg.check(SSSP(0))
    assert {known.verdict for known in found.properties} == {"unknown"}
    assert found["message_monotonic"].explanation.endswith("; no idea")


def test_z3_is_given_a_time() -> None:
    x, y, z = z3.Ints("x y z")
    hard = z3.And(x**3 + y**3 + z**3 == 42, z3.Or(x > 10, x < -10), z3.Or(y > 10, y < -10))
    answer, _, reason = _solve(hard, 0.01)
    assert answer == "unknown"
    assert reason.startswith("z3 did not find out within 0.01 seconds (")


def test_what_no_float_shows_is_unknown() -> None:
    class BetweenFloats(Shortest):
        def message(self, value: Any) -> Any:
            return tg.where((value > 1) & ((value - 1) * 2.0**60 < 1), 100.0, value)

    found = tg.check(BetweenFloats())["message_monotonic"]
    assert found.verdict == "unknown"
    assert "wrong for real numbers" in found.explanation


# --- errors ----------------------------------------------------------------------------------------------------------


def test_without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(tg.errors.MissingDependencyError, match=r'pip install "tgraph\[check\]"'):
        tg.check(WCC())


def test_an_init_that_needs_a_larger_graph() -> None:
    with pytest.raises(tg.errors.InvalidProgramError, match=r"BFS.init fails on a graph with 4 vertices .*give one"):
        tg.check(BFS(7))
    assert tg.check(BFS(7), weighted_graph(*[1.0] * 8)).is_proved
    with pytest.raises(tg.errors.OutOfRangeError):
        tg.check(BFS(7), weighted_graph(1.0))


def test_an_init_that_returns_too_little() -> None:
    class OnlyValues(Shortest):
        def init(self, graph: tg.Graph) -> Any:
            return graph.full(0.0, "float64")

    class NoFields(Shortest):
        def init(self, graph: tg.Graph) -> Any:
            return {}, None

    with pytest.raises(tg.errors.InvalidProgramError, match=r"must return \(values, active mask or None\)"):
        tg.check(OnlyValues())
    with pytest.raises(tg.errors.InvalidProgramError, match="gave no field"):
        tg.check(NoFields())


def test_an_update_of_what_is_no_field() -> None:
    class Elsewhere(Shortest):
        def update(self, incoming: Any) -> Any:
            return {"values": incoming}

    with pytest.raises(tg.errors.InvalidProgramError, match="gave 'values', which is no field; it has value"):
        tg.check(Elsewhere())


def test_messages_that_cannot_be_reduced() -> None:
    class AnyNumber(Shortest):
        reduce = "any"

    with pytest.raises(tg.errors.InvalidArgumentError, match="reduce='any' needs bool values"):
        tg.check(AnyNumber())


def test_a_misspelt_name() -> None:
    class Typo(Shortest):
        def message(self, value: Any, wieght: Any) -> Any:
            return value

    with pytest.raises(tg.errors.InvalidProgramError, match="wieght"):
        tg.check(Typo())
