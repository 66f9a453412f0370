"""Element-wise functions for programs: the same call works on whole tensors of any runtime and on plain numbers.

A program's `message` and `update` are written with these and with Python's operators, so that one source serves the
tensor path, the compiled inner loop, and proofs. A value that is neither tensor nor number brings its own functions:
`__elementwise__` has them by these names.

>>> import numpy as np
>>> minimum(np.array([1.0, 5.0]), 3.0), where(2 > 1, "yes", "no"), absolute(-4)
(array([1., 3.]), 'yes', 4)
"""

from __future__ import annotations

import math
from typing import Any

from tgraph import runtime


def _owner_of(*values: Any) -> Any:
    for value in values:
        if runtime.is_tensor(value):
            return runtime.of(value)
        if hasattr(value, "__elementwise__"):
            return value.__elementwise__
    return None


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition holds and `no` elsewhere."""
    owner = _owner_of(condition, yes, no)
    return owner.where(condition, yes, no) if owner else (yes if condition else no)


def minimum(left: Any, right: Any) -> Any:
    """Return the smaller of each pair; NaN if either is."""
    owner = _owner_of(left, right)
    if owner:
        return owner.minimum(left, right)
    return left if left < right or left != left else right


def maximum(left: Any, right: Any) -> Any:
    """Return the larger of each pair; NaN if either is."""
    owner = _owner_of(left, right)
    if owner:
        return owner.maximum(left, right)
    return left if left > right or left != left else right


def absolute(value: Any) -> Any:
    """Return the magnitude."""
    owner = _owner_of(value)
    return owner.absolute(value) if owner else abs(value)


def sqrt(value: Any) -> Any:
    """Return the square root; NaN of a negative number."""
    owner = _owner_of(value)
    if owner:
        return owner.sqrt(value)
    return math.nan if value < 0 else math.sqrt(value)


def exp(value: Any) -> Any:
    """Return e to the power of `value`; inf where that is beyond the floats."""
    owner = _owner_of(value)
    if owner:
        return owner.exp(value)
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def log(value: Any) -> Any:
    """Return the natural logarithm; -inf of 0, NaN of a negative number."""
    owner = _owner_of(value)
    if owner:
        return owner.log(value)
    if value == 0:
        return -math.inf
    return math.nan if value < 0 else math.log(value)
