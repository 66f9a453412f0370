"""The primitives on TensorFlow's eager tensors; `tgraph.runtime.protocol` says what each one does.

Nothing is written in place, so a method that may consume an argument leaves it as it was.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.runtime.checks import check_mask, check_one_each, check_scatter
from tgraph.runtime.protocol import Runtime
from tgraph.runtime.tensorflow import ordering, selecting
from tgraph.runtime.tensorflow.reductions import reduce, scatter_reduce, segment_reduce
from tgraph.runtime.tensorflow.tensor import TensorFlowTensor, cast, device_name, elementwise
from tgraph.runtime.wrapped import WrappedRuntime, check_dtype, host_array, lends_host_memory

ALIGNED_BYTES = 64  # where TensorFlow's kernels want memory to begin


def create(device: str) -> Runtime:
    """Return the runtime for `device`: `cpu`, `gpu`, `gpu:1`, or TensorFlow's own notation."""
    name = device_name(device)
    kind, _, number = name.partition(":")
    devices = tf.config.list_logical_devices(kind.upper())
    if (not number.isdigit() and number) or int(number or 0) >= len(devices):
        raise InvalidArgumentError(
            f"device={device!r} cannot be used by tensorflow here: it sees {len(devices)} of them"
        )
    return _runtime_on(name)


@cache
def _runtime_on(device: str) -> TensorFlowRuntime:
    """Return the only runtime of a device: `gpu` and `gpu:0` are one."""
    return TensorFlowRuntime(device)


class TensorFlowRuntime(WrappedRuntime):
    """TensorFlow on one device."""

    name = "tensorflow"

    def __init__(self, device: str) -> None:
        self.device = device
        kind, _, number = device.partition(":")
        self._place = f"/device:{kind.upper()}:{number or 0}"

    def asarray(self, data: Any, dtype: Any = None) -> TensorFlowTensor:
        """Return `data` as a tensor; memory that somebody could write into is copied, for tensors never change."""
        if isinstance(data, TensorFlowTensor):
            tensor = data
        elif isinstance(data, tf.Tensor):
            tensor = TensorFlowTensor(data)
        else:
            array = host_array(data)
            check_dtype("tensorflow", array.dtype)
            with tf.device(self._place):
                tensor = TensorFlowTensor(tf.constant(array.astype(array.dtype.newbyteorder("="), copy=False)))
        if tensor.device != self.device:
            with tf.device(self._place):
                tensor = TensorFlowTensor(tf.identity(tensor.tensor))
        return tensor if dtype is None else self.astype(tensor, dtype)

    def share(self, tensor: Any) -> TensorFlowTensor:
        if isinstance(tensor, (TensorFlowTensor, tf.Tensor)) or self.device != "cpu":
            return self.asarray(tensor)
        array = host_array(tensor)
        is_fit = array.dtype.isnative and array.flags.c_contiguous and array.ctypes.data % ALIGNED_BYTES == 0
        is_locked = tensor is array and not array.flags.writeable  # NumPy does not lend what is read-only
        if not is_fit or is_locked or not lends_host_memory(tensor):
            return self.asarray(array)
        check_dtype("tensorflow", array.dtype)
        return TensorFlowTensor(tf.experimental.dlpack.from_dlpack(tensor.__dlpack__()))

    def full(self, size: int, value: Any, dtype: Any) -> TensorFlowTensor:
        with tf.device(self._place):
            return TensorFlowTensor(
                tf.fill([size], tf.constant(np.asarray(value).astype(check_dtype(self.name, dtype))))
            )

    def arange(self, start: int, stop: int, dtype: Any) -> TensorFlowTensor:
        with tf.device(self._place):
            counted = tf.range(start, max(start, stop), dtype=tf.int64)
        return self.astype(TensorFlowTensor(counted), dtype)

    def astype(self, tensor: Any, dtype: Any) -> TensorFlowTensor:
        tensor, dtype = self.asarray(tensor), check_dtype(self.name, dtype)
        return tensor if tensor.dtype == dtype else TensorFlowTensor(cast(tensor.tensor, dtype))

    def dtype(self, tensor: Any) -> np.dtype[Any]:
        dtype = tensor.dtype
        return np.dtype(dtype.as_numpy_dtype if isinstance(dtype, tf.DType) else dtype)

    def copy(self, tensor: Any) -> TensorFlowTensor:
        return TensorFlowTensor(tf.raw_ops.DeepCopy(x=self.asarray(tensor).tensor))

    def index_select(self, tensor: Any, positions: Any) -> TensorFlowTensor:
        return selecting.take(self.asarray(tensor), self.asarray(positions))

    def mask_select(self, tensor: Any, mask: Any) -> TensorFlowTensor:
        tensor, mask = self.asarray(tensor), self.asarray(mask)
        check_mask(mask.size, tensor.size)
        return selecting.take(tensor, selecting.find_true(mask))

    def nonzero(self, mask: Any) -> TensorFlowTensor:
        return selecting.find_true(self.asarray(mask))

    def index_put(self, tensor: Any, positions: Any, values: Any) -> TensorFlowTensor:
        tensor, positions = self.asarray(tensor), self.asarray(positions)
        if np.ndim(values):
            check_one_each(positions.size, len(values))
        selecting.check_positions(positions, tensor.size)
        given = self.astype(values, tensor.dtype).tensor
        given = given if given.shape.rank else tf.fill([positions.size], given)
        return TensorFlowTensor(tf.tensor_scatter_nd_update(tensor.tensor, positions.tensor[:, None], given))

    def concatenate(self, tensors: list[Any]) -> TensorFlowTensor:
        if len(tensors) == 1:
            return self.asarray(tensors[0])
        return TensorFlowTensor(tf.concat([self.asarray(tensor).tensor for tensor in tensors], 0))

    def repeat_interleave(self, tensor: Any, counts: Any, total: int) -> TensorFlowTensor:
        tensor, counts = self.asarray(tensor), self.asarray(counts)
        problem = f"total={total} and the counts do not fit"
        if tensor.size != counts.size:
            raise InvalidArgumentError(f"{problem}: there are {counts.size} counts for {tensor.size} elements")
        try:
            owners = selecting.find_owners(counts, total)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{problem}: {error}") from error
        return selecting.take(tensor, owners)

    def cumsum(self, tensor: Any) -> TensorFlowTensor:
        tensor = self.asarray(tensor)
        return TensorFlowTensor(tf.cumsum(tensor.tensor if tensor.dtype.kind == "f" else cast(tensor.tensor, np.int64)))

    def searchsorted(self, ascending: Any, values: Any, side: Any = "left") -> TensorFlowTensor:
        check_choice("side", side, ("left", "right"))
        ascending, values = self.asarray(ascending), self.asarray(values)
        dtype = np.result_type(ascending.dtype, values.dtype)
        rows = cast(ascending.tensor, dtype), cast(values.tensor, dtype)
        return TensorFlowTensor(tf.searchsorted(*rows, side=side, out_type=tf.int64))

    def sort(self, tensor: Any) -> TensorFlowTensor:
        return ordering.sort(self.asarray(tensor))

    def argsort(self, tensor: Any) -> TensorFlowTensor:
        return ordering.argsort(self.asarray(tensor))

    def unique(self, tensor: Any) -> TensorFlowTensor:
        ascending = ordering.sort(self.asarray(tensor))
        return self.mask_select(ascending, ordering.is_first(ascending))

    def reduce(self, tensor: Any, op: str) -> TensorFlowTensor:
        return reduce(self.asarray(tensor), op)

    def scatter_reduce(self, into: Any, positions: Any, values: Any, op: str) -> TensorFlowTensor:
        into, positions, values = self.asarray(into), self.asarray(positions), self.asarray(values)
        check_scatter(op, into.dtype, values.dtype)
        check_one_each(positions.size, values.size)
        selecting.check_positions(positions, into.size)
        return scatter_reduce(into, positions, values, op)

    def segment_reduce(self, values: Any, offsets: Any, op: str) -> TensorFlowTensor:
        return segment_reduce(self.asarray(values), self.asarray(offsets), op)

    def _elementwise(self, name: str, *operands: Any, dtype: Any = None) -> TensorFlowTensor:
        return elementwise(name, *operands, dtype=dtype)
