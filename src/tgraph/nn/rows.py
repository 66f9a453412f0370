"""Rows of a feature table that are read where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tgraph.errors import InvalidArgumentError, OutOfRangeError


class _Writable:
    """A view of a NumPy array that says it may be written, as torch wants it; nothing here writes to it."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array  # keeps the memory alive
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


@dataclass(frozen=True)
class Rows:
    """Rows `ids` of a feature table, not copied: an aggregation reads the table through the ids.

    Args:
        table: `[N, F]` or `[N, H, F]`: a tensor, a NumPy array or a memory map. It gets a gradient if it is a tensor
            that requires one.
        ids: `[S]`, int32 or int64; the same row may occur more than once.

    >>> import numpy as np
    >>> rows = Rows(np.arange(8.0).reshape(4, 2), [3, 0])
    >>> rows.shape, rows.gather().tolist(), rows[:1].gather().tolist()
    ((2, 2), [[6.0, 7.0], [0.0, 1.0]], [[6.0, 7.0]])
    """

    table: Tensor
    ids: Tensor

    def __init__(self, table: Any, ids: Any) -> None:
        table, ids = _as_tensor(table), _as_tensor(ids)
        if table.ndim not in (2, 3):
            raise InvalidArgumentError(f"table has {table.ndim} dimensions; it must be [N, F] or [N, heads, F]")
        ids = ids.to(device=table.device, dtype=torch.int64 if ids.dtype != torch.int32 else torch.int32)
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < table.shape[0]:
            raise OutOfRangeError(
                f"ids reach from {int(ids.min())} to {int(ids.max())}, but the table has {table.shape[0]} rows"
            )
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "ids", ids)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows if they were gathered."""
        return (int(self.ids.shape[0]), *self.table.shape[1:])

    @property
    def dtype(self) -> torch.dtype:
        """The type of the features."""
        return self.table.dtype

    def __getitem__(self, part: slice) -> Rows:
        """Return some of the rows, still not copied: `rows[:block.num_targets]` are those of the targets."""
        return Rows(self.table, self.ids[part])

    def gather(self) -> Tensor:
        """Return the rows as a tensor of their own."""
        return self.table.index_select(0, self.ids)


def gathered(embeddings: Tensor | Rows) -> Tensor:
    """Return embeddings as a tensor, whichever way they are given."""
    return embeddings.gather() if isinstance(embeddings, Rows) else embeddings


def _as_tensor(values: Any) -> Tensor:
    if isinstance(values, np.ndarray) and not values.flags.writeable:
        values = np.asarray(_Writable(values))
    return torch.as_tensor(values)
