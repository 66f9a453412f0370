"""Symbols calculate as numbers do: every operator, on every pair of numbers that has a defined result."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import z3

import tgraph as tg
from tgraph.prove.symbols import NoMeaningError, Number, Symbol, Truth, as_symbol

FLOATS = [-math.inf, -2.5, -1.0, 0.0, 0.75, 3.0, math.inf]
INTEGERS = [-7, -2, -1, 0, 1, 3, 5]
BINARY: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(tg.minimum, tg.maximum),
]
LOGICAL = [operator.and_, operator.or_, operator.xor, operator.eq, operator.ne, tg.minimum, tg.maximum]
UNARY: list[Callable[[Any], Any]] = [operator.neg, operator.pos, abs, tg.absolute, lambda value: value**3]


def value_of(symbol: Any) -> Any:
    """Return the only value of a symbol made of constants; None where it is undefined."""
    assert isinstance(symbol, (Number, Truth))
    if is_true(symbol.undefined):
        return None
    if isinstance(symbol, Truth):
        return is_true(symbol.holds)
    if is_true(symbol.is_high) or is_true(symbol.is_low):
        return math.inf if is_true(symbol.is_high) else -math.inf
    number = z3.simplify(symbol.finite)
    return number.as_long() if symbol.is_whole else float(number.as_fraction())


def is_true(condition: Any) -> bool:
    return z3.is_true(z3.simplify(condition))


def expected(function: Callable[..., Any], *numbers: Any) -> Any:
    """Return what NumPy gives, None for NaN and for a division by 0."""
    if function in (operator.truediv, operator.floordiv, operator.mod) and numbers[1] == 0:
        return None
    with np.errstate(all="ignore"):
        found = function(*(np.asarray([number]) for number in numbers))[0].item()
    return None if found != found else found


@pytest.mark.parametrize("function", BINARY)
@pytest.mark.parametrize("numbers", [FLOATS, INTEGERS])
def test_binary_operators(function: Callable[[Any, Any], Any], numbers: list[Any]) -> None:
    for left in numbers:
        for right in numbers:
            is_whole = function in (operator.floordiv, operator.mod)
            if is_whole and math.inf in (abs(left), abs(right)):
                continue  # infinities have no whole part here
            wanted = expected(function, left, right)
            for pair in ((as_symbol(left), right), (left, as_symbol(right)), (as_symbol(left), as_symbol(right))):
                found = value_of(function(*pair))
                assert found == wanted, (function, left, right)
                assert type(found) is type(wanted)


@pytest.mark.parametrize("function", UNARY)
def test_unary_operators(function: Callable[[Any], Any]) -> None:
    for number in [*FLOATS, *INTEGERS]:
        assert value_of(function(as_symbol(number))) == expected(function, number)


@pytest.mark.parametrize("function", LOGICAL)
def test_truths(function: Callable[[Any, Any], Any]) -> None:
    for left in (True, False):
        for right in (True, False):
            assert value_of(function(as_symbol(left), right)) == expected(function, left, right)
            assert value_of(function(left, as_symbol(right))) == expected(function, left, right)
        assert value_of(~as_symbol(left)) is not left  # type: ignore[operator]


@pytest.mark.parametrize("function", [np.add, np.multiply, np.less, np.minimum, np.floor_divide, np.equal])
def test_numpys_numbers_give_way(function: Any) -> None:
    assert value_of(function(np.float64(2.0), as_symbol(3.0))) == function(2.0, 3.0)
    assert value_of(function(as_symbol(3), np.int64(2))) == function(3, 2)


def test_where_leaves_out_what_is_not_taken() -> None:
    undefined = as_symbol(1.0) / 0
    assert value_of(undefined) is None
    assert value_of(tg.where(as_symbol(True), 5, undefined)) == 5
    assert value_of(tg.where(as_symbol(False), 5, undefined)) is None
    assert value_of(tg.where(undefined > 0, 5, 5)) is None
    assert value_of(tg.where(as_symbol(2), True, as_symbol(False))) is True
    assert value_of(tg.where(True, as_symbol(1.5), 2)) == 1.5
    assert value_of(tg.where(as_symbol(True), 1, 2.5)) == 1.0


def test_truths_in_calculations_are_0_and_1() -> None:
    assert value_of(as_symbol(True) + as_symbol(2)) == 3
    assert value_of(as_symbol(True) * 0.5) == 0.5
    with pytest.raises(NoMeaningError, match="two bools"):
        as_symbol(True) + as_symbol(True)


@pytest.mark.parametrize(
    "use",
    [bool, hash, float, int, len, iter, lambda symbol: symbol & 1, lambda symbol: symbol**-1, lambda s: s + "a"],
)
def test_there_is_no_way_back(use: Callable[[Symbol], Any]) -> None:
    with pytest.raises((NoMeaningError, TypeError)):
        use(as_symbol(2))
