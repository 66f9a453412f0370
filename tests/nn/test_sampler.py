"""Neighbour sampling against plain lists of edges, and its chances against those that were asked for."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import tgraph as tg
from odd_graphs import odd_graphs
from tgraph.config import config
from tgraph.errors import InvalidArgumentError, OutOfRangeError, VertexNotFoundError
from tgraph.graph import Graph
from tgraph.kernels.cpu import place_numbers, team
from tgraph.nn import Block, NeighborSampler, Rows, Sample
from tgraph.nn.edge_numbers import edge_numbers

COMPILING = [HealthCheck.too_slow]  # the first graph may have to be compiled for

Edge = tuple[int, int]  # number in Graph.edges(), neighbour


def list_neighbors(graph: Graph, along: str = "out") -> list[list[Edge]]:
    """Return for every vertex the edges that its messages come from, from nothing but `Graph.edges()`."""
    ends = [graph.vertices_of(labels).tolist() for labels in graph.edges()[:2]]
    rows: list[list[Edge]] = [[] for _ in range(graph.num_vertices)]
    for number, (source, target) in enumerate(zip(*ends, strict=True)):
        first, second = (source, target) if along == "out" else (target, source)
        rows[second].append((number, first))
        if not graph.directed and source != target:
            rows[first].append((number, second))
    return rows


def check_sample(
    sample: Sample, rows: list[list[Edge]], seeds: list[int], fanouts: tuple[int, ...], replace: bool
) -> None:
    """Check all that does not depend on chance; blocks must have edges."""
    vertices = sample.vertices.tolist()
    distinct = list(dict.fromkeys(seeds))
    assert vertices[: len(distinct)] == distinct
    assert sample.vertices[sample.positions].tolist() == seeds
    assert len(set(vertices)) == len(vertices)
    assert sample.blocks[-1].num_targets == len(distinct)
    assert sample.blocks[0].num_sources == len(vertices)
    for outer, inner in zip(sample.blocks, sample.blocks[1:], strict=False):
        assert outer.num_targets == inner.num_sources
    for block, fanout in zip(sample.blocks[::-1], fanouts, strict=True):
        check_block(block, vertices, rows, fanout, replace)


def check_block(block: Block, vertices: list[int], rows: list[list[Edge]], fanout: int, replace: bool) -> None:
    """Check the edges of every target, that no vertex has two places, and the reverse."""
    assert block.edges is not None
    met = block.num_targets
    for target, found in enumerate(edges_of_targets(block)):
        row = rows[vertices[target]]
        named = [(edge, vertices[source]) for edge, source in found]
        assert set(named) <= set(row)
        if replace and fanout >= 0:
            assert len(named) == (fanout if row else 0)
        else:
            assert len(named) == (len(row) if fanout < 0 else min(fanout, len(row)))
            assert len(set(named)) == len(named)
        for _, source in found:
            assert source <= met  # numbered in the order in which they are met
            met = max(met, source + 1)
    assert met == block.num_sources
    check_reverse(block)


def edges_of_targets(block: Block) -> list[list[Edge]]:
    assert block.edges is not None
    offsets, pairs = block.offsets.tolist(), list(zip(block.edges.tolist(), block.sources.tolist(), strict=True))
    return [pairs[first:last] for first, last in itertools.pairwise(offsets)]


def check_reverse(block: Block) -> None:
    plain = Block(block.offsets, block.sources, block.num_sources).reverse
    for name in ("offsets", "targets", "edges"):
        assert torch.equal(getattr(block.reverse, name), getattr(plain, name)), name


def same(left: Sample, right: Sample) -> bool:
    """Compare all bits."""
    pairs = [(left.vertices, right.vertices), (left.positions, right.positions), (left.times, right.times)]
    for one, other in zip(left.blocks, right.blocks, strict=True):
        assert one.num_sources == other.num_sources
        pairs += [(getattr(one, name), getattr(other, name)) for name in ("offsets", "sources", "weights", "edges")]
    return all(one is other if one is None or other is None else torch.equal(one, other) for one, other in pairs)


@settings(max_examples=150, deadline=None, suppress_health_check=COMPILING)
@given(
    graph=odd_graphs(),
    data=st.data(),
    fanouts=st.lists(st.integers(-1, 6), min_size=1, max_size=3),
    along=st.sampled_from(["out", "in"]),
    replace=st.booleans(),
)
def test_odd_graphs(graph: Graph, data: Any, fanouts: list[int], along: str, replace: bool) -> None:
    ids = st.integers(0, max(graph.num_vertices - 1, 0))
    seeds = data.draw(st.lists(ids, max_size=6 if graph.num_vertices else 0))
    sampler = NeighborSampler(graph, fanouts, along=along, replace=replace, edges=True, reverse=True, seed=5)
    sample = sampler.sample(seeds, 3)
    check_sample(sample, list_neighbors(graph, along), seeds, tuple(fanouts), replace)
    weights = graph.edges()[2]
    for block in sample.blocks:
        assert (block.weights is None) == (weights is None)
        if weights is not None:
            np.testing.assert_array_equal(block.weights.numpy(), weights[block.edges.numpy()])


@settings(max_examples=100, deadline=None, suppress_health_check=COMPILING)
@given(graph=odd_graphs(), is_sorted=st.booleans())
def test_edge_numbers(graph: Graph, is_sorted: bool) -> None:
    if not is_sorted:  # the same rows, each backwards
        offsets, targets, weights = graph.adjacency("out").to_numpy()
        order = np.concatenate(
            [np.arange(last - 1, first - 1, -1) for first, last in itertools.pairwise(offsets)] or [[]]
        )
        order = order.astype(int)
        graph = tg.from_csr(
            offsets, targets[order], None if weights is None else weights[order], directed=graph.directed
        )
    sources, targets, _ = graph.edges()
    for direction in ("out", "in"):
        offsets, neighbors, _ = graph.adjacency(direction).to_numpy()
        numbers = edge_numbers(graph, direction)
        owners = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
        for number, owner, neighbor in zip(numbers.tolist(), owners.tolist(), neighbors.tolist(), strict=True):
            ends = (sources[number], targets[number])
            found = (owner, neighbor) if direction == "out" else (neighbor, owner)
            assert found == ends or (not graph.directed and found[::-1] == ends)
        if graph.directed:
            assert sorted(numbers.tolist()) == list(range(graph.num_edges))
        else:
            loops = np.flatnonzero(sources == targets).tolist()
            assert Counter(numbers.tolist()) == Counter([*range(graph.num_edges)] * 2) - Counter(loops)


def test_a_larger_graph_with_large_fanouts() -> None:
    graph = tg.generate.rmat(10, 16, seed=2)
    rows = list_neighbors(graph)
    for replace in (False, True):
        sampler = NeighborSampler(graph, (60, 100), replace=replace, edges=True, reverse=True)
        seeds = list(range(0, 1000, 100))
        check_sample(sampler.sample(seeds), rows, seeds, (60, 100), replace)


@pytest.mark.parametrize("kind", ["uniform", "replace", "weighted", "weighted, replace", "times"])
def test_the_same_on_any_number_of_threads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.rmat(10, 16, seed=2, weights="uniform")
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    times = np.arange(graph.num_edges) % 50 if kind == "times" else None
    sampler = NeighborSampler(
        graph, (5, 7, 3), replace="replace" in kind, weighted="weighted" in kind, times=times, edges=True
    )
    samples = []
    for num_threads in (1, 2, 4):
        monkeypatch.setattr(config, "num_threads", num_threads)
        samples.append(sampler.sample(range(200), 9, times=None if times is None else np.arange(200) % 60))
    assert same(samples[0], samples[1])
    assert same(samples[0], samples[2])


def test_another_batch_seed_or_layer_is_another_sample() -> None:
    star = tg.from_edges(range(1, 101), [0] * 100)

    def drawn(seed: int, number: int) -> list[int]:
        return NeighborSampler(star, (5,), seed=seed).sample([0], number).vertices.tolist()

    assert drawn(0, 0) == drawn(0, 0)
    assert len({tuple(drawn(seed, number)) for seed in range(5) for number in range(5)}) == 25
    blocks = NeighborSampler(star, (5, 5)).sample([0]).blocks
    assert blocks[0].sources[:5].tolist() != blocks[1].sources.tolist()


def test_what_a_vertex_draws_depends_on_no_other_seed() -> None:
    graph = tg.generate.rmat(8, 16, seed=2)
    sampler = NeighborSampler(graph, (4,), edges=True)
    alone = [edges_of_targets(sampler.sample([vertex], 1).blocks[0])[0] for vertex in range(50)]
    together = edges_of_targets(sampler.sample(range(50), 1).blocks[0])
    assert [[edge for edge, _ in row] for row in alone] == [[edge for edge, _ in row] for row in together]


def count_draws(graph: Graph, fanout: int, rounds: int, **options: Any) -> np.ndarray:
    """Return how often each neighbour 1, 2, ... of vertex 0 was drawn."""
    sampler = NeighborSampler(graph, (fanout,), **options)
    counts = np.zeros(graph.num_vertices, int)
    for number in range(rounds):
        sample = sampler.sample([0], number)
        np.add.at(counts, sample.vertices[sample.blocks[0].sources.long()].numpy(), 1)
    return counts[1:]


@pytest.mark.parametrize(
    ("replace", "degree", "fanout"), [(False, 20, 5), (True, 20, 5), (False, 200, 60), (False, 61, 60)]
)
def test_all_neighbors_are_alike(replace: bool, degree: int, fanout: int) -> None:
    star = tg.from_edges(range(1, degree + 1), [0] * degree)
    counts = count_draws(star, fanout, 2000, replace=replace)
    assert counts.sum() == 2000 * fanout
    assert chisquare(counts).pvalue > 0.001


def test_all_pairs_of_neighbors_are_alike() -> None:
    star = tg.from_edges(range(1, 7), [0] * 6)
    sampler = NeighborSampler(star, (2,))
    pairs = Counter(tuple(sorted(sampler.sample([0], number).vertices.tolist()[1:])) for number in range(6000))
    assert len(pairs) == 15
    assert chisquare(list(pairs.values())).pvalue > 0.001


def test_chances_by_weight_with_replacement() -> None:
    weights = np.array([1.0, 2.0, 0.0, 3.0, 0.5])
    star = tg.from_edges(range(1, 6), [0] * 5, weights=weights)
    counts = count_draws(star, 8, 2000, weighted=True, replace=True)
    assert counts[2] == 0
    expected = weights / weights.sum() * counts.sum()
    assert chisquare(counts[weights > 0], expected[weights > 0]).pvalue > 0.001


def test_chances_by_weight_without_replacement() -> None:
    weights = np.array([1, 2, 0, 3, 4])
    star = tg.from_edges(range(1, 6), [0] * 5, weights=weights)
    counts = count_draws(star, 2, 5000, weighted=True)
    chances = np.zeros(5)  # of being drawn first or second
    for first in range(5):
        for second in set(range(5)) - {first}:
            chance = weights[first] / 10 * weights[second] / (10 - weights[first])
            chances[[first, second]] += chance
    assert counts[2] == 0
    assert counts.sum() == 10_000
    np.testing.assert_allclose(counts / 5000, chances, atol=0.03)  # four standard deviations
    assert set(count_draws(star, 4, 1, weighted=True).tolist()) == {0, 1}


def test_edges_without_weight_are_never_drawn() -> None:
    graph = tg.from_edges([1, 2, 3, 1], [0, 0, 0, 2], weights=[0.0, 0.0, 5.0, 0.0])
    for replace in (False, True):
        for fanout in (-1, 1, 3):
            sampler = NeighborSampler(graph, (fanout,), weighted=True, replace=replace, edges=True)
            sample = sampler.sample([0, 2])
            assert set(sample.blocks[0].edges.tolist()) == {2 + 1}
            assert set(sample.blocks[0].weights.tolist()) == {5.0}
            assert sample.vertices.tolist() == [0, 2, 3]


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_wrong_weights_are_refused(weight: float) -> None:
    graph = tg.from_edges([0, 1], [1, 0], weights=[1.0, weight])
    with pytest.raises(InvalidArgumentError, match="finite weights of 0 or more"):
        NeighborSampler(graph, weighted=True)
    NeighborSampler(graph)


def test_wrong_arguments_are_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 0])
    for options, words in [
        ({"fanouts": (2, -3)}, "fanouts=-3"),
        ({"along": "up"}, "along='up'"),
        ({"weighted": True}, "needs a graph with weights"),
        ({"seed": -1}, "seed=-1"),
        ({"times": [1.0, float("nan")]}, "NaN"),
        ({"times": [1, 2, 3]}, "give 2 numbers"),
        ({"reverse": "all"}, "reverse='all'"),
    ]:
        with pytest.raises(InvalidArgumentError, match=words):
            NeighborSampler(graph, **options)  # type: ignore[arg-type]
    with pytest.raises(VertexNotFoundError):
        NeighborSampler(graph).sample([2])
    with pytest.raises(InvalidArgumentError, match="times must be given"):
        NeighborSampler(graph).sample([0], times=[1])
    with pytest.raises(InvalidArgumentError, match="times must be given"):
        NeighborSampler(graph, times=[1, 2]).sample([0])
    with pytest.raises(InvalidArgumentError, match="use the same for both"):
        NeighborSampler(graph, times=[1, 2]).sample([0], times=[1.5])
    with pytest.raises(OutOfRangeError, match="from 0 to 2"):
        NeighborSampler(graph).expand(np.array([2, 0]))
    with pytest.raises(OutOfRangeError, match="the table has 3 rows"):
        Rows(torch.eye(3), torch.tensor([-1])).gather()


# --- times -----------------------------------------------------------------------------------------------------------
@settings(max_examples=100, deadline=None, suppress_health_check=COMPILING)
@given(
    graph=odd_graphs(weights=("none", "int32")),
    data=st.data(),
    fanouts=st.lists(st.integers(-1, 4), min_size=1, max_size=3),
    replace=st.booleans(),
    are_floats=st.booleans(),
)
def test_no_edge_of_the_future(graph: Graph, data: Any, fanouts: list[int], replace: bool, are_floats: bool) -> None:
    moments = st.floats(-5, 5) if are_floats else st.integers(-5, 5)
    times = data.draw(st.lists(moments, min_size=graph.num_edges, max_size=graph.num_edges))
    ids = st.integers(0, max(graph.num_vertices - 1, 0))
    seeds = data.draw(st.lists(st.tuples(ids, moments), max_size=6 if graph.num_vertices else 0))
    dtype = np.float64 if are_floats else np.int64
    sampler = NeighborSampler(graph, fanouts, replace=replace, times=np.array(times, dtype), edges=True)
    sample = sampler.sample([vertex for vertex, _ in seeds], times=np.array([time for _, time in seeds], dtype))
    places = list(zip(sample.vertices.tolist(), sample.times.tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert [places[i] for i in sample.positions.tolist()] == seeds
    rows = list_neighbors(graph)
    for block, fanout in zip(sample.blocks[::-1], fanouts, strict=True):
        for target, found in enumerate(edges_of_targets(block)):
            vertex, time = places[target]
            past = [(edge, neighbor) for edge, neighbor in rows[vertex] if times[edge] <= time]
            assert all((edge, places[source][0]) in past for edge, source in found)
            assert all(places[source][1] == time for _, source in found)
            if replace and fanout >= 0:
                assert len(found) == (fanout if past else 0)
            else:
                assert len(found) == len(set(found)) == (len(past) if fanout < 0 else min(fanout, len(past)))


def test_chances_by_weight_in_the_past() -> None:
    star = tg.from_edges(range(1, 6), [0] * 5, weights=[1.0, 2.0, 3.0, 4.0, 0.0])
    times = np.array([3, 1, 9, 2, 0])
    for replace in (False, True):
        sampler = NeighborSampler(star, (1,), weighted=True, replace=replace, times=times)
        counts = Counter(sampler.sample([0], number, times=[5]).vertices.tolist()[1] for number in range(3500))
        assert set(counts) == {1, 2, 4}
        assert chisquare([counts[1], counts[2], counts[4]], [500, 1000, 2000]).pvalue > 0.001


# --- single graphs ---------------------------------------------------------------------------------------------------
def test_no_edges_and_no_seeds() -> None:
    graph = tg.from_edges([], [], num_vertices=3)
    sample = NeighborSampler(graph, (2, 3), reverse=True).sample([2, 0])
    assert sample.vertices.tolist() == [2, 0]
    assert [(block.num_targets, block.num_edges) for block in sample.blocks] == [(2, 0), (2, 0)]
    empty = NeighborSampler(graph).sample([])
    assert empty.vertices.tolist() == []
    assert [(block.num_targets, block.num_sources) for block in empty.blocks] == [(0, 0), (0, 0)]


def test_ids_of_the_user() -> None:
    graph = tg.from_edges(["b", "c", "a"], ["a", "a", "d"])
    sample = NeighborSampler(graph, (-1,)).sample(["a", "d", "a"])
    assert graph.labels_of(sample.vertices).tolist() == ["a", "d", "b", "c"]
    assert sample.positions.tolist() == [0, 1, 0]


def test_the_table_of_numbers_begins_anew_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tg.generate.rmat(8, 8, seed=1)
    fresh = [NeighborSampler(graph, (5, 5)).sample(range(30), number) for number in range(10)]
    monkeypatch.setattr(place_numbers, "LARGEST", 3000)
    sampler = NeighborSampler(graph, (5, 5))
    assert all(same(sampler.sample(range(30), number), fresh[number]) for number in range(10))


def test_samples_are_not_written_over() -> None:
    graph = tg.generate.rmat(8, 8, seed=1)
    sampler = NeighborSampler(graph, (5, 5), edges=True)
    kept = [sampler.sample(range(30), number) for number in range(20)]
    assert all(same(sample, sampler.sample(range(30), number)) for number, sample in enumerate(kept))


def test_a_file_larger_than_memory(tmp_path: Any) -> None:
    graph = tg.generate.rmat(8, 8, seed=1)
    tg.write(graph, tmp_path / "graph.safetensors", reverse=True)
    far = tg.open(tmp_path / "graph.safetensors", memory="64MiB")
    assert same(NeighborSampler(far, (5, 5)).sample(range(9)), NeighborSampler(graph, (5, 5)).sample(range(9)))


def test_only_inner_reverses() -> None:
    sample = NeighborSampler(tg.generate.rmat(6, 8), (3, 3, 3), reverse="inner").sample(range(5))
    assert ["reverse" in vars(block) for block in sample.blocks] == [False, True, True]
    moved = sample.blocks[1].to("cpu")
    assert "reverse" in vars(moved)
