"""Eigenvector centrality against NetworkX, dense eigenvectors and its own check."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import tgraph as tg
from small_graphs import DIRECTIONS
from tgraph.algorithms.eigenvector import eigenvector
from tgraph.errors import InvalidArgumentError
from tgraph.verify.eigenvector import check_eigenvector


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_equal_those_of_networkx(runtime_name: str, weighted: bool, direction: str) -> None:
    network = nx.karate_club_graph()
    graph = tg.from_networkx(network, weight="weight", runtime=runtime_name)
    expected = nx.eigenvector_centrality_numpy(network, weight="weight" if weighted else None)
    result = eigenvector(graph, 1e-12, weighted=weighted, direction=direction)
    assert result.converged
    np.testing.assert_allclose(result.to_numpy(), [expected[vertex] for vertex in network], rtol=1e-8)
    check_eigenvector(graph, result.scores, 1e-11, weighted)


def test_directed_scores_come_along_the_edges() -> None:
    network = nx.compose(nx.cycle_graph(40, nx.DiGraph), nx.gnp_random_graph(40, 0.1, seed=2, directed=True))
    expected = nx.eigenvector_centrality_numpy(network)
    result = eigenvector(tg.from_networkx(network, runtime="numpy"), 1e-12, 100_000)
    np.testing.assert_allclose(result.to_numpy(), [expected[vertex] for vertex in network], rtol=1e-6, atol=1e-9)


def test_a_bipartite_graph_settles(runtime_name: str) -> None:
    graph = tg.from_edges([0] * 5, range(1, 6), directed=False, runtime=runtime_name)
    result = eigenvector(graph, 1e-12)
    assert result.converged
    assert result.to_numpy().tolist() == pytest.approx([0.5**0.5, *[0.1**0.5] * 5])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_plain_and_compiled_agree_on_a_large_graph(threads: int) -> None:
    graph = tg.generate.rmat(13, 8, seed=4, directed=False, runtime="numpy")
    compiled = eigenvector(graph, 1e-10, threads=threads)
    plain = eigenvector(graph, 1e-10, kernel="plain")
    np.testing.assert_allclose(compiled.to_numpy(), plain.to_numpy(), rtol=1e-7, atol=1e-12)
    check_eigenvector(graph, compiled.scores, 1e-9)


def test_graphs_without_vertices_or_edges() -> None:
    assert eigenvector(tg.from_edges([], [], num_vertices=0)).scores.tolist() == []
    assert eigenvector(tg.from_edges([], [], num_vertices=4)).scores.tolist() == [0.5] * 4


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="tol_l1=nan"):
        eigenvector(tg.from_edges([0], [1]), float("nan"))
    with pytest.raises(InvalidArgumentError, match="finite weights"):
        eigenvector(tg.from_edges([0], [1], [-1.0]), weighted=True)
