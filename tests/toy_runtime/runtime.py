"""Step 2: the primitives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tgraph import runtime as runtimes
from tgraph.errors import InvalidArgumentError
from tgraph.runtime.protocol import Array, Runtime
from tgraph.runtime.wrapped import check_dtype, host_array
from toy_runtime.reductions import reduce, scatter_reduce, segment_reduce
from toy_runtime.tensor import ToyTensor, unwrapped

_numpy = runtimes.get("numpy")


@cache
def create(device: str) -> Runtime:
    if device != "cpu":
        raise InvalidArgumentError(f"device={device!r} is not known to the toy runtime; use device='cpu'")
    return ToyRuntime()


class ToyRuntime:
    """NumPy's primitives on arrays that never change."""

    name = "toy"
    device = "cpu"

    def asarray(self, data: Any, dtype: Any = None) -> ToyTensor:
        array = host_array(data)
        check_dtype("toy", array.dtype)
        return ToyTensor(np.array(array, array.dtype.newbyteorder("=") if dtype is None else dtype))

    def share(self, tensor: Any) -> ToyTensor:
        return ToyTensor(host_array(tensor))

    def to_numpy(self, tensor: Any) -> Array:
        return np.asarray(tensor)

    def full(self, size: int, value: Any, dtype: Any) -> ToyTensor:
        return ToyTensor(_numpy.full(size, value, dtype))

    def arange(self, start: int, stop: int, dtype: Any) -> ToyTensor:
        return ToyTensor(_numpy.arange(start, stop, dtype))

    def astype(self, tensor: Any, dtype: Any) -> ToyTensor:
        return ToyTensor(_numpy.astype(unwrapped(tensor), dtype))

    def dtype(self, tensor: Any) -> np.dtype[Any]:
        return np.dtype(tensor.dtype)

    def copy(self, tensor: Any) -> ToyTensor:
        return ToyTensor(unwrapped(tensor).copy())

    def has_own_memory(self, tensor: ToyTensor) -> bool:
        return True

    def item(self, tensor: Any) -> Any:
        return tensor.item()

    def index_select(self, tensor: Any, positions: Any) -> ToyTensor:
        return ToyTensor(_numpy.index_select(unwrapped(tensor), unwrapped(positions)))

    def mask_select(self, tensor: Any, mask: Any) -> ToyTensor:
        return ToyTensor(_numpy.mask_select(unwrapped(tensor), unwrapped(mask)))

    def nonzero(self, mask: Any) -> ToyTensor:
        return ToyTensor(_numpy.nonzero(unwrapped(mask)))

    def index_put(self, tensor: Any, positions: Any, values: Any) -> ToyTensor:
        return ToyTensor(_numpy.index_put(unwrapped(tensor), unwrapped(positions), unwrapped(values)))

    def concatenate(self, tensors: list[Any]) -> ToyTensor:
        return ToyTensor(_numpy.concatenate([unwrapped(tensor) for tensor in tensors]))

    def repeat_interleave(self, tensor: Any, counts: Any, total: int) -> ToyTensor:
        return ToyTensor(_numpy.repeat_interleave(unwrapped(tensor), unwrapped(counts), total))

    def cumsum(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.cumsum(unwrapped(tensor)))

    def searchsorted(self, ascending: Any, values: Any, side: Any = "left") -> ToyTensor:
        return ToyTensor(_numpy.searchsorted(unwrapped(ascending), unwrapped(values), side))

    def sort(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.sort(unwrapped(tensor)))

    def argsort(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.argsort(unwrapped(tensor)))

    def unique(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.unique(unwrapped(tensor)))

    def reduce(self, tensor: Any, op: str) -> ToyTensor:
        return reduce(tensor, op)

    def scatter_reduce(self, into: Any, positions: Any, values: Any, op: str) -> ToyTensor:
        return scatter_reduce(into, positions, values, op)

    def segment_reduce(self, values: Any, offsets: Any, op: str) -> ToyTensor:
        return segment_reduce(values, offsets, op)

    def where(self, condition: Any, yes: Any, no: Any) -> ToyTensor:
        return ToyTensor(_numpy.where(unwrapped(condition), unwrapped(yes), unwrapped(no)))

    def minimum(self, left: Any, right: Any) -> ToyTensor:
        return ToyTensor(_numpy.minimum(unwrapped(left), unwrapped(right)))

    def maximum(self, left: Any, right: Any) -> ToyTensor:
        return ToyTensor(_numpy.maximum(unwrapped(left), unwrapped(right)))

    def absolute(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.absolute(unwrapped(tensor)))

    def sqrt(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.sqrt(unwrapped(tensor)))

    def exp(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.exp(unwrapped(tensor)))

    def log(self, tensor: Any) -> ToyTensor:
        return ToyTensor(_numpy.log(unwrapped(tensor)))
