"""The kernels on embeddings as functions of torch's tensors on the CPU: they make the room for the result themselves.

The GPU kernels have functions of the same names and arguments (`kernels.gpu.row_operators`). Embeddings are
`[N, H, F]`, numbers of edges `[E, H]`; each CPU kernel says what it writes.
"""

from __future__ import annotations

from typing import Any

from tgraph.kernels.cpu import edge_scores, edge_softmax, gathered_sums, row_maxima, row_sums
from tgraph.runtime.protocol import Tensor


def as_arrays(*arguments: Any) -> Any:
    """Return CPU tensors as NumPy arrays, in place where they are contiguous, and everything else as it is."""
    return [one.detach().contiguous().numpy() if hasattr(one, "detach") else one for one in arguments]


def sum_rows(offsets: Tensor, ids: Tensor, weights: Tensor | None, embeddings: Tensor) -> Tensor:
    """Return for each row the sum over its edges of `weights[e, h] * embeddings[ids[e], h]`, `[R, H, F]`."""
    sums = embeddings.new_empty(offsets.shape[0] - 1, *embeddings.shape[1:])
    row_sums.sum_rows(*as_arrays(offsets, ids, weights, embeddings, sums))
    return sums


def sum_gathered(
    offsets: Tensor,
    sources: Tensor,
    row_ids: Tensor | None,
    weights: Tensor | None,
    table: Tensor,
    is_mean: bool,
    factors: Tensor | None = None,
    factor_ids: Tensor | None = None,
) -> Tensor:
    """Return for each row the sum or mean of `weights[e] * table[row_ids[sources[e]]]`, times 1 + factors, `[R, F]`.

    The CPU alone has it; elsewhere it is `sum_rows` and what torch does with the sums.
    """
    sums = table.new_empty(offsets.shape[0] - 1, table.shape[1])
    read = (offsets, sources, row_ids, weights, table, is_mean, factors, factor_ids)
    gathered_sums.sum_gathered(*as_arrays(*read, sums))
    return sums


def sum_products(offsets: Tensor, ids: Tensor, x: Tensor, factor_ids: Tensor, factors: Tensor) -> Tensor:
    """Return for each row the sum over its edges of `x[ids[e]] * factors[factor_ids[e]]`, `[R, F]`."""
    sums = x.new_empty(offsets.shape[0] - 1, x.shape[1])
    row_sums.sum_products(*as_arrays(offsets, ids, x, factor_ids, factors, sums))
    return sums


def max_rows(
    offsets: Tensor, ids: Tensor, weights: Tensor | None, embeddings: Tensor, adds: bool, winners: Tensor
) -> Tensor:
    """Return the largest `w * x` or `x + w` of each row, `[R, H, F]`; writes which edge brought it into `winners`."""
    maxima = embeddings.new_empty(winners.shape)
    row_maxima.max_rows(*as_arrays(offsets, ids, weights, embeddings, adds, maxima, winners))
    return maxima


def max_weighted_by_products(
    offsets: Tensor,
    ids: Tensor,
    x: Tensor,
    factor_ids: Tensor,
    factors: Tensor,
    row_factors: Tensor,
    adds: bool,
    winners: Tensor,
) -> Tensor:
    """Return the largest message of each row and feature, `[R, F]`; writes which edge brought it into `winners`."""
    maxima = x.new_empty(winners.shape)
    read = (offsets, ids, x, factor_ids, factors, row_factors, adds)
    row_maxima.max_weighted_by_products(*as_arrays(*read, maxima, winners))
    return maxima


def sum_won(
    offsets: Tensor, targets: Tensor, edges: Tensor, winners: Tensor, weights: Tensor | None, gradients: Tensor
) -> Tensor:
    """Return for each source the sum of the gradients, times the weights, that its edges won, `[S, H, F]`."""
    sums = gradients.new_empty(offsets.shape[0] - 1, *gradients.shape[1:])
    row_maxima.sum_won(*as_arrays(offsets, targets, edges, winners, weights, gradients, sums))
    return sums


def dot_won(offsets: Tensor, ids: Tensor, winners: Tensor, embeddings: Tensor | None, gradients: Tensor) -> Tensor:
    """Return for each edge and head the sum of `gradients * embeddings[ids[e]]` over what it won, `[E, H]`."""
    dots = gradients.new_empty(ids.shape[0], gradients.shape[1])
    row_maxima.dot_won(*as_arrays(offsets, ids, winners, embeddings, gradients, dots))
    return dots


def dot_edges(offsets: Tensor, ids: Tensor, embeddings: Tensor, row_embeddings: Tensor) -> Tensor:
    """Return for each edge and head the dot product of the embeddings at its ends, `[E, H]`."""
    scores = embeddings.new_empty(ids.shape[0], embeddings.shape[1])
    edge_scores.dot_edges(*as_arrays(offsets, ids, embeddings, row_embeddings, scores))
    return scores


def leaky_dot_edges(
    offsets: Tensor, ids: Tensor, embeddings: Tensor, row_embeddings: Tensor, attention: Tensor, slope: float
) -> Tensor:
    """Return for each edge and head the dot product of attention and leaky_relu(x + y), `[E, H]`."""
    scores = embeddings.new_empty(ids.shape[0], embeddings.shape[1])
    edge_scores.leaky_dot_edges(*as_arrays(offsets, ids, embeddings, row_embeddings, attention, slope, scores))
    return scores


def leaky_sums(
    offsets: Tensor,
    ids: Tensor,
    edges: Tensor | None,
    gradients: Tensor,
    embeddings: Tensor,
    row_embeddings: Tensor,
    slope: float,
) -> Tensor:
    """Return for each row the sum of its edges' gradients times the slope of leaky_relu(x + y), `[R, H, F]`."""
    sums = row_embeddings.new_empty(row_embeddings.shape)
    edge_scores.leaky_sums(*as_arrays(offsets, ids, edges, gradients, embeddings, row_embeddings, slope, sums))
    return sums


def sum_edges(offsets: Tensor, edges: Tensor | None, values: Tensor) -> Tensor:
    """Return for each row the sum of its edges' values, `[R, H]`; `edges` says where they are, None in order."""
    sums = values.new_empty(offsets.shape[0] - 1, values.shape[1])
    edge_softmax.sum_edges(*as_arrays(offsets, edges, values, sums))
    return sums


def softmax_edges(offsets: Tensor, scores: Tensor) -> Tensor:
    """Return the softmax of scores over the edges of each row, `[E, H]`; zeros in a row of -inf alone."""
    shares = scores.new_empty(scores.shape)
    edge_softmax.softmax_edges(*as_arrays(offsets, scores, shares))
    return shares


def softmax_gradients(offsets: Tensor, shares: Tensor, gradients: Tensor) -> Tensor:
    """Return what gradients of the shares are for the scores that they were made from, `[E, H]`."""
    new_gradients = shares.new_empty(shares.shape)
    edge_softmax.softmax_gradients(*as_arrays(offsets, shares, gradients, new_gradients))
    return new_gradients
