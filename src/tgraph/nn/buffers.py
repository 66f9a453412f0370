"""Memory that is used again from batch to batch.

New memory costs a page fault per 4 KiB when it is first written: for batches of features that is more time than the
copy itself. Small arrays come from the allocator, which keeps their memory by itself.
"""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

import numpy as np
import torch

from tgraph.runtime import Array

SMALLEST = 1 << 16  # bytes
MOST_KEPT = 64  # arrays of a size that the pool knows of; whoever holds more gets new memory


def _find_free(owners: list[Array], holders: int) -> int:
    """Return the position of the first array with at most so many holders; the length if there is none."""
    for position in range(len(owners)):
        if getrefcount(owners[position]) <= holders:
            return position
    return len(owners)


_NOBODY = next(count for count in range(10) if _find_free([np.empty(0)], count) == 0)  # but the list and the loop


class BufferPool:
    """Gives out arrays whose memory goes back by itself: when neither the array nor a view or tensor of it is left.

    So nothing that anyone still holds is ever written over. Memory stays with the pool as long as it lives, at most
    twice what was in use at the same time. Threads may share a pool.

    >>> pool = BufferPool()
    >>> first = pool.take(100_000, "float32")
    >>> address = first.ctypes.data
    >>> del first
    >>> pool.take(90_000, "int32").ctypes.data == address
    True
    """

    def __init__(self, pinned: bool = False) -> None:
        """Make an empty pool; `pinned` memory can be copied to a GPU in the background."""
        self._pinned = pinned
        self._owners: dict[int, list[Array]] = {}  # by size in bytes, a power of two
        self._lock = threading.Lock()

    def take(self, count: int, dtype: Any) -> Array:
        """Return an array `[count]` of anything."""
        num_bytes = count * np.dtype(dtype).itemsize
        if num_bytes < SMALLEST and not self._pinned:
            return np.empty(count, dtype)
        size = max(SMALLEST, 1 << (num_bytes - 1).bit_length())
        with self._lock:
            owners = self._owners.setdefault(size, [])
            position = _find_free(owners, _NOBODY)
            if position == MOST_KEPT:
                return self._allocate(num_bytes).view(dtype)
            if position == len(owners):
                owners.append(self._allocate(size))
            return owners[position][:num_bytes].view(dtype)

    def _allocate(self, num_bytes: int) -> Array:
        return torch.empty(num_bytes, dtype=torch.uint8, pin_memory=self._pinned).numpy()

    @property
    def num_bytes(self) -> int:
        """The bytes of all memory that the pool has, in use or not."""
        return sum(size * len(owners) for size, owners in self._owners.items())
