"""Rows of a table in the host's memory, read by the GPU where they lie, through pinned memory.

Triton's launcher finds the address at which the device sees a pinned CPU tensor, on CUDA and on ROCm; XPU refuses. Each
program reads a part of one row as one piece of memory, so that requests on the bus are as large as they can be: rows of
128 bytes and more pay, single numbers do not.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.operators import define


@triton.jit
def gather_rows_kernel(far, ids, new_rows, WIDTH: tl.constexpr, FEATURES: tl.constexpr):
    """Write new_rows[i, part] = far[ids[i], part]. One program per row and part; no atomics."""
    row = tl.program_id(0).to(tl.int64)
    features = tl.program_id(1) * FEATURES + tl.arange(0, FEATURES)
    place = tl.load(ids + row).to(tl.int64) * WIDTH + features
    tl.store(new_rows + row * WIDTH + features, tl.load(far + place, mask=features < WIDTH), mask=features < WIDTH)


def gather_far(far: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return rows `ids` of a pinned table `[N, F]` in the host's memory, on the device of the ids."""
    width = far.shape[1]
    rows = torch.empty((ids.shape[0], width), dtype=far.dtype, device=ids.device)
    if rows.numel():
        sizes = launch.sizes_on(ids.device)
        features = sizes.feature_block(width)
        grid = (ids.shape[0], launch.programs(width, features)[0])
        gather_rows_kernel[grid](far, ids, rows, WIDTH=width, FEATURES=features, num_warps=sizes.row_warps(features))
    return rows


define(
    "gather_far(Tensor far, Tensor ids) -> Tensor",
    gather_far,
    lambda far, ids: far.index_select(0, ids),
    lambda far, ids: ids.new_empty((ids.shape[0], far.shape[1]), dtype=far.dtype),
)
