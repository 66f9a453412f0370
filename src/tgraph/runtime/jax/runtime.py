"""The primitives on JAX arrays; `tgraph.runtime.protocol` says what each one does.

Nothing is written in place, so a method that may consume an argument leaves it as it was.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.runtime.checks import check_mask, check_one_each, check_scatter
from tgraph.runtime.jax import ordering, selecting
from tgraph.runtime.jax.reductions import reduce, scatter_reduce, segment_reduce
from tgraph.runtime.jax.tensor import (
    SMALLEST_BUCKET,
    JaxTensor,
    bucket,
    device_name,
    elementwise,
    in_64_bits,
    padded_to,
)
from tgraph.runtime.protocol import Array, Runtime
from tgraph.runtime.wrapped import WrappedRuntime, check_dtype, host_array, lends_host_memory

AnyClass = TypeVar("AnyClass", bound=type)


def create(device: str) -> Runtime:
    """Return the runtime for `device`, in JAX's notation: `cpu`, `gpu`, `gpu:1`, `tpu`."""
    platform, _, number = device.partition(":")
    try:
        found = [one for one in jax.devices() if str(one) == device] or [jax.devices(platform)[int(number or 0)]]
    except (RuntimeError, IndexError, ValueError) as error:
        raise InvalidArgumentError(
            f"device={device!r} cannot be used by jax here: {str(error).splitlines()[0]}"
        ) from error
    return _runtime_on(found[0])


@cache
def _runtime_on(device: jax.Device) -> JaxRuntime:
    """Return the only runtime of a device: `gpu` and `gpu:0` are one."""
    return JaxRuntime(device)


def _all_in_64_bits(runtime: AnyClass) -> AnyClass:
    for name, method in inspect.getmembers(runtime, inspect.isfunction):
        if not name.startswith("_"):
            setattr(runtime, name, in_64_bits(method))
    return runtime


@_all_in_64_bits
class JaxRuntime(WrappedRuntime):
    """JAX on one device."""

    name = "jax"

    def __init__(self, device: jax.Device) -> None:
        self._device = device
        self.device = device_name(device)

    def asarray(self, data: Any, dtype: Any = None) -> JaxTensor:
        """Return `data` as a tensor; memory that somebody could write into is copied, for JAX's arrays never change."""
        if isinstance(data, JaxTensor):
            tensor = data
        elif isinstance(data, jax.Array):
            tensor = JaxTensor(data)
        else:
            tensor = self._from_host(host_array(data), may_share=False)
        if tensor.device != self.device:
            tensor = JaxTensor(jax.device_put(tensor.padded, self._device), tensor.size, tensor.is_bucket)
        return tensor if dtype is None else self.astype(tensor, dtype)

    def share(self, tensor: Any) -> JaxTensor:
        if isinstance(tensor, np.ndarray):
            return self._from_host(tensor, may_share=True)
        is_near = self.device == "cpu" and lends_host_memory(tensor)
        is_small = len(tensor) < SMALLEST_BUCKET
        return self.asarray(tensor if is_small or not is_near else jnp.from_dlpack(tensor))

    def _from_host(self, array: Array, may_share: bool) -> JaxTensor:
        """Return an array of the host as a tensor; a small one in a bucket: small graphs share compiled code."""
        check_dtype("jax", array.dtype)
        size = len(array) if array.ndim else 1
        if array.ndim == 1 and size < SMALLEST_BUCKET:
            padded = np.zeros(SMALLEST_BUCKET, array.dtype.newbyteorder("="))
            padded[:size] = array
            return JaxTensor(jax.device_put(padded, self._device), size, is_bucket=True)
        is_fit = may_share and array.dtype.isnative and array.flags.c_contiguous
        own = array if is_fit else np.array(array, array.dtype.newbyteorder("="), order="C")
        return JaxTensor(jax.device_put(own, self._device, may_alias=True))

    def full(self, size: int, value: Any, dtype: Any) -> JaxTensor:
        with jax.default_device(self._device):
            return JaxTensor(jnp.full(bucket(size), value, check_dtype("jax", dtype)), size, is_bucket=True)

    def arange(self, start: int, stop: int, dtype: Any) -> JaxTensor:
        size = max(stop - start, 0)
        with jax.default_device(self._device):
            return JaxTensor(selecting.count_up(start, bucket(size), np.dtype(dtype).name), size, is_bucket=True)

    def astype(self, tensor: Any, dtype: Any) -> JaxTensor:
        tensor, dtype = self.asarray(tensor), check_dtype("jax", dtype)
        return tensor if tensor.dtype == dtype else elementwise("positive", tensor, dtype=dtype)

    def dtype(self, tensor: Any) -> np.dtype[Any]:
        return np.dtype(tensor.dtype)

    def copy(self, tensor: Any) -> JaxTensor:
        tensor = self.asarray(tensor)
        return JaxTensor(jnp.copy(tensor.padded), tensor.size, tensor.is_bucket)

    def index_select(self, tensor: Any, positions: Any) -> JaxTensor:
        tensor, positions = self.asarray(tensor), self.asarray(positions)
        selecting.check_positions(positions, tensor.size)
        if not tensor.padded.shape[0]:
            return JaxTensor(padded_to(tensor.padded, bucket(0)), 0, is_bucket=True)
        return JaxTensor(selecting.take(tensor.padded, positions.padded), positions.size, positions.is_bucket)

    def mask_select(self, tensor: Any, mask: Any) -> JaxTensor:
        tensor, mask = self.asarray(tensor), self.asarray(mask)
        check_mask(mask.size, tensor.size)
        return self.index_select(tensor, selecting.find_true(mask))

    def nonzero(self, mask: Any) -> JaxTensor:
        return selecting.find_true(self.asarray(mask))

    def index_put(self, tensor: Any, positions: Any, values: Any) -> JaxTensor:
        tensor, positions = self.asarray(tensor), self.asarray(positions)
        if np.ndim(values):
            check_one_each(positions.size, len(values))
        selecting.check_positions(positions, tensor.size)
        values = self.asarray(values).padded if np.ndim(values) else np.asarray(values)
        put = selecting.put(tensor.padded, positions.padded, positions.size, values)
        return JaxTensor(put, tensor.size, tensor.is_bucket)

    def concatenate(self, tensors: list[Any]) -> JaxTensor:
        return selecting.concatenate([self.asarray(tensor) for tensor in tensors])

    def repeat_interleave(self, tensor: Any, counts: Any, total: int) -> JaxTensor:
        tensor, counts = self.asarray(tensor), self.asarray(counts)
        problem = f"total={total} and the counts do not fit"
        if tensor.size != counts.size:
            raise InvalidArgumentError(f"{problem}: there are {counts.size} counts for {tensor.size} elements")
        try:
            owners = selecting.find_owners(counts, total)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{problem}: {error}") from error
        return self.index_select(tensor, owners)

    def cumsum(self, tensor: Any) -> JaxTensor:
        tensor = self.asarray(tensor)
        dtype = tensor.dtype.name if tensor.dtype.kind == "f" else "int64"
        return JaxTensor(ordering.running_sum(tensor.padded, dtype), tensor.size, tensor.is_bucket)

    def searchsorted(self, ascending: Any, values: Any, side: Any = "left") -> JaxTensor:
        check_choice("side", side, ("left", "right"))
        return ordering.searchsorted(self.asarray(ascending), self.asarray(values), side)

    def sort(self, tensor: Any) -> JaxTensor:
        return ordering.sort(self.asarray(tensor))

    def argsort(self, tensor: Any) -> JaxTensor:
        return ordering.argsort(self.asarray(tensor))

    def unique(self, tensor: Any) -> JaxTensor:
        ascending = ordering.sort(self.asarray(tensor))
        first = JaxTensor(ordering.is_first(ascending.padded), ascending.size, ascending.is_bucket)
        return self.mask_select(ascending, first)

    def reduce(self, tensor: Any, op: str) -> JaxTensor:
        return reduce(self.asarray(tensor), op)

    def scatter_reduce(self, into: Any, positions: Any, values: Any, op: str) -> JaxTensor:
        into, positions, values = self.asarray(into), self.asarray(positions), self.asarray(values)
        check_scatter(op, into.dtype, values.dtype)
        check_one_each(positions.size, values.size)
        selecting.check_positions(positions, into.size)
        return scatter_reduce(into, positions, values, op)

    def segment_reduce(self, values: Any, offsets: Any, op: str) -> JaxTensor:
        return segment_reduce(self.asarray(values), self.asarray(offsets), op)

    def _elementwise(self, name: str, *operands: Any, dtype: Any = None) -> JaxTensor:
        return elementwise(name, *operands, dtype=dtype)
