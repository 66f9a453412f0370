"""Kept results equal fresh runs after every batch, whatever came and went."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.user_programs import WidestPath

import tgraph as tg
from tgraph.engine import kept_linear
from tgraph.engine.kept_monotonic import Monotonic
from tgraph.engine.streaming import keep
from tgraph.errors import InvalidArgumentError, InvalidProgramError, VertexNotFoundError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused import cuts, linear_correction

NUM_VERTICES = 9
WEIGHTS = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 5.0, math.inf])
EDGE = st.tuples(st.integers(0, NUM_VERTICES - 1), st.integers(0, NUM_VERTICES - 1), WEIGHTS)


class Reachable(tg.Program):
    """Who can be reached from a vertex."""

    reduce, monotonic = "any", True

    def __init__(self, source: int) -> None:
        self.source = source

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(False, "bool", at={self.source: True}), graph.full(False, "bool", at={self.source: True})

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return value | incoming


class ReachesBackwards(Reachable):
    """Who can reach a vertex."""

    along = "in"


class SignedPath(tg.Program):
    """Shortest paths with weights that may be negative, in a graph where no cycle is."""

    reduce, monotonic = "min", True

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(math.inf, "float64", at={0: 0.0}), graph.full(False, "bool", at={0: True})

    def message(self, value: Any, weight: Any) -> Any:
        return value + weight

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


def columns(edges: list[tuple[Any, ...]], count: int = 3) -> tuple[list[Any], ...]:
    return tuple(list(column) for column in zip(*edges, strict=True)) if edges else tuple([] for _ in range(count))


@st.composite
def changes(draw: Any) -> dict[str, Any]:
    """Insertions, and deletions that name edges by their position, so that most of them exist."""
    return {
        "insert": draw(st.lists(EDGE, max_size=8)),
        "delete": draw(st.lists(st.integers(0, 60), max_size=8)),
        "grows": draw(st.booleans()),
    }


def apply(stream: Any, change: dict[str, Any]) -> Any:
    sources, targets, _ = stream.graph.snapshot().edges()
    chosen = sorted({place % sources.size for place in change["delete"]}) if sources.size else []
    new = [(stream.graph.num_vertices, 0, 1.0)] if change["grows"] else []
    return stream.apply(insert=columns(change["insert"] + new), delete=(sources[chosen], targets[chosen]))


def check_parents(kept: Monotonic) -> None:
    """Parents explain their children's values, and lead to a vertex that has the value it began with."""
    snapshot, parents = kept.graph.all_places(), kept.parents
    sources, targets, weights = (np.concatenate(pair) for pair in zip(*_arcs(snapshot, kept.program), strict=True))
    values = kept.values
    begin, _ = kept.program.init(kept.graph.vertices())
    begin = np.asarray(next(iter(begin.values())) if isinstance(begin, dict) else begin)
    for vertex in range(values.size):
        parent = int(parents[vertex])
        if parent < 0:
            assert values[vertex] == begin[vertex]
            continue
        places = np.flatnonzero((sources == parent) & (targets == vertex))
        arguments = {"weight": weights[places]} if "weight" in kept.program.message.__code__.co_varnames else {}
        sent = np.full(places.size, values[parent])
        messages = np.asarray(kept.program.message(sent, **arguments))
        assert (messages == values[vertex]).any()
        for _ in range(values.size):
            parent = int(parents[parent]) if parent >= 0 else -1
        assert parent < 0


def _arcs(graph: tg.Graph, program: tg.Program) -> list[tuple[Any, ...]]:
    """The arcs as messages take them: senders, receivers, weights."""
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(offsets))
    ways = {"out": (sources, targets, weights), "in": (targets, sources, weights)}
    sides = ("out", "in") if program.along == "both" and graph.directed else (program.along,)
    return [ways["out" if side == "both" else side] for side in sides]


@settings(max_examples=500, deadline=None)
@given(st.lists(EDGE, max_size=25), st.lists(changes(), max_size=5), st.booleans(), st.booleans())
def test_monotonic_programs_equal_fresh_runs(
    edges: list[tuple[int, int, float]], batches: list[dict[str, Any]], directed: bool, multi_edges: bool
) -> None:
    duplicates = "keep" if multi_edges else "first"
    start = tg.from_edges(
        *columns(edges), directed=directed, num_vertices=NUM_VERTICES, duplicates=duplicates, runtime="numpy"
    )
    stream = tg.stream(tg.DynamicGraph(start, multi_edges=multi_edges))
    programs = [WidestPath(0), Reachable(0), ReachesBackwards(0)]
    for program in programs:
        stream.keep(program)
    for name in ("bfs", "sssp", "wcc"):
        stream.keep(name, **({} if name == "wcc" else {"source": 0}))
    before = {name: kept.result().to_numpy() for name, kept in stream.results.items()}
    for change in batches:
        update = apply(stream, change)
        snapshot = stream.graph.snapshot()
        fresh = {type(program).__name__: tg.run(program, snapshot).to_numpy() for program in programs}
        fresh |= {
            "bfs": tg.bfs(snapshot, 0).to_numpy(),
            "sssp": tg.sssp(snapshot, 0).to_numpy(),
            "wcc": tg.wcc(snapshot).to_numpy(),
        }
        for name, kept in stream.results.items():
            assert kept.how == "monotonic"
            now, change_of_it = kept.result().to_numpy(), update.changes[name]
            np.testing.assert_array_equal(now, fresh[name])
            check_parents(kept._kept)
            changed = change_of_it.ids[change_of_it.ids < before[name].size]
            np.testing.assert_array_equal(np.flatnonzero(before[name] != now[: before[name].size]), changed)
            np.testing.assert_array_equal(now[change_of_it.ids], change_of_it.new)
            before[name] = now


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_negative_weights(data: Any) -> None:
    """Edges lead from lower to higher numbers, so that there is no cycle; a message can be better than its sender."""
    edge = st.tuples(st.integers(0, 6), st.integers(1, 3), st.sampled_from([-2.0, -1.0, 0.0, 1.0]))
    upwards = st.lists(edge.map(lambda e: (e[0], e[0] + e[1], e[2])), max_size=12)
    start = tg.from_edges(*columns(data.draw(upwards)), num_vertices=10, duplicates="first", runtime="numpy")
    stream = tg.stream(start)
    kept = stream.keep(SignedPath())
    for _ in range(4):
        sources, targets, _ = stream.graph.snapshot().edges()
        chosen = data.draw(st.lists(st.integers(0, max(sources.size - 1, 0)), max_size=4, unique=True))
        chosen = [place for place in chosen if place < sources.size]
        stream.apply(insert=columns(data.draw(upwards)), delete=(sources[chosen], targets[chosen]))
        fresh = tg.run(SignedPath(), stream.graph.snapshot()).to_numpy()
        np.testing.assert_array_equal(kept.result().to_numpy(), fresh)
        check_parents(kept._kept)


@settings(max_examples=100, deadline=None)
@given(st.lists(EDGE, max_size=25), st.lists(changes(), max_size=5), st.booleans())
def test_linear_programs_are_within_the_tolerance(
    edges: list[tuple[int, int, float]], batches: list[dict[str, Any]], directed: bool
) -> None:
    """A sweep that changes less than the tolerance leaves at most that times damping / (1 - damping)."""
    start = tg.from_edges(
        *columns(edges), directed=directed, num_vertices=NUM_VERTICES, duplicates="first", runtime="numpy"
    )
    stream = tg.stream(start)
    pagerank, php = stream.keep("pagerank"), stream.keep("php", source=0)
    katz = stream.keep("katz", alpha=0.01)
    personal = stream.keep("pagerank", name="personal", personalization={0: 1.0, 3: 1.0})
    for change in batches:
        apply(stream, change)
        snapshot = stream.graph.snapshot()
        fresh = {
            pagerank: tg.pagerank(snapshot, tol_l1=1e-13),
            php: tg.php(snapshot, 0, tol_l1=1e-13),
            katz: tg.katz(snapshot, alpha=0.01, normalized=False, tol_l1=1e-13),
            personal: tg.pagerank(snapshot, tol_l1=1e-13, personalization={0: 1.0, 3: 1.0}),
        }
        for kept, expected in fresh.items():
            assert kept.how == "accumulative"
            assert np.abs(kept.result().to_numpy() - expected.to_numpy()).sum() <= 1e-6 * 0.85 / 0.15


@pytest.mark.parametrize("threads", [1, 3])
def test_ranks_around_a_hub_are_corrected_in_pieces(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are cut, several threads, an exact sweep now and then: the answer stays."""
    monkeypatch.setattr(cuts, "HUB_EDGES", 64)
    monkeypatch.setattr(cuts, "WORK_PER_CHUNK", 16)
    monkeypatch.setattr(linear_correction, "team_size", lambda work: threads)
    monkeypatch.setattr(kept_linear, "BATCHES_FOLLOWED", 2)
    monkeypatch.setattr(kept_linear, "CORRECTIONS", 500)  # so that nothing else settles them
    spokes = np.arange(1, 2001)
    ends = np.concatenate([spokes, spokes]), np.concatenate([0 * spokes, spokes // 2])
    stream = tg.stream(tg.from_edges(*ends, runtime="numpy", duplicates="first"))
    ranks, katz = stream.keep("pagerank"), stream.keep("katz", alpha=1e-4)
    swept = 0
    for number in range(1, 7):
        update = stream.apply(insert=([0], [number]), delete=([number * 7], [0]))
        rows = list(update.changes["pagerank"].trace)
        assert rows[-1].residual <= 1e-6
        swept += rows[0].direction == "pull"
        snapshot = stream.graph.snapshot()
        fresh = {ranks: tg.pagerank(snapshot, tol_l1=1e-13)}
        fresh[katz] = tg.katz(snapshot, alpha=1e-4, normalized=False, tol_l1=1e-13)
        for kept, expected in fresh.items():
            assert np.abs(kept.result().to_numpy() - expected.to_numpy()).sum() <= 1e-6 * 0.85 / 0.15
    assert swept == 2


def test_removed_vertices() -> None:
    """They count for nothing: ranks are those of the graph without them."""
    stream = tg.stream(tg.generate.rmat(8, 4, duplicates="first", directed=False, runtime="numpy"))
    for name in ("bfs", "wcc", "pagerank"):
        stream.keep(name, **({"source": 3} if name == "bfs" else {}))
    stream.apply(remove_vertices=[1, 2, 5, 100], insert=([7], [100]))
    snapshot = stream.graph.snapshot()
    assert snapshot.num_vertices == 253
    np.testing.assert_array_equal(stream["bfs"].result().to_numpy(), tg.bfs(snapshot, 3).to_numpy())
    np.testing.assert_array_equal(stream["wcc"].result().to_numpy(), tg.wcc(snapshot).to_numpy())
    ranks = tg.pagerank(snapshot, tol_l1=1e-13).to_numpy()
    assert np.abs(stream["pagerank"].result().to_numpy() - ranks).sum() <= 1e-6 * 0.85 / 0.15
    assert stream["pagerank"][100] > 0


def test_parents_are_part_of_the_result() -> None:
    stream = tg.stream(tg.from_edges(["a", "b", "a"], ["b", "c", "c"], [1.0, 1.0, 5.0]))
    result = stream.keep("sssp", source="a").result()
    assert result.column("parents").tolist() == [None, "a", "b"]
    stream.apply(delete=(["b"], ["c"]))
    assert stream["sssp"].result().column("parents").tolist() == [None, "a", "a"]
    assert result.column("parents").tolist() == [None, "a", "b"]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_large_batches_on_all_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1000)
    graph = tg.generate.rmat(14, 8, weights=(1, 9), duplicates="first", runtime="numpy")
    sources, targets, weights = graph.edges()
    rng = np.random.default_rng(threads)
    held = rng.random(sources.size) < 0.3
    start = tg.from_edges(
        sources[~held], targets[~held], weights[~held], num_vertices=graph.num_vertices, runtime="numpy"
    )
    hub = int(np.argmax(np.asarray(graph.out_degrees())))
    before = tg.config.num_threads
    tg.config.num_threads = threads
    try:
        stream = tg.stream(start)
        for name in ("bfs", "sssp", "wcc", "pagerank"):
            stream.keep(name, **({"source": hub} if name in ("bfs", "sssp") else {}))
        new, gone = np.flatnonzero(held), np.flatnonzero(~held)
        for part in range(3):
            coming, going = new[part::3], gone[part::6]
            stream.apply(
                insert=(sources[coming], targets[coming], weights[coming]), delete=(sources[going], targets[going])
            )
            snapshot = stream.graph.snapshot()
            np.testing.assert_array_equal(stream["bfs"].result().to_numpy(), tg.bfs(snapshot, hub).to_numpy())
            np.testing.assert_array_equal(stream["sssp"].result().to_numpy(), tg.sssp(snapshot, hub).to_numpy())
            np.testing.assert_array_equal(stream["wcc"].result().to_numpy(), tg.wcc(snapshot).to_numpy())
            ranks = tg.pagerank(snapshot, tol_l1=1e-10).to_numpy()
            assert np.abs(stream["pagerank"].result().to_numpy() - ranks).sum() < 1e-5
    finally:
        tg.config.num_threads = before


def test_a_batch_that_costs_more_than_a_run_is_not_followed() -> None:
    stream = tg.stream(tg.generate.rmat(10, 8, duplicates="first", runtime="numpy"))
    kept = stream.keep("wcc")
    kept._kept._cost_per_change = 1e6
    rng = np.random.default_rng(0)
    update = stream.apply(insert=rng.integers(0, 1024, (2, 3000)))
    assert "recompute" in update.changes["wcc"].trace.seconds
    np.testing.assert_array_equal(kept.result().to_numpy(), tg.wcc(stream.graph.snapshot()).to_numpy())


class Degrees(tg.Program):
    """Needs its degrees at the start, which change with the edges."""

    reduce, monotonic = "min", True

    def init(self, graph: tg.Graph) -> Any:
        return graph.runtime.astype(graph.out_degrees(), "int64"), None

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


class Sums(tg.Program):
    """Neither monotonic nor linear."""

    reduce, active = "sum", "all"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(1.0, "float64"), None

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)

    def is_done(self, iteration: int, residual: float) -> bool:
        return iteration == 3


def test_others_are_recomputed_and_say_why() -> None:
    stream = tg.stream(tg.from_edges([0, 1, 2], [1, 2, 0], num_vertices=4, runtime="numpy"))
    degrees, sums = stream.keep(Degrees()), stream.keep(Sums())
    assert (degrees.how, degrees.reason) == ("recomputed", "init asks for degrees, which change with the edges")
    assert (sums.how, sums.reason) == ("recomputed", "it is neither monotonic nor linear")
    update = stream.apply(insert=([3, 4], [0, 0]), delete=([1], [2]))
    snapshot = stream.graph.snapshot()
    for kept, program in ((degrees, Degrees()), (sums, Sums())):
        np.testing.assert_array_equal(kept.result().to_numpy(), tg.run(program, snapshot).to_numpy())
    assert update.changes["Degrees"].trace.engine == "in_memory"


class SaysItIsMonotonic(tg.Program):
    """A larger value sends a smaller message."""

    reduce, monotonic = "min", True

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(10.0, "float64", at={0: 1.0}), None

    def message(self, value: Any) -> Any:
        return 5.0 - value

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


def test_a_refuted_program_is_not_followed() -> None:
    pytest.importorskip("z3", reason="proofs need z3")
    stream = tg.stream(tg.from_edges([0, 1], [1, 2], num_vertices=4, runtime="numpy"))
    kept = stream.keep(SaysItIsMonotonic())
    assert kept.how == "recomputed"
    assert kept.reason.startswith("message_monotonic is refuted")


def test_a_cycle_without_a_fixed_point_fails_alone() -> None:
    stream = tg.stream(tg.from_edges([0, 1], [1, 2], [1.0, -2.0], num_vertices=4, runtime="numpy"))
    path, components = stream.keep(SignedPath()), stream.keep("wcc")
    with pytest.warns(RuntimeWarning, match=r"'SignedPath' is no longer current: values do not settle: edges form a"):
        update = stream.apply(insert=([2], [0], [0.5]))
    assert isinstance(update.failed["SignedPath"], InvalidProgramError)
    assert repr(update) == "Update(Applied(inserted=1), wcc: 0 changed, SignedPath: failed)"
    for use in (path.result, lambda: path[0]):
        with pytest.raises(InvalidArgumentError, match=r"'SignedPath' is not current .* drop it and keep it again"):
            use()
    update = stream.apply(delete=([2], [0]), insert=([3], [0], [1.0]))
    assert not update.failed
    assert update.changes["wcc"].ids.tolist() == [3]
    assert components[3] == 0
    stream.drop("SignedPath")
    assert stream.keep(SignedPath()).how == "monotonic"


def test_scores_that_do_not_settle_are_refused() -> None:
    both = tg.stream(tg.from_edges([0, 1], [1, 0], num_vertices=3, runtime="numpy"))
    with pytest.raises(InvalidProgramError, match=r"values do not settle: .* use smaller factors"):
        both.keep("katz", alpha=2.0)
    with pytest.raises(InvalidProgramError, match=r"10000 sweeps changed them by .* and 1e-300 is allowed"):
        both.keep("katz", alpha=0.999999, tol_l1=1e-300)
    wrong = [
        ("pagerank", {"damping": 1.0}, r"damping=1.0 must be from 0 to less than 1"),
        ("pagerank", {"tol_l1": 0.0}, r"tol_l1=0.0 must be above 0"),
        ("pagerank", {"personalization": [1, 1, 1]}, r"personalization is a list; give a mapping"),
        ("pagerank", {"personalization": {0: -1.0}}, r"personalization needs finite weights"),
        ("php", {"source": 0, "damping": math.nan}, r"damping=nan must be"),
        ("katz", {"alpha": -0.5}, r"alpha=-0.5 must be a number"),
        ("katz", {}, r"missing a required argument: 'alpha'; it takes alpha, beta, tol_l1"),
        ("bfs", {"sauce": 0}, r"'bfs' was asked for with .*; it takes source"),
        ("wcc", {"source": 0}, r"it takes no parameters"),
        (WidestPath(0), {"source": 0}, r"source= was given for a program"),
    ]
    for what, parameters, message in wrong:
        with pytest.raises(InvalidArgumentError, match=message):
            both.keep(what, **parameters)
    assert not both.results


def test_changes_and_single_values_are_by_the_users_ids() -> None:
    stream = tg.stream(tg.from_edges(["cy", "ann"], ["dan", "bob"], labels=["dan", "cy", "bob", "ann"]))
    components = stream.keep("wcc")
    assert [components[name] for name in ("ann", "bob", "cy", "dan")] == ["bob", "bob", "dan", "dan"]
    change = stream.apply(insert=(["bob"], ["cy"])).changes["wcc"]
    assert change.ids.tolist() == ["bob", "ann"]
    assert (change.old.tolist(), change.new.tolist()) == (["bob", "bob"], ["dan", "dan"])
    assert components["ann"] == components.result()["ann"] == "dan"
    stream.apply(remove_vertices=["bob"])
    with pytest.raises(VertexNotFoundError, match=r"vertex 'bob' was removed"):
        components["bob"]
    with pytest.raises(VertexNotFoundError, match=r"vertex 'bob' was removed"):
        stream.keep("bfs", source="bob")
    with pytest.raises(InvalidArgumentError, match=r"'bfs' is not kept; kept are: wcc"):
        stream["bfs"]


def test_programs_that_ask_for_edges_at_the_start_are_recomputed() -> None:
    class FromLoops(Reachable):
        def init(self, graph: Any) -> Any:
            fields, active = super().init(graph)
            return fields, active if graph.num_self_loops >= 0 else None

    kept = tg.stream(tg.from_edges([0, 1], [1, 1], runtime="numpy")).keep(FromLoops(0))
    assert kept.how == "recomputed"
    assert "init asks for num_self_loops" in kept.reason


def test_shortest_paths_need_lengths() -> None:
    stream = tg.stream(tg.from_edges([0, 1], [1, 2], [1.0, 2.0], runtime="numpy"))
    stream.keep("sssp", source=0)
    for weight in (-1.0, math.nan):
        with pytest.raises(InvalidArgumentError, match=r"sssp is kept, which needs weights of 0 or more"):
            stream.apply(insert=([2], [0], [weight]))
        with pytest.raises(InvalidArgumentError, match=r"sssp is kept"):
            stream.apply(change=([0], [1], [weight]))
    assert (stream.graph.version, stream["sssp"][2]) == (0, 3.0)
    with pytest.raises(InvalidArgumentError, match=r"weights holds -3.0"):
        tg.stream(tg.from_edges([0], [1], [-3.0])).keep("sssp", source=0)


def test_what_is_refused() -> None:
    stream = tg.stream(tg.from_edges([0], [1]))
    with pytest.raises(InvalidArgumentError, match=r"'closeness' is not known; use one of 'bfs'"):
        stream.keep("closeness")
    stream.keep("wcc")
    with pytest.raises(InvalidArgumentError, match=r"'wcc' is kept already; give another name="):
        stream.keep("wcc")
    assert keep(WidestPath(0), stream.graph).how == "monotonic"


def test_a_hub_whose_edges_are_reduced_in_pieces() -> None:
    """More incoming edges than a piece has, in a row that has moved."""
    leaves = np.arange(1, 150_001)
    stream = tg.stream(tg.from_edges(leaves, np.zeros(leaves.size, np.int64), num_vertices=150_001, runtime="numpy"))
    ranks, levels = stream.keep("pagerank"), stream.keep("bfs", source=5)
    for batch in range(3):
        new = np.arange(30_000) + 150_001 + 30_000 * batch
        stream.apply(
            insert=(new, np.zeros(new.size, np.int64)), delete=(leaves[batch::7], np.zeros_like(leaves[batch::7]))
        )
        snapshot = stream.graph.snapshot()
        expected = tg.pagerank(snapshot, tol_l1=1e-12).to_numpy()
        assert np.abs(ranks.result().to_numpy() - expected).sum() <= 1e-6 * 0.85 / 0.15
        np.testing.assert_array_equal(levels.result().to_numpy(), tg.bfs(snapshot, 5).to_numpy())


def test_what_cannot_be_kept_or_streamed_is_named() -> None:
    with pytest.raises(InvalidProgramError, match=r"program is a NoneType, no tgraph\.Program"):
        tg.stream(tg.from_edges([0], [1])).keep(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="graph is a NoneType, no graph"):
        tg.stream(None)  # type: ignore[arg-type]
