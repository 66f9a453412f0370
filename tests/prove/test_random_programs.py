"""Random programs: what is proved holds on a grid of numbers, and what is refuted is broken by its example.

The grid is evaluated by another evaluator than the program's: exact fractions, which stop at NaN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tgraph as tg
from prove.broken import is_broken

GRID = [-math.inf, Fraction(-2), Fraction(-1, 2), Fraction(0), Fraction(1), Fraction(3), math.inf]
WEIGHTS = [Fraction(0), Fraction(1, 2), Fraction(2), math.inf]
CONSTANTS = [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, math.inf]

Tree = tuple[Any, ...]


class NotANumberError(Exception):
    """A value is NaN or divided by 0."""


def trees(*names: str) -> st.SearchStrategy[Tree]:
    leaves = st.sampled_from([*(("name", name) for name in names), *(("constant", value) for value in CONSTANTS)])

    def larger(smaller: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        two = st.tuples(st.sampled_from(["+", "-", "*", "/", "minimum", "maximum"]), smaller, smaller)
        one = st.tuples(st.sampled_from(["absolute", "negative"]), smaller)
        return st.one_of(two, two, one, st.tuples(st.just("where"), smaller, smaller, smaller, smaller))

    return st.recursive(leaves, larger, max_leaves=5)


def build(tree: Tree, values: dict[str, Any]) -> Any:
    """Evaluate a tree as a program does: with operators and element-wise functions."""
    kind, *parts = tree
    if kind == "name":
        return values[parts[0]]
    if kind == "constant":
        return parts[0]
    made = [build(part, values) for part in parts]
    match kind:
        case "+":
            return made[0] + made[1]
        case "-":
            return made[0] - made[1]
        case "*":
            return made[0] * made[1]
        case "/":
            return made[0] / tg.where(tg.absolute(made[1]) > 0, made[1], 1.0)
        case "negative":
            return -made[0]
        case "where":
            return tg.where(made[0] < made[1], made[2], made[3])
    return getattr(tg, kind)(*made)


def evaluate(tree: Tree, values: dict[str, Any]) -> Any:
    """Evaluate a tree with exact numbers; only the taken branch of `where`."""
    kind, *parts = tree
    if kind == "name":
        return values[parts[0]]
    if kind == "constant":
        return Fraction(parts[0]) if abs(parts[0]) < math.inf else parts[0]
    if kind == "where":
        is_less = evaluate(parts[0], values) < evaluate(parts[1], values)
        return evaluate(parts[2] if is_less else parts[3], values)
    made = [evaluate(part, values) for part in parts]
    operators: dict[str, Callable[..., Any]] = {
        "+": lambda left, right: left + right,
        "-": lambda left, right: left - right,
        "*": lambda left, right: left * right,
        "/": lambda left, right: left / (right or Fraction(1)),
        "negative": lambda value: -value,
        "absolute": abs,
        "minimum": min,
        "maximum": max,
    }
    found = operators[kind](*made)
    if found != found:
        raise NotANumberError
    return Fraction(found) if abs(found) < math.inf else found


class Random(tg.Program):
    """Two trees as a program."""

    monotonic = True

    def __init__(self, reduce: str, message: Tree, update: Tree) -> None:
        self.reduce, self.trees = reduce, (message, update)

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(0.0, "float64"), None

    def message(self, value: Any, weight: Any) -> Any:
        return build(self.trees[0], {"value": value, "weight": weight})

    def update(self, value: Any, incoming: Any) -> Any:
        return build(self.trees[1], {"value": value, "incoming": incoming})


def broken_on_grid(program: Random) -> set[str]:
    """Return the properties that some numbers of the grid break."""
    return {name for name, is_kept in all_cases(program) if not is_kept}


def all_cases(program: Random) -> Iterator[tuple[str, bool]]:
    for numbers in itertools.product(GRID, GRID, WEIGHTS):
        yield from numbers_of(lambda numbers=numbers: message_cases(program, *numbers))
    for numbers in itertools.product(GRID, repeat=3):
        yield from numbers_of(lambda numbers=numbers: update_cases(program, *numbers))


def numbers_of(cases: Callable[[], Iterator[tuple[str, bool]]]) -> Iterator[tuple[str, bool]]:
    try:
        yield from cases()
    except NotANumberError:
        return


def message_cases(program: Random, value: Any, other: Any, weight: Any) -> Iterator[tuple[str, bool]]:
    def message(sender: Any) -> Any:
        return evaluate(program.trees[0], {"value": sender, "weight": weight})

    is_not_worse = not_worse(program)
    yield "never_improves", is_not_worse(value, message(value))
    if is_not_worse(other, value):
        yield "message_monotonic", is_not_worse(message(other), message(value))


def update_cases(program: Random, value: Any, one: Any, other: Any) -> Iterator[tuple[str, bool]]:
    def update(old: Any, incoming: Any) -> Any:
        return evaluate(program.trees[1], {"value": old, "incoming": incoming})

    once = update(value, one)
    yield "update_directed", not_worse(program)(once, value)
    yield from numbers_of(lambda: iter([("update_idempotent", update(once, one) == once)]))
    in_turn = update(once, other)
    yield "update_combines", in_turn == update(value, (min if program.reduce == "min" else max)(one, other))
    yield "update_commutative", in_turn == update(update(value, other), one)


def not_worse(program: Random) -> Callable[[Any, Any], bool]:
    return (lambda left, right: left <= right) if program.reduce == "min" else (lambda left, right: left >= right)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["min", "max"]), trees("value", "weight"), trees("value", "incoming"))
def test_random_programs_against_a_grid(reduce: str, message: Tree, update: Tree) -> None:
    program = Random(reduce, message, update)
    found = tg.check(program, timeout_seconds=1.0)
    broken = broken_on_grid(program)
    for known in found.properties:
        if known.verdict == "proved":
            assert known.name not in broken, (known, program.trees)
        if known.verdict == "refuted":
            assert is_broken(program, known.name, dict(known.example)), (known, program.trees)


@pytest.mark.parametrize("reduce", ["min", "max"])
def test_the_grid_finds_what_is_wrong(reduce: str) -> None:
    value, weight, incoming = ("name", "value"), ("name", "weight"), ("name", "incoming")
    wrong = Random(reduce, ("-", weight, value), ("+", value, incoming))
    broken = {"message_monotonic", "never_improves", "update_idempotent", "update_combines", "update_directed"}
    assert broken_on_grid(wrong) == broken
    assert {known.name for known in tg.check(wrong).properties if known.verdict == "refuted"} == broken
    kind = "minimum" if reduce == "min" else "maximum"
    right = Random(reduce, ("*", value, ("constant", 2.0)), (kind, value, incoming))
    assert broken_on_grid(right) == {"never_improves"}
    assert tg.check(right).is_proved
