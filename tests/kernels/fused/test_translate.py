"""From functions on tensors to the text of functions on elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.kernels.cpu.fused.translate import NotTranslatableError, translate

LIMIT = 7
BEYOND = -math.inf


class Owner:
    scale, names = 2.5, ("a", "b")

    def method(self, value: Any, weight: Any) -> Any:
        """Words that a kernel does not need."""
        part: Any = tg.where(value > LIMIT, value, BEYOND)
        part += np.minimum(weight, self.scale)
        return ~(part == tg.sqrt(math.exp(value)))

    def several(self, left: Any, right: Any) -> Any:
        return {"right": left, "left": right + self.scale}

    def uses_names(self, value: Any) -> Any:
        return value + len(self.names)


def test_names_become_parameters_literals_and_element_functions():
    made = translate(Owner().method, "message")
    assert made.source.splitlines() == [
        "def message(value, weight, self_scale):",
        "    part = where(value > 7, value, -inf)",
        "    part += minimum(weight, self_scale)",
        "    return invert(part == sqrt(exp(value)))",
    ]
    assert made.constants == ("scale",)
    assert made.returned is None


def test_a_mapping_becomes_a_tuple_in_its_order():
    made = translate(Owner().several, "update")
    assert made.source == "def update(left, right, self_scale):\n    return (left, right + self_scale)"
    assert made.returned == ("right", "left")


def test_a_closure_is_read():
    factor = 3

    def scaled(value):
        return value * factor

    assert translate(scaled, "message").source == "def message(value):\n    return value * 3"
    factor = 4
    assert translate(scaled, "message").source == "def message(value):\n    return value * 4"


def test_a_number_of_the_module_is_read_anew(monkeypatch):
    assert "value > 7" in translate(Owner().method, "message").source
    monkeypatch.setitem(globals(), "LIMIT", 8)
    assert "value > 8" in translate(Owner().method, "message").source


def test_an_attribute_that_became_something_else_is_refused():
    owner = Owner()
    translate(owner.several, "update")
    owner.scale = "two"  # type: ignore[assignment]
    with pytest.raises(NotTranslatableError, match=r"self.scale is a str"):
        translate(owner.several, "update")


def with_if(value):
    if value:
        return 1
    return 2


def with_method(value):
    return value.sum()


def with_list(value):
    return [value]


def with_default(value, weight=1):
    return value + weight


def with_helper(value):
    return with_list(value)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (with_if, "a statement of kind If"),
        (with_method, "the attribute 'sum' of a value"),
        (with_list, "an expression of kind List"),
        (with_default, "optional or variable parameters"),
        (with_helper, "'with_list', which is neither a number nor an element-wise function"),
        (lambda value: value, "not written with def"),
        (math.sqrt, "its source cannot be read"),
        (Owner().uses_names, "'len'"),
    ],
)
def test_what_cannot_be_translated_says_why(function, reason):
    with pytest.raises(NotTranslatableError, match=reason):
        translate(function, "message")
