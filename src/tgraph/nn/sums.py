"""Sums of embeddings along edges, without gradients: what the functions of `pull` and their gradients are made of.

On the CPU sums are a kernel that reads rows of tables in place, but for those of 16-bit floats, which are
`torch.nn.functional.embedding_bag`. On GPUs they are a kernel too, and on devices without kernels they are made of
indexing and index_add.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from tgraph.nn.block import Block
from tgraph.nn.row_kernels import kernels_of, row_kernels

HALF_DTYPES = (torch.bfloat16, torch.float16)
ROWS_PER_STEP = 1024  # whose products fit into the cache


def edge_rows(block: Block, row_ids: Tensor | None) -> Tensor:
    """Return for each edge which row it reads, `[E]`: its source, or the row of a table that the source is."""
    return block.sources if row_ids is None else row_ids.index_select(0, block.sources)


def table_gradient(sums: Tensor, row_ids: Tensor | None, num_rows: int) -> Tensor:
    """Return gradients per source as those of the `num_rows` rows that the sources are read from."""
    return sums if row_ids is None else sums.new_zeros(num_rows, *sums.shape[1:]).index_add_(0, row_ids, sums)


def edge_counts(block: Block, values: Tensor) -> Tensor:
    """Return what a mean divides values `[T, ...]` by: the edges of each target, 1 for a target without any."""
    counts = block.offsets.diff().clamp(min=1).view(-1, *[1] * (values.ndim - 1))
    return counts.to(torch.promote_types(values.dtype, torch.float32))


def divided_by_counts(block: Block, values: Tensor) -> Tensor:
    """Return values `[T, ...]` divided by the edges of their target."""
    return (values / edge_counts(block, values)).to(values.dtype)


def multiplied_sum(a: Tensor, b: Tensor) -> Tensor:
    """Return the sum over the rows of a * b, without a copy of their size."""
    total = a.new_zeros(a.shape[1:])
    for first in range(0, a.shape[0], ROWS_PER_STEP):
        part = slice(first, first + ROWS_PER_STEP)
        total += (a[part] * b[part]).sum(0)
    return total


def inverse_lengths(x: Tensor, row_ids: Tensor | None) -> Tensor:
    """Return 1 / the length of the embeddings, `[S, H]`, 0 where they are zero; no copy of their size is made."""
    if row_ids is None:
        lengths = torch.linalg.vector_norm(x, dim=-1)
    else:
        parts = [torch.linalg.vector_norm(x.index_select(0, ids), dim=-1) for ids in row_ids.split(ROWS_PER_STEP)]
        lengths = torch.cat(parts)
    return torch.where(lengths == 0, 0, 1 / lengths)


def weighted_sum(offsets: Tensor, ids: Tensor, weights: Tensor | None, x: Tensor) -> Tensor:
    """Return for each row and head the sum over its edges of `weights[e, h] * x[ids[e], h]`, `[R, H, F]`.

    `weights` is `[E, H]` or None. Half-precision numbers are accumulated in float32.
    """
    shape = (offsets.shape[0] - 1, *x.shape[1:])
    if ids.shape[0] == 0 or x.numel() == 0:
        return x.new_zeros(shape)
    kernels = kernels_of(x)
    if kernels is None:
        return _added_by_index(offsets, ids, weights, x)
    if kernels == "cpu" and (weights is None or weights.shape[1] == 1):
        flat, scales = x.flatten(1), None if weights is None else weights.reshape(-1)
        if x.dtype in HALF_DTYPES:
            return _bagged(offsets, ids, scales, flat).view(shape)
        return row_kernels(x).sum_gathered(offsets, ids, None, scales, flat, False).view(shape)
    if kernels == "cpu" and x.dtype in HALF_DTYPES:
        return weighted_sum(offsets, ids, None if weights is None else weights.float(), x.float()).to(x.dtype)
    return row_kernels(x).sum_rows(offsets, ids, weights, x)


def aggregated(
    block: Block,
    row_ids: Tensor | None,
    weights: Tensor | None,
    x: Tensor,
    is_mean: bool,
    factors: Tensor | None = None,
    factor_ids: Tensor | None = None,
) -> Tensor:
    """Return the sum or mean for each target of its weighted sources, `[T, H, F]`, times 1 + the target's factors.

    `row_ids` and `factor_ids` say which rows of x and of the factors, `[_, F]`, sources and targets are, None that they
    are in order. Factors are for embeddings without heads.
    """
    is_alike = weights is None or weights.shape[1] == 1
    if kernels_of(x) == "cpu" and x.dtype not in HALF_DTYPES and is_alike and block.num_edges and x.numel():
        read = (block.offsets, block.sources, row_ids, None if weights is None else weights.reshape(-1), x.flatten(1))
        sums = row_kernels(x).sum_gathered(*read, is_mean, factors, factor_ids)
        return sums.view(block.num_targets, *x.shape[1:])
    sums = weighted_sum(block.offsets, edge_rows(block, row_ids), weights, x)
    sums = sums.div_(edge_counts(block, sums)) if is_mean else sums
    if factors is None:
        return sums
    own = factors if factor_ids is None else factors.index_select(0, factor_ids)
    return sums.addcmul_(sums, own.view(sums.shape))


def sum_to_sources(block: Block, weights: Tensor | None, gradients: Tensor) -> Tensor:
    """Return for each source the sum over its edges of `weights[e, h] * gradients[t, h]`, `[S, H, F]`."""
    reverse = block.reverse
    permuted = None if weights is None else _reversed_weights(block, weights)
    return weighted_sum(reverse.offsets, reverse.targets, permuted, gradients)


def _reversed_weights(block: Block, weights: Tensor) -> Tensor:
    """Return weights `[E, H]` in the order of the reverse; the block keeps its own, unless they are learnt."""
    own = block.weights
    is_own = own is not None and not own.requires_grad and own.dtype == weights.dtype
    if own is not None and is_own and own.data_ptr() == weights.data_ptr() and weights.shape[1] == 1:
        return cast(Tensor, block.reverse_weights).unsqueeze(1)
    return weights.index_select(0, block.reverse.edges)


def _bagged(offsets: Tensor, ids: Tensor, weights: Tensor | None, x: Tensor) -> Tensor:
    """Each row is a bag. Ids and offsets must have one type: the narrow one while it can count the edges."""
    index = torch.int32 if ids.dtype == torch.int32 and ids.shape[0] < 2**31 else torch.int64
    return functional.embedding_bag(
        ids.to(index),
        x.detach(),
        offsets.to(index),
        mode="sum",
        per_sample_weights=None if weights is None else weights.detach(),
        include_last_offset=True,
    )


def _added_by_index(offsets: Tensor, ids: Tensor, weights: Tensor | None, x: Tensor) -> Tensor:
    """Makes a copy of edges x features."""
    messages = x.index_select(0, ids)
    if weights is not None:
        messages = messages * weights.unsqueeze(-1)
    rows = torch.arange(offsets.shape[0] - 1, device=x.device)
    rows = rows.repeat_interleave(offsets.diff(), output_size=ids.shape[0])
    return x.new_zeros((offsets.shape[0] - 1, *x.shape[1:])).index_add_(0, rows, messages)
