"""Element-wise functions: plain numbers and tensors of every runtime give the same values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tgraph import elementwise as ew
from tgraph import runtime as runtimes

NUMBERS = [-math.inf, -1.5, 0.0, 0.25, 1.0, 9.0, 1e4, math.inf, math.nan]
UNARY: list[Callable[[Any], Any]] = [ew.absolute, ew.sqrt, ew.exp, ew.log]
BINARY: list[Callable[[Any, Any], Any]] = [ew.minimum, ew.maximum]
PAIRS = [(left, right) for left in NUMBERS for right in NUMBERS]


def check(found: Any, expected: list[Any]) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


@pytest.mark.parametrize("function", UNARY)
def test_unary_functions_agree_on_numbers_and_tensors(function: Callable[[Any], Any], runtime_name: str) -> None:
    tensor = runtimes.get(runtime_name).asarray(NUMBERS)
    result = function(tensor)
    assert runtimes.of(result).name == runtime_name
    check(result, [function(number) for number in NUMBERS])


@pytest.mark.parametrize("function", BINARY)
def test_binary_functions_agree_on_numbers_and_tensors(function: Callable[[Any, Any], Any], runtime_name: str) -> None:
    rt = runtimes.get(runtime_name)
    lefts, rights = (rt.asarray([pair[end] for pair in PAIRS]) for end in (0, 1))
    check(function(lefts, rights), [function(*pair) for pair in PAIRS])
    for number in NUMBERS:
        check(function(lefts, number), [function(pair[0], number) for pair in PAIRS])
        check(function(number, rights), [function(number, pair[1]) for pair in PAIRS])


def test_where(runtime_name: str) -> None:
    rt = runtimes.get(runtime_name)
    condition, values = rt.asarray([True, False]), rt.asarray([5, 6])
    check(ew.where(condition, values, 0), [5, 0])
    check(ew.where(condition, 1.5, values), [1.5, 6])
    check(ew.where(condition, 1, 2), [1, 2])
    check(ew.where(True, values, 0), [5, 6])
    check(ew.where(False, values, rt.asarray([7, 8])), [7, 8])
    assert ew.where(3 > 2, "yes", "no") == "yes"
    assert ew.where(3 < 2, "yes", "no") == "no"


def test_plain_numbers_keep_their_kind() -> None:
    assert type(ew.minimum(3, 4)) is int
    assert type(ew.absolute(-3)) is int
    assert ew.minimum(2**53 + 1, 2**53 + 2) == 2**53 + 1
    assert math.isnan(ew.sqrt(-1))
    assert math.isnan(ew.log(-1))
    assert (ew.log(0), ew.exp(1e9), ew.exp(-1e9)) == (-math.inf, math.inf, 0.0)
    assert ew.sqrt(np.float64(4.0)) == 2


def test_other_values_bring_their_own_functions() -> None:
    class Spoken:
        """A value that answers in words."""

        class __elementwise__:  # noqa: N801
            minimum = staticmethod(lambda left, right: f"the smaller of {left} and {right}")

        def __str__(self) -> str:
            return "it"

    assert ew.minimum(Spoken(), 3) == "the smaller of it and 3"
    assert ew.minimum(3, Spoken()) == "the smaller of 3 and it"
