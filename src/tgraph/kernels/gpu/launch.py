"""How kernels are launched: how much a program takes, and with how many warps.

A program is what CUDA calls a block and ROCm a workgroup. Sizes are powers of two.

- `EDGES`: 8 warps of 32 lanes with 4 edges each (on AMD 8 waves of 64 lanes with 2). A warp reads 32 consecutive ids of
  4 bytes, one line of 128 bytes, 4 times over, and waits for 4 gathers at the same time. The scan over a program's
  edges needs a few KiB of shared memory, so that registers, not it, say how many programs a multiprocessor holds.
- `VERTICES`: for kernels that go once over vertices.
- `ROW_EDGES` x `FEATURES`: kernels on embeddings take one row and a part of its features; that many edges of the row
  are read at once, each as one piece of consecutive memory.
"""

from __future__ import annotations

import os

EDGES = 1024
VERTICES = 1024
CARRIES = 128  # parts of a row that lies in many programs, which are joined at once
ROW_EDGES = 16
MOST_FEATURES = 128  # of a program
SCORES = 64  # numbers of edges that a program reads at once, with one warp: most rows have fewer
WARPS = 8


def is_interpreted() -> bool:
    """Say whether kernels run in Triton's interpreter, on CPU tensors: it is decided when triton is imported."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def programs(size: int, each: int) -> tuple[int]:
    """Return the grid for `size` things, `each` per program; at least one.

    >>> programs(2049, 1024), programs(0, 1024)
    ((3,), (1,))
    """
    return (max(1, -(-size // each)),)


def feature_block(width: int) -> int:
    """Return how many features a program takes: all, as a power of two, up to `MOST_FEATURES`.

    >>> feature_block(3), feature_block(602)
    (4, 128)
    """
    return min(MOST_FEATURES, 1 << max(0, width - 1).bit_length())


def row_warps(features: int) -> int:
    """Return the warps of a program that reads `ROW_EDGES` x `features` numbers at once: about 16 for each lane.

    >>> row_warps(4), row_warps(128)
    (1, 4)
    """
    return min(WARPS, max(1, ROW_EDGES * features // 512))
