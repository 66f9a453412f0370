"""Values of every type, and how the result of a primitive is compared with what it should be.

A test that exercises a primitive of the Protocol carries `@covers("name")`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tgraph import runtime as runtimes
from tgraph.runtime import Runtime, Tensor

DTYPES = ("bool", "int32", "int64", "float32", "float64")
INTEGERS = ("int32", "int64")
FLOATS = ("float32", "float64")
BIG = 2**53 + 1  # the first integer that float64 cannot hold
NAN, INF = math.nan, math.inf
OUTSIDE = [[-1], [7], [0, 7], [-8], [2**40]]

COVERED: set[str] = set()
Test = TypeVar("Test", bound=Callable[..., None])


def covers(*names: str) -> Callable[[Test], Test]:
    COVERED.update(names)
    return lambda test: test


def check(rt: Runtime, result: Tensor, expected: Any, dtype: str) -> None:
    """Compare values, shape and type; NaN equals NaN. The result must be the runtime's own tensor."""
    assert runtimes.of(result) is rt
    array = rt.to_numpy(result)
    assert array.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(array, np.asarray(expected, dtype))


def example(dtype: str) -> np.ndarray[Any, Any]:
    """Seven values with duplicates, the extremes, and NaN and infinities where the type has them."""
    if dtype == "bool":
        return np.array([True, False, True, True, False, False, True])
    if dtype in FLOATS:
        return np.array([2.5, -INF, NAN, 2.5, INF, -0.5, 0.0], dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array([3, high, -1, 3, low, 0, high - 1], dtype)
