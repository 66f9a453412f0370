"""Rows of a table that are read where they lie."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import OutOfRangeError
from tgraph.kernels.cpu.row_lookup import copy_rows
from tgraph.kernels.registry import kernels_on
from tgraph.runtime import Array

FAR_READERS = ["cuda"]  # devices, ROCm's included, that find a pinned tensor of the host; XPU refuses it


@dataclass(frozen=True)
class Rows:
    """Rows `ids` of a table, not copied: an aggregation reads the table through the ids.

    Args:
        table: `[N, ...]`: a tensor, a NumPy array or a memory map. It gets a gradient if it is a tensor that requires
            one. Pinned memory of the host is read in place by a GPU that has the ids.
        ids: `[S]`, int32 or int64; the same row may occur more than once.

    >>> import numpy as np
    >>> rows = Rows(np.arange(8.0).reshape(4, 2), [3, 0])
    >>> rows.shape, rows.gather().tolist(), rows[:1].gather().tolist()
    (torch.Size([2, 2]), [[6.0, 7.0], [0.0, 1.0]], [[6.0, 7.0]])
    """

    table: Tensor
    ids: Tensor

    def __init__(self, table: Any, ids: Any) -> None:
        table, ids = shared_tensor(table), shared_tensor(ids)
        device = ids.device if can_read_far(table, ids.device) else table.device
        ids = ids.to(device=device, dtype=torch.int64 if ids.dtype != torch.int32 else torch.int32)
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < table.shape[0]:
            raise OutOfRangeError(
                f"ids reach from {int(ids.min())} to {int(ids.max())}; the table has {table.shape[0]} rows"
            )
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "ids", ids)

    @classmethod
    def unchecked(cls, table: Tensor, ids: Tensor) -> Rows:
        """Return rows whose ids are known to be rows of the table, as those of a sample are, and where it is read."""
        rows = object.__new__(cls)
        vars(rows).update(table=table, ids=ids)
        return rows

    @property
    def shape(self) -> torch.Size:
        """The shape of the rows if they were gathered."""
        return torch.Size((self.ids.shape[0], *self.table.shape[1:]))

    @property
    def dtype(self) -> torch.dtype:
        """The type of the table."""
        return self.table.dtype

    @property
    def is_far(self) -> bool:
        """Whether the table is in pinned memory of the host and the ids are on the device that reads it there."""
        return self.ids.device != self.table.device

    def __getitem__(self, part: slice) -> Rows:
        """Return some of the rows, still not copied: `rows[:block.num_targets]` are those of the targets."""
        return Rows.unchecked(self.table, self.ids[part])

    def gather(self) -> Tensor:
        """Return a copy of the rows, where the ids are; gradients go back to the table if it wants them."""
        if self.is_far:
            import tgraph.kernels.gpu.far_memory  # noqa: F401 - which defines the operator

            rows = torch.ops.tgraph.gather_far(self.table.flatten(1), self.ids)
            return rows.view(self.shape)
        if self.table.requires_grad or self.table.device.type != "cpu" or not self.table.is_contiguous():
            return self.table.index_select(0, self.ids)
        new_rows = torch.empty(self.shape, dtype=self.dtype)
        copy_rows(bytes_of(self.table), self.ids.contiguous().numpy(), bytes_of(new_rows))
        return new_rows


def can_read_far(table: Tensor, device: torch.device) -> bool:
    """Say whether kernels on a device read a table of the host where it lies: pinned, without a gradient."""
    is_apart = table.device.type == "cpu" and device.type in FAR_READERS and kernels_on(device.type) == "gpu"
    return is_apart and table.ndim > 1 and table.is_contiguous() and not table.requires_grad and table.is_pinned()


def gathered(embeddings: Tensor | Rows) -> Tensor:
    """Return embeddings as a tensor, whichever way they are given."""
    return embeddings.gather() if isinstance(embeddings, Rows) else embeddings


def shared_tensor(values: Any) -> Tensor:
    """Return an array as a tensor that shares its memory, also where it must not be written; nothing here does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(values) if isinstance(values, np.ndarray) else torch.as_tensor(values)


def bytes_of(table: Tensor) -> Array:
    """Return the rows of a contiguous tensor in memory as bytes `[V, B] uint8`, without a copy."""
    count = table.shape[0]
    width = table[:1].numel() if count else 0
    return table.detach().reshape(count, width).view(torch.uint8).numpy()


def rows_of_bytes(array: Array, like: Tensor) -> Tensor:
    """Return bytes `[N, B]` as rows of the type and the width of another table, without a copy."""
    rows: Any = torch.from_numpy(array.reshape(-1)).view(like.dtype)
    return rows.reshape(array.shape[0], *like.shape[1:])
