"""A layer's aggregation and combination in one function, in the order that is cheaper."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from tgraph.errors import InvalidArgumentError
from tgraph.nn.block import Block
from tgraph.nn.dense import multiplied
from tgraph.nn.placement import AGGREGATE_FIRST, BACKWARD, FORWARD, Layer, Placement, Sizes
from tgraph.nn.pull_functions import weight_gradients
from tgraph.nn.rows import Rows
from tgraph.nn.sums import aggregated, divided_by_counts, sum_to_sources, table_gradient


def aggregate_and_combine(
    block: Block,
    embeddings: Tensor | Rows,
    weight: Tensor,
    bias: Tensor | None = None,
    edge_weights: Tensor | None = None,
    f: str = "sum",
    placement: Placement | None = None,
) -> Tensor:
    """Return `linear(pull(block, embeddings, edge_weights, f=f), weight, bias)`, in whichever order is cheaper.

    Args:
        block: The edges.
        embeddings: Of the sources, `[S, in]`; `Rows` are read in place if the aggregation comes first.
        weight: `[out, in]`, as `torch.nn.Linear` has it.
        bias: `[out]` or None.
        edge_weights: `[E]` or None.
        f: `"sum"` or `"mean"`; other aggregations are not linear and have one order only.
        placement: Chooses and keeps the trace; without one the aggregation comes first.

    >>> import tgraph as tg, torch
    >>> block = Block.of_graph(tg.from_edges([0, 1, 0], [1, 2, 2], runtime="numpy"))
    >>> x, weight = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]), torch.tensor([[1.0, 10.0]])
    >>> placement = Placement("combine_first")
    >>> aggregate_and_combine(block, x, weight, f="mean", placement=placement).tolist()
    [[0.0], [1.0], [6.5]]
    >>> placement.trace[0].direction, placement.trace[0].order
    ('forward', 'combine_first')
    """
    if f not in ("sum", "mean"):
        raise InvalidArgumentError(f"f={f!r} cannot change places with a combination; use 'sum' or 'mean', or pull")
    shape, needed = list(embeddings.shape), [block.num_sources, int(weight.shape[1])]
    if shape != needed:
        raise InvalidArgumentError(f"embeddings are {shape}; the block and the weight need {needed}")
    if edge_weights is not None and edge_weights.shape != block.sources.shape:
        raise InvalidArgumentError(f"edge_weights are {list(edge_weights.shape)}; the block needs [{block.num_edges}]")
    table, row_ids = (embeddings.table, embeddings.ids) if isinstance(embeddings, Rows) else (embeddings, None)
    scales = None if edge_weights is None else edge_weights.to(table.dtype).unsqueeze(1)
    chooser = placement or Placement(AGGREGATE_FIRST)
    return AggregateAndCombine.apply(table, weight, bias, scales, block, row_ids, f == "mean", chooser)


class AggregateAndCombine(Function):
    """Both orders forward, and the orders of the gradients that go with them."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scales: Tensor | None,
        block: Block,
        row_ids: Tensor | None,
        is_mean: bool,
        placement: Placement,
    ) -> Tensor:
        """Embeddings are `[N, in]`, `scales` are edge weights `[E, 1]`; only what gradients need is kept."""
        needs_x, needs_weight, _, needs_scales = ctx.needs_input_grad[:4]
        layer = Layer(x.shape[1], weight.shape[0], needs_x, needs_weight, needs_scales, row_ids is not None)
        sizes = Sizes(block.num_sources, block.num_targets, block.num_edges)
        ctx.plan = placement.choose(layer, sizes)
        ctx.block, ctx.row_ids, ctx.is_mean, ctx.num_rows = block, row_ids, is_mean, x.shape[0]
        ctx.placement, ctx.layer, ctx.sizes = placement, layer, sizes
        started = _seconds(ctx, x)
        if ctx.plan.forward == AGGREGATE_FIRST:
            sums = _aggregated(ctx, scales, x, row_ids)
            new = multiplied(sums, weight.t(), bias=bias)
            kept = (sums if needs_weight else None, x if needs_scales else None)
        else:
            rows = x if row_ids is None else x.index_select(0, row_ids)
            combined = multiplied(rows, weight.t())
            new = _aggregated(ctx, scales, combined, None)
            if bias is not None:
                new += bias
            kept = (rows if needs_weight else None, combined if needs_scales else None)
        ctx.save_for_backward(weight, scales, *kept)
        placement.record(FORWARD, ctx.plan, layer, sizes, _seconds(ctx, x) - started)
        return new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Any, ...]:
        """Gradients of x, weight, bias and edge weights, those that are needed."""
        started = _seconds(ctx, gradients)
        new_bias = gradients.sum(0) if ctx.needs_input_grad[2] else None
        mirror = _after_aggregating if ctx.plan.forward == AGGREGATE_FIRST else _after_combining
        new_x, new_weight, new_scales = mirror(ctx, gradients)
        if new_x is not None:
            new_x = table_gradient(new_x, ctx.row_ids, ctx.num_rows)
        ctx.placement.record(BACKWARD, ctx.plan, ctx.layer, ctx.sizes, _seconds(ctx, gradients) - started)
        return new_x, new_weight, new_bias, new_scales, None, None, None, None


Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def _after_aggregating(ctx: Any, gradients: Tensor) -> Gradients:
    """The parameters need no aggregation; the embeddings get theirs combined first or summed first."""
    weight, scales, sums, x = ctx.saved_tensors
    layer: Layer = ctx.layer
    new_x = new_scales = None
    new_weight = multiplied(gradients, sums, is_transposed=True) if layer.needs_parameters else None
    if ctx.plan.backward != AGGREGATE_FIRST:
        new_x = multiplied(_summed(ctx, scales, _averaged(ctx, gradients)), weight)
    elif layer.needs_embeddings or layer.needs_edge_weights:
        wide = _averaged(ctx, multiplied(gradients, weight))
        new_x = _summed(ctx, scales, wide) if layer.needs_embeddings else None
        if layer.needs_edge_weights:
            new_scales = weight_gradients(ctx.block, x.unsqueeze(1), ctx.row_ids, wide.unsqueeze(1))
    return new_x, new_weight, new_scales


def _after_combining(ctx: Any, gradients: Tensor) -> Gradients:
    """Gradients are summed for the sources first; parameters and embeddings both take them from there."""
    weight, scales, rows, combined = ctx.saved_tensors
    layer: Layer = ctx.layer
    new_x = new_weight = new_scales = None
    narrow = _averaged(ctx, gradients)
    if layer.needs_embeddings or layer.needs_parameters:
        sums = _summed(ctx, scales, narrow)
        new_x = multiplied(sums, weight) if layer.needs_embeddings else None
        new_weight = multiplied(sums, rows, is_transposed=True) if layer.needs_parameters else None
    if layer.needs_edge_weights:
        new_scales = weight_gradients(ctx.block, combined.unsqueeze(1), None, narrow.unsqueeze(1))
    return new_x, new_weight, new_scales


def _aggregated(ctx: Any, scales: Tensor | None, x: Tensor, row_ids: Tensor | None) -> Tensor:
    return aggregated(ctx.block, row_ids, scales, x.unsqueeze(1), ctx.is_mean).squeeze(1)


def _averaged(ctx: Any, gradients: Tensor) -> Tensor:
    return divided_by_counts(ctx.block, gradients) if ctx.is_mean else gradients


def _summed(ctx: Any, scales: Tensor | None, gradients: Tensor) -> Tensor:
    return sum_to_sources(ctx.block, scales, gradients.unsqueeze(1)).squeeze(1)


def _seconds(ctx: Any, tensor: Tensor) -> float:
    """Return the time; during trials a device first finishes what it was given."""
    if tensor.device.type != "cpu" and ctx.placement.is_trial(ctx.layer):
        getattr(torch, tensor.device.type).synchronize()
    return time.perf_counter()
