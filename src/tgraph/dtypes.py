"""Index and value types, and the identity of every reduction.

All runtimes name their types by NumPy's: a function that takes a `dtype` takes anything `numpy.dtype` accepts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, check_choice

OFFSET_DTYPE = np.dtype(np.int64)  # offsets are always 64-bit: a graph may have more than 2^31 edges

REDUCTIONS = ("min", "max", "sum", "mean", "any", "count")
IDEMPOTENT_REDUCTIONS = ("min", "max", "any")  # receiving the same message twice does no harm


def index_dtype(num_vertices: int) -> np.dtype[Any]:
    """Return the type of vertex ids: int32 while every id fits, else int64.

    >>> index_dtype(10), index_dtype(2**31)
    (dtype('int32'), dtype('int64'))
    """
    return np.dtype(np.int32) if num_vertices < 2**31 else np.dtype(np.int64)


def as_number(value: Any) -> float:
    """Return a number as a float, and NaN for what is none: it lies in no range, so that a check of one refuses it.

    >>> as_number(3), as_number("3"), as_number(None)
    (3.0, nan, nan)
    """
    try:
        return math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_reduction(op: str, dtype: Any) -> None:
    """Raise unless `op` is a reduction that keeps values of `dtype` exact."""
    check_choice("reduce", op, REDUCTIONS)
    dtype = np.dtype(dtype)
    if op == "mean" and dtype.kind != "f":
        raise InvalidArgumentError(
            f"reduce='mean' needs float values, not {dtype.name}; convert the messages to float64"
        )
    if op == "any" and dtype.kind != "b":
        raise InvalidArgumentError(f"reduce='any' needs bool values, not {dtype.name}; compare the messages with != 0")
    if op == "sum" and dtype.kind == "b":
        raise InvalidArgumentError("reduce='sum' needs numbers, not bool; convert the messages to int64 or use 'any'")


def reduced_dtype(op: str, dtype: Any) -> np.dtype[Any]:
    """Return the type of a reduction's result: that of the values, and int64 for a count."""
    check_reduction(op, dtype)
    return np.dtype(np.int64) if op == "count" else np.dtype(dtype)


def identity(op: str, dtype: Any) -> Any:
    """Return the value that a reduction over nothing gives, as a Python scalar.

    >>> identity("min", "float32"), identity("max", "int32"), identity("sum", "int64"), identity("any", "bool")
    (inf, -2147483648, 0, False)
    """
    dtype = np.dtype(dtype)
    check_reduction(op, dtype)
    if op in ("min", "max"):
        return _extreme(dtype, largest=op == "min")
    return dtype.type(0).item() if op != "count" else 0


def _extreme(dtype: np.dtype[Any], *, largest: bool) -> Any:
    if dtype.kind == "b":
        return largest
    if dtype.kind == "f":
        return float("inf") if largest else float("-inf")
    limits = np.iinfo(dtype)
    return int(limits.max if largest else limits.min)
