"""What the element-wise functions of a program become inside a kernel: the same meaning for one element."""

from __future__ import annotations

import math

from numba import njit, types
from numba.extending import overload

from tgraph.kernels.cpu.team import JIT


@njit(**JIT)
def where(condition, yes, no):
    """One of the two."""
    return yes if condition else no


@njit(**JIT)
def minimum(left, right):
    """The smaller; NaN if either is."""
    return left if left < right or left != left else right


@njit(**JIT)
def maximum(left, right):
    """The larger; NaN if either is."""
    return left if left > right or left != left else right


@njit(**JIT)
def either(left, right):
    """Whether one of two truth values holds."""
    return left or right


@njit(**JIT)
def absolute(value):
    """The magnitude."""
    return abs(value)


@njit(**JIT)
def sqrt(value):
    """The square root; NaN below 0."""
    return math.sqrt(value)


@njit(**JIT)
def exp(value):
    """The power of e."""
    return math.exp(value)


@njit(**JIT)
def log(value):
    """The natural logarithm; -inf at 0, NaN below."""
    return math.log(value) if value > 0 else (-math.inf if value == 0 else math.nan)


def change(old, new):
    """The magnitude of a change; 0 where, and only where, nothing changed: also from inf to inf and NaN to NaN.

    Replaced by the overload when compiled.
    """
    return _change_of_floats(old, new) if isinstance(old, float) else _change_of_integers(old, new)


@njit(**JIT)
def _change_of_floats(old, new):
    difference = abs(new * 1.0 - old * 1.0)
    if difference < math.inf:  # nearly always so, whether it is 0 or not
        return difference
    return 0.0 if old == new or (old != old and new != new) else difference


@njit(**JIT)
def _change_of_integers(old, new):
    difference = abs(new * 1.0 - old * 1.0)
    return 1.0 if difference == 0.0 and old != new else difference  # beyond 2^53, where float64 cannot tell them apart


@overload(change)
def _compiled_change(old, new):
    if isinstance(old, types.Float):
        return lambda old, new: _change_of_floats(old, new)
    return lambda old, new: _change_of_integers(old, new)


@njit(**JIT)
def differs(old, new):
    """Whether a value changed; NaN equals NaN."""
    return old != new and (old == old or new == new)


def invert(value):
    """The opposite of a truth value, or of the bits of an integer. Replaced by the overload when compiled."""
    return not value if isinstance(value, bool) else ~value


@overload(invert)
def _compiled_invert(value):
    if isinstance(value, types.Boolean):
        return lambda value: not value
    return lambda value: ~value
