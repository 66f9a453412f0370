"""Which values a name may have: its type, and a range where one is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from tgraph.prove.symbols import NEVER, NoMeaningError, Number, Symbol, Truth

SMALL = (range(3), range(-4, 5))  # counter-examples are looked for among these first


@dataclass(frozen=True)
class Domain:
    """The values of a type from `low` to `high`; infinities too unless `is_finite`."""

    dtype: np.dtype[Any]
    low: Any = -math.inf
    high: Any = math.inf
    is_finite: bool = False

    def finite(self) -> Domain:
        """Return the same without infinities."""
        return replace(self, is_finite=True)

    def variable(self, name: str) -> Symbol:
        """Return a symbol that stands for all values."""
        if self.dtype.kind == "b":
            return Truth(z3.Bool(name))
        if self.dtype.kind in "iu":
            return Number(z3.Int(name))
        if self.dtype.kind != "f":
            raise NoMeaningError(f"{name} is of type {self.dtype.name}, which has no meaning for symbols")
        is_high = z3.Bool(f"{name} is inf") if self._may_be(math.inf) else NEVER
        is_low = z3.Bool(f"{name} is -inf") if self._may_be(-math.inf) else NEVER
        return Number(z3.Real(name), is_high, is_low)

    def condition(self, variable: Symbol) -> Any:
        """Return where a variable is one of the values."""
        if not isinstance(variable, Number):
            return z3.BoolVal(True)
        low, high = self._limits()
        is_above = variable.finite >= _exact(low) if low > -math.inf else True
        is_below = variable.finite <= _exact(high) if high < math.inf else True
        is_inside = z3.Or(variable.is_infinite, z3.And(is_above, is_below))
        return z3.And(is_inside, z3.Not(z3.And(variable.is_high, variable.is_low)))

    def read(self, model: Any, variable: Symbol) -> Any:
        """Return the value that z3 gave to a variable, as a plain number of the type."""
        if isinstance(variable, Truth):
            return z3.is_true(model.eval(variable.holds, model_completion=True))
        assert isinstance(variable, Number)
        if z3.is_true(model.eval(variable.is_high, model_completion=True)):
            return math.inf
        if z3.is_true(model.eval(variable.is_low, model_completion=True)):
            return -math.inf
        found = model.eval(variable.finite, model_completion=True)
        if z3.is_algebraic_value(found):
            found = found.approx(20)
        return int(found.as_long()) if variable.is_whole else float(found.as_fraction())

    def _limits(self) -> tuple[Any, Any]:
        if self.dtype.kind not in "iu":
            return self.low, self.high
        limits = np.iinfo(self.dtype)
        return max(self.low, int(limits.min)), min(self.high, int(limits.max))

    def _may_be(self, infinity: float) -> bool:
        return not self.is_finite and self.low <= infinity <= self.high


def is_among(variable: Symbol, numbers: range) -> Any:
    """Return where a variable is one of the numbers; a truth always is."""
    if not isinstance(variable, Number):
        return z3.BoolVal(True)
    near = z3.Or(*(variable.finite == number for number in numbers))
    return z3.And(near, z3.Not(variable.is_infinite))


def _exact(number: Any) -> Any:
    return z3.RealVal(Fraction(number)) if isinstance(number, float) else number
