"""The kernels on embeddings as operators: those of `row_sums`, `row_maxima`, `edge_scores` and `edge_softmax`.

Their twins are the CPU kernels of the same names (`kernels.cpu.tensor_calls`). Gradients are not theirs: the functions
of `tgraph.nn` call one operator forward and others backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tgraph.kernels.cpu import tensor_calls
from tgraph.kernels.gpu import edge_scores, edge_softmax, row_maxima, row_sums
from tgraph.kernels.gpu.operators import define


def _rows_like(offsets: Any, values: Any) -> Any:
    return values.new_empty(offsets.shape[0] - 1, *values.shape[1:])


def _by_float32(twin: Callable[..., Any]) -> Callable[..., Any]:
    """Return a twin that also takes half precision, which NumPy and Numba do not: by float32, as the kernels do."""

    def run(*args: Any) -> Any:
        halves = [one.dtype for one in args if isinstance(one, torch.Tensor) and one.dtype in _HALVES]
        if not halves:
            return twin(*args)
        widened = [one.float() if isinstance(one, torch.Tensor) and one.dtype in _HALVES else one for one in args]
        return twin(*widened).to(halves[0])

    return run


_HALVES = (torch.float16, torch.bfloat16)
_OPERATORS = (
    (
        row_sums.sum_rows,
        "(Tensor offsets, Tensor ids, Tensor? weights, Tensor embeddings) -> Tensor",
        lambda offsets, ids, weights, embeddings: _rows_like(offsets, embeddings),
    ),
    (
        row_sums.sum_products,
        "(Tensor offsets, Tensor ids, Tensor x, Tensor factor_ids, Tensor factors) -> Tensor",
        lambda offsets, ids, x, *_: _rows_like(offsets, x),
    ),
    (
        row_maxima.max_rows,
        "(Tensor offsets, Tensor ids, Tensor? weights, Tensor embeddings, bool adds, Tensor(a!) winners) -> Tensor",
        lambda offsets, ids, weights, embeddings, adds, winners: _rows_like(offsets, embeddings),
    ),
    (
        row_maxima.max_weighted_by_products,
        "(Tensor offsets, Tensor ids, Tensor x, Tensor factor_ids, Tensor factors, Tensor row_factors, bool adds, "
        "Tensor(a!) winners) -> Tensor",
        lambda offsets, ids, x, *_: _rows_like(offsets, x),
    ),
    (
        row_maxima.sum_won,
        "(Tensor offsets, Tensor targets, Tensor edges, Tensor winners, Tensor? weights, Tensor gradients) -> Tensor",
        lambda offsets, targets, edges, winners, weights, gradients: _rows_like(offsets, gradients),
    ),
    (
        edge_scores.dot_won,
        "(Tensor offsets, Tensor ids, Tensor winners, Tensor? embeddings, Tensor gradients) -> Tensor",
        lambda offsets, ids, winners, embeddings, gradients: gradients.new_empty(ids.shape[0], gradients.shape[1]),
    ),
    (
        edge_scores.dot_edges,
        "(Tensor offsets, Tensor ids, Tensor embeddings, Tensor row_embeddings) -> Tensor",
        lambda offsets, ids, embeddings, row_embeddings: embeddings.new_empty(ids.shape[0], embeddings.shape[1]),
    ),
    (
        edge_scores.leaky_dot_edges,
        "(Tensor offsets, Tensor ids, Tensor embeddings, Tensor row_embeddings, Tensor attention, float slope) "
        "-> Tensor",
        lambda offsets, ids, embeddings, *_: embeddings.new_empty(ids.shape[0], embeddings.shape[1]),
    ),
    (
        edge_scores.leaky_sums,
        "(Tensor offsets, Tensor ids, Tensor? edges, Tensor gradients, Tensor embeddings, Tensor row_embeddings, "
        "float slope) -> Tensor",
        lambda offsets, ids, edges, gradients, embeddings, row_embeddings, slope: torch.empty_like(row_embeddings),
    ),
    (
        edge_softmax.sum_edges,
        "(Tensor offsets, Tensor? edges, Tensor values) -> Tensor",
        lambda offsets, edges, values: _rows_like(offsets, values),
    ),
    (
        edge_softmax.softmax_edges,
        "(Tensor offsets, Tensor scores) -> Tensor",
        lambda offsets, scores: torch.empty_like(scores),
    ),
    (
        edge_softmax.softmax_gradients,
        "(Tensor offsets, Tensor shares, Tensor gradients) -> Tensor",
        lambda offsets, shares, gradients: torch.empty_like(shares),
    ),
)

for _kernel, _schema, _shapes in _OPERATORS:
    _name = _kernel.__name__
    define(f"{_name}{_schema}", _kernel, _by_float32(getattr(tensor_calls, _name)), _shapes)
