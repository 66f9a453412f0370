"""The primitives on NumPy arrays; `tgraph.runtime.protocol` says what each one does."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError, OutOfRangeError, check_choice
from tgraph.runtime.checks import check_mask, check_one_each
from tgraph.runtime.numpy.reductions import reduce, scatter_reduce, segment_reduce
from tgraph.runtime.protocol import Array, Runtime
from tgraph.runtime.wrapped import host_array


def create(device: str) -> Runtime:
    """Return the runtime for `device`, which can only be the CPU."""
    if device != "cpu":
        raise InvalidArgumentError(
            f"device={device!r} is not known to the numpy runtime; use device='cpu' or runtime='torch'"
        )
    return NumpyRuntime()


class NumpyRuntime:
    """NumPy on the CPU."""

    name = "numpy"
    device = "cpu"

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        return np.asarray(host_array(data), dtype)

    def share(self, tensor: Any) -> Array:
        return host_array(tensor)

    def to_numpy(self, tensor: Array) -> Array:
        return tensor

    def full(self, size: int, value: Any, dtype: Any) -> Array:
        return np.full(size, value, dtype)

    def arange(self, start: int, stop: int, dtype: Any) -> Array:
        return np.arange(start, stop, dtype=dtype)

    def astype(self, tensor: Array, dtype: Any) -> Array:
        return tensor.astype(dtype, copy=False)

    def dtype(self, tensor: Array) -> np.dtype[Any]:
        return tensor.dtype

    def copy(self, tensor: Array) -> Array:
        return tensor.copy()

    def has_own_memory(self, tensor: Array) -> bool:
        flags = tensor.flags
        return flags.owndata and flags.writeable and flags.c_contiguous

    def item(self, tensor: Array) -> Any:
        return tensor.item()

    def index_select(self, tensor: Array, positions: Array) -> Array:
        _check_not_negative(positions)
        try:
            return tensor.take(positions, axis=0)
        except IndexError as error:
            raise OutOfRangeError(str(error)) from error

    def mask_select(self, tensor: Array, mask: Array) -> Array:
        check_mask(mask.shape[0], tensor.shape[0])
        return tensor[mask]

    def nonzero(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def index_put(self, tensor: Array, positions: Array, values: Any) -> Array:
        _check_not_negative(positions)
        if np.ndim(values):
            check_one_each(positions.size, len(values))
        tensor = tensor if tensor.flags.writeable else tensor.copy()
        try:
            tensor[positions] = values
        except IndexError as error:
            raise OutOfRangeError(str(error)) from error
        return tensor

    def concatenate(self, tensors: list[Array]) -> Array:
        return np.concatenate(tensors)

    def repeat_interleave(self, tensor: Array, counts: Array, total: int) -> Array:
        try:
            repeated = np.repeat(tensor, counts)
        except ValueError as error:
            raise InvalidArgumentError(f"total={total} and the counts do not fit: {error}") from error
        if repeated.shape[0] != total:
            raise InvalidArgumentError(f"total={total} and the counts do not fit: their sum is {repeated.shape[0]}")
        return repeated

    def cumsum(self, tensor: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.cumsum(tensor, dtype=tensor.dtype if tensor.dtype.kind == "f" else np.int64)

    def searchsorted(self, ascending: Array, values: Array, side: Any = "left") -> Array:
        check_choice("side", side, ("left", "right"))
        return np.searchsorted(ascending, values, side)

    def sort(self, tensor: Array) -> Array:
        return np.sort(tensor)

    def argsort(self, tensor: Array) -> Array:
        return np.argsort(tensor, kind="stable")

    def unique(self, tensor: Array) -> Array:
        ascending = np.sort(tensor)  # several times faster than np.unique, see np.sort's SIMD path
        if not ascending.size:
            return ascending
        return ascending[np.concatenate([[True], ascending[1:] != ascending[:-1]])]

    def reduce(self, tensor: Array, op: str) -> Array:
        return reduce(tensor, op)

    def scatter_reduce(self, into: Array, positions: Array, values: Array, op: str) -> Array:
        _check_not_negative(positions)
        return scatter_reduce(into, positions, values, op)

    def segment_reduce(self, values: Array, offsets: Array, op: str) -> Array:
        return segment_reduce(values, offsets, op)

    def where(self, condition: Array, yes: Any, no: Any) -> Array:
        return np.where(condition, yes, no)

    def minimum(self, left: Any, right: Any) -> Array:
        return np.asarray(np.minimum(left, right))

    def maximum(self, left: Any, right: Any) -> Array:
        return np.asarray(np.maximum(left, right))

    def absolute(self, tensor: Array) -> Array:
        return np.asarray(np.absolute(tensor))

    def sqrt(self, tensor: Array) -> Array:
        with np.errstate(invalid="ignore"):  # NaN silently, as in torch
            return np.asarray(np.sqrt(_as_float(tensor)))

    def exp(self, tensor: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(_as_float(tensor)))

    def log(self, tensor: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # log(0) is -inf and log(-1) NaN, silently as in torch
            return np.asarray(np.log(_as_float(tensor)))


def _as_float(tensor: Array) -> Array:
    """Widen integers to float64; NumPy would make float16 of small ones."""
    return tensor if tensor.dtype.kind == "f" else tensor.astype(np.float64)


def _check_not_negative(positions: Array) -> None:
    if positions.size and positions.min() < 0:
        raise OutOfRangeError(f"position {positions.min()} is negative")
