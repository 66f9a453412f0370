"""Symbols: numbers and truths that stand for all values at once, made of z3's expressions.

Floats are real numbers and the two infinities, without rounding. Integers are whole numbers without limits. What is NaN
in floats (infinity minus infinity), divided by 0 or does not fit into its type is `undefined`, and so is what is made
of it: nothing is said about such values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from tgraph.errors import TGraphError

NEVER = z3.BoolVal(False)


class NoMeaningError(TGraphError):
    """A function does something that has no meaning for symbols."""


class Symbol:
    """What numbers and truths have in common: operators, and no way back to plain Python."""

    undefined: Any

    __hash__ = None  # type: ignore[assignment]  # == gives a truth, so a symbol is no key

    @property
    def __elementwise__(self) -> Any:
        from tgraph.prove import functions

        return functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return self.__elementwise__.call_numpy(ufunc, inputs, is_plain=method == "__call__" and not options)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        return self.__elementwise__.call_numpy(function, inputs, is_plain=not options)

    def __bool__(self) -> bool:
        instead = "use where, &, |, ~, minimum, maximum"
        raise NoMeaningError(f"it asks whether a value is true, as if, and, or, not, min and max do; {instead}")

    def __eq__(self, other: Any) -> Truth:  # type: ignore[override]
        return equal(self, other)

    def __ne__(self, other: Any) -> Truth:  # type: ignore[override]
        return ~equal(self, other)

    def __lt__(self, other: Any) -> Truth:
        return less(self, other)

    def __gt__(self, other: Any) -> Truth:
        return less(other, self)

    def __le__(self, other: Any) -> Truth:
        return ~less(other, self)

    def __ge__(self, other: Any) -> Truth:
        return ~less(self, other)

    def __add__(self, other: Any) -> Number:
        return add(self, other)

    def __radd__(self, other: Any) -> Number:
        return add(other, self)

    def __sub__(self, other: Any) -> Number:
        return add(self, negative(other))

    def __rsub__(self, other: Any) -> Number:
        return add(other, negative(self))

    def __mul__(self, other: Any) -> Number:
        return multiply(self, other)

    def __rmul__(self, other: Any) -> Number:
        return multiply(other, self)

    def __truediv__(self, other: Any) -> Number:
        return divide(self, other)

    def __rtruediv__(self, other: Any) -> Number:
        return divide(other, self)

    def __floordiv__(self, other: Any) -> Number:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Number:
        return floor_divide(other, self)

    def __mod__(self, other: Any) -> Number:
        return add(self, negative(multiply(other, floor_divide(self, other))))

    def __rmod__(self, other: Any) -> Number:
        return add(other, negative(multiply(self, floor_divide(other, self))))

    def __neg__(self) -> Number:
        return negative(self)

    def __pos__(self) -> Number:
        return add(0, self)

    def __abs__(self) -> Number:
        number = as_number(self)
        return choose(less(number, 0), negative(number), number)

    def __pow__(self, exponent: Any) -> Number:
        if not isinstance(exponent, int) or not 0 <= exponent <= 8:
            raise NoMeaningError(f"it raises to the power {exponent!r}; only 0 to 8 have a meaning for symbols")
        power = as_number(1)
        for _ in range(exponent):
            power = multiply(power, self)
        return power


@dataclass(frozen=True, eq=False)
class Truth(Symbol):
    """True or False."""

    holds: Any
    undefined: Any = NEVER

    def __and__(self, other: Any) -> Truth:
        right = as_truth(other)
        return Truth(z3.And(self.holds, right.holds), _either(self, right))

    def __or__(self, other: Any) -> Truth:
        right = as_truth(other)
        return Truth(z3.Or(self.holds, right.holds), _either(self, right))

    def __xor__(self, other: Any) -> Truth:
        right = as_truth(other)
        return Truth(z3.Xor(self.holds, right.holds), _either(self, right))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Truth:
        return Truth(z3.Not(self.holds), self.undefined)


@dataclass(frozen=True, eq=False)
class Number(Symbol):
    """A real or whole number, or an infinity."""

    finite: Any  # the number; says nothing where it is infinite
    is_high: Any = NEVER  # infinity
    is_low: Any = NEVER  # minus infinity
    undefined: Any = NEVER

    @property
    def is_whole(self) -> bool:
        """Whether it is of an integer type."""
        return bool(z3.is_int(self.finite))

    @property
    def is_infinite(self) -> Any:
        """Where it is one of the infinities."""
        return z3.Or(self.is_high, self.is_low)

    @property
    def is_positive(self) -> Any:
        """Where it is above 0."""
        return z3.Or(self.is_high, z3.And(z3.Not(self.is_low), self.finite > 0))

    @property
    def is_negative(self) -> Any:
        """Where it is below 0."""
        return z3.Or(self.is_low, z3.And(z3.Not(self.is_high), self.finite < 0))


def as_symbol(value: Any) -> Symbol:
    """Return a plain value as a symbol that has this value only."""
    if isinstance(value, Symbol):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return Truth(z3.BoolVal(value))
    if isinstance(value, int):
        return Number(z3.IntVal(value))
    if isinstance(value, float):
        is_finite = abs(value) < np.inf
        exact = z3.RealVal(Fraction(value) if is_finite else 0)
        flags = [z3.BoolVal(bool(flag)) for flag in (value == np.inf, value == -np.inf, value != value)]
        return Number(exact, *flags)
    raise NoMeaningError(f"it uses a {type(value).__name__}, which is no number for each vertex or edge")


def as_number(value: Any) -> Number:
    """Return a value as a number; a truth as 0 or 1."""
    symbol = as_symbol(value)
    if isinstance(symbol, Truth):
        return Number(z3.If(symbol.holds, z3.IntVal(1), z3.IntVal(0)), undefined=symbol.undefined)
    assert isinstance(symbol, Number)
    return symbol


def as_truth(value: Any) -> Truth:
    """Return a truth; a number has no bits here."""
    symbol = as_symbol(value)
    if not isinstance(symbol, Truth):
        raise NoMeaningError("it uses &, |, ^ or ~ on numbers; they have a meaning for bool only")
    return symbol


def as_real(number: Number) -> Number:
    """Return a whole number as a real one."""
    if not number.is_whole:
        return number
    return Number(z3.ToReal(number.finite), number.is_high, number.is_low, number.undefined)


def choose(condition: Truth, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition holds and `no` elsewhere; what is not taken may be undefined."""
    yes, no = as_symbol(yes), as_symbol(no)
    undefined = z3.Or(condition.undefined, z3.If(condition.holds, yes.undefined, no.undefined))
    if isinstance(yes, Truth) and isinstance(no, Truth):
        return Truth(z3.If(condition.holds, yes.holds, no.holds), undefined)
    left, right = _aligned(yes, no)
    return Number(
        z3.If(condition.holds, left.finite, right.finite),
        z3.If(condition.holds, left.is_high, right.is_high),
        z3.If(condition.holds, left.is_low, right.is_low),
        undefined,
    )


def equal(left: Any, right: Any) -> Truth:
    """Return where two values are the same."""
    first, second = _aligned(left, right)
    both_finite = z3.Not(z3.Or(first.is_infinite, second.is_infinite))
    high, low = z3.And(first.is_high, second.is_high), z3.And(first.is_low, second.is_low)
    return Truth(z3.Or(high, low, z3.And(both_finite, first.finite == second.finite)), _either(first, second))


def less(left: Any, right: Any) -> Truth:
    """Return where the first is smaller; False is smaller than True."""
    first, second = _aligned(left, right)
    both_finite = z3.Not(z3.Or(first.is_infinite, second.is_infinite))
    from_low, to_high = z3.And(first.is_low, z3.Not(second.is_low)), z3.And(second.is_high, z3.Not(first.is_high))
    return Truth(z3.Or(from_low, to_high, z3.And(both_finite, first.finite < second.finite)), _either(first, second))


def add(left: Any, right: Any) -> Number:
    """Return the sum; infinity minus infinity is undefined."""
    first, second = _operands(left, right)
    high, low = z3.Or(first.is_high, second.is_high), z3.Or(first.is_low, second.is_low)
    return Number(first.finite + second.finite, high, low, z3.Or(_either(first, second), z3.And(high, low)))


def negative(value: Any) -> Number:
    """Return the number with the other sign."""
    number = as_number(value)
    return Number(-number.finite, number.is_low, number.is_high, number.undefined)


def multiply(left: Any, right: Any) -> Number:
    """Return the product; 0 times infinity is undefined."""
    first, second = _operands(left, right)
    is_infinite = z3.Or(first.is_infinite, second.is_infinite)
    high, low = _signs(first, second)
    undefined = z3.Or(_either(first, second), z3.And(is_infinite, z3.Not(high), z3.Not(low)))
    return Number(first.finite * second.finite, z3.And(is_infinite, high), z3.And(is_infinite, low), undefined)


def divide(left: Any, right: Any) -> Number:
    """Return the quotient, a real number; undefined for 0 below the line and for infinity over infinity."""
    first, second = (as_real(number) for number in _operands(left, right))
    high, low = _signs(first, second)
    quotient = z3.If(second.is_infinite, z3.RealVal(0), first.finite / second.finite)
    by_zero = z3.And(z3.Not(second.is_infinite), second.finite == 0)
    undefined = z3.Or(_either(first, second), by_zero, z3.And(first.is_infinite, second.is_infinite))
    return Number(quotient, z3.And(first.is_infinite, high), z3.And(first.is_infinite, low), undefined)


def floor_divide(left: Any, right: Any) -> Number:
    """Return the quotient rounded down; undefined for infinities and for 0 below the line."""
    first, second = _operands(left, right)
    if first.is_whole:
        positive = second.finite > 0
        whole = z3.If(positive, first.finite / second.finite, (-first.finite) / (-second.finite))
    else:
        whole = z3.ToReal(z3.ToInt(first.finite / second.finite))
    infinite = z3.Or(first.is_infinite, second.is_infinite)
    return Number(whole, undefined=z3.Or(_either(first, second), infinite, second.finite == 0))


def _either(left: Symbol, right: Symbol) -> Any:
    return z3.Or(left.undefined, right.undefined)


def _signs(first: Number, second: Number) -> tuple[Any, Any]:
    """Return where a product is above 0, and where below."""
    above = z3.Or(
        z3.And(first.is_positive, second.is_positive),
        z3.And(first.is_negative, second.is_negative),
    )
    below = z3.Or(
        z3.And(first.is_positive, second.is_negative),
        z3.And(first.is_negative, second.is_positive),
    )
    return above, below


def _aligned(left: Any, right: Any) -> tuple[Number, Number]:
    """Return two numbers, both whole or both real."""
    first, second = as_number(left), as_number(right)
    if first.is_whole and second.is_whole:
        return first, second
    return as_real(first), as_real(second)


def _operands(left: Any, right: Any) -> tuple[Number, Number]:
    if isinstance(as_symbol(left), Truth) and isinstance(as_symbol(right), Truth):
        raise NoMeaningError("it calculates with two bools; use &, |, ^ or ~")
    return _aligned(left, right)
