"""The primitives on PyTorch tensors; `tgraph.runtime.protocol` says what each one does."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from tgraph.errors import InvalidArgumentError, OutOfRangeError, check_choice
from tgraph.runtime.checks import check_mask, check_one_each, check_scatter
from tgraph.runtime.protocol import Array, Runtime
from tgraph.runtime.torch.capabilities import replace_dtype
from tgraph.runtime.torch.reductions import reduce, scatter_reduce, segment_reduce
from tgraph.runtime.wrapped import WrappedTensor

_DTYPES = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "float32": torch.float32,
    "float64": torch.float64,
}
_count_users = getattr(torch._C, "_storage_Use_Count", None)  # private: without it all memory counts as shared
_NUMPY_DTYPES = {torch_dtype: np.dtype(name) for name, torch_dtype in _DTYPES.items()}


def create(device: str) -> Runtime:
    """Return the runtime for `device`, in PyTorch's notation: `cpu`, `cuda`, `cuda:1`, `mps`."""
    try:
        found = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise InvalidArgumentError(
            f"device={device!r} cannot be used by torch here: {str(error).splitlines()[0]}"
        ) from error
    return _runtime_on(str(found))


@cache
def _runtime_on(device: str) -> TorchRuntime:
    """Return the only runtime of a device: `cuda` and `cuda:0` are one."""
    return TorchRuntime(device)


class TorchRuntime:
    """PyTorch on one device."""

    name = "torch"

    def __init__(self, device: str) -> None:
        self.device = device
        self._device = torch.device(device)

    def asarray(self, data: Any, dtype: Any = None) -> torch.Tensor:
        if not isinstance(data, torch.Tensor):
            data = torch.from_numpy(_as_shareable(np.asarray(data)))
        wanted = replace_dtype(data.dtype, self._device) if dtype is None else self._dtype(dtype)
        data = data.to(wanted)  # before it is moved: the device may not have its type
        return torch.as_tensor(data, device=self.device)

    def share(self, tensor: Any) -> torch.Tensor:
        can_lend = isinstance(tensor, WrappedTensor) and hasattr(tensor, "__dlpack__")
        return self.asarray(torch.from_dlpack(tensor) if can_lend else tensor)

    def to_numpy(self, tensor: torch.Tensor) -> Array:
        array: Array = tensor.detach().cpu().numpy()
        return array

    def full(self, size: int, value: Any, dtype: Any) -> torch.Tensor:
        return torch.full((size,), value, dtype=self._dtype(dtype), device=self.device)

    def arange(self, start: int, stop: int, dtype: Any) -> torch.Tensor:
        return torch.arange(start, max(start, stop), dtype=self._dtype(dtype), device=self.device)

    def astype(self, tensor: torch.Tensor, dtype: Any) -> torch.Tensor:
        return tensor.to(self._dtype(dtype))

    def dtype(self, tensor: torch.Tensor) -> np.dtype[Any]:
        return numpy_dtype(tensor.dtype)

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    def has_own_memory(self, tensor: torch.Tensor) -> bool:
        storage = tensor.untyped_storage()
        is_only_user = _count_users is not None and _count_users(storage._cdata) == 2  # the tensor and `storage`
        return is_only_user and storage.resizable() and tensor.is_contiguous()  # NumPy's memory cannot be resized

    def item(self, tensor: torch.Tensor) -> Any:
        return tensor.item()

    def index_select(self, tensor: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        try:
            return torch.index_select(tensor, 0, positions)
        except IndexError as error:
            raise OutOfRangeError(f"{error}; the tensor has {tensor.shape[0]} elements") from error

    def mask_select(self, tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        check_mask(mask.shape[0], tensor.shape[0])
        return torch.masked_select(tensor, mask)

    def nonzero(self, mask: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(mask).flatten()

    def index_put(self, tensor: torch.Tensor, positions: torch.Tensor, values: Any) -> torch.Tensor:
        values = self._as_tensor(values, tensor.dtype)
        values = values.expand(positions.shape) if values.ndim == 0 else values
        check_one_each(positions.numel(), values.numel())
        try:
            return tensor.index_copy_(0, positions.long(), values)
        except IndexError as error:
            raise OutOfRangeError(f"{error}; the tensor has {tensor.shape[0]} elements") from error

    def concatenate(self, tensors: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat(tensors)

    def repeat_interleave(self, tensor: torch.Tensor, counts: torch.Tensor, total: int) -> torch.Tensor:
        if counts.device.type == "cpu" and counts.numel() and counts.min() < 0:  # PyTorch writes outside its memory
            raise InvalidArgumentError(f"total={total} and the counts do not fit: {counts.min().item()} is negative")
        try:
            return torch.repeat_interleave(tensor, counts, output_size=total)
        except RuntimeError as error:
            raise InvalidArgumentError(f"total={total} and the counts do not fit: {error}") from error

    def cumsum(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(tensor, 0)

    def searchsorted(self, ascending: torch.Tensor, values: torch.Tensor, side: Any = "left") -> torch.Tensor:
        check_choice("side", side, ("left", "right"))
        return torch.searchsorted(ascending, values, side=side)

    def sort(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.sort(tensor).values

    def argsort(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.sort(tensor, stable=True).indices

    def unique(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.unique(tensor)

    def reduce(self, tensor: torch.Tensor, op: str) -> torch.Tensor:
        return reduce(tensor, op, self.dtype(tensor))

    def scatter_reduce(
        self, into: torch.Tensor, positions: torch.Tensor, values: torch.Tensor, op: str
    ) -> torch.Tensor:
        check_scatter(op, self.dtype(into), self.dtype(values))
        check_one_each(positions.numel(), values.numel())
        return scatter_reduce(into, positions, values, op)

    def segment_reduce(self, values: torch.Tensor, offsets: torch.Tensor, op: str) -> torch.Tensor:
        return segment_reduce(values, offsets, op, self.dtype(values))

    def where(self, condition: torch.Tensor, yes: Any, no: Any) -> torch.Tensor:
        return torch.where(self._as_tensor(condition, torch.bool), *self._promoted(yes, no))

    def minimum(self, left: Any, right: Any) -> torch.Tensor:
        return torch.minimum(*self._promoted(left, right))

    def maximum(self, left: Any, right: Any) -> torch.Tensor:
        return torch.maximum(*self._promoted(left, right))

    def absolute(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.abs(tensor)

    def sqrt(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(self._as_float(tensor))

    def exp(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.exp(self._as_float(tensor))

    def log(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.log(self._as_float(tensor))

    def _dtype(self, dtype: Any) -> torch.dtype:
        """Return torch's name of an element type, or of what stands for it on this device."""
        return replace_dtype(torch_dtype(dtype), self._device)

    def _as_float(self, tensor: torch.Tensor) -> torch.Tensor:
        """Widen integers to float64, as NumPy does; PyTorch would make float32 of them."""
        return tensor if tensor.is_floating_point() else tensor.to(self._dtype(np.float64))

    def _promoted(self, left: Any, right: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tensors or scalars as tensors of the type that NumPy would give: int64 and 1.5 meet in float64."""
        kinds = [self.dtype(value) if isinstance(value, torch.Tensor) else value for value in (left, right)]
        dtype = self._dtype(np.result_type(*kinds))
        return self._as_tensor(left, dtype), self._as_tensor(right, dtype)

    def _as_tensor(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        """Return a tensor here; a scalar is made on the device, where a copy would make the host wait."""
        if isinstance(value, (bool, int, float)):
            return torch.full((), value, dtype=dtype, device=self.device)
        return torch.as_tensor(value, dtype=dtype, device=self.device)


def torch_dtype(dtype: Any) -> torch.dtype:
    """Return torch's name of an element type."""
    name = np.dtype(dtype).name
    if name not in _DTYPES:
        raise InvalidArgumentError(f"dtype={name} has no tensor in torch; use one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """Return NumPy's name of an element type."""
    if dtype not in _NUMPY_DTYPES:
        raise InvalidArgumentError(f"{dtype} is not a type that tgraph works with; use {', '.join(_DTYPES)}")
    return _NUMPY_DTYPES[dtype]


def _as_shareable(array: Array) -> Array:
    """Return the array as PyTorch can view it: writeable, in the machine's byte order, with no negative stride."""
    torch_dtype(array.dtype)
    if not array.dtype.isnative or any(stride < 0 for stride in array.strides):
        return array.astype(array.dtype.newbyteorder("="), order="C")
    return array if array.flags.writeable else array.copy()
