"""Eigenvector centrality against NetworkX, dense eigenvectors and its own check."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import tgraph as tg
import tgraph.task
from small_graphs import DIRECTIONS
from tgraph.algorithms.eigenvector import eigenvector
from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu import lanczos, team
from tgraph.kernels.cpu.fused import cuts
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


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_pieces_of_hubs(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    graph = tg.generate.rmat(9, 8, seed=6, directed=False, weights=(1.0, 3.0), runtime="numpy")
    expected = eigenvector(graph, 1e-12, weighted=weighted, kernel="plain")
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(cuts, "HUB_EDGES", 64)
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 16)
    monkeypatch.setattr(lanczos, "BLOCK", 64)
    answers = [eigenvector(graph, 1e-11, weighted=weighted, threads=threads) for threads in (1, 2, 5)]
    for result in answers:
        assert result.trace.kernel == "fused"
        assert result.iterations < expected.iterations
        assert result.scores.tobytes() == answers[0].scores.tobytes()
        assert [row.residual for row in result.trace] == [row.residual for row in answers[0].trace]
    np.testing.assert_allclose(answers[0].scores, expected.scores, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("limit", [1, 3, 20, 40])
def test_limits_and_residuals(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    graph = tg.from_edges(range(60), range(1, 61), directed=False, runtime="numpy")  # its eigenvalues are close
    monkeypatch.setattr(tgraph.task, "ITERATIONS_PER_CALL", 15)
    result = eigenvector(graph, 0.0, limit)
    assert (result.iterations, result.converged) == (limit, False)
    assert result.scores.min() >= 0
    assert np.square(result.scores).sum() == pytest.approx(1.0)
    assert check_eigenvector(graph, result.scores, 10 * result.residual) <= 2 * result.residual


def test_short_floats_do_not_show_in_the_residual() -> None:
    graph = tg.generate.rmat(13, 8, seed=4, directed=False, runtime="numpy")
    for tol_l1 in (1e-3, 1e-6, 1e-9):
        result = eigenvector(graph, tol_l1)
        assert result.converged
        check_eigenvector(graph, result.scores, tol_l1)


def test_equally_strong_components_share_by_the_start() -> None:
    graph = tg.from_edges([0, 1, 2, 3, 4, 5, 6], [1, 2, 0, 4, 5, 3, 7], directed=False, runtime="numpy")
    scores = eigenvector(graph, 1e-12).to_numpy()
    np.testing.assert_allclose(scores, [6**-0.5] * 6 + [0.0] * 2, atol=1e-12)


def test_a_tolerance_that_is_no_number_is_named() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    with pytest.raises(InvalidArgumentError, match="tol_l1=None must be"):
        tg.eigenvector(graph, tol_l1=None)  # type: ignore[arg-type]
