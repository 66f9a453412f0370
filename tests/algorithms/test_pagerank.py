"""PageRank against NetworkX, a direct solution of its equations, and its own check."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import DIRECTIONS, SmallGraph, expected_ranks, small_graphs, ways_to_run
from tgraph.algorithms.pagerank import PageRank
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import cuts
from tgraph.verify import check_pagerank

FULLY = {"tol_l1": 1e-14, "max_iterations": 3000}  # iterate until rounding is all that changes
CLOSE = {"rtol": 1e-9, "atol": 1e-12}  # the second for ranks that fade to 0

DANGLING = SmallGraph(6, ((0, 1), (0, 2), (1, 2), (3, 0), (3, 4), (0, 1), (2, 2)), (1, 2, 3, 4, 5, 6, 0), directed=True)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(small_graphs(weights=("none", "small", "float")), ways_to_run(), st.sampled_from([0.0, 0.5, 0.85]), st.data())
def test_ranks_solve_the_equations(case: SmallGraph, how: dict[str, Any], damping: float, data: st.DataObject) -> None:
    weighted = case.weights is not None and data.draw(st.booleans())
    jumps = None
    if data.draw(st.booleans()):
        jumps = data.draw(st.lists(st.integers(0, 3), min_size=case.num_vertices, max_size=case.num_vertices))
        assume(any(jumps))
    graph, options = case.build(), {"personalization": jumps, "weighted": weighted}
    result = tg.pagerank(graph, damping, **FULLY, **options, **how)
    assert result.converged
    assert result.residual <= FULLY["tol_l1"]
    assert check_pagerank(graph, result.ranks, damping, 1e-13, **options) < 1e-11
    np.testing.assert_allclose(result.to_numpy(), expected_ranks(case, damping, jumps, weighted), **CLOSE)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(small_graphs(weights=("none", "small")), ways_to_run(), st.data())
def test_ranks_are_those_of_networkx(case: SmallGraph, how: dict[str, Any], data: st.DataObject) -> None:
    weighted = case.weights is not None
    personal = data.draw(st.dictionaries(st.integers(0, case.num_vertices - 1), st.integers(1, 5)))
    expected = nx.pagerank(
        case.to_networkx(),
        personalization=personal or None,
        weight="weight" if weighted else None,
        tol=1e-14,
        max_iter=3000,
    )
    result = tg.pagerank(case.build(), **FULLY, personalization=personal or None, weighted=weighted, **how)
    np.testing.assert_allclose(result.to_numpy(), [expected[vertex] for vertex in range(case.num_vertices)], **CLOSE)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mass_of_dangling_vertices_is_spread(runtime_name: str, direction: str, weighted: bool) -> None:
    result = tg.pagerank(DANGLING.build(), **FULLY, weighted=weighted, runtime=runtime_name, direction=direction)
    assert result.to_numpy().sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(result.to_numpy(), expected_ranks(DANGLING, 0.85, None, weighted), **CLOSE)
    check_pagerank(DANGLING.build(), result.ranks, tol_l1=1e-13, weighted=weighted)


def test_a_vertex_whose_weights_are_all_zero_dangles(runtime_name: str) -> None:
    case = SmallGraph(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 1), directed=True)
    result = tg.pagerank(case.build(), **FULLY, weighted=True, runtime=runtime_name)
    np.testing.assert_allclose(result.to_numpy(), expected_ranks(case, 0.85, None, weighted=True), **CLOSE)
    expected = nx.pagerank(case.to_networkx(), tol=1e-14, max_iter=1000)
    np.testing.assert_allclose(result.to_numpy(), [expected[vertex] for vertex in range(3)], **CLOSE)


def test_personalization_as_mapping_array_and_tensor(runtime_name: str) -> None:
    graph = tg.from_edges([10, 20, 30, 40], [20, 30, 10, 10], runtime=runtime_name)
    shares = np.asarray([0.0, 2.0, 0.0, 6.0])
    given = [{20: 1, 40: 3}, shares, shares.tolist(), graph.runtime.asarray(shares)]
    results = [tg.pagerank(graph, **FULLY, personalization=one).to_numpy() for one in given]
    for ranks in results[1:]:
        np.testing.assert_array_equal(ranks, results[0])
    network = nx.DiGraph([(10, 20), (20, 30), (30, 10), (40, 10)])
    expected = nx.pagerank(network, personalization={20: 1, 40: 3}, tol=1e-14, max_iter=1000)
    np.testing.assert_allclose(results[0], [expected[label] for label in (10, 20, 30, 40)], **CLOSE)
    check_pagerank(graph, results[0], tol_l1=1e-13, personalization={20: 1, 40: 3})


def test_damping_zero_and_one(runtime_name: str) -> None:
    graph = DANGLING.build().to(runtime_name)
    jumps = {1: 1.0, 5: 3.0}
    still = tg.pagerank(graph, 0.0, personalization=jumps)
    np.testing.assert_allclose(still.to_numpy(), [0, 0.25, 0, 0, 0, 0.75], **CLOSE)
    ring = tg.from_edges([0, 1, 2], [1, 2, 0], runtime=runtime_name)
    forever = tg.pagerank(ring, 1.0)
    np.testing.assert_allclose(forever.to_numpy(), [1 / 3] * 3, **CLOSE)
    everything = tg.pagerank(graph, 1.0, **FULLY)
    assert everything.converged
    check_pagerank(graph, everything.ranks, 1.0, 1e-12)


def test_what_does_not_converge_says_so(runtime_name: str) -> None:
    swinging = tg.from_edges([0, 0, 1, 2], [1, 2, 0, 0], runtime=runtime_name)  # mass swings between 0 and {1, 2}
    result = tg.pagerank(swinging, 1.0, max_iterations=20)
    assert not result.converged
    assert result.iterations == 20
    assert result.residual == pytest.approx(2 / 3)
    short = tg.pagerank(DANGLING.build(), tol_l1=1e-9, max_iterations=3, runtime=runtime_name)
    assert not short.converged
    assert short.residual > 1e-9
    assert short.trace[2].residual == short.residual
    assert short.to_numpy().sum() == pytest.approx(1.0)


def test_the_tolerance_is_absolute_whatever_the_size(runtime_name: str) -> None:
    graph = tg.generate.rmat(10, 8, seed=3)
    result = tg.pagerank(graph, tol_l1=1e-4, runtime=runtime_name)
    assert result.converged
    assert result.trace[-1].residual <= 1e-4 < result.trace[-2].residual
    assert check_pagerank(graph, result.ranks, tol_l1=1e-4) <= 1e-4 / 0.15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.5}, r"damping=1\.5 must be from 0 to 1"),
        ({"damping": float("nan")}, "damping=nan"),
        ({"damping": "0.85"}, r"damping='0\.85' must be from 0 to 1"),
        ({"damping": None}, "damping=None must be from 0 to 1"),
        ({"tol_l1": None}, "tol_l1=None must be 0 or more"),
        ({"checkpoint": 3}, "checkpoint=3 must be the path of a folder"),
        ({"personalization": {0: "much"}}, "finite weights of 0 or more"),
        ({"tol_l1": -1.0}, r"tol_l1=-1\.0 must be 0 or more"),
        ({"weighted": True}, "weighted=True needs a graph with weights"),
        ({"personalization": [1.0]}, r"personalization has shape \(1,\); give one weight for each of the 3 vertices"),
        ({"personalization": [0.0, 0.0, 0.0]}, "at least one above 0"),
        ({"personalization": {0: -1.0, 1: 2.0}}, "finite weights of 0 or more"),
        ({"max_iterations": -1}, "max_iterations=-1"),
        ({"direction": "sideways"}, "direction='sideways' is not known"),
        ({"alpha": 0.85}, "the keyword 'alpha' is not known"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        tg.pagerank(tg.from_edges([0, 1], [1, 2]), **options)


def test_a_personalization_of_strangers_is_refused() -> None:
    with pytest.raises(VertexNotFoundError, match="'dora'"):
        tg.pagerank(tg.from_edges(["ann"], ["bob"]), personalization={"dora": 1.0})


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_wrong_weights_are_refused_where_they_are_used(wrong: float) -> None:
    graph = tg.from_edges([0, 1], [1, 2], [1.0, wrong])
    assert tg.pagerank(graph).converged
    with pytest.raises(InvalidArgumentError, match=rf"weights holds {wrong} at edge 1"):
        tg.pagerank(graph, weighted=True)


def uneven(seed: int) -> tg.Graph:
    """Dangling vertices, isolated ones, and chains that need many iterations."""
    random = np.random.default_rng(seed)
    sources = np.concatenate([random.integers(0, 400, 3000), np.arange(400, 500)])
    targets = np.concatenate([random.integers(0, 600, 3000), np.arange(401, 501)])
    return tg.from_edges(sources, targets, num_vertices=900, runtime="numpy")


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("symmetric", [False, True])
def test_new_ranks_are_used_at_once_in_the_same_way_by_any_team(
    monkeypatch: pytest.MonkeyPatch, threads: int, symmetric: bool
) -> None:
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 16)
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = uneven(4).symmetrize() if symmetric else uneven(4)
    alone = tg.pagerank(graph, tol_l1=1e-10, threads=1)
    found = tg.pagerank(graph, tol_l1=1e-10, threads=threads)
    assert found.ranks.tobytes() == alone.ranks.tobytes()
    assert found.ranks.sum() == pytest.approx(1.0, abs=1e-12)
    check_pagerank(graph, found.ranks, tol_l1=2e-10)
    power = tg.run(PageRank(0.85, 1e-10), graph)
    assert found.iterations <= power.iterations
    np.testing.assert_allclose(found.ranks, power.ranks, atol=1e-9)


@pytest.mark.parametrize("kernel", ["fused", "plain"])
def test_float32_ranks_have_seven_digits(runtime_name: str, kernel: str) -> None:
    graph = uneven(5).to(runtime_name)
    result = tg.pagerank(graph, tol_l1=1e-5, dtype="float32", kernel=kernel)
    assert result.to_numpy().dtype == np.float32
    assert result.converged
    expected = tg.pagerank(graph, tol_l1=1e-12).to_numpy()
    assert np.abs(result.to_numpy() - expected).sum() < 1e-4


def test_a_graph_of_isolated_vertices_has_only_jumps(runtime_name: str) -> None:
    graph = tg.from_edges([], [], num_vertices=4, runtime=runtime_name)
    assert tg.pagerank(graph).ranks.tolist() == [0.25] * 4
    shares = {0: 3.0, 2: 1.0}
    assert tg.pagerank(graph, personalization=shares).ranks.tolist() == pytest.approx([0.75, 0.0, 0.25, 0.0])


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="dtype='float16' is not known"):
        tg.pagerank(tg.from_edges([0], [1]), dtype="float16")


@pytest.mark.parametrize("order", ["degree", "hubs"])
def test_an_order_by_degree_needs_about_as_many_sweeps(order: str) -> None:
    graph = tg.generate.rmat(13, 16, seed=1, directed=False, runtime="numpy").simplify()
    expected = tg.pagerank(graph)
    found = tg.pagerank(tg.reorder(graph, order))
    assert found.iterations <= expected.iterations + 3
    places = graph.vertices_of(found.graph.vertex_labels)
    assert np.abs(found.to_numpy() - expected.to_numpy()[places]).sum() < 1e-5
