"""Aggregations along edges with gradients, by kernels: what `pull` is made of.

Embeddings are `[N, H, F]` and weights `[E, H]`. `row_ids` says which row of the embeddings a source is, None that they
are in order. Gradients of sources are summed over the block's reverse: no two threads write the same row, and nothing
of the size edges x features is made.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from tgraph.nn import plain
from tgraph.nn.block import Block
from tgraph.nn.edge_functions import dots
from tgraph.nn.row_kernels import kernels_of, row_kernels
from tgraph.nn.sums import HALF_DTYPES, aggregated, divided_by_counts, edge_rows, sum_to_sources, table_gradient


class Sum(Function):
    """The sum or mean of weighted sources, `[T, H, F]`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weights: Tensor | None, block: Block, row_ids: Tensor | None, is_mean: bool
    ) -> Tensor:
        """Without weights each edge counts once."""
        ctx.block, ctx.row_ids, ctx.is_mean, ctx.num_rows = block, row_ids, is_mean, x.shape[0]
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weights)
        return aggregated(block, row_ids, weights, x, is_mean)

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
    if kernels_of(x) is None:
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
        winners = empty_winners(block, x.shape[1:])
        maxima = row_kernels(x).max_rows(block.offsets, edge_rows(block, row_ids), weights, x, adds, winners)
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
            ids, factors = edge_rows(block, ctx.row_ids), None if ctx.adds else x
            new_weights = row_kernels(gradients).dot_won(block.offsets, ids, winners, factors, gradients)
        return new_x, new_weights, None, None, None


def empty_winners(block: Block, shape: tuple[int, ...]) -> Tensor:
    """Return room for the edges that won maxima of a shape for each target."""
    edge_dtype = torch.int32 if block.num_edges < 2**31 else torch.int64
    return torch.empty((block.num_targets, *shape), dtype=edge_dtype, device=block.offsets.device)


def won_by_sources(block: Block, winners: Tensor, weights: Tensor | None, gradients: Tensor) -> Tensor:
    """Return for each source the sum of the gradients, times weights, that its edges won, `[S, H, F]`."""
    reverse = block.reverse
    read = (reverse.offsets, reverse.targets, reverse.edges, winners, weights, gradients)
    return row_kernels(gradients).sum_won(*read)
