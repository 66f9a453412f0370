"""The element-wise functions of `tgraph.elementwise` on symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import z3

from tgraph.prove.symbols import NoMeaningError, Number, Symbol, Truth, as_number, as_real, as_symbol, choose, less


def where(condition: Any, yes: Any, no: Any) -> Symbol:
    """Return `yes` where the condition holds and `no` elsewhere."""
    symbol = as_symbol(condition)
    return choose(symbol if isinstance(symbol, Truth) else symbol != 0, yes, no)


def minimum(left: Any, right: Any) -> Symbol:
    """Return the smaller; undefined if either is."""
    return choose(less(left, right), left, right)


def maximum(left: Any, right: Any) -> Symbol:
    """Return the larger; undefined if either is."""
    return choose(less(left, right), right, left)


def absolute(value: Any) -> Symbol:
    """Return the magnitude."""
    return abs(as_number(value))


def sqrt(value: Any) -> Number:
    """Return a number that is the square root where it is defined: at least 0, and its square is `value`."""
    number = as_real(as_number(value))
    root = z3.Real(f"sqrt {number.finite.sexpr()}")
    is_root = z3.And(root >= 0, root * root == number.finite)
    is_defined = z3.Or(number.is_high, z3.And(z3.Not(number.is_low), is_root))
    return Number(root, number.is_high, undefined=z3.Or(number.undefined, z3.Not(is_defined)))


def exp(value: Any) -> Number:
    """Has no meaning for symbols."""
    raise NoMeaningError("it uses exp, which cannot be reasoned about")


def log(value: Any) -> Number:
    """Has no meaning for symbols."""
    raise NoMeaningError("it uses log, which cannot be reasoned about")


_NUMPY: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.minimum: minimum,
    np.maximum: maximum,
    np.absolute: absolute,
    np.sqrt: sqrt,
    np.exp: exp,
    np.log: log,
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.logical_and: operator.and_,
    np.logical_or: operator.or_,
    np.logical_not: operator.invert,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.invert: operator.invert,
}


def call_numpy(function: Any, inputs: tuple[Any, ...], *, is_plain: bool) -> Any:
    """Call what stands for one of NumPy's functions, so that `np.minimum` works, and `np.float64(2) * symbol`."""
    if not is_plain or function not in _NUMPY:
        raise NoMeaningError(f"it uses {function.__name__} of NumPy, which has no meaning for symbols")
    return _NUMPY[function](*(_without_numpy(value) for value in inputs))


def _without_numpy(value: Any) -> Any:
    """Return a scalar of NumPy as Python's; NumPy's would lead back to `call_numpy`."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise NoMeaningError(f"it uses an array of shape {value.shape}; give it as a field or as edge data")
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value
