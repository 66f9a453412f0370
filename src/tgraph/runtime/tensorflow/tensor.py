"""Tensors of the TensorFlow runtime: eager tensors whose operators promote types as NumPy does.

TensorFlow itself refuses int32 + int64 and int64 * 1.5, and has no minimum of bools.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tgraph.errors import InvalidArgumentError
from tgraph.runtime.protocol import Array
from tgraph.runtime.wrapped import DLPACK_CPU, WrappedTensor, common_dtype

DLPACK_GPU = 2

_FUNCTIONS: dict[str, Callable[..., tf.Tensor]] = {
    "add": tf.add,
    "subtract": tf.subtract,
    "multiply": tf.multiply,
    "true_divide": tf.truediv,
    "floor_divide": tf.math.floordiv,
    "remainder": tf.math.floormod,
    "power": tf.pow,
    "bitwise_and": tf.bitwise.bitwise_and,
    "bitwise_or": tf.bitwise.bitwise_or,
    "bitwise_xor": tf.bitwise.bitwise_xor,
    "invert": tf.bitwise.invert,
    "negative": tf.negative,
    "absolute": tf.abs,
    "sqrt": tf.sqrt,
    "exp": tf.exp,
    "log": tf.math.log,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "minimum": tf.minimum,
    "maximum": tf.maximum,
    "where": tf.where,
}
_OF_BOOLS = _FUNCTIONS | {
    "bitwise_and": tf.logical_and,
    "bitwise_or": tf.logical_or,
    "bitwise_xor": tf.math.logical_xor,
    "invert": tf.logical_not,
    "minimum": tf.logical_and,
    "maximum": tf.logical_or,
    "less": lambda left, right: tf.logical_and(tf.logical_not(left), right),
    "less_equal": lambda left, right: tf.logical_or(tf.logical_not(left), right),
    "greater": lambda left, right: tf.logical_and(left, tf.logical_not(right)),
    "greater_equal": lambda left, right: tf.logical_or(left, tf.logical_not(right)),
}


class TensorFlowTensor(WrappedTensor):
    """A tensor of TensorFlow. `.tensor` gives it as a `tf.Tensor`, and TensorFlow's functions take this one too.

    >>> from tgraph import runtime
    >>> levels = runtime.get("tensorflow").asarray([1, 5, 2])  # doctest: +SKIP
    >>> levels * 1.5  # doctest: +SKIP
    TensorFlowTensor([1.5, 7.5, 3. ])
    """

    __slots__ = ("__weakref__", "known", "tensor")

    runtime_name = "tensorflow"

    def __init__(self, tensor: tf.Tensor) -> None:
        self.tensor = tensor
        self.known: dict[str, Any] = {}  # what was found out about these elements, which never change

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The size of each axis."""
        return tuple(self.tensor.shape)

    @property
    def size(self) -> int:
        """The size of the first axis."""
        return self.shape[0] if self.ndim else 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(self.tensor.dtype.as_numpy_dtype)

    @property
    def device(self) -> str:
        """The device in the runtime's notation."""
        return device_name(self.tensor.device)

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
        return self.tensor if dtype is None else tf.cast(self.tensor, dtype, name=name)

    def __dlpack__(self, **_: Any) -> Any:
        return tf.experimental.dlpack.to_dlpack(self.tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, _, number = self.device.partition(":")
        return (DLPACK_CPU if kind == "cpu" else DLPACK_GPU), int(number or 0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(np.asarray(self.tensor), dtype, copy=copy)

    def reshape(self, *shape: int) -> TensorFlowTensor:
        """Return the elements in another shape."""
        return TensorFlowTensor(tf.reshape(self.tensor, shape))

    def __getitem__(self, place: int | slice) -> Any:
        """Return one element as a NumPy scalar, or some as a tensor."""
        if not isinstance(place, slice):
            return np.asarray(self.tensor)[place]
        start, stop, step = place.indices(self.size)
        if (start, stop, step) == (0, self.size, 1):
            return self
        if step != 1:
            return TensorFlowTensor(self.tensor[place])
        return TensorFlowTensor(tf.slice(self.tensor, [start], [max(stop - start, 0)]))

    def _apply(self, name: str, *operands: Any) -> TensorFlowTensor:
        return elementwise(name, *operands)


def elementwise(name: str, *operands: Any, dtype: Any = None) -> TensorFlowTensor:
    """Return NumPy's function `name` of tensors and numbers, in the type in which they meet unless one is given."""
    values = operands[1:] if name == "where" else operands
    if dtype is None:
        dtype = common_dtype(name, [np.dtype(one.dtype) if hasattr(one, "dtype") else one for one in values])
    functions = _OF_BOOLS if np.dtype(dtype) == np.bool_ else _FUNCTIONS
    arguments = [_operand(value, dtype) for value in values]
    if name == "where":
        arguments.insert(0, _operand(operands[0], np.bool_))
    try:
        made = functions[name](*arguments)
        if name in ("minimum", "maximum") and np.dtype(dtype).kind == "f":  # vectorised loops lose NaN
            left, right = arguments
            made = tf.where(tf.math.is_nan(left) | tf.math.is_nan(right), tf.constant(np.nan, made.dtype), made)
        return TensorFlowTensor(made)
    except tf.errors.InvalidArgumentError as error:
        sizes = " and ".join(str(len(value)) for value in operands if np.ndim(value))
        raise InvalidArgumentError(f"tensors of {sizes} elements do not meet; make them alike") from error


def _operand(value: Any, dtype: Any) -> tf.Tensor:
    if isinstance(value, TensorFlowTensor):
        return cast(value.tensor, dtype)
    return tf.constant(np.asarray(value).astype(dtype))


def cast(tensor: tf.Tensor, dtype: Any) -> tf.Tensor:
    """Return the tensor with another element type, itself if it has that one."""
    return tf.cast(tensor, tf.as_dtype(np.dtype(dtype)))


def device_name(place: str) -> str:
    """Return the runtime's name of a device.

    >>> device_name("/job:localhost/replica:0/task:0/device:CPU:0"), device_name("/device:GPU:1")
    ('cpu', 'gpu:1')
    """
    kind, _, number = place.rpartition("device:")[2].lower().partition(":")
    return kind if number in ("", "0") else f"{kind}:{number}"
