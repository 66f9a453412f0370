"""Moving batches to the device where they are computed on."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from tgraph.nn.block import Block

T = TypeVar("T")


def move_batch(batch: T, device: Any) -> T:
    """Return a batch (a dataclass) with its tensors and blocks on a device; `Rows` stay where their table is.

    From pinned memory the copies run beside the caller's other threads; when this returns they are done, so that the
    memory can be used again.
    """
    moved = {one.name: _move(getattr(batch, one.name), device) for one in fields(batch)}  # type: ignore[arg-type]
    if torch.device(device).type == "cuda":
        torch.cuda.current_stream(device).synchronize()
    return replace(batch, **moved)  # type: ignore[type-var]


def _move(value: Any, device: Any) -> Any:
    if isinstance(value, (Tensor, Block)):
        return value.to(device, non_blocking=True)
    if isinstance(value, tuple):
        return tuple(_move(one, device) for one in value)
    if isinstance(value, dict):
        return {name: _move(one, device) for name, one in value.items()}
    return value


def is_elsewhere(device: Any) -> bool:
    """Say whether a device is another one than the CPU; None is the CPU."""
    return device is not None and torch.device(device).type != "cpu"
