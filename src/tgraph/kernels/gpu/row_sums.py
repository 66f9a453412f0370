"""Sums of embeddings along edges: a program per row, head and part of the features.

Embeddings are `[N, H, F]`. Edges of the row are read `EDGES` at a time, the features of each as one piece of memory, so
reads are coalesced and nothing of the size edges x features is made. Each program writes its own part of one row: no
atomics, deterministic. Half precision is summed in float32. A row with very many edges is read by one program per
part: blocks of samplers have no such rows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu import launch


@triton.jit
def read_tile(embeddings, rows, mask, head, HEADS: tl.constexpr, WIDTH: tl.constexpr, features):
    """Return the features of some rows, `[EDGES, FEATURES]`, 0 where there is nothing."""
    places = (rows.to(tl.int64)[:, None] * HEADS + head) * WIDTH + features[None, :]
    return tl.load(embeddings + places, mask=mask[:, None] & (features < WIDTH)[None, :], other=0)


@triton.jit
def wide(value):
    """Return half precision as float32, everything else as it is."""
    return value if value.dtype == tl.float64 else value.to(tl.float32)


@triton.jit
def sum_rows_kernel(
    offsets,
    ids,
    weights,
    embeddings,
    new_sums,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_sums[row, head, part]: the sum of `weights[e, head] * embeddings[ids[e], head]`."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    features = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    lanes = tl.arange(0, EDGES)
    last = tl.load(offsets + row + 1)
    sums = tl.zeros([FEATURES], tl.float64 if embeddings.dtype.element_ty == tl.float64 else tl.float32)
    for begin in range(tl.load(offsets + row), last, EDGES):
        edges = begin + lanes.to(tl.int64)
        mask = edges < last
        read = tl.load(ids + edges, mask=mask, other=0)
        tile = wide(read_tile(embeddings, read, mask, head, HEADS, WIDTH, features))
        if weights is not None:
            tile = tile * wide(tl.load(weights + edges * HEADS + head, mask=mask, other=0))[:, None]
        sums += tl.sum(tl.where(mask[:, None], tile, 0.0), 0)
    tl.store(new_sums + (row * HEADS + head) * WIDTH + features, sums, mask=features < WIDTH)


def sum_rows(
    offsets: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor | None, embeddings: torch.Tensor
) -> torch.Tensor:
    """Return for each row the sum over its edges, `[R, H, F]`."""
    num_rows, (heads, width) = offsets.shape[0] - 1, embeddings.shape[1:]
    sums = torch.empty((num_rows, heads, width), dtype=embeddings.dtype, device=offsets.device)
    if sums.numel():
        sum_rows_kernel[row_grid(num_rows, heads, width, offsets.device)](
            offsets,
            ids,
            None if weights is None else weights.contiguous(),
            embeddings.contiguous(),
            sums,
            HEADS=heads,
            WIDTH=width,
            **tile_sizes(width, offsets.device),
        )
    return sums


@triton.jit
def product_sums_kernel(
    offsets,
    ids,
    x,
    factor_ids,
    factors,
    new_sums,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_sums[row, part]: the sum of `x[ids[e]] * factors[factor_ids[e]]`."""
    row = tl.program_id(0).to(tl.int64)
    features = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    last = tl.load(offsets + row + 1)
    sums = tl.zeros([FEATURES], tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32)
    for begin in range(tl.load(offsets + row), last, EDGES):
        mask, tile, factor = read_products(begin, last, ids, x, factor_ids, factors, WIDTH, EDGES, features)
        sums += tl.sum(tl.where(mask[:, None], tile * factor, 0.0), 0)
    tl.store(new_sums + row * WIDTH + features, sums, mask=features < WIDTH)


@triton.jit
def read_products(begin, last, ids, x, factor_ids, factors, WIDTH: tl.constexpr, EDGES: tl.constexpr, features):
    """Return which edges there are, what they read of x, and what of the factors."""
    edges = begin + tl.arange(0, EDGES).to(tl.int64)
    mask = edges < last
    tile = wide(read_tile(x, tl.load(ids + edges, mask=mask, other=0), mask, 0, 1, WIDTH, features))
    factor = wide(read_tile(factors, tl.load(factor_ids + edges, mask=mask, other=0), mask, 0, 1, WIDTH, features))
    return mask, tile, factor


def sum_products(
    offsets: torch.Tensor, ids: torch.Tensor, x: torch.Tensor, factor_ids: torch.Tensor, factors: torch.Tensor
) -> torch.Tensor:
    """Return for each row the sum over its edges of `x[ids[e]] * factors[factor_ids[e]]`, `[R, F]`."""
    num_rows, width = offsets.shape[0] - 1, x.shape[1]
    sums = torch.empty((num_rows, width), dtype=x.dtype, device=offsets.device)
    if sums.numel():
        read = (offsets, ids, x.contiguous(), factor_ids, factors.contiguous())
        tile = tile_sizes(width, offsets.device)
        product_sums_kernel[row_grid(num_rows, 1, width, offsets.device)](*read, sums, WIDTH=width, **tile)
    return sums


def row_grid(num_rows: int, heads: int, width: int, device: torch.device) -> tuple[int, int, int]:
    """Return the grid of kernels with a program per row, head and part of the features."""
    return num_rows, heads, launch.programs(width, launch.sizes_on(device).feature_block(width))[0]


def tile_sizes(width: int, device: torch.device) -> dict[str, int]:
    """Return how many edges and features a program reads at once, and its warps: more for wide rows."""
    sizes = launch.sizes_on(device)
    features = sizes.feature_block(width)
    return {"EDGES": sizes.row_edges, "FEATURES": features, "num_warps": sizes.row_warps(features)}
