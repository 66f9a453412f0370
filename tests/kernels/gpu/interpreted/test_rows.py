"""Kernels on embeddings in the interpreter against the CPU kernels, and NeighborApply and Pull against plain torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tgraph.kernels.cpu import tensor_calls
from tgraph.kernels.gpu import edge_scores, edge_softmax, far_memory, row_maxima, row_sums
from tgraph.nn import Block, EdgeProduct, Rows, neighbor_apply, plain, pull

FIFTY = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = (torch.float32, torch.float64)
TOLERANCES = {torch.float32: {"rtol": 1e-5, "atol": 1e-5}, torch.float64: {"rtol": 1e-12, "atol": 1e-12}}


@st.composite
def blocks(draw: Any) -> Block:
    """Rows without edges, duplicates, and now and then a row longer than what a program reads at once."""
    num_targets, num_sources = draw(st.integers(0, 3)), draw(st.integers(1, 4))
    counts = draw(st.lists(st.sampled_from([0, 1, 2, 3, 9]), min_size=num_targets, max_size=num_targets))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ends = st.integers(0, num_sources - 1)
    sources = draw(st.lists(ends, min_size=int(offsets[-1]), max_size=int(offsets[-1])))
    return Block(torch.from_numpy(offsets), torch.tensor(sources, dtype=torch.int32), num_sources)


def numbers(seed: int, dtype: Any, *shape: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).to(dtype) / 2  # many are equal


def assert_same(found: Any, expected: Any, dtype: Any) -> None:
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, **TOLERANCES[dtype], equal_nan=True)


CASES = st.tuples(blocks(), st.sampled_from(DTYPES), st.integers(1, 2), st.integers(1, 3), st.booleans())


@FIFTY
@given(CASES)
def test_sums(case: Any) -> None:
    block, dtype, heads, width, flag = case
    x = numbers(1, dtype, block.num_sources, heads, width)
    weights = numbers(2, dtype, block.num_edges, heads) if flag else None
    read = (block.offsets, block.sources, weights, x)
    assert_same(row_sums.sum_rows(*read), tensor_calls.sum_rows(*read), dtype)
    products = (block.offsets, block.sources, x[:, 0], block.sources, numbers(3, dtype, block.num_sources, width))
    assert_same(row_sums.sum_products(*products), tensor_calls.sum_products(*products), dtype)


@FIFTY
@given(CASES)
def test_maxima(case: Any) -> None:
    block, dtype, heads, width, flag = case
    x = numbers(1, dtype, block.num_sources, heads, width)
    weights = numbers(2, dtype, block.num_edges, heads) if flag else None
    won, won_there = (torch.empty(block.num_targets, heads, width, dtype=torch.int32) for _ in range(2))
    read = (block.offsets, block.sources, weights, x, flag)
    assert_same(row_maxima.max_rows(*read, won), tensor_calls.max_rows(*read, won_there), dtype)
    assert torch.equal(won, won_there)
    gradients, reverse = numbers(3, dtype, block.num_targets, heads, width), block.reverse
    back = (reverse.offsets, reverse.targets, reverse.edges, won, weights, gradients)
    assert_same(row_maxima.sum_won(*back), tensor_calls.sum_won(*back), dtype)
    per_edge = (block.offsets, block.sources, won, x if flag else None, gradients)
    assert_same(edge_scores.dot_won(*per_edge), tensor_calls.dot_won(*per_edge), dtype)


@FIFTY
@given(CASES)
def test_maxima_of_products(case: Any) -> None:
    block, dtype, _, width, flag = case
    x, factors = numbers(1, dtype, block.num_sources, width), numbers(3, dtype, block.num_sources, width)
    won, won_there = (torch.empty(block.num_targets, width, dtype=torch.int32) for _ in range(2))
    read = (block.offsets, block.sources, x, block.sources, factors, numbers(4, dtype, block.num_targets, width), flag)
    found = row_maxima.max_weighted_by_products(*read, won)
    assert_same(found, tensor_calls.max_weighted_by_products(*read, won_there), dtype)
    assert torch.equal(won, won_there)


@FIFTY
@given(CASES)
def test_scores(case: Any) -> None:
    block, dtype, heads, width, flag = case
    x, y = numbers(1, dtype, block.num_sources, heads, width), numbers(2, dtype, block.num_targets, heads, width)
    read = (block.offsets, block.sources, x, y)
    assert_same(edge_scores.dot_edges(*read), tensor_calls.dot_edges(*read), dtype)
    leaky = (*read, numbers(3, dtype, heads, width), 0.3)
    assert_same(edge_scores.leaky_dot_edges(*leaky), tensor_calls.leaky_dot_edges(*leaky), dtype)
    gradients, reverse = numbers(4, dtype, block.num_edges, heads), block.reverse
    sums = (block.offsets, block.sources, None, gradients, x, y, 0.3)
    if flag:
        sums = (reverse.offsets, reverse.targets, reverse.edges, gradients, y, x, 0.3)
    assert_same(edge_scores.leaky_sums(*sums), tensor_calls.leaky_sums(*sums), dtype)


@FIFTY
@given(CASES)
def test_softmax_and_sums_of_edges(case: Any) -> None:
    block, dtype, heads, _, flag = case
    scores, gradients = (numbers(seed, dtype, block.num_edges, heads) for seed in (1, 2))
    if flag and block.num_edges:
        scores[: block.num_edges // 2 + 1] = -torch.inf
    shares = edge_softmax.softmax_edges(block.offsets, scores)
    assert_same(shares, tensor_calls.softmax_edges(block.offsets, scores), dtype)
    back = (block.offsets, shares, gradients)
    assert_same(edge_softmax.softmax_gradients(*back), tensor_calls.softmax_gradients(*back), dtype)
    rows = (block.reverse.offsets, block.reverse.edges) if flag else (block.offsets, None)
    assert_same(edge_softmax.sum_edges(*rows, gradients), tensor_calls.sum_edges(*rows, gradients), dtype)


@FIFTY
@given(
    st.lists(st.integers(0, 6), max_size=9),
    st.integers(0, 5),
    st.sampled_from(["int32", "int64", "float16", "bfloat16", "float32", "float64"]),
)
def test_rows_of_far_memory(ids: list[int], width: int, dtype: str) -> None:
    table, places = numbers(1, getattr(torch, dtype), 7, width), torch.tensor(ids, dtype=torch.int64)
    assert torch.equal(far_memory.gather_far(table, places), table[places])


def test_nan_wins_and_halves_are_summed_in_float32() -> None:
    offsets, ids = torch.tensor([0, 3, 3]), torch.tensor([0, 1, 2], dtype=torch.int32)
    x = torch.tensor([1.0, torch.nan, 3.0]).reshape(3, 1, 1)
    winners = torch.empty(2, 1, 1, dtype=torch.int32)
    maxima = row_maxima.max_rows(offsets, ids, None, x, False, winners)
    assert maxima[0].isnan().all()
    assert (maxima[1].item(), winners.flatten().tolist()) == (0.0, [1, -1])
    halves = torch.tensor([2048.0, 1.0, 1.0], dtype=torch.float16).reshape(3, 1, 1)
    assert row_sums.sum_rows(offsets, ids, None, halves).flatten().tolist() == [2050.0, 0.0]


def with_gradients(function: Any, given: list[Any]) -> list[Any]:
    leaves = [one.clone().requires_grad_() for one in given]
    answer = function(*leaves)
    (answer * numbers(9, answer.dtype, *answer.shape)).sum().backward()
    return [answer.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.usefixtures("on_gpu_kernels")
@FIFTY
@given(
    blocks(),
    st.sampled_from(["none", "edge", "head", "product"]),
    st.sampled_from(["multiply", "add"]),
    st.sampled_from(["sum", "mean", "max", "softmax"]),
)
def test_pull_and_its_gradients_equal_plain_torch(block: Block, kind: str, h: str, f: str) -> None:
    x = numbers(1, torch.float64, block.num_sources, 2, 3)
    more = {
        "none": [],
        "edge": [numbers(2, torch.float64, block.num_edges)],
        "head": [numbers(2, torch.float64, block.num_edges, 2)],
        "product": [
            numbers(2, torch.float64, block.num_sources, 2, 3),
            numbers(3, torch.float64, block.num_targets, 2, 3),
        ],
    }[kind]
    f = "mean" if f == "softmax" and kind in ("none", "product") else f

    def fused(x: Any, *rest: Any) -> Any:
        weights = EdgeProduct(*rest) if kind == "product" else (rest[0] if rest else None)
        return pull(block, Rows(x, torch.arange(block.num_sources)), weights, h, f)

    def plainly(x: Any, *rest: Any) -> Any:
        weights = plain.score(block, *rest, "product") if kind == "product" else (rest[0] if rest else None)
        return plain.pull(block, x, weights, h, f)

    for found, expected in zip(with_gradients(fused, [x, *more]), with_gradients(plainly, [x, *more]), strict=True):
        assert_same(found, expected, torch.float64)


@pytest.mark.usefixtures("on_gpu_kernels")
@FIFTY
@given(blocks(), st.sampled_from(["dot", "cosine", "additive", "leaky"]))
def test_neighbor_apply_and_its_gradients_equal_plain_torch(block: Block, g: str) -> None:
    ends = [
        numbers(seed, torch.float64, count, 2, 3) + 0.25
        for seed, count in enumerate((block.num_sources, block.num_targets))
    ]
    ends += [numbers(5, torch.float64, 2, 3)] if g == "leaky" else []
    name = "additive" if g == "leaky" else g
    found = with_gradients(lambda x, y, *more: neighbor_apply(block, x, y, name, *more), ends)
    expected = with_gradients(lambda x, y, *more: plain.score(block, x, y, name, *more), ends)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other, torch.float64)
