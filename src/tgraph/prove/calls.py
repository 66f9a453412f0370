"""Calling a program's functions one vertex or edge at a time: on symbols for a proof, on arrays for a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import z3

from tgraph.elementwise import maximum, minimum
from tgraph.program import Plan
from tgraph.prove.symbols import (
    NoMeaningError,
    Number,
    Symbol,
    Truth,
    as_number,
    as_real,
    as_symbol,
    choose,
    less,
    negative,
)
from tgraph.runtime import Array

Values = dict[str, Any]


class Calls:
    """The functions of a program, and its reduction."""

    def __init__(self, plan: Plan, dtypes: Mapping[str, np.dtype[Any]]) -> None:
        self.plan, self.dtypes = plan, dtypes

    def message(self, values: Values) -> Any:
        """Return the message that is made of these values."""
        return self.taken(self.call("message", values), self.dtypes[self.plan.main_field])

    def update(self, values: Values) -> Values:
        """Return the values with the fields that `update` changes as they are afterwards."""
        returned = self.call("update", values)
        named = dict(returned) if isinstance(returned, Mapping) else {self.plan.main_field: returned}
        return {**values, **{name: self.stored(new, self.dtypes[name]) for name, new in named.items()}}

    def total(self, values: Values) -> Any:
        """Return what a vertex adds to the total."""
        return self.call("total", values)

    def reduce(self, left: Any, right: Any) -> Any:
        """Return what two messages are together: of `mean` and `count` the sum."""
        match self.plan.program.reduce:
            case "min":
                return minimum(left, right)
            case "max":
                return maximum(left, right)
            case "any":
                return left | right
        return left + right

    def call(self, function: str, values: Values) -> Any:
        """Call one of the functions."""
        return self.plan.call(function, values.__getitem__)

    def taken(self, value: Any, main_dtype: np.dtype[Any]) -> Any:
        """Return a message as a value."""
        raise NotImplementedError

    def stored(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return a new value as a field of this type holds it."""
        raise NotImplementedError


class SymbolCalls(Calls):
    """On symbols; what a function does that has no meaning for them raises `NoMeaningError`."""

    def call(self, function: str, values: Values) -> Any:
        """Call a function twice, to see that it gives the same again."""
        first, second = self._call_once(function, values), self._call_once(function, values)
        if not _is_same(first, second):
            raise NoMeaningError(f"{function} gives something else when it is called again")
        return first

    def _call_once(self, function: str, values: Values) -> Any:
        try:
            returned = super().call(function, values)
            if isinstance(returned, Mapping):
                return {name: as_symbol(value) for name, value in returned.items()}
            return as_symbol(returned)
        except NoMeaningError as error:
            raise NoMeaningError(f"{function} has no meaning for symbols: {error}") from error
        except Exception as error:  # a user's function may fail in any way
            words = f"{function} cannot be called on symbols ({type(error).__name__}: {error})"
            raise NoMeaningError(words) from error

    def taken(self, value: Symbol, main_dtype: np.dtype[Any]) -> Symbol:
        """Leave out messages that the main field could not hold."""
        return _fitting(value, main_dtype) if isinstance(value, Number) and value.is_whole else value

    def stored(self, value: Symbol, dtype: np.dtype[Any]) -> Symbol:
        """Convert as tensors do: fractions are cut off, and only 0 is False. What does not fit is undefined."""
        if dtype.kind == "b":
            return value if isinstance(value, Truth) else value != 0
        number = as_number(value)
        return as_real(number) if dtype.kind == "f" else _fitting(_cut_off(number), dtype)


class ArrayCalls(Calls):
    """On arrays with one entry, as tensors are in a run; `log` says what was called and what came out."""

    def __init__(self, plan: Plan, dtypes: Mapping[str, np.dtype[Any]]) -> None:
        super().__init__(plan, dtypes)
        self.log: list[str] = []

    def call(self, function: str, values: Values) -> Any:
        """Call a function and write it down."""
        returned = super().call(function, values)
        given = ", ".join(f"{name}={show(values[name])}" for name in self.plan.parameters[function])
        line = f"{function}({given}) = {show(returned)}"
        if line not in self.log:
            self.log.append(line)
        return returned

    def taken(self, value: Any, main_dtype: np.dtype[Any]) -> Array:
        """Spread a message that is the same for all."""
        return np.broadcast_to(np.asarray(value), 1)

    def stored(self, value: Any, dtype: np.dtype[Any]) -> Array:
        """Convert to the type of the field."""
        return np.broadcast_to(np.asarray(value), 1).astype(dtype)


def show(value: Any) -> str:
    """Return a value as a person writes it.

    >>> show(np.array([2.0])), show({"value": True})
    ('2.0', '{value: True}')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {show(entry)}" for name, entry in value.items()) + "}"
    return repr(value.item() if hasattr(value, "item") else value)


def _fitting(number: Number, dtype: np.dtype[Any]) -> Number:
    if dtype.kind not in "iu":
        return number
    limits = np.iinfo(dtype)
    outside = z3.Or(number.finite < int(limits.min), number.finite > int(limits.max), number.is_infinite)
    return Number(number.finite, undefined=z3.Or(number.undefined, outside))


def _cut_off(number: Number) -> Number:
    """Round towards 0."""
    if number.is_whole:
        return number
    down = Number(z3.ToInt(number.finite), number.is_high, number.is_low, number.undefined)
    up = negative(Number(z3.ToInt(-number.finite), number.is_low, number.is_high, number.undefined))
    return choose(less(number, 0), up, down)


def _is_same(first: Any, second: Any) -> bool:
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(_is_same(first[name], second[name]) for name in first)
    if type(first) is not type(second):
        return False
    return all(z3.eq(part, vars(second)[name]) for name, part in vars(first).items())
