"""Rows of a table that are not copied yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tgraph.errors import OutOfRangeError
from tgraph.kernels.cpu.row_lookup import copy_rows
from tgraph.runtime import Array


@dataclass(frozen=True)
class Rows:
    """The rows `ids` of a table, read where they lie: whoever goes through them once need not copy them before.

    >>> rows = Rows(torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0]))
    >>> tuple(rows.shape), rows.gather().tolist()
    ((2, 2), [[4.0, 5.0], [0.0, 1.0]])
    """

    table: Tensor  # [V, ...]
    ids: Tensor  # [N] int64, on the table's device

    @property
    def shape(self) -> torch.Size:
        """The shape that `gather` returns."""
        return torch.Size((self.ids.shape[0], *self.table.shape[1:]))

    @property
    def dtype(self) -> torch.dtype:
        """The type of the table."""
        return self.table.dtype

    def gather(self) -> Tensor:
        """Return a copy of the rows; gradients go back to the table if it wants them."""
        if self.table.requires_grad or self.table.device.type != "cpu":
            return self.table[self.ids]
        if self.ids.numel() and not 0 <= int(self.ids.min()) <= int(self.ids.max()) < self.table.shape[0]:
            raise OutOfRangeError(
                f"ids run from {int(self.ids.min())} to {int(self.ids.max())}; the table has {self.table.shape[0]} rows"
            )
        new_rows = torch.empty(self.shape, dtype=self.dtype)
        copy_rows(bytes_of(self.table), self.ids.contiguous().numpy(), bytes_of(new_rows))
        return new_rows


def bytes_of(table: Tensor) -> Array:
    """Return the rows of a contiguous tensor in memory as bytes `[V, B] uint8`, without a copy."""
    count = table.shape[0]
    width = table[:1].numel() if count else 0
    return table.detach().reshape(count, width).view(torch.uint8).numpy()


def rows_of_bytes(array: Array, like: Tensor) -> Tensor:
    """Return bytes `[N, B]` as rows of the type and the width of another table, without a copy."""
    rows: Any = torch.from_numpy(array.reshape(-1)).view(like.dtype)
    return rows.reshape(array.shape[0], *like.shape[1:])
