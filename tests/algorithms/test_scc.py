"""Strongly connected components against NetworkX, SciPy and their own check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import tgraph as tg
from small_graphs import SmallGraph, expected_labels, small_graphs, ways_to_run
from tgraph.algorithms.scc import scc
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import scc as kernel
from tgraph.kernels.cpu import team
from tgraph.verify.scc import check_scc


def expected_strong_labels(case: SmallGraph) -> list[int]:
    if not case.directed:
        return expected_labels(case)
    components = nx.strongly_connected_components(case.to_networkx())
    labels = {vertex: min(component) for component in components for vertex in component}
    return [labels[vertex] for vertex in range(case.num_vertices)]


@settings(deadline=None, max_examples=500, derandomize=True)
@given(small_graphs(), ways_to_run())
def test_labels_are_the_smallest_vertices_of_networkx_components(case: SmallGraph, how: dict[str, Any]) -> None:
    graph = case.build()
    result = scc(graph, **how)
    assert result.to_numpy().tolist() == expected_strong_labels(case)
    check_scc(graph, result.labels)
    assert result.converged


@settings(deadline=None, max_examples=300, derandomize=True)
@given(small_graphs(max_vertices=40))
def test_the_searches_agree_wherever_one_hands_over_to_the_next(case: SmallGraph) -> None:
    graph, expected = case.build(), expected_strong_labels(case)
    for changes in ({"MAX_LEVELS": 1}, {"LEAST_GAIN": 0}, {"LEAST_GAIN": 2}, {"LEAST_GAIN": 10**9}):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "SMALL", 0)
            for name, value in changes.items():
                patch.setattr(kernel, name, value)
            assert scc(graph).to_numpy().tolist() == expected


def _random(count: int, edges: int, seed: int) -> tuple[tg.Graph, np.ndarray]:
    """A graph and its labels as SciPy finds them."""
    sources, targets = np.random.default_rng(seed).integers(0, count, (2, edges))
    matrix = csr_array((np.ones(edges), (sources, targets)), (count, count))
    number, components = connected_components(matrix, connection="strong")
    smallest = np.full(number, count)
    np.minimum.at(smallest, components, np.arange(count))
    return tg.from_edges(sources, targets, num_vertices=count), smallest[components]


@pytest.mark.parametrize("edges", [3000, 5200, 8000, 30_000])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("small", [0, kernel.SMALL])
def test_random_graphs_on_several_threads(
    monkeypatch: pytest.MonkeyPatch, edges: int, threads: int, small: int
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(kernel, "SMALL", small)
    graph, expected = _random(5000, edges, seed=edges)
    result = scc(graph, threads=threads)
    np.testing.assert_array_equal(result.to_numpy(), expected)
    check_scc(graph, result.labels)
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    np.testing.assert_array_equal(kernel.smallest_strongly_connected(offsets, targets.astype(np.int64)), expected)


@pytest.mark.parametrize("kernel_name", ["auto", "plain"])
def test_plain_and_compiled_agree_on_a_sparse_graph(runtime_name: str, kernel_name: str) -> None:
    graph, expected = _random(2000, 3000, seed=4)
    np.testing.assert_array_equal(scc(graph, runtime=runtime_name, kernel=kernel_name).to_numpy(), expected)


def test_a_large_graph_passes_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SMALL", 0)
    graph = tg.generate.rmat(14, 8, seed=3, runtime="numpy")
    labels = [scc(graph, threads=threads).to_numpy() for threads in (1, 2, 5)]
    check_scc(graph, labels[0])
    for other in labels[1:]:
        np.testing.assert_array_equal(other, labels[0])


def test_wide_ids_and_rows_that_do_not_ascend(runtime_name: str) -> None:
    offsets, targets = np.array([0, 3, 5, 6, 7, 7]), np.array([2, 1, 1, 3, 0, 4, 3], np.int64)
    assert kernel.smallest_strongly_connected(offsets, targets).tolist() == [0, 0, 2, 3, 4]
    assert scc(tg.from_csr(offsets, targets, runtime=runtime_name)).labels.tolist() == [0, 0, 2, 3, 4]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("small", [0, kernel.SMALL])
def test_a_long_path_and_a_long_cycle(monkeypatch: pytest.MonkeyPatch, threads: int, turned: bool, small: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(kernel, "SMALL", small)
    count = 100_000
    first, second = np.arange(count - 1), np.arange(1, count)
    path = tg.from_edges(second, first) if turned else tg.from_edges(first, second)
    assert scc(path, threads=threads).labels.tolist() == list(range(count))
    cycle = tg.from_edges([*first, count - 1], [*second, 0])
    assert not scc(cycle, threads=threads).to_numpy().any()


def test_stars_loops_and_nothing_at_all(runtime_name: str) -> None:
    spokes, hub = np.arange(1, 3001), np.zeros(3000, int)
    star = tg.from_edges([*hub, *spokes[::2]], [*spokes, *hub[::2]], runtime=runtime_name)
    expected = [0 if vertex == 0 or vertex % 2 else vertex for vertex in range(3001)]
    assert scc(star).labels.tolist() == expected
    assert scc(tg.from_edges([0, 1, 1], [0, 1, 1], runtime=runtime_name)).labels.tolist() == [0, 1]
    assert scc(tg.from_edges([], [], num_vertices=3, runtime=runtime_name)).labels.tolist() == [0, 1, 2]
    for kernel_name in ("auto", "plain"):
        assert scc(tg.from_edges([], [], runtime=runtime_name), kernel=kernel_name).labels.tolist() == []


def test_the_labels_carry_the_users_ids(runtime_name: str) -> None:
    graph = tg.from_edges(["bob", "ann", "dan"], ["ann", "bob", "ann"], runtime=runtime_name)
    result = scc(graph)
    assert result["bob"] == "ann"
    assert result["dan"] == "dan"


def test_the_components_that_webgraph_found(shared_data: Path) -> None:
    folder = shared_data / "cnr-2000"
    labels = scc(tg.read(folder / "cnr-2000.graph")).to_numpy()
    theirs = np.fromfile(folder / "cnr-2000.scc", ">i4")
    assert np.unique(labels).size == np.unique(theirs).size
    np.testing.assert_array_equal(theirs, theirs[labels])


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="kernel='quick' is not known"):
        scc(tg.from_edges([0], [1]), kernel="quick")
