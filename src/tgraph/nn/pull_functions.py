"""Aggregations along edges with gradients, on CPU tensors: what `pull` is made of.

Embeddings are `[N, H, F]` and weights `[E, H]`. `row_ids` says which row of the embeddings a source is, None that they
are in order. Gradients of sources are summed over the block's reverse: no two threads write the same row, and nothing
of the size edges x features is made.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from tgraph.kernels.cpu.row_maxima import dot_won, max_rows, sum_won
from tgraph.nn import plain
from tgraph.nn.block import Block
from tgraph.nn.edge_functions import dots
from tgraph.nn.sums import (
    HALF_DTYPES,
    as_arrays,
    divided_by_counts,
    edge_counts,
    edge_rows,
    sum_to_sources,
    table_gradient,
    weighted_sum,
)


class Sum(Function):
    """The sum or mean of weighted sources, `[T, H, F]`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weights: Tensor | None, block: Block, row_ids: Tensor | None, is_mean: bool
    ) -> Tensor:
        """Without weights each edge counts once."""
        ctx.block, ctx.row_ids, ctx.is_mean, ctx.num_rows = block, row_ids, is_mean, x.shape[0]
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weights)
        sums = weighted_sum(block.offsets, edge_rows(block, row_ids), weights, x)
        return sums.div_(edge_counts(block, sums)) if is_mean else sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Sources get weighted gradients over the reverse; weights get a dot product per edge."""
        x, weights = ctx.saved_tensors
        block, new_x, new_weights = ctx.block, None, None
        if ctx.is_mean:
            gradients = divided_by_counts(block, gradients)
        if ctx.needs_input_grad[0]:
            new_x = table_gradient(sum_to_sources(block, weights, gradients), ctx.row_ids, ctx.num_rows)
        if ctx.needs_input_grad[1]:
            new_weights = weight_gradients(block, x, ctx.row_ids, gradients)
        return new_x, new_weights, None, None, None


def weight_gradients(block: Block, x: Tensor, row_ids: Tensor | None, gradients: Tensor) -> Tensor:
    """Return the dot products of sources and the gradients of targets, `[E, H]`; half precision goes by float32."""
    if x.device.type != "cpu":
        return plain.score(block, x if row_ids is None else x.index_select(0, row_ids), gradients, "dot")
    if x.dtype not in HALF_DTYPES:
        return dots(block, x, edge_rows(block, row_ids), gradients)
    rows = x if row_ids is None else x.index_select(0, row_ids)
    return dots(block, rows.float(), block.sources, gradients.float()).to(x.dtype)


class Max(Function):
    """The largest weighted source for each target, head and feature, `[T, H, F]`; the first of equals wins."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weights: Tensor | None, block: Block, row_ids: Tensor | None, adds: bool
    ) -> Tensor:
        """The message of an edge is w * x, x + w if it `adds`, x without weights."""
        maxima, winners = empty_maxima(block, x.shape[1:], x.dtype)
        ids = edge_rows(block, row_ids)
        max_rows(*as_arrays(block.offsets, ids, weights, x, adds, maxima, winners))
        ctx.block, ctx.row_ids, ctx.adds, ctx.num_rows = block, row_ids, adds, x.shape[0]
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weights, winners)
        return maxima

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """The edge that won a feature passes its gradient on."""
        x, weights, winners = ctx.saved_tensors
        block, new_x, new_weights = ctx.block, None, None
        if ctx.needs_input_grad[0]:
            sums = won_by_sources(block, winners, None if ctx.adds else weights, gradients)
            new_x = table_gradient(sums, ctx.row_ids, ctx.num_rows)
        if ctx.needs_input_grad[1]:
            new_weights = torch.empty_like(weights, memory_format=torch.contiguous_format)
            ids, factors = edge_rows(block, ctx.row_ids), None if ctx.adds else x
            dot_won(*as_arrays(block.offsets, ids, winners, factors, gradients, new_weights))
        return new_x, new_weights, None, None, None


def empty_maxima(block: Block, shape: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return room for the maxima and for the edges that won them."""
    edge_dtype = torch.int32 if block.num_edges < 2**31 else torch.int64
    size = (block.num_targets, *shape)
    return torch.empty(size, dtype=dtype), torch.empty(size, dtype=edge_dtype)


def won_by_sources(block: Block, winners: Tensor, weights: Tensor | None, gradients: Tensor) -> Tensor:
    """Return for each source the sum of the gradients, times weights, that its edges won, `[S, H, F]`."""
    sums = torch.empty(block.num_sources, *gradients.shape[1:], dtype=gradients.dtype)
    reverse = block.reverse
    sum_won(*as_arrays(reverse.offsets, reverse.targets, reverse.edges, winners, weights, gradients, sums))
    return sums
