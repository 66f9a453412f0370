"""Numbers per edge and head from embeddings, and the sums that their gradients need.

A program per row and head goes through the edges of the row, `EDGES` at a time, and through the features in parts. An
edge's score is written by the program that has its row. No atomics, deterministic.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu.row_sums import read_tile, row_grid, tile_sizes, wide


@triton.jit
def dots_kernel(
    offsets,
    ids,
    embeddings,
    row_embeddings,
    winners,
    attention,
    slope,
    new_scores,
    LEAKY: tl.constexpr,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_scores[e, head] of the edges of one row: a sum over features of x and the row's y.

    The sum is of x * y; without embeddings of y; with winners only of what the edge won; if LEAKY of
    attention * leaky_relu(x + y).
    """
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    last = tl.load(offsets + row + 1)
    dtype: tl.constexpr = tl.float64 if row_embeddings.dtype.element_ty == tl.float64 else tl.float32
    for begin in range(tl.load(offsets + row), last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        mask = edges < last
        read = tl.load(ids + edges, mask=mask, other=0)
        scores = tl.zeros([EDGES], dtype)
        for part in range(0, WIDTH, FEATURES):
            features = part + tl.arange(0, FEATURES)
            places = (row * HEADS + head) * WIDTH + features
            y = wide(tl.load(row_embeddings + places, mask=features < WIDTH, other=0))[None, :]
            tile = tl.zeros([EDGES, FEATURES], dtype) + y
            if embeddings is not None:
                x = wide(read_tile(embeddings, read, mask, head, HEADS, WIDTH, features))
                if LEAKY:
                    factor = wide(tl.load(attention + head * WIDTH + features, mask=features < WIDTH, other=0))
                    z = x + y
                    tile = factor[None, :] * z * tl.where(z > 0, 1.0, tl.load(slope).to(dtype))
                else:
                    tile = x * y
            if winners is not None:
                won = tl.load(winners + places, mask=features < WIDTH, other=-1)
                tile = tl.where(won[None, :] == edges[:, None], tile, 0.0)
            scores += tl.sum(tl.where((features < WIDTH)[None, :], tile, 0.0), 1)
        tl.store(new_scores + edges * HEADS + head, scores, mask=mask)


def _scores(
    offsets: torch.Tensor,
    ids: torch.Tensor,
    x: torch.Tensor | None,
    y: torch.Tensor,
    winners: torch.Tensor | None = None,
    attention: torch.Tensor | None = None,
    slope: float = 0.0,
) -> torch.Tensor:
    heads, width = y.shape[1:]
    scores = torch.zeros((ids.shape[0], heads), dtype=y.dtype, device=offsets.device)
    if scores.numel() and width:
        others = (winners, None if attention is None else attention.contiguous())
        slopes = torch.full((1,), slope, dtype=torch.float64, device=offsets.device)
        dots_kernel[(offsets.shape[0] - 1, heads)](
            offsets,
            ids,
            None if x is None else x.contiguous(),
            y.contiguous(),
            *others,
            slopes,
            scores,
            LEAKY=attention is not None,
            HEADS=heads,
            WIDTH=width,
            **tile_sizes(width, offsets.device),
        )
    return scores


def dot_edges(
    offsets: torch.Tensor, ids: torch.Tensor, embeddings: torch.Tensor, row_embeddings: torch.Tensor
) -> torch.Tensor:
    """Return the dot product of the embeddings at the ends of each edge, `[E, H]`."""
    return _scores(offsets, ids, embeddings, row_embeddings)


def leaky_dot_edges(
    offsets: torch.Tensor,
    ids: torch.Tensor,
    embeddings: torch.Tensor,
    row_embeddings: torch.Tensor,
    attention: torch.Tensor,
    slope: float,
) -> torch.Tensor:
    """Return the dot product of attention and leaky_relu(x + y) for each edge, `[E, H]`."""
    return _scores(offsets, ids, embeddings, row_embeddings, None, attention, slope)


def dot_won(
    offsets: torch.Tensor,
    ids: torch.Tensor,
    winners: torch.Tensor,
    embeddings: torch.Tensor | None,
    gradients: torch.Tensor,
) -> torch.Tensor:
    """Return the sum over the features that an edge won of `gradients * embeddings[ids[e]]`, `[E, H]`."""
    return _scores(offsets, ids, embeddings, gradients, winners)


@triton.jit
def leaky_sums_kernel(
    offsets,
    ids,
    places,
    gradients,
    embeddings,
    row_embeddings,
    slope,
    new_sums,
    HEADS: tl.constexpr,
    WIDTH: tl.constexpr,
    EDGES: tl.constexpr,
    FEATURES: tl.constexpr,
):
    """Write new_sums[row, head, part]: the gradients of the row's edges times the slope of leaky_relu(x + y)."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    features = tl.program_id(2) * FEATURES + tl.arange(0, FEATURES)
    last = tl.load(offsets + row + 1)
    dtype: tl.constexpr = tl.float64 if embeddings.dtype.element_ty == tl.float64 else tl.float32
    own = (row * HEADS + head) * WIDTH + features
    y = wide(tl.load(row_embeddings + own, mask=features < WIDTH, other=0))[None, :]
    sums = tl.zeros([FEATURES], dtype)
    for begin in range(tl.load(offsets + row), last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        mask = edges < last
        x = wide(read_tile(embeddings, tl.load(ids + edges, mask=mask, other=0), mask, head, HEADS, WIDTH, features))
        place = edges
        if places is not None:
            place = tl.load(places + edges, mask=mask, other=0).to(tl.int64)
        gradient = wide(tl.load(gradients + place * HEADS + head, mask=mask, other=0))[:, None]
        slopes = tl.where(x + y > 0, 1.0, tl.load(slope).to(dtype))
        sums += tl.sum(tl.where(mask[:, None], gradient * slopes, 0.0), 0)
    tl.store(new_sums + own, sums, mask=features < WIDTH)


def leaky_sums(
    offsets: torch.Tensor,
    ids: torch.Tensor,
    edges: torch.Tensor | None,
    gradients: torch.Tensor,
    embeddings: torch.Tensor,
    row_embeddings: torch.Tensor,
    slope: float,
) -> torch.Tensor:
    """Return for each row the sum of its edges' gradients times the slope of leaky_relu(x + y), `[R, H, F]`."""
    num_rows, heads, width = row_embeddings.shape
    sums = torch.empty_like(row_embeddings, memory_format=torch.contiguous_format)
    if sums.numel():
        read = (offsets, ids, edges, gradients.contiguous(), embeddings.contiguous(), row_embeddings.contiguous())
        slopes = torch.full((1,), slope, dtype=torch.float64, device=offsets.device)
        leaky_sums_kernel[row_grid(num_rows, heads, width, offsets.device)](
            *read, slopes, sums, HEADS=heads, WIDTH=width, **tile_sizes(width, offsets.device)
        )
    return sums
