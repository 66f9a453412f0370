"""Reductions on PyTorch tensors.

`segment_reduce` of PyTorch takes floats only; integers and bools go through `scatter_reduce`, which keeps them exact,
and so do floats where a device lacks it.
"""

from __future__ import annotations

from typing import Any

import torch

from tgraph.dtypes import check_reduction, identity
from tgraph.errors import OutOfRangeError
from tgraph.runtime.torch.capabilities import capabilities_of

_SCATTER_NAMES = {"min": "amin", "max": "amax", "sum": "sum", "any": "amax"}


def reduce(tensor: torch.Tensor, op: str, dtype: Any) -> torch.Tensor:
    """Reduce everything to one element."""
    check_reduction(op, dtype)
    if op == "count":
        return torch.full((1,), tensor.numel(), dtype=torch.int64, device=tensor.device)
    if not tensor.numel():
        return torch.full((1,), identity(op, dtype), dtype=tensor.dtype, device=tensor.device)
    functions = {"min": torch.amin, "max": torch.amax, "sum": torch.sum, "mean": torch.mean, "any": torch.any}
    return functions[op](tensor).to(tensor.dtype).reshape(1)


def scatter_reduce(into: torch.Tensor, positions: torch.Tensor, values: torch.Tensor, op: str) -> torch.Tensor:
    """Reduce checked values into the positions of `into`. On the CPU duplicates meet in the order of `values`."""
    positions = positions.long()
    try:
        if op == "count":
            return into.scatter_add_(0, positions, torch.ones_like(positions, dtype=into.dtype))
        if op in ("min", "max") and into.dtype == torch.int64 and not capabilities_of(into.device).has_int64_extremes:
            near = scatter_reduce(into.cpu(), positions.cpu(), values.cpu(), op)
            return into.copy_(near)
        return into.scatter_reduce_(0, positions, values, _SCATTER_NAMES[op])
    except (IndexError, RuntimeError) as error:
        raise OutOfRangeError(f"{error}; the tensor has {into.shape[0]} elements") from error


def segment_reduce(values: torch.Tensor, offsets: torch.Tensor, op: str, dtype: Any) -> torch.Tensor:
    """Reduce each segment."""
    check_reduction(op, dtype)
    _check_offsets(values, offsets)
    sizes = torch.diff(offsets)
    if op == "count":
        return sizes.long()
    if op == "mean":
        return segment_reduce(values, offsets, "sum", dtype) / sizes.clamp(min=1).to(values.dtype)
    start = identity(op, dtype)
    if not sizes.numel() or not values.numel():
        return torch.full((sizes.numel(),), start, dtype=values.dtype, device=values.device)
    if values.is_floating_point() and capabilities_of(values.device).has_segment_reduce:
        return torch.segment_reduce(values, op, offsets=offsets, initial=start, unsafe=True)
    into = torch.full((sizes.numel() + 2,), start, dtype=values.dtype, device=values.device)
    return scatter_reduce(into, _find_owners(offsets, values.numel()), values, op)[1:-1]


def _find_owners(offsets: torch.Tensor, total: int) -> torch.Tensor:
    """Return one more than the segment of every value; those before all segments and behind them count too.

    So nobody has to read the first and the last offset back from the device.
    """
    ends = torch.zeros(1, dtype=offsets.dtype, device=offsets.device), offsets, torch.full_like(offsets[:1], total)
    sizes = torch.diff(torch.cat(ends))
    return torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes, output_size=total)


def _check_offsets(values: torch.Tensor, offsets: torch.Tensor) -> None:
    if values.device.type == "cpu" and offsets.numel() and (offsets[0] < 0 or offsets[-1] > values.numel()):
        reach = f"{offsets[0].item()} to {offsets[-1].item()}"
        raise OutOfRangeError(f"offsets run from {reach} beyond the {values.numel()} values")
