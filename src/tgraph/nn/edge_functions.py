"""Numbers per edge with gradients, by kernels: what `neighbor_apply` and softmax are made of.

Gradients of sources are summed over the block's reverse, so that no two threads write the same row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from tgraph.nn.block import Block
from tgraph.nn.row_kernels import row_kernels
from tgraph.nn.sums import (
    edge_rows,
    inverse_lengths,
    multiplied_sum,
    sum_to_sources,
    table_gradient,
    weighted_sum,
)


def dots(block: Block, x: Tensor, ids: Tensor, y: Tensor) -> Tensor:
    """Return for each edge and head the dot product of `x[ids[e]]` and the y of its target, `[E, H]`."""
    return row_kernels(y).dot_edges(block.offsets, ids, x, y)


class Dot(Function):
    """Dot products of sources `[N, H, F]` and targets `[T, H, F]`, `[E, H]`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, block: Block, row_ids: Tensor | None) -> Tensor:
        """`row_ids` says which row of x a source is, None that they are in order."""
        ctx.block, ctx.row_ids = block, row_ids
        ctx.save_for_backward(x, y)
        return dots(block, x, edge_rows(block, row_ids), y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Each end gets the sum over its edges of the other end times the edge's gradient."""
        x, y = ctx.saved_tensors
        block, new_x, new_y = ctx.block, None, None
        if ctx.needs_input_grad[0]:
            new_x = table_gradient(sum_to_sources(block, gradients, y), ctx.row_ids, x.shape[0])
        if ctx.needs_input_grad[1]:
            new_y = weighted_sum(block.offsets, edge_rows(block, ctx.row_ids), gradients, x)
        return new_x, new_y, None, None


class Cosine(Function):
    """Cosines of the angles between sources `[N, H, F]` and targets `[T, H, F]`, `[E, H]`; 0 for zero vectors."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, block: Block, row_ids: Tensor | None) -> Tensor:
        """Dot products times the inverse lengths of both ends."""
        inverse_x, inverse_y = inverse_lengths(x, row_ids), inverse_lengths(y, None)
        scales = inverse_x.index_select(0, block.sources).mul_(_spread(block, inverse_y))
        cosines = dots(block, x, edge_rows(block, row_ids), y).mul_(scales)
        ctx.block, ctx.row_ids = block, row_ids
        ctx.save_for_backward(x, y, inverse_x, inverse_y, scales, cosines)
        return cosines

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """As for dot products, less the part that would only change the length."""
        x, y, inverse_x, inverse_y, scales, cosines = ctx.saved_tensors
        block, row_ids, new_x, new_y = ctx.block, ctx.row_ids, None, None
        along, across = gradients * cosines, gradients * scales
        if ctx.needs_input_grad[0]:
            shares = _summed(block.reverse.offsets, block.reverse.edges, along) * inverse_x.square()
            rows = x if row_ids is None else x.index_select(0, row_ids)
            sums = sum_to_sources(block, across, y).addcmul_(rows, shares.unsqueeze(-1), value=-1)
            new_x = table_gradient(sums, row_ids, x.shape[0])
        if ctx.needs_input_grad[1]:
            shares = _summed(block.offsets, None, along) * inverse_y.square()
            new_y = weighted_sum(block.offsets, edge_rows(block, row_ids), across, x)
            new_y.addcmul_(y, shares.unsqueeze(-1), value=-1)
        return new_x, new_y, None, None


class LeakyDot(Function):
    """GATv2's scores: the dot product of `attention [H, F]` and leaky_relu(x + y), `[E, H]`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor, attention: Tensor, slope: float, block: Block, row_ids: Tensor | None
    ) -> Tensor:
        """`row_ids` says which row of x a source is, None that they are in order."""
        ctx.block, ctx.row_ids, ctx.slope = block, row_ids, slope
        ctx.save_for_backward(x, y, attention)
        return row_kernels(y).leaky_dot_edges(block.offsets, edge_rows(block, row_ids), x, y, attention, slope)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Sums of gradient times slope per source and per target give all three: leaky_relu(z) is z times its slope."""
        x, y, attention = ctx.saved_tensors
        block, slope = ctx.block, ctx.slope
        needs_x, needs_y, needs_attention = ctx.needs_input_grad[:3]
        new_x = new_y = None
        new_attention = torch.zeros_like(attention) if needs_attention else None
        rows = x if ctx.row_ids is None else x.index_select(0, ctx.row_ids)
        if needs_x or needs_attention:
            reverse = block.reverse
            read = (reverse.offsets, reverse.targets, reverse.edges, gradients, y, rows, slope)
            sums = row_kernels(y).leaky_sums(*read)
            if new_attention is not None:
                new_attention += multiplied_sum(sums, rows)
            new_x = table_gradient(sums.mul_(attention), ctx.row_ids, x.shape[0]) if needs_x else None
        if needs_y or needs_attention:
            sums = row_kernels(y).leaky_sums(block.offsets, block.sources, None, gradients, rows, y, slope)
            if new_attention is not None:
                new_attention += multiplied_sum(sums, y)
            new_y = sums.mul_(attention) if needs_y else None
        return new_x, new_y, new_attention, None, None, None


class AddEnds(Function):
    """The sum of a number per source `[S, H]` and one per target `[T, H]` for each edge, `[E, H]`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, block: Block) -> Tensor:
        """Only numbers of the size of the answer are made."""
        ctx.block = block
        return x.index_select(0, block.sources).add_(_spread(block, y))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Each end gets the sum of the gradients of its edges."""
        block, new_x, new_y = ctx.block, None, None
        if ctx.needs_input_grad[0]:
            new_x = _summed(block.reverse.offsets, block.reverse.edges, gradients)
        if ctx.needs_input_grad[1]:
            new_y = _summed(block.offsets, None, gradients)
        return new_x, new_y, None


class SumEdges(Function):
    """The sum per target `[T, H]` of numbers of edges `[E, H]`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, block: Block) -> Tensor:
        """Rows without edges get 0."""
        ctx.block = block
        return _summed(block.offsets, None, values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Each edge gets the gradient of its target."""
        return _spread(ctx.block, gradients), None


class Softmax(Function):
    """The softmax of scores `[E, H]` over the edges of each target."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, block: Block) -> Tensor:
        """The largest score of a row is subtracted first, so that nothing overflows."""
        ctx.block = block
        shares = row_kernels(scores).softmax_edges(block.offsets, scores)
        ctx.save_for_backward(shares)
        return shares

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Per row: shares times (gradient - their weighted mean)."""
        (shares,) = ctx.saved_tensors
        return row_kernels(shares).softmax_gradients(ctx.block.offsets, shares, gradients), None


def _spread(block: Block, values: Tensor) -> Tensor:
    """Return the value of its target for each edge."""
    return values.repeat_interleave(block.offsets.diff(), 0, output_size=block.num_edges)


def _summed(offsets: Tensor, edges: Tensor | None, values: Tensor) -> Tensor:
    return row_kernels(values).sum_edges(offsets, edges, values)
