"""Aggregations whose edge weights are products of the two ends, with gradients, by kernels.

The weight of an edge from s to t is the vector `factors[s] * row_factors[t]`; it is never stored. All are `[_, F]`.
What belongs to a target is multiplied once per target, not once per edge: the sum of x_j * y is (the sum of x_j) * y.
That is the same by algebra and differs by rounding. In the gradients of sources it is multiplied, and then summed over
the reverse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from tgraph.nn.block import Block
from tgraph.nn.pull_functions import empty_winners, won_by_sources
from tgraph.nn.row_kernels import row_kernels
from tgraph.nn.sums import aggregated, divided_by_counts, edge_counts, edge_rows, sum_to_sources, table_gradient


class Reading(NamedTuple):
    """How messages are read and made."""

    block: Block
    row_ids: Tensor | None  # which rows of the embeddings the sources are; None = in order
    factor_row_ids: Tensor | None  # the same of the factors
    is_same: bool  # the factors are the embeddings, also in their rows: one gradient serves both
    adds: bool  # a message is x + w; otherwise w * x


class SumTimes(Function):
    """The sum or mean of the sources times 1 + the factors of the target: that of x_j + x_i * x_j, `[T, F]`."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        factors: Tensor,
        block: Block,
        row_ids: Tensor | None,
        factor_ids: Tensor | None,
        is_mean: bool,
    ) -> Tensor:
        """`factor_ids` say which rows of the factors the targets are; without gradient, that is."""
        ctx.block, ctx.row_ids, ctx.is_mean, ctx.num_rows = block, row_ids, is_mean, x.shape[0]
        needs_x, needs_factors = ctx.needs_input_grad[:2]
        wide = x.unsqueeze(1)
        if not needs_factors:
            own = _rows(factors, factor_ids) if needs_x else None
            ctx.save_for_backward(None, own)
            return aggregated(block, row_ids, None, wide, is_mean, factors, factor_ids).squeeze(1)
        sums = aggregated(block, row_ids, None, wide, is_mean).squeeze(1)
        ctx.save_for_backward(sums, factors if needs_x else None)
        return torch.addcmul(sums, sums, factors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Sources are summed over the reverse; a target's factors get the sum that they were multiplied with."""
        sums, factors = ctx.saved_tensors
        new_x = new_factors = None
        if ctx.needs_input_grad[0]:
            wide = torch.addcmul(gradients, gradients, factors)
            wide = divided_by_counts(ctx.block, wide) if ctx.is_mean else wide
            summed = sum_to_sources(ctx.block, None, wide.unsqueeze(1)).squeeze(1)
            new_x = table_gradient(summed, ctx.row_ids, ctx.num_rows)
        if ctx.needs_input_grad[1]:
            new_factors = gradients * sums
        return new_x, new_factors, None, None, None, None


class SumByProducts(Function):
    """The sum or mean over the edges of `w * x`, `[T, F]`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factors: Tensor, row_factors: Tensor, how: Reading, is_mean: bool) -> Tensor:
        """One pass over the edges; what belongs to a target is multiplied at its end."""
        ctx.how, ctx.is_mean = how, is_mean
        ctx.save_for_backward(x, factors, row_factors)
        sums = _summed(how, x, factors).mul_(row_factors)
        return sums.div_(edge_counts(how.block, sums)) if is_mean else sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Sources are summed over the reverse, targets over their own edges."""
        x, factors, _ = ctx.saved_tensors
        how, block = ctx.how, ctx.how.block
        if ctx.is_mean:
            gradients = divided_by_counts(block, gradients)

        def to_sources(values: Tensor) -> Tensor:
            return sum_to_sources(block, None, values.unsqueeze(1)).squeeze(1)

        new_x, new_factors = _end_gradients(ctx, to_sources, gradients)
        new_row_factors = gradients * _summed(how, x, factors) if ctx.needs_input_grad[2] else None
        return new_x, new_factors, new_row_factors, None, None


class MaxByProducts(Function):
    """The largest `w * x` or `x + w` over the edges for each feature, `[T, F]`; the first of equals wins."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factors: Tensor, row_factors: Tensor, how: Reading) -> Tensor:
        """One pass over the edges."""
        winners = empty_winners(how.block, x.shape[1:])
        maxima = row_kernels(row_factors).max_weighted_by_products(*_read(how, x, factors, row_factors), winners)
        ctx.how = how
        ctx.save_for_backward(x, factors, row_factors, winners)
        return maxima

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """The edge that won a feature passes its gradient on to both of its ends."""
        x, factors, _, winners = ctx.saved_tensors
        how, block = ctx.how, ctx.how.block

        def to_sources(values: Tensor) -> Tensor:
            return won_by_sources(block, winners.unsqueeze(1), None, values.unsqueeze(1)).squeeze(1)

        new_x, new_factors = _end_gradients(ctx, to_sources, gradients)
        new_row_factors = None
        if ctx.needs_input_grad[2]:
            new_row_factors = gradients * _won_rows(block, winners, how.factor_row_ids, factors)
            if not how.adds:
                new_row_factors *= _won_rows(block, winners, how.row_ids, x)
        return new_x, new_factors, new_row_factors, None


def _end_gradients(ctx: Any, to_sources: Any, gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of embeddings and factors, given how gradients of targets are summed for sources."""
    x, factors, row_factors = ctx.saved_tensors[:3]
    how: Reading = ctx.how
    needs_x, needs_factors = ctx.needs_input_grad[:2]
    new_x = new_factors = None
    if how.adds and how.is_same and needs_x:
        new_x = to_sources(gradients + gradients * row_factors)
    elif how.adds:
        new_x = to_sources(gradients) if needs_x else None
        new_factors = to_sources(gradients * row_factors) if needs_factors else None
    elif needs_x or needs_factors:
        sums = to_sources(gradients * row_factors)
        new_x = sums * _rows(factors, how.factor_row_ids) if needs_x else None
        new_factors = sums * _rows(x, how.row_ids) if needs_factors else None
    return (
        None if new_x is None else table_gradient(new_x, how.row_ids, x.shape[0]),
        None if new_factors is None else table_gradient(new_factors, how.factor_row_ids, factors.shape[0]),
    )


def _summed(how: Reading, x: Tensor, factors: Tensor) -> Tensor:
    """Return for each target the sum of the products of its sources, `[T, F]`."""
    return row_kernels(x).sum_products(how.block.offsets, *_ends(how, x, factors))


def _read(how: Reading, x: Tensor, factors: Tensor, row_factors: Tensor) -> tuple[Any, ...]:
    """Return what kernels of maxima read."""
    return how.block.offsets, *_ends(how, x, factors), row_factors, how.adds


def _ends(how: Reading, x: Tensor, factors: Tensor) -> tuple[Tensor, ...]:
    """Return embeddings and factors with the rows of them that each edge reads."""
    ids = edge_rows(how.block, how.row_ids)
    factor_ids = ids if how.row_ids is how.factor_row_ids else edge_rows(how.block, how.factor_row_ids)
    return ids, x, factor_ids, factors


def _rows(values: Tensor, row_ids: Tensor | None) -> Tensor:
    return values if row_ids is None else values.index_select(0, row_ids)


def _won_rows(block: Block, winners: Tensor, row_ids: Tensor | None, values: Tensor) -> Tensor:
    """Return for each target and feature the value of the source whose edge won, 0 where there is none, `[T, F]`."""
    if block.num_edges == 0:
        return values.new_zeros(winners.shape)
    ids = edge_rows(block, row_ids)[winners.clamp(min=0)].long()
    return values.gather(0, ids).masked_fill_(winners < 0, 0)
