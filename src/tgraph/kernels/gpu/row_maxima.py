"""The largest message per row and feature, which edge brought it, and the sums that its gradients need.

A program per row, head and part of the features, as in `row_sums`. Of equal messages the first edge wins; NaN wins over
all. A row without edges gets 0 and the winner -1. No atomics, deterministic.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu.row_sums import read_products, read_tile, row_grid, tile_sizes, wide


@triton.jit
def take_larger(largest, winner, messages, edges, mask):
    """Let the messages of some edges `[EDGES, FEATURES]` compete with the largest so far, `[FEATURES]`."""
    is_nan = mask[:, None] & (messages != messages)
    has_nan = tl.max(is_nan.to(tl.int32), 0) > 0
    ordinary = tl.where(mask[:, None] & ~is_nan, messages, float("-inf"))
    top = tl.max(ordinary, 0)
    wins = tl.where(has_nan[None, :], is_nan, mask[:, None] & (messages == top[None, :]))
    place = tl.min(tl.where(wins, edges[:, None], 0x7FFFFFFFFFFFFFFF), 0)
    top = tl.where(has_nan, float("nan"), top)
    is_larger = (largest == largest) & ((top > largest) | (top != top))
    return tl.where(is_larger, top, largest), tl.where(is_larger, place, winner)


@triton.jit
def start_row(first, last, FEATURES: tl.constexpr, DTYPE: tl.constexpr):
    """Return what a row has before its first edge: the first edge wins over it, also with -inf."""
    is_empty = first == last
    largest = tl.full([FEATURES], float("-inf"), DTYPE)
    winner = tl.full([FEATURES], 0, tl.int64) + tl.where(is_empty, -1, first)
    return tl.where(is_empty, 0.0, largest), winner


@triton.jit
def max_rows_kernel(
    offsets,
    ids,
    weights,
    embeddings,
    new_maxima,
    new_winners,
    ADDS: tl.constexpr,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_maxima and new_winners of one row, head and part: of `w * x`, `x + w`, or x without weights."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    features = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    first, last = tl.load(offsets + row), tl.load(offsets + row + 1)
    dtype: tl.constexpr = tl.float64 if embeddings.dtype.element_ty == tl.float64 else tl.float32
    largest, winner = start_row(first, last, FEATURES, dtype)
    for begin in range(first, last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        mask = edges < last
        read = tl.load(ids + edges, mask=mask, other=0)
        tile = wide(read_tile(embeddings, read, mask, head, HEADS, WIDTH, features))
        if weights is not None:
            weight = wide(tl.load(weights + edges * HEADS + head, mask=mask, other=0))[:, None]
            tile = tile + weight if ADDS else tile * weight
        largest, winner = take_larger(largest, winner, tile, edges, mask)
    places = (row * HEADS + head) * WIDTH + features
    tl.store(new_maxima + places, largest, mask=features < WIDTH)
    tl.store(new_winners + places, winner, mask=features < WIDTH)


def max_rows(
    offsets: torch.Tensor,
    ids: torch.Tensor,
    weights: torch.Tensor | None,
    embeddings: torch.Tensor,
    adds: bool,
    winners: torch.Tensor,
) -> torch.Tensor:
    """Return the largest message of each row, `[R, H, F]`; writes `winners` of the same shape."""
    num_rows, (heads, width) = offsets.shape[0] - 1, embeddings.shape[1:]
    maxima = torch.empty((num_rows, heads, width), dtype=embeddings.dtype, device=offsets.device)
    if maxima.numel():
        read = (offsets, ids, None if weights is None else weights.contiguous(), embeddings.contiguous())
        max_rows_kernel[row_grid(num_rows, heads, width, offsets.device)](
            *read, maxima, winners, ADDS=adds, HEADS=heads, WIDTH=width, **tile_sizes(width, offsets.device)
        )
    return maxima


@triton.jit
def product_maxima_kernel(
    offsets,
    ids,
    x,
    factor_ids,
    factors,
    row_factors,
    new_maxima,
    new_winners,
    ADDS: tl.constexpr,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_maxima and new_winners of one row and part: of `w * x` or `x + w`, w the product of the factors."""
    row = tl.program_id(0).to(tl.int64)
    features = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    first, last = tl.load(offsets + row), tl.load(offsets + row + 1)
    own = wide(tl.load(row_factors + row * WIDTH + features, mask=features < WIDTH, other=0))
    dtype: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    largest, winner = start_row(first, last, FEATURES, dtype)
    for begin in range(first, last, EDGES):
        mask, tile, factor = read_products(begin, last, ids, x, factor_ids, factors, WIDTH, EDGES, features)
        weight = factor * own[None, :]
        message = tile + weight if ADDS else tile * weight
        largest, winner = take_larger(largest, winner, message, begin + tl.arange(0, EDGES).to(tl.int64), mask)
    tl.store(new_maxima + row * WIDTH + features, largest, mask=features < WIDTH)
    tl.store(new_winners + row * WIDTH + features, winner, mask=features < WIDTH)


def max_weighted_by_products(
    offsets: torch.Tensor,
    ids: torch.Tensor,
    x: torch.Tensor,
    factor_ids: torch.Tensor,
    factors: torch.Tensor,
    row_factors: torch.Tensor,
    adds: bool,
    winners: torch.Tensor,
) -> torch.Tensor:
    """Return the largest message of each row and feature, `[R, F]`; writes `winners` of the same shape."""
    num_rows, width = offsets.shape[0] - 1, x.shape[1]
    maxima = torch.empty((num_rows, width), dtype=x.dtype, device=offsets.device)
    if maxima.numel():
        read = (offsets, ids, x.contiguous(), factor_ids, factors.contiguous(), row_factors.contiguous())
        product_maxima_kernel[row_grid(num_rows, 1, width, offsets.device)](
            *read, maxima, winners, ADDS=adds, WIDTH=width, **tile_sizes(width, offsets.device)
        )
    return maxima


@triton.jit
def sum_won_kernel(
    offsets,
    targets,
    places,
    winners,
    weights,
    gradients,
    new_sums,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_sums[source, head, part]: the gradients, times weights, that the source's edges won."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    features = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    last = tl.load(offsets + row + 1)
    sums = tl.zeros([FEATURES], tl.float64 if gradients.dtype.element_ty == tl.float64 else tl.float32)
    for begin in range(tl.load(offsets + row), last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        mask = edges < last
        target = tl.load(targets + edges, mask=mask, other=0)
        place = tl.load(places + edges, mask=mask, other=0)
        won = read_tile(winners, target, mask, head, HEADS, WIDTH, features) == place[:, None]
        tile = wide(read_tile(gradients, target, mask, head, HEADS, WIDTH, features))
        if weights is not None:
            tile = tile * wide(tl.load(weights + place.to(tl.int64) * HEADS + head, mask=mask, other=0))[:, None]
        sums += tl.sum(tl.where(won & mask[:, None], tile, 0.0), 0)
    tl.store(new_sums + (row * HEADS + head) * WIDTH + features, sums, mask=features < WIDTH)


def sum_won(
    offsets: torch.Tensor,
    targets: torch.Tensor,
    edges: torch.Tensor,
    winners: torch.Tensor,
    weights: torch.Tensor | None,
    gradients: torch.Tensor,
) -> torch.Tensor:
    """Return for each source the sum of what its edges won, `[S, H, F]`; rows are those of the block's reverse."""
    num_rows, (heads, width) = offsets.shape[0] - 1, gradients.shape[1:]
    sums = torch.empty((num_rows, heads, width), dtype=gradients.dtype, device=offsets.device)
    if sums.numel():
        read = (offsets, targets, edges, winners, None if weights is None else weights.contiguous())
        sum_won_kernel[row_grid(num_rows, heads, width, offsets.device)](
            *read, gradients.contiguous(), sums, HEADS=heads, WIDTH=width, **tile_sizes(width, offsets.device)
        )
    return sums
