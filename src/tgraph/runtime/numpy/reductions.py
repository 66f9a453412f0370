"""Reductions on NumPy arrays.

`ufunc.at` and `ufunc.reduceat` keep integers exact; bincount would go through float64. A sum that meets both infinities
is NaN without a warning, as on every other runtime.
"""

from __future__ import annotations

import numpy as np

from tgraph.dtypes import check_reduction, identity, reduced_dtype
from tgraph.errors import OutOfRangeError
from tgraph.runtime.checks import check_one_each, check_scatter
from tgraph.runtime.protocol import Array

_UFUNCS = {"min": np.minimum, "max": np.maximum, "sum": np.add, "any": np.logical_or}


def reduce(tensor: Array, op: str) -> Array:
    """Reduce everything to one element."""
    return segment_reduce(tensor, np.asarray([0, tensor.size]), op)


def scatter_reduce(into: Array, positions: Array, values: Array, op: str) -> Array:
    """Reduce values into the positions of `into`; duplicates meet in the order of `values`."""
    check_scatter(op, into.dtype, values.dtype)
    check_one_each(positions.size, values.size)
    into = into if into.flags.writeable else into.copy()
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            if op == "count":
                np.add.at(into, positions, np.ones(1, into.dtype))
            else:
                _UFUNCS[op].at(into, positions, values)
    except IndexError as error:
        raise OutOfRangeError(str(error)) from error
    return into


def segment_reduce(values: Array, offsets: Array, op: str) -> Array:
    """Reduce each segment; `reduceat` would return an element for an empty one, so only the others are asked."""
    check_reduction(op, values.dtype)
    if offsets.size and (offsets[0] < 0 or offsets[-1] > values.size):
        raise OutOfRangeError(f"offsets run from {offsets[0]} to {offsets[-1]} beyond the {values.size} values")
    sizes = np.diff(offsets)
    if op == "count":
        return sizes.astype(np.int64)
    if op == "mean":
        return segment_reduce(values, offsets, "sum") / np.maximum(sizes, 1).astype(values.dtype)
    result = np.full(sizes.size, identity(op, values.dtype), reduced_dtype(op, values.dtype))
    filled = sizes > 0
    if filled.any():
        with np.errstate(invalid="ignore", over="ignore"):
            result[filled] = _UFUNCS[op].reduceat(values[: offsets[-1]], offsets[:-1][filled])
    return result
