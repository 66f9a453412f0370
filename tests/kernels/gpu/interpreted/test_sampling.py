"""The sampler in the interpreter: the sample of the CPU, edge by edge; and its random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import odd_graphs
from tgraph.kernels import registry
from tgraph.kernels.cpu import counter_random
from tgraph.kernels.gpu.counter_random import below, hash_number, unit
from tgraph.nn import NeighborSampler


@triton.jit
def fill_numbers(keys, counters, counts, new_bits, new_units, new_numbers, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    bits = hash_number(tl.load(keys + lanes).to(tl.uint64), tl.load(counters + lanes).to(tl.uint64))
    tl.store(new_bits + lanes, bits.to(tl.int64))
    tl.store(new_units + lanes, unit(bits))
    tl.store(new_numbers + lanes, below(bits, tl.load(counts + lanes).to(tl.uint64)).to(tl.int64))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4),
    st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4),
    st.lists(st.integers(1, 2**63 - 1) | st.integers(1, 100), min_size=4, max_size=4),
)
def test_random_numbers_are_those_of_the_cpu(keys: list[int], counters: list[int], counts: list[int]) -> None:
    given = [torch.from_numpy(np.array(one, np.uint64).view(np.int64)) for one in (keys, counters, counts)]
    bits, numbers = torch.empty(4, dtype=torch.int64), torch.empty(4, dtype=torch.int64)
    units = torch.empty(4, dtype=torch.float64)
    fill_numbers[(1,)](*given, bits, units, numbers, BLOCK=4)
    expected = [
        counter_random.hash_number(np.uint64(key), np.uint64(one)) for key, one in zip(keys, counters, strict=True)
    ]
    assert bits.numpy().view(np.uint64).tolist() == [int(one) for one in expected]
    assert units.tolist() == [float(counter_random.unit(np.uint64(one))) for one in expected]
    pairs = zip(expected, counts, strict=True)
    assert numbers.tolist() == [int(counter_random.below(np.uint64(one), np.uint64(count))) for one, count in pairs]


def assert_same_sample(graph: tg.Graph, seeds: Any, fanouts: tuple[int, ...], **options: Any) -> None:
    expected = NeighborSampler(graph, fanouts, **options).sample(seeds, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.KERNELS, "cpu", "gpu")
        sampler = NeighborSampler(graph, fanouts, **options)
        assert sampler.is_on_device
        for _ in range(2):  # nothing of one batch is left for the next
            found = sampler.sample(seeds, 7)
    assert torch.equal(found.vertices, expected.vertices)
    assert torch.equal(found.positions, expected.positions)
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert torch.equal(one.offsets, other.offsets)
        assert torch.equal(one.sources, other.sources)
        assert one.num_sources == other.num_sources
        assert (one.weights is None) == (other.weights is None)
        if one.weights is not None:
            assert torch.equal(one.weights, other.weights)


@pytest.mark.parametrize("replace", [False, True])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    odd_graphs(weights=("none", "float64")),
    st.sampled_from([(2,), (1, 3), (-1, 2), (0, 1)]),
    st.sampled_from(["out", "in"]),
)
def test_odd_graphs_give_the_sample_of_the_cpu(replace: bool, graph: tg.Graph, fanouts: Any, along: str) -> None:
    seeds = range(min(graph.num_vertices, 3))
    assert_same_sample(graph.to("torch", "cpu"), seeds, fanouts, replace=replace, along=along, reverse=True)


def test_hubs_many_draws_and_weights() -> None:
    ends = np.zeros(200, np.int64), np.arange(200) % 60
    weights = np.where(np.arange(200) % 5 == 0, 1e-300, np.arange(200) % 7.0)
    graph = tg.from_edges(*ends, weights, directed=False, runtime="torch")
    for fanouts in ((5,), (50, 3), (100,)):
        assert_same_sample(graph, [0, 1, 0], fanouts)
    for fanouts in ((5, 2), (90,)):
        assert_same_sample(graph, [0, 3], fanouts, replace=True)
        assert_same_sample(graph, [0, 3], fanouts, replace=True, weighted=True)


@pytest.mark.usefixtures("on_gpu_kernels")
def test_what_the_kernel_cannot_draw_is_drawn_on_the_cpu() -> None:
    graph = tg.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], runtime="torch")
    assert not NeighborSampler(graph, (2,), weighted=True).is_on_device
    assert not NeighborSampler(graph, (2,), edges=True).is_on_device
    assert not NeighborSampler(graph, (300,)).is_on_device
    assert not NeighborSampler(graph, (2,), times=[1, 2, 3]).is_on_device
