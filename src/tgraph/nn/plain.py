"""NeighborApply and Pull made of torch's own operations: the path on devices without kernels, and the tests' reference.

Every function here makes tensors of the size edges x features, and torch derives the gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tgraph.nn.block import Block
from tgraph.nn.sums import divided_by_counts


def edge_targets(block: Block) -> Tensor:
    """Return the target of each edge, `[E]`."""
    rows = torch.arange(block.num_targets, device=block.offsets.device)
    return rows.repeat_interleave(block.offsets.diff(), output_size=block.num_edges)


def ends(block: Block, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the embeddings of source and target of each edge, `[E, ...]` both."""
    return x.index_select(0, block.sources), y.index_select(0, edge_targets(block))


def unit_vectors(x: Tensor) -> Tensor:
    """Return x `[..., F]` with length 1, zero where x is zero."""
    squares = x.square().sum(-1, keepdim=True)
    is_zero = squares == 0
    return x * squares.masked_fill(is_zero, 1).rsqrt().masked_fill(is_zero, 0)


def score(
    block: Block, x: Tensor, y: Tensor, g: str, attention: Tensor | None = None, negative_slope: float = 0.2
) -> Tensor:
    """Return `neighbor_apply` of tensors: `[E]`, `[E, H]`, or `[E, ...]` for the product."""
    if g == "cosine":
        x, y = unit_vectors(x), unit_vectors(y)
    a, b = ends(block, x, y)
    if g == "product":
        return a * b
    if g == "additive":
        return a + b if attention is None else (attention * functional.leaky_relu(a + b, negative_slope)).sum(-1)
    return (a * b).sum(-1)


def softmax(block: Block, scores: Tensor) -> Tensor:
    """Return the softmax over the edges of each target, `[E]` or `[E, H]`; zeros where all scores are -inf."""
    targets = edge_targets(block)
    largest = _per_target(block, scores.detach(), "amax")
    largest = largest.masked_fill(largest == -torch.inf, 0)
    shares = (scores - largest.index_select(0, targets)).exp()
    totals = torch.zeros_like(largest).index_add(0, targets, shares)
    return shares / totals.masked_fill(totals == 0, 1).index_select(0, targets)


def pull(block: Block, x: Tensor, weights: Tensor | None, h: str, f: str) -> Tensor:
    """Return `pull` of tensors; weights are `[E]`, `[E, H]` or like the messages `[E, ...]`."""
    if f == "softmax" and weights is not None:
        weights = softmax(block, weights)
    messages = x.index_select(0, block.sources)
    if weights is not None:
        weights = weights.reshape(*weights.shape, *[1] * (messages.ndim - weights.ndim))
        messages = messages * weights if h == "multiply" else messages + weights
    if f == "max" and block.num_edges > 0:
        return _first_largest(block, messages)
    sums = messages.new_zeros(block.num_targets, *messages.shape[1:]).index_add(0, edge_targets(block), messages)
    if f == "mean":
        sums = divided_by_counts(block, sums)
    return sums


def _first_largest(block: Block, messages: Tensor) -> Tensor:
    """The largest message per target, 0 without edges; its gradient goes to the first edge that has it."""
    fixed = messages.detach()
    largest = _per_target(block, fixed, "amax").index_select(0, edge_targets(block))
    positions = torch.arange(block.num_edges, device=fixed.device).view(-1, *[1] * (fixed.ndim - 1))
    wins = (fixed == largest) | (fixed != fixed)
    winners = _per_target(block, torch.where(wins, positions, block.num_edges), "amin")
    is_empty = (block.offsets.diff() == 0).view(-1, *[1] * (fixed.ndim - 1))
    return messages.gather(0, winners.masked_fill(is_empty, 0)).masked_fill(is_empty, 0)


def _per_target(block: Block, values: Tensor, reduce: str) -> Tensor:
    """The largest or smallest value of the edges of each target, 0 without edges."""
    targets = edge_targets(block).view(-1, *[1] * (values.ndim - 1)).expand_as(values)
    room = values.new_zeros(block.num_targets, *values.shape[1:])
    return room.scatter_reduce(0, targets, values, reduce, include_self=False)
