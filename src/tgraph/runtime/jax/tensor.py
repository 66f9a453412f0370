"""Tensors of the JAX runtime: arrays of few shapes, in 64 bits.

JAX compiles every operation once per shape. A frontier has another size in every iteration, so its tensors lie in
arrays whose length is a power of two, a **bucket**: compilations then number as many as there are buckets, whatever the
graph and the number of iterations. What has the size of the graph (its own tensors, and all that follows from them)
lies in arrays of just that length, unless it is small. What lies behind the `size` elements of a bucket means nothing.

JAX has no 64-bit types unless told. Everything here happens inside `jax.enable_x64`, which ends with the call: the
user's setting stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.runtime.protocol import Array
from tgraph.runtime.wrapped import WrappedTensor, common_dtype

SMALLEST_BUCKET = 1024

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def in_64_bits(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Let a function use 64-bit types; the setting outside of it does not change."""

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return call


def bucket(size: int) -> int:
    """Return the length of the arrays for tensors of this size.

    >>> bucket(3), bucket(1024), bucket(1025)
    (1024, 1024, 2048)
    """
    return max(SMALLEST_BUCKET, 1 << max(size - 1, 0).bit_length())


class JaxTensor(WrappedTensor):
    """The first `size` elements of a JAX array. `.array` gives them as a `jax.Array`, and so does `jnp.asarray`.

    >>> from tgraph import runtime
    >>> levels = runtime.get("jax").asarray([1, 5, 2])
    >>> levels * 1.5, (levels > 1).array
    (JaxTensor([1.5, 7.5, 3. ]), Array([False,  True,  True], dtype=bool))
    """

    __slots__ = ("__weakref__", "is_bucket", "known", "padded", "size")

    runtime_name = "jax"

    def __init__(self, padded: jax.Array, size: int | None = None, is_bucket: bool = False) -> None:
        self.padded = padded
        self.size = (padded.shape[0] if padded.ndim else 1) if size is None else size
        self.is_bucket = is_bucket  # also where the size happens to be a power of two
        self.known: dict[str, Any] = {}  # what was found out about these elements, which never change

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The size, and the other axes if there are any."""
        return (self.size, *self.padded.shape[1:]) if self.padded.ndim else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(self.padded.dtype)

    @property
    def device(self) -> str:
        """The device in the runtime's notation."""
        return device_name(self.padded.device)

    @property
    def array(self) -> jax.Array:
        """The elements as a JAX array of just their size."""
        return self._exactly(0, self.size) if self.padded.ndim else self.padded

    def __jax_array__(self) -> jax.Array:
        return self.array

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.padded.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = np.asarray(self.padded)
        return np.array(array[: self.size] if array.ndim else array, dtype, copy=copy)

    @in_64_bits
    def reshape(self, *shape: int) -> JaxTensor:
        """Return the elements in another shape."""
        return JaxTensor(self.array.reshape(shape))

    def __getitem__(self, place: int | slice) -> Any:
        """Return one element as a NumPy scalar, or consecutive ones as a tensor."""
        if not isinstance(place, slice):
            return np.asarray(self)[place]
        start, stop, step = place.indices(self.size)
        if step != 1:
            raise InvalidArgumentError(f"a slice of a JaxTensor has step 1, not {step}; use .array")
        return self._section(start, max(stop - start, 0))

    @in_64_bits
    def _section(self, start: int, size: int) -> JaxTensor:
        if size == self.size:
            return self
        if not self.is_bucket:
            return JaxTensor(self._exactly(start, size))
        return JaxTensor(_shifted(self.padded, start, bucket(size)), size, is_bucket=True)

    @in_64_bits
    def _exactly(self, start: int, size: int) -> jax.Array:
        return self.padded if size == self.padded.shape[0] else _cut(self.padded, start, size)

    def _apply(self, name: str, *operands: Any) -> JaxTensor:
        return elementwise(name, *operands)


@in_64_bits
def elementwise(name: str, *operands: Any, dtype: Any = None) -> JaxTensor:
    """Return NumPy's function `name` of tensors and numbers, in the type in which they meet unless one is given."""
    values = operands[1:] if name == "where" else operands
    if dtype is None:
        kinds = [np.dtype(value.dtype) if hasattr(value, "dtype") else value for value in values]
        dtype = common_dtype(name, kinds)
    tensors = [operand for operand in operands if isinstance(operand, JaxTensor)]
    size = _common_size([tensor.size for tensor in tensors])
    full = [tensor for tensor in tensors if tensor.size == size]
    length = max(tensor.padded.shape[0] if tensor.padded.ndim else 1 for tensor in full)
    arrays = [_operand(operand, size, dtype) for operand in operands]
    made = _elementwise(name, np.dtype(dtype).name, length, *arrays)
    return JaxTensor(made, size, is_bucket=any(tensor.is_bucket for tensor in full))


def _common_size(sizes: list[int]) -> int:
    """Return the size of a result: one element meets any number of them."""
    several = {size for size in sizes if size != 1}
    if len(several) > 1:
        raise InvalidArgumentError(f"tensors of {' and '.join(map(str, sizes))} elements do not meet; make them alike")
    return several.pop() if several else 1


def _operand(value: Any, size: int, dtype: Any) -> Any:
    """Return an array that can meet others: one element alone is spread over all."""
    if isinstance(value, JaxTensor):
        return _cut(value.padded, 0, 1) if value.size == 1 != size and value.padded.ndim else value.padded
    if isinstance(value, (bool, int, float)):
        return np.asarray(value, bool if isinstance(value, bool) else dtype)
    return np.asarray(value)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _elementwise(name: str, dtype: str, length: int, *arrays: jax.Array) -> jax.Array:
    fitting = [_padded_to(array, length) for array in arrays]
    if name == "where":
        return jnp.where(fitting[0].astype(bool), fitting[1].astype(dtype), fitting[2].astype(dtype))
    return getattr(jnp, name)(*(array.astype(dtype) for array in fitting))


def _padded_to(array: jax.Array, length: int) -> jax.Array:
    """Return an array of that length, while tracing; one element and numbers stay as they are."""
    if array.ndim == 0 or array.shape[0] in (1, length):
        return jnp.asarray(array)
    return jnp.pad(array, [(0, length - array.shape[0])] + [(0, 0)] * (array.ndim - 1))


@partial(jax.jit, static_argnums=2)
def _cut(array: jax.Array, start: Any, size: int) -> jax.Array:
    return jax.lax.dynamic_slice_in_dim(array, start, size)


@partial(jax.jit, static_argnums=2)
def _shifted(array: jax.Array, start: Any, length: int) -> jax.Array:
    """Return `length` elements from `start` on; those beyond the end mean nothing."""
    return jnp.take(array, start + jnp.arange(length), axis=0, mode="clip")


@partial(jax.jit, static_argnums=1)
def padded_to(array: jax.Array, length: int) -> jax.Array:
    """Return an array with so many elements; those beyond its own mean nothing."""
    return _padded_to(array, length)


@cache
def device_name(device: jax.Device) -> str:
    """Return the runtime's name of a device: `cpu` for the first of the CPU's, `gpu:1` for the second GPU."""
    return device.platform if device == jax.devices(device.platform)[0] else f"{device.platform}:{device.id}"
