"""Tensors of libraries whose own operators are not those that programs rely on.

A program adds, divides and compares tensors as NumPy does: int32 and int64 meet in int64, int64 and 1.5 in float64. JAX
and TensorFlow differ (32-bit unless told, no promotion at all), so their runtimes wrap the library's tensors. These do
not change: a runtime may remember what it found out about one. What such runtimes do alike is here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.runtime.protocol import Array

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
DLPACK_CPU = 1  # kDLCPU


class WrappedTensor:
    """The operators, each by NumPy's name of it; a library's class says how one is applied."""

    __slots__ = ()
    __array_ufunc__ = None  # an array or a NumPy scalar on the left leaves the operator to this class
    __hash__ = None  # type: ignore[assignment]

    runtime_name: ClassVar[str]
    shape: tuple[int, ...]

    def _apply(self, name: str, *operands: Any) -> Any:
        """Return the NumPy function `name` of tensors and numbers."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the elements as a NumPy array, which shares the memory where that is possible."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def tolist(self) -> list[Any]:
        """Return the elements as Python scalars."""
        listed: list[Any] = np.asarray(self).tolist()
        return listed

    def item(self) -> Any:
        """Return the only element as a Python scalar."""
        return np.asarray(self).item()

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        if math.prod(self.shape) != 1:
            raise ValueError(f"the truth value of a tensor of shape {tuple(self.shape)} is ambiguous")
        return bool(self.item())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({np.array2string(np.asarray(self), separator=', ', threshold=20)})"

    def __neg__(self) -> Any:
        return self._apply("negative", self)

    def __abs__(self) -> Any:
        return self._apply("absolute", self)

    def __invert__(self) -> Any:
        return self._apply("invert", self)


def _forward(name: str) -> Callable[[WrappedTensor, Any], Any]:
    return lambda self, other: self._apply(name, self, other)


def _backward(name: str) -> Callable[[WrappedTensor, Any], Any]:
    return lambda self, other: self._apply(name, other, self)


BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
for _operator, _name in BINARY.items():
    setattr(WrappedTensor, f"__{_operator}__", _forward(_name))
    setattr(WrappedTensor, f"__r{_operator}__", _backward(_name))
for _operator, _name in COMPARISONS.items():
    setattr(WrappedTensor, f"__{_operator}__", _forward(_name))


class WrappedRuntime:
    """What runtimes with wrapped tensors do alike; a library's class says how a function is applied."""

    def asarray(self, data: Any, dtype: Any = None) -> Any:
        """Return `data` as a tensor of this runtime."""
        raise NotImplementedError

    def _elementwise(self, name: str, *operands: Any, dtype: Any = None) -> Any:
        """Return the NumPy function `name` of tensors and numbers, in `dtype` if given."""
        raise NotImplementedError

    def to_numpy(self, tensor: Any) -> Array:
        return np.asarray(tensor)

    def has_own_memory(self, tensor: Any) -> bool:
        return True

    def item(self, tensor: Any) -> Any:
        return np.asarray(tensor).item()

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return self._elementwise("where", *self._operands(condition, yes, no))

    def minimum(self, left: Any, right: Any) -> Any:
        return self._elementwise("minimum", *self._operands(left, right))

    def maximum(self, left: Any, right: Any) -> Any:
        return self._elementwise("maximum", *self._operands(left, right))

    def absolute(self, tensor: Any) -> Any:
        return self._elementwise("absolute", self.asarray(tensor))

    def sqrt(self, tensor: Any) -> Any:
        return self._in_floats("sqrt", tensor)

    def exp(self, tensor: Any) -> Any:
        return self._in_floats("exp", tensor)

    def log(self, tensor: Any) -> Any:
        return self._in_floats("log", tensor)

    def _in_floats(self, name: str, tensor: Any) -> Any:
        """Apply a function to floats; integers become float64, as in NumPy."""
        tensor = self.asarray(tensor)
        return self._elementwise(name, tensor, dtype=tensor.dtype if tensor.dtype.kind == "f" else "float64")

    def _operands(self, *values: Any) -> list[Any]:
        return [self.asarray(value) if np.ndim(value) else value for value in values]


def common_dtype(name: str, kinds: list[Any]) -> np.dtype[Any]:
    """Return the type in which element types and Python scalars meet in NumPy's function `name`.

    >>> common_dtype("add", [np.dtype("int64"), 1.5]), common_dtype("true_divide", [np.dtype("int32"), 2])
    (dtype('float64'), dtype('float64'))
    """
    dtype = np.result_type(*kinds)
    return np.dtype(np.float64) if name == "true_divide" and dtype.kind != "f" else dtype


def check_dtype(runtime_name: str, dtype: Any) -> np.dtype[Any]:
    """Return an element type that tensors can have, or raise."""
    dtype = np.dtype(dtype)
    if dtype.name not in DTYPES:
        raise InvalidArgumentError(
            f"dtype={dtype.name} has no tensor in {runtime_name}; use one of {', '.join(DTYPES)}"
        )
    return dtype


def lends_host_memory(tensor: Any) -> bool:
    """Say whether DLPack can lend a tensor in memory of the CPU; torch raises of devices that DLPack does not know."""
    try:
        return hasattr(tensor, "__dlpack__") and tensor.__dlpack_device__()[0] == DLPACK_CPU
    except ValueError:
        return False


def host_array(data: Any) -> Array:
    """Return a list, an array or a tensor of any runtime as a NumPy array, in the same memory where possible."""
    if hasattr(data, "detach"):  # a torch tensor, maybe on another device
        data = data.detach().cpu()
    return np.asarray(data)
