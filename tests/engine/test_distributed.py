"""Programs on graphs divided among ranks give the answers of one machine. Ranks are threads here."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from engine.reference import graphs, interpret
from engine.test_in_memory import Drift
from small_graphs import SmallGraph, small_graphs
from tgraph.algorithms import BFS
from tgraph.errors import DeclaredGapError, InvalidArgumentError, InvalidProgramError, VertexNotFoundError
from tgraph.gaps import NEEDS_ONE_MACHINE
from tgraph.graph import hubs
from tgraph.graph.division import bounds_by_degrees
from thread_group import on_ranks
from user_programs import WidestPath

SIZES = (1, 2, 3, 8)
TOLERANCE = 1e-9


class Doubling(tg.Program):
    """All begin with one value, and what they send would change themselves: no wave."""

    reduce, monotonic, by_parts, along = "max", True, True, "both"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(1, "int32"), None

    def message(self, value: Any) -> Any:
        return tg.minimum(value * 2, 64)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


EXACT: dict[str, Any] = {
    "bfs": lambda graph: tg.bfs(graph, 0),
    "bfs by pull": lambda graph: tg.bfs(graph, 0, direction="pull"),
    "bfs of two steps": lambda graph: tg.bfs(graph, 0, max_iterations=2),
    "sssp": lambda graph: tg.sssp(graph, 0),
    "sssp by pull": lambda graph: tg.sssp(graph, 0, direction="pull"),
    "wcc": lambda graph: tg.wcc(graph),
    "wcc by labels": lambda graph: tg.wcc(graph, kernel="auto", direction="push"),
    "wcc of one step": lambda graph: tg.wcc(graph, max_iterations=1),
    "cdlp": lambda graph: tg.cdlp(graph, max_iterations=4),
    "cdlp by sorting": lambda graph: tg.cdlp(graph, max_iterations=4, kernel="plain"),
    "widest": lambda graph: tg.run(WidestPath(), graph),
    "widest by pull": lambda graph: tg.run(WidestPath(), graph, direction="pull"),
    "doubling": lambda graph: tg.run(Doubling(), graph),
    "doubling by pull": lambda graph: tg.run(Doubling(), graph, direction="pull"),
}
CLOSE: dict[str, Any] = {
    "pagerank": lambda graph: tg.pagerank(graph, tol_l1=1e-11, max_iterations=300),
    "power iteration": lambda graph: tg.pagerank(graph, tol_l1=0.0, max_iterations=8),
    "weighted": lambda graph: tg.pagerank(graph, tol_l1=1e-11, max_iterations=300, weighted=graph.weighted),
    "katz": lambda graph: tg.katz(graph, tol_l1=1e-11, max_iterations=300),
    "hits": lambda graph: tg.hits(graph, tol_l1=0, max_iterations=9),
    "hits by primitives": lambda graph: tg.hits(graph, tol_l1=0, max_iterations=9, kernel="plain"),
}


def in_groups(function: Any, graph: tg.Graph, sizes: tuple[int, ...] = SIZES) -> Any:
    """Yield what every rank of groups of several sizes has gathered."""
    for size in sizes:
        yield from on_ranks(size, lambda: function(graph).gather())


@settings(max_examples=100, deadline=None)
@given(case=small_graphs(("none", "small", "large")), kind=st.sampled_from(sorted(EXACT)), size=st.sampled_from(SIZES))
def test_exact_answers_are_those_of_one_machine(case: SmallGraph, kind: str, size: int) -> None:
    graph = case.build()
    expected = EXACT[kind](graph)
    for found in in_groups(EXACT[kind], graph, (size,)):
        assert list(found.fields) == list(expected.fields)
        for name, tensor in expected.fields.items():
            np.testing.assert_array_equal(np.asarray(found.fields[name]), np.asarray(tensor))
        assert found.converged == expected.converged


@settings(max_examples=40, deadline=None)
@given(case=small_graphs(("none", "small")), kind=st.sampled_from(sorted(CLOSE)), size=st.sampled_from(SIZES))
def test_sums_are_those_of_one_machine_up_to_rounding(case: SmallGraph, kind: str, size: int) -> None:
    graph = case.build()
    expected = CLOSE[kind](graph)
    for found in in_groups(CLOSE[kind], graph, (size,)):
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=0, atol=TOLERANCE)
        assert found.converged == expected.converged


@pytest.mark.parametrize("along", ["out", "in", "both"])
@pytest.mark.parametrize("reduce", ["min", "max", "sum", "mean", "any", "count"])
@settings(max_examples=6, deadline=None)
@given(
    graph=graphs(),
    active=st.sampled_from(("changed", "all")),
    starters=st.none() | st.lists(st.booleans(), min_size=1, max_size=7),
    size=st.sampled_from(SIZES),
)
def test_programs_are_as_the_interpreter_says(
    reduce: str, along: str, graph: tg.Graph, active: str, starters: Any, size: int
) -> None:
    program = Drift(reduce, active, along, starters)
    expected = interpret(program, graph, 4)
    for found in on_ranks(size, lambda: tg.run(program, graph, max_iterations=4, kernel="plain").gather()):
        assert {name: tensor.tolist() for name, tensor in found.fields.items()} == expected.fields
        assert [iteration.active_edges for iteration in found.trace] == expected.arcs
        assert [iteration.residual for iteration in found.trace] == expected.residuals


class Farthest(tg.Program):
    """Asks for the numbers of both ends, in a sweep over both directions."""

    reduce, active, along = "max", "all", "both"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(-1.0, "float64"), None

    def message(self, source: Any, target: Any, value: Any, weight: Any) -> Any:
        return tg.absolute(source - target) * weight + value * 0.5

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


def test_messages_know_vertex_numbers_of_the_whole_graph() -> None:
    graph = tg.generate.rmat(6, 4, seed=3, weights=(1, 9))
    expected = tg.run(Farthest(), graph, max_iterations=5)
    for found in in_groups(lambda graph: tg.run(Farthest(), graph, max_iterations=5), graph):
        assert found.trace.kernel == "fused"
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


def test_bytes_are_those_of_the_model_and_fewer_than_messages() -> None:
    graph = tg.generate.rmat(9, 16, seed=1)
    ranks = on_ranks(4, lambda: tg.pagerank(graph, tol_l1=0.0, max_iterations=5))[0]
    rows = on_ranks(4, lambda: tg.shard(graph).rows("in"))
    ghosts = sum(one.ghosts.size for one in rows)
    crossing = sum(int(np.count_nonzero(one.neighbors >= one.num_own)) for one in rows)
    for iteration in ranks.trace:
        assert iteration.moved["sent"] == iteration.moved["modelled"]
        assert iteration.moved["sent"] <= ghosts * 8 + 4 * 3 * 6 * 8  # values, a header and five sums
    assert 2 * ghosts < crossing
    levels = on_ranks(4, lambda: tg.bfs(graph, 0, parents=False))[0]
    sent = [iteration.moved["sent"] for iteration in levels.trace]
    assert sent == [iteration.moved["modelled"] for iteration in levels.trace]
    assert min(sent) < max(sent) <= ghosts * 4 + 4 * 3 * 7 * 8  # few that changed, and at most all ghosts


@pytest.fixture
def divided_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows of small graphs be divided too."""
    monkeypatch.setattr(hubs, "FEWEST_EDGES", 3)
    monkeypatch.setattr(hubs, "HUB_SHARE", 0.05)
    monkeypatch.setattr(hubs, "PIECE_EDGES", 2)


class Mixed(tg.Program):
    """A sweep with any reduction, which asks for what the receiver has."""

    active, by_parts = "all", True

    def __init__(self, reduce: str) -> None:
        self.reduce = reduce

    def init(self, graph: tg.Graph) -> Any:
        numbers = graph.runtime.astype(graph.numbers(), "float64")
        return numbers % 7.0 if self.reduce != "any" else numbers == 39.0, None

    def message(self, value: Any, target_value: Any) -> Any:
        return tg.where(value == target_value, value, tg.maximum(value, target_value))

    def update(self, value: Any, incoming: Any) -> Any:
        return incoming


HUB_KINDS: dict[str, Any] = {
    **{kind: run for kind, run in (EXACT | CLOSE).items() if kind.startswith(("bfs", "sssp", "widest", "doubling"))},
    **{kind: (EXACT | CLOSE)[kind] for kind in ("wcc", "wcc by labels", "cdlp", "cdlp by sorting", "pagerank")},
    **{kind: CLOSE[kind] for kind in ("power iteration", "katz", "hits", "hits by primitives")},
    "farthest": lambda graph: tg.run(Farthest(), graph, max_iterations=5),
    **{f"{kind} of ends": partial(lambda kind, graph: tg.run(Mixed(kind), graph, max_iterations=4), kind)
       for kind in ("min", "max", "sum", "mean", "any", "count")},
}  # fmt: skip


@pytest.mark.usefixtures("divided_hubs")
@pytest.mark.parametrize("kind", HUB_KINDS)
@pytest.mark.parametrize("directed", [True, False])
def test_divided_rows_of_hubs_change_no_answer(kind: str, directed: bool) -> None:
    ends = np.random.default_rng(3).integers(0, 40, (2, 60))
    sources = np.concatenate([np.zeros(50, int), ends[0], np.full(45, 39), np.arange(40)])
    targets = np.concatenate([np.arange(50) % 40, ends[1], np.arange(45) % 40, np.full(40, 17)])
    weights = np.random.default_rng(1).integers(1, 9, sources.size).astype(float)
    graph = tg.from_edges(sources, targets, weights=weights, directed=directed)
    run = HUB_KINDS[kind]
    expected = run(graph)

    def look() -> Any:
        part = tg.shard(graph)
        pieces = part.split_rows("in").pieces
        assert pieces is not None
        assert pieces.hubs.size > 1
        found = run(part)
        if kind not in ("cdlp by sorting", "hits by primitives", "bfs of two steps"):
            assert found.trace.kernel == "fused"
        if kind not in ("wcc", "bfs of two steps"):
            beyond = [one.moved["sent"] - one.moved["modelled"] for one in found.trace]
            if kind.startswith(("cdlp", "hits")):  # rows are made in the first iteration, and `sum_of` sends in all
                assert len(set(beyond[1:])) == 1
            else:
                assert set(beyond) == {0}
        return found.gather()

    for size in (2, 3):
        for found in on_ranks(size, look):
            atol = TOLERANCE if kind in CLOSE or kind in ("sum of ends", "mean of ends") else 0
            np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-14 * bool(atol), atol=atol)


@pytest.mark.usefixtures("divided_hubs")
def test_a_hub_is_divided_evenly_and_its_rows_come_back() -> None:
    star = tg.generate.star(101).symmetrize()

    def look() -> Any:
        part = tg.shard(star)
        whole = part.rows("out")
        before = (whole.offsets, whole.vertex_numbers(part.first)[whole.neighbors])
        divided = part.split_rows("out")
        again = part.rows("out")
        np.testing.assert_array_equal(again.offsets, before[0])
        np.testing.assert_array_equal(again.vertex_numbers(part.first)[again.neighbors], before[1])
        np.testing.assert_array_equal(divided.degrees, np.diff(before[0]))
        return part.num_own, divided.rows.num_arcs + divided.pieces.neighbors.size

    sizes = on_ranks(4, look)
    assert max(edges for _, edges in sizes) <= 1.05 * star.num_arcs / 4 + 2
    assert max(own for own, _ in sizes) <= 27


@pytest.mark.parametrize("name", ["bfs", "widest"])
@pytest.mark.parametrize("directed", [True, False])
def test_all_ranks_change_direction_together(name: str, directed: bool) -> None:
    graph = tg.generate.rmat(9, 8, seed=4, weights=(1, 9), directed=directed)
    hub = int(np.argmax(np.asarray(graph.out_degrees())))
    run = {"bfs": lambda graph: tg.bfs(graph, hub), "widest": lambda graph: tg.run(WidestPath(hub), graph)}[name]
    expected = run(graph)

    def look() -> Any:
        part = tg.shard(graph)
        part.rows("in")  # without them a directed graph is pushed only
        found = run(part)
        return found.gather(), [(one.direction, one.active_vertices, one.moved) for one in found.trace]

    traces = []
    for found, trace in on_ranks(3, look):
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
        assert {direction for direction, _, _ in trace} == {"push", "pull"}
        assert all(moved["sent"] == moved["modelled"] for _, _, moved in trace)
        traces.append(trace)
    assert traces[0] == traces[1] == traces[2]


def test_pull_sends_a_bit_where_push_would_send_a_value() -> None:
    graph = tg.generate.rmat(10, 16, seed=1, directed=False)
    ghosts = sum(on_ranks(4, lambda: tg.shard(graph).rows("out").ghosts.size))
    found = on_ranks(4, lambda: tg.bfs(graph, 0, parents=False))[0]
    headers = 4 * 3 * (8 + 5 * 8)
    assert max(one.moved["sent"] for one in found.trace) <= ghosts / 8 + 4 * 3 + headers


class Strongest(tg.Program):
    """Overrides `compute`: a vertex takes the largest weighted value around it, on both kinds of edges in turn."""

    active, by_parts = "all", True

    def init(self, graph: tg.Graph) -> Any:
        return graph.runtime.astype(graph.numbers(), "float64") + 1.0, None

    def compute(self, state: Any, edges: Any) -> float:
        before = state.fields["value"]
        came = edges.aggregate(before, "max", message=lambda value, weight: value * 0.5 + weight)
        back = edges.aggregate(came, "mean", along="in")
        both = edges.aggregate(back, "max", along="both")
        state.fields["value"] = tg.maximum(before * 0.25, both)
        return edges.graph.total(tg.absolute(state.fields["value"] - before))


def test_compute_with_tensors_of_own_vertices(runtime_name: str) -> None:
    graph = tg.generate.rmat(6, 4, seed=5, weights=(1, 9), runtime=runtime_name)
    expected = tg.run(Strongest(), graph, max_iterations=4)

    def look() -> Any:
        found = tg.run(Strongest(), graph, max_iterations=4)
        assert len(found.values) == found.graph.num_own < graph.num_vertices
        moved = [iteration.moved for iteration in found.trace]
        assert all(one["modelled"] > 0 and one["modelled"] <= one["sent"] for one in moved)
        return found.gather()

    for found in on_ranks(3, look):
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-14)
        np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-12)


@pytest.mark.parametrize("labels", ["numbers", "integers", "strings"])
def test_results_are_under_the_ids_of_the_user(labels: str, runtime_name: str) -> None:
    graph = tg.generate.rmat(5, 4, seed=2, runtime=runtime_name)
    if labels != "numbers":
        graph = graph.relabel([f"v{31 - n}" if labels == "strings" else 1000 - n for n in range(graph.num_vertices)])
    source = graph.labels_of([3]).tolist()[0]
    expected = tg.bfs(graph, source)

    def look() -> Any:
        found = tg.bfs(graph, source)
        own = dict(zip(found.vertex_ids().tolist(), found.column("parents").tolist(), strict=True))
        return found.top(5), found[source], own, found.gather().column("parents").tolist(), tg.cdlp(graph).gather()

    parts: dict[Any, Any] = {}
    for top, value, own, parents, communities in on_ranks(3, look):
        assert top == expected.top(5)
        assert value == 0
        assert parents == expected.column("parents").tolist()
        assert communities.column("labels").tolist() == tg.cdlp(graph).column("labels").tolist()
        parts |= own
    assert parts == dict(zip(expected.vertex_ids().tolist(), expected.column("parents").tolist(), strict=True))


@pytest.mark.parametrize(
    "graph",
    [
        tg.from_edges([], [], num_vertices=0),
        tg.from_edges([], [], num_vertices=5),
        tg.from_edges([0], [0]),
        tg.generate.star(40),
        tg.from_edges([0, 0, 0, 5], [1, 1, 1, 5], num_vertices=9),
    ],
    ids=["empty", "no edges", "a loop", "a hub", "duplicates"],
)
def test_odd_graphs(graph: tg.Graph) -> None:
    for kind in ("wcc", "cdlp"):
        for found in in_groups(EXACT[kind], graph, (3,)):
            np.testing.assert_array_equal(found.to_numpy(), EXACT[kind](graph).to_numpy())
    for kind in ("pagerank", "hits"):
        for found in in_groups(CLOSE[kind], graph, (3,)):
            np.testing.assert_allclose(found.to_numpy(), CLOSE[kind](graph).to_numpy(), rtol=0, atol=TOLERANCE)


def test_parts_are_balanced_by_edges() -> None:
    degrees = np.random.default_rng(0).zipf(1.8, 10_000).clip(1, 500)
    bounds = bounds_by_degrees([degrees], 8)
    sums = [degrees[first:last].sum() for first, last in pairwise(bounds)]
    assert max(sums) < 1.1 * np.mean(sums)
    assert bounds_by_degrees([np.zeros(0, np.int64)], 3).tolist() == [0, 0, 0, 0]
    assert bounds_by_degrees([np.array([9])], 3).tolist()[-1] == 1


def test_what_a_part_says_of_all_edges() -> None:
    graph = tg.from_edges([0, 1, 2, 3, 3, 5], [0, 2, 2, 3, 4, 1], runtime="numpy")
    assert on_ranks(3, lambda: tg.shard(graph).num_self_loops) == [3] * 3

    def edges() -> str:
        with pytest.raises(DeclaredGapError, match="edges would put the whole graph on one rank") as caught:
            tg.shard(graph).edges()  # local numbers must not pass for the user's ids
        return str(caught.value)

    assert len(on_ranks(2, edges)) == 2


@pytest.mark.parametrize("name", ["eigenvector", "mis", "multi_source_bfs", "php", "scc"])
def test_the_other_algorithms_that_ranks_run(name: str) -> None:
    graph = tg.generate.rmat(6, 4, seed=1)
    arguments = {"multi_source_bfs": ([0, 5],), "php": (3,)}.get(name, ())
    expected = getattr(tg, name)(graph, *arguments)
    for found in in_groups(lambda graph: getattr(tg, name)(graph, *arguments), graph, (3,)):
        for field, tensor in expected.fields.items():
            np.testing.assert_allclose(np.asarray(found.fields[field]), np.asarray(tensor), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", sorted(NEEDS_ONE_MACHINE))
def test_what_ranks_cannot_run_says_so(name: str) -> None:
    arguments = {"random_walks": {"length": 2}, "distance_matrix": {"sources": [0]}}.get(name, {})
    with pytest.raises(DeclaredGapError, match=f"{name} does not run on a graph divided among ranks"):
        on_ranks(2, lambda: getattr(tg, name)(tg.generate.star(5), **arguments))


def test_errors_say_what_to_do() -> None:
    star = tg.generate.star(6)

    class WithEdgeData(BFS):
        def edge_data(self, graph: tg.Graph) -> Any:
            return {}

    with pytest.raises(InvalidArgumentError, match=r"use it in tgraph.distributed\(\)"):
        tg.shard(star)
    with pytest.raises(VertexNotFoundError, match="9"):
        on_ranks(2, lambda: tg.bfs(tg.shard(star), 9))
    with pytest.raises(VertexNotFoundError, match="zoe"):
        on_ranks(2, lambda: tg.bfs(tg.shard(star.relabel(list("abcdef"))), "zoe"))
    with pytest.raises(DeclaredGapError, match="edge data"):
        on_ranks(2, lambda: tg.run(WithEdgeData(0), star))
    with pytest.raises(InvalidProgramError, match="kernel='fused' cannot run"):
        on_ranks(2, lambda: tg.run(BFS(0), star, max_iterations=1, kernel="fused"))
    with pytest.raises(DeclaredGapError, match="jax"):
        on_ranks(2, lambda: tg.run(BFS(0), star.to("numpy"), runtime="jax"))
    with pytest.raises(DeclaredGapError, match="out_targets would put the whole graph on one rank"):
        on_ranks(2, lambda: tg.shard(star).out_targets)
    with pytest.raises(DeclaredGapError, match="a report describes a graph on one rank"):
        on_ranks(2, lambda: tg.wcc(star).report("x.html"))
