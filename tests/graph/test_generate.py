"""Generated graphs: sizes, shapes, statistics, and the same graph on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tgraph.config import config
from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph, generate
from tgraph.graph.random_weights import random_weights
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.counter_random import hash_number, scramble, scramble_constants, stream_key, uniform
from tgraph.kernels.cpu.erdos_renyi import distinct_pairs
from tgraph.kernels.cpu.rmat import rmat_edges

GRAPH500 = (0.57, 0.19, 0.19, 0.05)


def edge_pairs(graph: Graph) -> list[tuple[int, int]]:
    sources, targets, _ = graph.edges()
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


def num_components(graph: Graph) -> int:
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    ones = np.ones(targets.size, np.int8)
    return int(connected_components(csr_array((ones, targets, offsets), shape=(offsets.size - 1,) * 2))[0])


def on_threads(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]) -> list[Any]:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    results = []
    for num_threads in (1, 2, 3, 5):
        monkeypatch.setattr(config, "num_threads", num_threads)
        results.append(make())
    return results


# --- random numbers ---------------------------------------------------------------------------------------------------
def test_hash_is_splitmix64() -> None:
    """The published outputs of SplitMix64 for the seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(hash_number(np.uint64(1234567), np.uint64(i))) for i in range(3)] == expected


def test_uniform_numbers_are_even_and_independent_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    one, *others = on_threads(monkeypatch, lambda: uniform(100_000, 3, 1))
    assert all(np.array_equal(one, other) for other in others)
    assert 0 <= one.min() < 1e-3
    assert 1 - 1e-3 < one.max() < 1
    assert abs(one.mean() - 0.5) < 0.005
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.02
    assert abs(np.corrcoef(one, uniform(100_000, 3, 2))[0, 1]) < 0.02
    assert abs(np.corrcoef(one, uniform(100_000, 4, 1))[0, 1]) < 0.02


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 7, 12])
def test_scramble_is_a_permutation(bits: int) -> None:
    constants = scramble_constants(5, 1)
    places = [int(scramble(np.uint64(i), np.uint64(bits), constants)) for i in range(1 << bits)]
    assert sorted(places) == list(range(1 << bits))
    if bits == 12:
        assert abs(np.corrcoef(np.arange(1 << bits), places)[0, 1]) < 0.08


def test_stream_keys_differ() -> None:
    assert len({int(stream_key(seed, stream)) for seed in (0, 1, 2**64 - 1) for stream in range(5)}) == 15


# --- R-MAT ------------------------------------------------------------------------------------------------------------
def test_rmat_edges_are_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    one, *others = on_threads(monkeypatch, lambda: rmat_edges(9, 10_007, GRAPH500, 42))
    for other in others:
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


def test_rmat_graph_is_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    one, *others = on_threads(monkeypatch, lambda: generate.rmat(8, seed=7, weights=(1, 100), duplicates="min"))
    for other in others:
        for left, right in zip(one.adjacency("out").to_numpy(), other.adjacency("out").to_numpy(), strict=True):
            assert np.array_equal(left, right)


def test_rmat_is_the_same_on_every_runtime_and_differs_by_seed() -> None:
    graphs = [generate.rmat(6, 4, seed=3, weights="uniform", runtime=name) for name in ("torch", "numpy")]
    assert [graph.runtime.name for graph in graphs] == ["torch", "numpy"]
    (first, second) = (graph.adjacency("out").to_numpy() for graph in graphs)
    assert all(np.array_equal(left, right) for left, right in zip(first, second, strict=True))
    assert edge_pairs(graphs[0]) != edge_pairs(generate.rmat(6, 4, seed=4))


@pytest.mark.parametrize("level", [0, 4, 9])
@pytest.mark.parametrize("probabilities", [GRAPH500, (0.25, 0.25, 0.25, 0.25), (0.1, 0.2, 0.3, 0.4)])
def test_rmat_quarter_shares(level: int, probabilities: tuple[float, ...]) -> None:
    sources, targets = rmat_edges(10, 200_000, probabilities, 1, permute=False)
    quarters = 2 * ((sources >> level) & 1) + ((targets >> level) & 1)
    shares = np.bincount(quarters, minlength=4) / quarters.size
    assert np.allclose(shares, probabilities, atol=0.006)  # five standard deviations


def test_rmat_choices_of_different_levels_are_independent() -> None:
    sources, _ = rmat_edges(10, 200_000, GRAPH500, 1, permute=False)
    bits = np.stack([(sources >> level) & 1 for level in range(10)]).astype(float)
    off_diagonal = np.corrcoef(bits)[~np.eye(10, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.015


def test_rmat_degrees_are_skewed_and_ids_say_nothing_about_them() -> None:
    graph = generate.rmat(13, 16, seed=2)
    degrees = np.asarray(graph.out_degrees())
    assert graph.num_vertices == 2**13
    assert degrees.mean() == 16
    assert degrees.max() > 50 * degrees.mean()
    assert (degrees == 0).mean() > 0.2
    assert np.median(degrees) < degrees.mean() / 2
    ids = np.arange(degrees.size)
    assert abs(np.corrcoef(ids, degrees)[0, 1]) < 0.05
    popcounts = np.bitwise_count(ids)
    assert abs(np.corrcoef(popcounts, degrees)[0, 1]) < 0.05
    unpermuted = np.asarray(generate.rmat(13, 16, seed=2, permute=False).out_degrees())
    assert unpermuted.argmax() == 0
    assert sorted(unpermuted) == sorted(degrees)


def test_rmat_policies_and_directions() -> None:
    graph = generate.rmat(7, 8, seed=1, directed=False, duplicates="first", self_loops="drop")
    graph.check()
    assert not graph.directed
    assert not graph.has_self_loops
    assert graph.num_arcs == 2 * graph.num_edges
    pairs = edge_pairs(graph)
    assert len(set(pairs)) == len(pairs)


def test_rmat_smallest_sizes() -> None:
    assert edge_pairs(generate.rmat(0, 3)) == [(0, 0)] * 3
    assert generate.rmat(3, 0).num_edges == 0
    assert generate.rmat(1, 2, seed=9).num_vertices == 2
    assert rmat_edges(33, 10, GRAPH500, 0)[0].dtype == np.int64
    corner = rmat_edges(40, 10, (0.0, 0.0, 0.0, 1.0), 0, permute=False)
    assert set(corner[0].tolist()) == set(corner[1].tolist()) == {2**40 - 1}
    assert not rmat_edges(20, 1000, (1.0, 0.0, 0.0, 0.0), 0, permute=False)[0].any()


# --- Erdős–Rényi ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("num_vertices", [2, 3, 4, 5, 8, 9])
def test_erdos_renyi_with_all_edges_is_complete(num_vertices: int, directed: bool) -> None:
    most = num_vertices * (num_vertices - 1) // (1 if directed else 2)
    graph = generate.erdos_renyi(num_vertices, most, directed=directed, seed=1)
    assert edge_pairs(graph) == edge_pairs(generate.complete(num_vertices, directed=directed))
    assert edge_pairs(generate.erdos_renyi(num_vertices, probability=1.0, directed=directed)) == edge_pairs(graph)


@pytest.mark.parametrize("directed", [True, False])
def test_erdos_renyi_edges_are_distinct_and_even(directed: bool) -> None:
    graph = generate.erdos_renyi(500, 20_000, directed=directed, seed=3)
    graph.check()
    pairs = edge_pairs(graph)
    assert graph.num_edges == len(set(pairs)) == 20_000
    assert not graph.has_self_loops
    degrees = np.asarray(graph.out_degrees())
    expected = 40 if directed else 80
    assert degrees.mean() == expected
    # Each degree is about binomial, so its variance is about np(1 - p).
    assert 0.75 < degrees.var() / (expected * (1 - expected / 499)) < 1.25


def test_erdos_renyi_is_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    one, *others = on_threads(monkeypatch, lambda: distinct_pairs(1000, 5003, 1000 * 999, 8))
    assert all(np.array_equal(one, other) for other in others)


def test_erdos_renyi_probability_gives_about_the_expected_number_of_edges() -> None:
    counts = [generate.erdos_renyi(200, probability=0.1, seed=seed).num_edges for seed in range(20)]
    assert abs(np.mean(counts) - 1990) < 50
    assert len(set(counts)) > 10
    assert generate.erdos_renyi(200, probability=0.0).num_edges == 0


def test_erdos_renyi_on_many_vertices() -> None:
    sources, targets = distinct_pairs(2**31 - 1, 1000, (2**31 - 1) * (2**31 - 2), 1)
    assert len(set(zip(sources.tolist(), targets.tolist(), strict=True))) == 1000
    assert sources.min() >= 0
    assert targets.min() >= 0
    assert sources.max() > 2**30
    assert not (sources == targets).any()


# --- Barabási–Albert --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("num_vertices", "edges_per_vertex"), [(2, 1), (10, 9), (50, 1), (200, 7)])
def test_barabasi_albert_shape(num_vertices: int, edges_per_vertex: int) -> None:
    graph = generate.barabasi_albert(num_vertices, edges_per_vertex, seed=4)
    graph.check()
    pairs = edge_pairs(graph)
    assert graph.num_edges == len(set(pairs)) == (num_vertices - edges_per_vertex) * edges_per_vertex
    assert not graph.has_self_loops
    assert num_components(graph) == 1
    newer = np.bincount([max(pair) for pair in pairs], minlength=num_vertices)
    assert (newer[edges_per_vertex + 1 :] == edges_per_vertex).all()


@pytest.mark.parametrize(("num_vertices", "edges_per_vertex"), [(0, 3), (1, 2), (5, 0), (50, 4), (3000, 12)])
def test_web_like_shape(num_vertices: int, edges_per_vertex: int) -> None:
    graph = generate.web_like(num_vertices, edges_per_vertex, seed=4)
    graph.check()
    assert (graph.num_vertices, graph.directed) == (num_vertices, True)
    degrees = np.asarray(graph.out_degrees())
    assert (degrees <= edges_per_vertex).all()
    assert not num_vertices or not edges_per_vertex or (degrees >= 1).all()
    again, other = generate.web_like(num_vertices, edges_per_vertex, seed=4), generate.web_like(num_vertices, 3, seed=5)
    assert edge_pairs(graph) == edge_pairs(again)
    assert num_vertices < 50 or edge_pairs(graph) != edge_pairs(other)


def test_web_like_pages_copy_links_of_those_before_them() -> None:
    shares = []
    for copied in (0.0, 0.5, 1.0):
        offsets, targets, _ = generate.web_like(2000, 10, seed=1, copied_share=copied).adjacency("out").to_numpy()
        rows = [set(targets[offsets[v] : offsets[v + 1]].tolist()) for v in range(2000)]
        best = [max(len(rows[v] & rows[w]) for w in range(v - 64, v)) / len(rows[v]) for v in range(64, 2000, 7)]
        shares.append(float(np.mean(best)))
    assert shares[0] < 0.2
    assert shares[0] < shares[1] < shares[2] == 1.0


def test_barabasi_albert_degrees_follow_networkx() -> None:
    ours = np.sort(np.asarray(generate.barabasi_albert(5000, 4, seed=1).out_degrees()))[::-1]
    theirs = np.sort([degree for _, degree in nx.barabasi_albert_graph(5000, 4, seed=1).degree])[::-1]
    assert ours.sum() == theirs.sum()
    assert 0.5 < ours[:20].mean() / theirs[:20].mean() < 2
    assert abs(np.median(ours) - np.median(theirs)) <= 1


def test_barabasi_albert_is_seeded() -> None:
    first, again, other = (generate.barabasi_albert(60, 2, seed=seed) for seed in (1, 1, 2))
    assert edge_pairs(first) == edge_pairs(again) != edge_pairs(other)


# --- regular graphs ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (4, 1), (3, 4), (0, 3), (2, 0)])
def test_grid_equals_networkx(rows: int, columns: int) -> None:
    expected = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns), ordering="sorted")
    graph = generate.grid(rows, columns)
    graph.check()
    assert graph.num_vertices == rows * columns
    assert not graph.directed
    assert sorted(edge_pairs(graph)) == sorted(tuple(sorted(pair)) for pair in expected.edges)


def test_grid_with_diagonals_has_the_moves_of_a_king() -> None:
    pairs = set(edge_pairs(generate.grid(3, 4, diagonal=True)))
    places = [(row, column) for row in range(3) for column in range(4)]
    expected = {
        (i, j)
        for i, (row, column) in enumerate(places)
        for j, (other_row, other_column) in enumerate(places)
        if i < j and max(abs(row - other_row), abs(column - other_column)) == 1
    }
    assert pairs == expected


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 30), (30, 1), (17, 23), (0, 4)])
def test_road_like_is_connected_with_lengths(rows: int, columns: int) -> None:
    graph = generate.road_like(rows, columns, seed=2, removed_share=0.4)
    graph.check()
    assert num_components(graph) == min(1, rows * columns)
    weights = np.asarray(graph.weights)
    assert weights.dtype == np.float64
    assert not weights.size or (weights.min() > 0.3 and weights.max() < 3)


def test_road_like_shares_and_distances() -> None:
    graph = generate.road_like(100, 100, seed=1)
    full = generate.road_like(100, 100, seed=1, removed_share=0.0, diagonal_share=0.0)
    assert edge_pairs(full) == edge_pairs(generate.grid(100, 100))
    sources, targets, _ = graph.edges()
    diagonals = int((targets - sources == 101).sum())
    assert 0.035 * 99 * 99 < diagonals < 0.065 * 99 * 99
    kept = (graph.num_edges - diagonals) / full.num_edges
    assert 0.88 < kept < 0.93
    offsets, neighbors, lengths = graph.adjacency("out").to_numpy()
    assert np.diff(offsets).max() <= 6
    network = nx.Graph()
    network.add_weighted_edges_from((*pair, 1.0) for pair in edge_pairs(graph))
    assert nx.eccentricity(network, 0) > 150
    assert lengths is not None
    assert 0.9 < lengths.mean() < 1.3
    assert len(neighbors) == len(lengths)


def test_removing_everything_leaves_a_tree() -> None:
    graph = generate.road_like(12, 9, seed=5, removed_share=1.0, diagonal_share=0.0)
    assert graph.num_edges == 12 * 9 - 1
    assert num_components(graph) == 1


@pytest.mark.parametrize("num_vertices", [0, 1, 2, 6])
@pytest.mark.parametrize("directed", [True, False])
def test_star_path_complete(num_vertices: int, directed: bool) -> None:
    others = range(1, num_vertices)
    assert edge_pairs(generate.star(num_vertices, directed=directed)) == [(0, other) for other in others]
    assert edge_pairs(generate.path(num_vertices, directed=directed)) == [(other - 1, other) for other in others]
    every = [(i, j) for i in range(num_vertices) for j in range(num_vertices) if i < j or (directed and i != j)]
    assert edge_pairs(generate.complete(num_vertices, directed=directed)) == every
    for make in (generate.star, generate.path, generate.complete):
        graph = make(num_vertices, directed=directed)
        graph.check()
        assert (graph.num_vertices, graph.directed) == (num_vertices, directed)


# --- weights ----------------------------------------------------------------------------------------------------------
MAKERS: list[Callable[..., Graph]] = [
    lambda **how: generate.rmat(6, 8, **how),
    lambda **how: generate.erdos_renyi(60, 300, **how),
    lambda **how: generate.barabasi_albert(60, 3, **how),
    lambda **how: generate.web_like(60, 5, **how),
    lambda **how: generate.grid(9, 8, **how),
    lambda **how: generate.star(90, **how),
    lambda **how: generate.path(90, **how),
    lambda **how: generate.complete(15, **how),
]


@pytest.mark.parametrize("make", MAKERS)
def test_weights_on_every_graph(make: Callable[..., Graph]) -> None:
    assert make().weights is None
    uniform_graph, whole_graph = make(weights="uniform", seed=1), make(weights=(-2, 3), seed=1)
    uniform_graph.check()
    whole_graph.check()
    reals, wholes = np.asarray(uniform_graph.weights), np.asarray(whole_graph.weights)
    assert reals.dtype == np.float64
    assert 0 <= reals.min() < reals.max() < 1
    assert wholes.dtype == np.int64
    assert set(wholes.tolist()) == {-2, -1, 0, 1, 2}
    assert np.array_equal(reals, np.asarray(make(weights="uniform", seed=1).weights))
    assert not np.array_equal(reals, np.asarray(make(weights="uniform", seed=2).weights))


def test_float_ranges_and_large_integers() -> None:
    reals = random_weights((2.0, 3), 1000, 0)
    assert reals is not None
    assert reals.dtype == np.float64
    assert 2 <= reals.min() < reals.max() < 3
    wholes = random_weights((2**60, 2**60 + 2), 1000, 0)
    assert wholes is not None
    assert set(wholes.tolist()) == {2**60, 2**60 + 1}
    counts = np.bincount(random_weights((0, 10), 100_000, 1))
    assert abs(counts - 10_000).max() < 500


# --- bad arguments ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate.rmat(-1), r"scale=-1 must be a whole number, from 0 to 40"),
        (lambda: generate.rmat(41), r"scale=41 must be"),
        (lambda: generate.rmat(2.5), r"scale=2.5 must be"),
        (lambda: generate.rmat(3, -1), r"edge_factor=-1 must be a whole number, 0 or more"),
        (lambda: generate.rmat(3, True), r"edge_factor=True"),
        (lambda: generate.rmat(3, seed=-1), r"seed=-1 must be"),
        (lambda: generate.rmat(3, seed=2**64), r"seed=18446744073709551616"),
        (lambda: generate.rmat(3, probabilities=(0.5, 0.5, 0.5, 0.5)), r"with the sum 2; give four"),
        (lambda: generate.rmat(3, probabilities=(0.5, 0.5)), r"has 2 entries"),
        (lambda: generate.rmat(3, probabilities=(1.5, -0.5, 0, 0)), r"probabilities=1.5 must be a number from 0 to 1"),
        (lambda: generate.rmat(3, duplicates="merge"), r"duplicates='merge' is not known"),
        (lambda: generate.rmat(3, weights="heavy"), r"weights='heavy' is not known"),
        (lambda: generate.rmat(3, weights=(1, 1)), r"low must be below high"),
        (lambda: generate.rmat(3, weights=(1, 2, 3)), r"a pair \(low, high\)"),
        (lambda: generate.rmat(3, weights=("a", "b")), r"a pair \(low, high\)"),
        (lambda: generate.rmat(3, weights=(0.0, float("inf"))), r"low must be below high"),
        (lambda: generate.rmat(3, runtime="abacus"), r"runtime='abacus'"),
        (lambda: generate.erdos_renyi(-1, 0), r"num_vertices=-1"),
        (lambda: generate.erdos_renyi(4, 7), r"num_edges=7 must be a whole number, from 0 to 6"),
        (lambda: generate.erdos_renyi(4), r"give one of the two"),
        (lambda: generate.erdos_renyi(4, 1, probability=0.5), r"give one of the two"),
        (lambda: generate.erdos_renyi(4, probability=1.5), r"probability=1.5 must be a number from 0 to 1"),
        (lambda: generate.erdos_renyi(4, probability=float("nan")), r"probability=nan"),
        (lambda: generate.barabasi_albert(5, 5), r"edges_per_vertex=5 must be .* from 1 to 4 \(num_vertices - 1\)"),
        (lambda: generate.barabasi_albert(5, 0), r"edges_per_vertex=0"),
        (lambda: generate.barabasi_albert(1, 1), r"num_vertices=1"),
        (lambda: generate.grid(-1, 3), r"rows=-1"),
        (lambda: generate.grid(3, "4"), r"columns='4'"),
        (lambda: generate.road_like(3, 3, removed_share=2), r"removed_share=2 must be a number from 0 to 1"),
        (lambda: generate.star(-1), r"num_vertices=-1"),
        (lambda: generate.path(-2), r"num_vertices=-2"),
        (lambda: generate.complete(-3), r"num_vertices=-3"),
    ],
)
def test_bad_arguments(call: Callable[[], Graph], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        call()
