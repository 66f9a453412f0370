"""Closeness against NetworkX, against its own check, and against itself on other threads, runtimes and paths."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import RUNTIMES, SmallGraph, small_graphs
from tgraph.algorithms.closeness import closeness
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu import multi_source, separate_searches, team
from tgraph.verify.closeness import check_closeness

KERNELS = ("auto", "plain")


@settings(deadline=None, max_examples=120)
@given(small_graphs(), st.booleans(), st.sampled_from(RUNTIMES), st.sampled_from(KERNELS))
def test_scores_are_those_of_networkx(case: SmallGraph, harmonic: bool, runtime: str, kernel: str) -> None:
    graph = case.build()
    result = closeness(graph, harmonic=harmonic, runtime=runtime, kernel=kernel)
    centrality = nx.harmonic_centrality if harmonic else nx.closeness_centrality
    expected = centrality(case.to_networkx())
    assert result.to_numpy().tolist() == pytest.approx([expected[v] for v in range(case.num_vertices)], abs=1e-12)
    check_closeness(graph, result.scores, harmonic=harmonic)
    assert result.converged


@settings(deadline=None, max_examples=60)
@given(small_graphs(), st.booleans(), st.sampled_from(KERNELS), st.data())
def test_only_the_vertices_asked_for_get_a_score(
    case: SmallGraph, harmonic: bool, kernel: str, data: st.DataObject
) -> None:
    graph = case.build()
    vertices = data.draw(st.lists(st.integers(0, case.num_vertices - 1), min_size=1, unique=True))
    found = closeness(graph, vertices=vertices, harmonic=harmonic, kernel=kernel).to_numpy()
    everything = closeness(graph, harmonic=harmonic).to_numpy()
    assert found[vertices].tolist() == pytest.approx(everything[vertices].tolist(), rel=1e-12)
    assert np.isnan(np.delete(found, vertices)).all()
    check_closeness(graph, found, vertices=vertices, harmonic=harmonic)


@settings(deadline=None, max_examples=60)
@given(small_graphs(), st.booleans(), st.sampled_from(KERNELS), st.data())
def test_samples_give_the_estimate_of_their_distances(
    case: SmallGraph, harmonic: bool, kernel: str, data: st.DataObject
) -> None:
    graph, samples, seed = case.build(), data.draw(st.integers(1, case.num_vertices)), data.draw(st.integers(0, 99))
    found = closeness(graph, samples=samples, seed=seed, harmonic=harmonic, kernel=kernel).to_numpy()
    check_closeness(graph, found, samples=samples, seed=seed, harmonic=harmonic)
    if samples == case.num_vertices:
        np.testing.assert_allclose(found, closeness(graph, harmonic=harmonic).to_numpy(), rtol=1e-12)


def test_an_estimate_comes_close() -> None:
    graph = tg.generate.rmat(10, 8, seed=2).symmetrize()
    exact, estimate = closeness(graph).to_numpy(), closeness(graph, samples=300, seed=1).to_numpy()
    largest = exact > 0.5 * exact.max()
    np.testing.assert_allclose(estimate[largest], exact[largest], rtol=0.1)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("pull_part", [0, 8, 1 << 40])
def test_threads_and_directions_change_no_bit(
    monkeypatch: pytest.MonkeyPatch, directed: bool, dtype: Any, pull_part: int
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(multi_source, "PULL_PART", pull_part)
    graph = tg.generate.rmat(9, 4, seed=4, runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    rows = [graph.adjacency(along).to_numpy()[:2] for along in ("out", "in")]
    rows = [(offsets, neighbors.astype(dtype)) for offsets, neighbors in rows]
    sources = np.random.default_rng(1).permutation(graph.num_vertices)[:300].astype(dtype)
    found = set()
    for threads in (1, 2, 5):
        monkeypatch.setattr(tg.config, "num_threads", threads)
        by_vertex = multi_source.reach_of_vertices(*rows, sources)
        by_source = multi_source.reach_of_sources(*rows, sources)
        found.add(tuple(array.tobytes() for array in (*by_vertex, *by_source)))
    assert len(found) == 1
    levels = multi_source.levels_from_sources(*rows, sources)
    assert by_vertex.counts.tolist() == (levels > 0).sum(0).tolist()
    assert by_vertex.totals.tolist() == np.maximum(levels, 0).sum(0).tolist()
    assert by_source.counts.tolist() == (levels > 0).sum(1).tolist()
    assert by_source.totals.tolist() == np.maximum(levels, 0).sum(1).tolist()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_searches_by_themselves_find_what_searches_together_find(
    monkeypatch: pytest.MonkeyPatch, directed: bool, dtype: Any
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = tg.generate.rmat(8, 4, seed=4, runtime="numpy")
    graph = graph if directed else graph.symmetrize()
    rows = [graph.adjacency(along).to_numpy()[:2] for along in ("out", "in")]
    rows = [(offsets, neighbors.astype(dtype)) for offsets, neighbors in rows]
    sources = np.flatnonzero(np.diff(rows[0][0]))[:77].astype(dtype)
    monkeypatch.setattr(separate_searches, "DEEP_LEVELS", 1 << 40)
    together = (*multi_source.reach_of_vertices(*rows, sources), *multi_source.reach_of_sources(*rows, sources))
    levels = multi_source.levels_from_sources(*rows, sources)
    monkeypatch.setattr(separate_searches, "DEEP_LEVELS", 0)
    found = set()
    for threads in (1, 2, 5):
        monkeypatch.setattr(tg.config, "num_threads", threads)
        alone = (*multi_source.reach_of_vertices(*rows, sources), *multi_source.reach_of_sources(*rows, sources))
        found.add(tuple(array.tobytes() for array in alone))
        assert np.array_equal(multi_source.levels_from_sources(*rows, sources), levels)
    assert len(found) == 1
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_only_deep_graphs_are_searched_one_source_at_a_time() -> None:
    grid = tg.generate.grid(300, 300, runtime="numpy").adjacency("out").to_numpy()[:2]
    assert separate_searches.is_deep(grid, 40_000)
    hubs = tg.generate.rmat(12, 8, seed=1, runtime="numpy").symmetrize().adjacency("out").to_numpy()[:2]
    assert not separate_searches.is_deep(hubs, int(np.diff(hubs[0]).argmax()))
    assert not separate_searches.is_deep((np.zeros(3, np.int64), np.zeros(0, np.int32)), 1)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["many rows", "components", "one path"])
def test_large_graphs_pass_their_check(monkeypatch: pytest.MonkeyPatch, threads: int, name: str) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = {
        "many rows": lambda: tg.generate.rmat(12, 16, seed=1),
        "components": lambda: tg.generate.erdos_renyi(10_000, 8_000, seed=2).symmetrize(),
        "one path": lambda: tg.from_edges(np.arange(150), np.arange(1, 151), directed=False),
    }[name]()
    vertices = np.random.default_rng(3).choice(graph.num_vertices, 150, replace=False).tolist()
    vertices = graph.labels_of(np.asarray(vertices)).tolist()
    found = closeness(graph, vertices=vertices, threads=threads)
    check_closeness(graph, found.scores, vertices=vertices)
    everything = closeness(graph, samples=150, seed=5, threads=threads)
    at_once = closeness(graph, samples=150, seed=5, threads=1)
    assert everything.to_numpy().tobytes() == at_once.to_numpy().tobytes()


@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_graphs(runtime_name: str, kernel: str) -> None:
    how = {"runtime": runtime_name, "kernel": kernel}
    assert closeness(tg.from_edges([], []), **how).to_numpy().size == 0
    assert closeness(tg.from_edges([0], [0]), **how).scores.tolist() == [0.0]
    assert closeness(tg.from_edges([0], [0]), vertices=[0], **how).scores.tolist() == [0.0]
    assert closeness(tg.from_edges([], [], num_vertices=3), **how).scores.tolist() == [0.0] * 3
    unsorted = tg.from_csr([0, 4, 4, 5, 6], [2, 1, 2, 0, 3, 1])
    expected = nx.closeness_centrality(nx.DiGraph([(0, 2), (0, 1), (2, 3), (3, 1)]))
    assert closeness(unsorted, **how).scores.tolist() == pytest.approx([expected[v] for v in range(4)])
    names = tg.from_edges(["ann", "bob"], ["bob", "cy"], [float("nan"), -1.0])
    assert closeness(names, vertices=["cy"], **how)["cy"] == pytest.approx(2 / 3)
    star = tg.from_edges([0] * 500, range(1, 501), directed=False)
    assert closeness(star, vertices=[0, 7], harmonic=True, **how).scores[:1].tolist() == [500.0]


def test_wrong_arguments_are_refused() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="vertices and samples=2 are both given"):
        closeness(graph, vertices=[0], samples=2)
    with pytest.raises(InvalidArgumentError, match="samples=4 must be a whole number, 1 to 3"):
        closeness(graph, samples=4)
    with pytest.raises(InvalidArgumentError, match="vertices names a vertex more than once"):
        closeness(graph, vertices=[0, 0])
    with pytest.raises(InvalidArgumentError, match="vertices is empty"):
        closeness(graph, vertices=[])
    with pytest.raises(VertexNotFoundError):
        closeness(graph, vertices=[3])
