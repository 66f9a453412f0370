"""The primitives on PyTorch tensors; `tgraph.runtime.protocol` says what each one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tgraph.errors import InvalidArgumentError, OutOfRangeError
from tgraph.runtime.protocol import Array, Runtime
from tgraph.runtime.torch.reductions import reduce, scatter_reduce, segment_reduce

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
_NUMPY_DTYPES = {torch_dtype: np.dtype(name) for name, torch_dtype in _DTYPES.items()}


def create(device: str) -> Runtime:
    """Return the runtime for `device`, in PyTorch's notation: `cpu`, `cuda`, `cuda:1`, `mps`."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InvalidArgumentError(
            f"device={device!r} cannot be used by torch here: {str(error).splitlines()[0]}"
        ) from error
    return TorchRuntime(device)


class TorchRuntime:
    """PyTorch on one device."""

    name = "torch"

    def __init__(self, device: str) -> None:
        self.device = device

    def asarray(self, data: Any, dtype: Any = None) -> torch.Tensor:
        wanted = None if dtype is None else _torch_dtype(dtype)
        if isinstance(data, np.ndarray):
            _torch_dtype(data.dtype)
            data = torch.from_numpy(data if data.flags.writeable else data.copy())
        return torch.as_tensor(data, dtype=wanted, device=self.device)

    def to_numpy(self, tensor: torch.Tensor) -> Array:
        array: Array = tensor.detach().cpu().numpy()
        return array

    def full(self, size: int, value: Any, dtype: Any) -> torch.Tensor:
        return torch.full((size,), value, dtype=_torch_dtype(dtype), device=self.device)

    def arange(self, start: int, stop: int, dtype: Any) -> torch.Tensor:
        return torch.arange(start, stop, dtype=_torch_dtype(dtype), device=self.device)

    def astype(self, tensor: torch.Tensor, dtype: Any) -> torch.Tensor:
        return tensor.to(_torch_dtype(dtype))

    def dtype(self, tensor: torch.Tensor) -> np.dtype[Any]:
        return _NUMPY_DTYPES[tensor.dtype]

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    def item(self, tensor: torch.Tensor) -> Any:
        return tensor.item()

    def index_select(self, tensor: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        try:
            return torch.index_select(tensor, 0, positions)
        except IndexError as error:
            raise OutOfRangeError(f"{error}; the tensor has {tensor.shape[0]} elements") from error

    def mask_select(self, tensor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.masked_select(tensor, mask)

    def nonzero(self, mask: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(mask).flatten()

    def index_put(self, tensor: torch.Tensor, positions: torch.Tensor, values: Any) -> torch.Tensor:
        if not isinstance(values, torch.Tensor):
            values = torch.as_tensor(values, dtype=tensor.dtype, device=tensor.device)
        try:
            return tensor.index_copy_(0, positions.long(), values.expand(positions.shape).to(tensor.dtype))
        except (IndexError, RuntimeError) as error:
            raise OutOfRangeError(f"{error}; the tensor has {tensor.shape[0]} elements") from error

    def concatenate(self, tensors: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat(tensors)

    def repeat_interleave(self, tensor: torch.Tensor, counts: torch.Tensor, total: int) -> torch.Tensor:
        return torch.repeat_interleave(tensor, counts, output_size=total)

    def cumsum(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(tensor, 0)

    def searchsorted(self, ascending: torch.Tensor, values: torch.Tensor, side: Any = "left") -> torch.Tensor:
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
        return scatter_reduce(into, positions, values, op, self.dtype(values))

    def segment_reduce(self, values: torch.Tensor, offsets: torch.Tensor, op: str) -> torch.Tensor:
        return segment_reduce(values, offsets, op, self.dtype(values))

    def where(self, condition: torch.Tensor, yes: Any, no: Any) -> torch.Tensor:
        return torch.where(condition, yes, no)

    def minimum(self, left: Any, right: Any) -> torch.Tensor:
        return torch.minimum(*_tensors(left, right))

    def maximum(self, left: Any, right: Any) -> torch.Tensor:
        return torch.maximum(*_tensors(left, right))

    def absolute(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.abs(tensor)

    def sqrt(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(tensor)

    def exp(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.exp(tensor)

    def log(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.log(tensor)


def _torch_dtype(dtype: Any) -> torch.dtype:
    name = np.dtype(dtype).name
    if name not in _DTYPES:
        raise InvalidArgumentError(f"dtype={name} has no tensor in torch; use one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def _tensors(left: Any, right: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn a scalar operand into a tensor of the other's type and device."""
    if not isinstance(left, torch.Tensor):
        left = torch.as_tensor(left, dtype=right.dtype, device=right.device)
    if not isinstance(right, torch.Tensor):
        right = torch.as_tensor(right, dtype=left.dtype, device=left.device)
    return left, right
