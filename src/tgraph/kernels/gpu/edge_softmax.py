"""Numbers of edges, `[E, H]`: their sums per row, and the softmax over the edges of each row.

A program per row and head, which goes through the edges of the row; what it reads again is still in the cache. No
atomics, deterministic.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tgraph.kernels.gpu import launch
from tgraph.kernels.gpu.row_sums import wide


@triton.jit
def sum_edges_kernel(offsets, places, values, new_sums, HEADS: tl.constexpr, EDGES: tl.constexpr):
    """Write new_sums[row, head]; `places` says where the values of the row's edges are, None in order."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    last = tl.load(offsets + row + 1)
    sums = tl.zeros([EDGES], tl.float64 if values.dtype.element_ty == tl.float64 else tl.float32)
    for begin in range(tl.load(offsets + row), last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        mask = edges < last
        place = edges
        if places is not None:
            place = tl.load(places + edges, mask=mask, other=0).to(tl.int64)
        sums += wide(tl.load(values + place * HEADS + head, mask=mask, other=0))
    tl.store(new_sums + row * HEADS + head, tl.sum(sums, 0))


@triton.jit
def softmax_kernel(offsets, scores, new_shares, HEADS: tl.constexpr, EDGES: tl.constexpr):
    """Write the shares of the edges of one row and head; the largest score is subtracted first."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    first, last = tl.load(offsets + row), tl.load(offsets + row + 1)
    dtype: tl.constexpr = tl.float64 if scores.dtype.element_ty == tl.float64 else tl.float32
    largest = tl.full([EDGES], float("-inf"), dtype)
    for begin in range(first, last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        found = wide(tl.load(scores + edges * HEADS + head, mask=edges < last, other=float("-inf")))
        largest = tl.maximum(largest, found)
    shift = tl.max(largest, 0)
    shift = tl.where(shift > float("-inf"), shift, 0.0)
    total = tl.zeros([EDGES], dtype)
    for begin in range(first, last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        found = wide(tl.load(scores + edges * HEADS + head, mask=edges < last, other=float("-inf")))
        total += tl.exp(found - shift)
    sums = tl.sum(total, 0)
    sums = tl.where(sums == 0, 1.0, sums)
    for begin in range(first, last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        found = wide(tl.load(scores + edges * HEADS + head, mask=edges < last, other=float("-inf")))
        tl.store(new_shares + edges * HEADS + head, tl.exp(found - shift) / sums, mask=edges < last)


@triton.jit
def softmax_gradients_kernel(offsets, shares, gradients, new_gradients, HEADS: tl.constexpr, EDGES: tl.constexpr):
    """Write the gradients of the scores of one row and head: shares times (gradient - their weighted mean)."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    first, last = tl.load(offsets + row), tl.load(offsets + row + 1)
    means = tl.zeros([EDGES], tl.float64 if shares.dtype.element_ty == tl.float64 else tl.float32)
    for begin in range(first, last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        share = wide(tl.load(shares + edges * HEADS + head, mask=edges < last, other=0))
        means += share * wide(tl.load(gradients + edges * HEADS + head, mask=edges < last, other=0))
    mean = tl.sum(means, 0)
    for begin in range(first, last, EDGES):
        edges = begin + tl.arange(0, EDGES).to(tl.int64)
        share = wide(tl.load(shares + edges * HEADS + head, mask=edges < last, other=0))
        gradient = wide(tl.load(gradients + edges * HEADS + head, mask=edges < last, other=0))
        tl.store(new_gradients + edges * HEADS + head, share * (gradient - mean), mask=edges < last)


def sum_edges(offsets: torch.Tensor, edges: torch.Tensor | None, values: torch.Tensor) -> torch.Tensor:
    """Return for each row the sum of its edges' values, `[R, H]`."""
    num_rows, heads = offsets.shape[0] - 1, values.shape[1]
    sums = torch.empty((num_rows, heads), dtype=values.dtype, device=offsets.device)
    if sums.numel():
        sum_edges_kernel[(num_rows, heads)](
            offsets, edges, values.contiguous(), sums, HEADS=heads, **_sizes(offsets.device)
        )
    return sums


def softmax_edges(offsets: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Return the softmax of scores over the edges of each row, `[E, H]`; zeros in a row of -inf alone."""
    shares, heads = torch.empty_like(scores, memory_format=torch.contiguous_format), scores.shape[1]
    if shares.numel():
        softmax_kernel[(offsets.shape[0] - 1, heads)](
            offsets, scores.contiguous(), shares, HEADS=heads, **_sizes(offsets.device)
        )
    return shares


def softmax_gradients(offsets: torch.Tensor, shares: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Return what gradients of the shares are for the scores, `[E, H]`."""
    new_gradients, heads = torch.empty_like(shares, memory_format=torch.contiguous_format), shares.shape[1]
    if new_gradients.numel():
        read = (offsets, shares.contiguous(), gradients.contiguous())
        softmax_gradients_kernel[(offsets.shape[0] - 1, heads)](
            *read, new_gradients, HEADS=heads, **_sizes(offsets.device)
        )
    return new_gradients


def _sizes(device: torch.device) -> dict[str, int]:
    return {"EDGES": launch.sizes_on(device).scores, "num_warps": 1}
