"""Results kept on far edges equal fresh runs, with and without a hot subgraph, whose rows equal those of the graph."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.test_streaming import EDGE, NUM_VERTICES, Reachable, apply, changes, check_parents, columns
from tests.user_programs import WidestPath

import tgraph as tg
from tgraph.errors import MemoryBudgetError
from tgraph.kernels.cpu.hot_places import WANTED
from tgraph.kernels.cpu.hot_subgraph import HotSubgraph

HOT = st.sampled_from([0, 150, 400, 1500, 20_000])


def far_stream(edges: Any, hot: Any, directed: bool = True, multi_edges: bool = False) -> Any:
    duplicates = "keep" if multi_edges else "first"
    start = tg.from_edges(
        *columns(edges), directed=directed, num_vertices=NUM_VERTICES, duplicates=duplicates, runtime="numpy"
    )
    return tg.stream(tg.DynamicGraph(start, multi_edges=multi_edges, memory="1MiB", hot=hot))


def hot_of(stream: Any) -> HotSubgraph:
    assert stream.graph.far is not None
    hot = stream.graph.far.hot
    assert hot is not None
    return hot


@settings(max_examples=150, deadline=None)
@given(st.lists(EDGE, max_size=25), st.lists(changes(), max_size=6), st.booleans(), st.booleans(), HOT)
def test_kept_results_equal_fresh_runs(
    edges: list[tuple[int, int, float]], batches: list[dict[str, Any]], directed: bool, multi_edges: bool, hot: int
) -> None:
    stream = far_stream(edges, hot, directed, multi_edges)
    programs = [WidestPath(0), Reachable(0)]
    for program in programs:
        stream.keep(program)
    for name in ("bfs", "sssp", "wcc"):
        stream.keep(name, **({} if name == "wcc" else {"source": 0}))
    for change in batches:
        update = apply(stream, change)
        hot_of(stream).check()
        snapshot = stream.graph.snapshot()
        fresh = {type(program).__name__: tg.run(program, snapshot).to_numpy() for program in programs}
        fresh |= {"bfs": tg.bfs(snapshot, 0).to_numpy(), "sssp": tg.sssp(snapshot, 0).to_numpy()}
        fresh["wcc"] = tg.wcc(snapshot).to_numpy()
        for name, kept in stream.results.items():
            assert kept.how == "monotonic"
            np.testing.assert_array_equal(kept.result().to_numpy(), fresh[name])
            check_parents(kept._kept)
            if not hot:
                assert update.changes[name].trace[0].blocks["cached_rows"] == 0
    assert hot_of(stream).num_bytes <= hot


@settings(max_examples=60, deadline=None)
@given(st.lists(EDGE, max_size=25), st.lists(changes(), max_size=6), st.booleans())
def test_only_neighbors_are_near_where_nobody_needs_weights(
    edges: list[tuple[int, int, float]], batches: list[dict[str, Any]], directed: bool
) -> None:
    stream = far_stream(edges, 3000, directed)
    stream.keep("wcc")
    for change in batches:
        apply(stream, change)
        hot_of(stream).check()
    assert not hot_of(stream).weighted
    stream.keep("sssp", source=0)
    assert hot_of(stream).weighted
    for change in batches:
        apply(stream, change)
        hot_of(stream).check()
        snapshot = stream.graph.snapshot()
        np.testing.assert_array_equal(stream["wcc"].result().to_numpy(), tg.wcc(snapshot).to_numpy())
        np.testing.assert_array_equal(stream["sssp"].result().to_numpy(), tg.sssp(snapshot, 0).to_numpy())


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("directed", [True, False])
def test_large_batches_move_less_with_a_hot_subgraph(threads: int, directed: bool) -> None:
    graph = tg.generate.rmat(13, 8, weights=(1, 9), duplicates="first", directed=directed, runtime="numpy")
    sources, targets, weights = graph.edges()
    order = np.random.default_rng(threads).permutation(sources.size)
    before, tg.config.num_threads = tg.config.num_threads, threads
    moved = []
    try:
        for hot in (0, 400_000):  # of 1.7 MB
            stream = tg.stream(tg.DynamicGraph(graph, memory="8MiB", hot=hot))
            for name in ("bfs", "sssp", "wcc"):
                stream.keep(name, **({} if name == "wcc" else {"source": int(sources[0])}))
            moved.append(0)
            for number in range(6):
                old, new = order[number * 900 : number * 900 + 900], order[(number - 1) * 900 : number * 900]
                update = stream.apply(
                    insert=(sources[new], targets[new], weights[new]), delete=(sources[old], targets[old])
                )
                moved[-1] += sum(change.trace.moved_bytes for change in update.changes.values())
                hot_of(stream).check()
            snapshot = stream.graph.snapshot()
            source = int(sources[0])
            np.testing.assert_array_equal(stream["bfs"].result().to_numpy(), tg.bfs(snapshot, source).to_numpy())
            np.testing.assert_array_equal(stream["sssp"].result().to_numpy(), tg.sssp(snapshot, source).to_numpy())
            np.testing.assert_array_equal(stream["wcc"].result().to_numpy(), tg.wcc(snapshot).to_numpy())
            reads = hot_of(stream).reads
            assert (reads.near_rows > 0) == (reads.near_bytes > 0) == (hot > 0)
    finally:
        tg.config.num_threads = before
    assert moved[1] < 0.9 * moved[0]


def test_reads_are_counted_a_byte_per_batch() -> None:
    stream = tg.stream(tg.DynamicGraph(tg.from_edges([0, 1], [1, 2], num_vertices=4, runtime="numpy"), memory="1MiB"))
    stream.keep("bfs", source=0)
    hot = hot_of(stream)
    assert hot.counts[0].tolist() == [1, 1, 1, 0]
    update = stream.apply(insert=([2], [3]))
    assert hot.counts[0].tolist() == [0x100, 0x100, 0x100, 1]  # 3 is reached, and sends
    assert update.changes["bfs"].trace[0].moved == {"rows": 0}
    stream.apply(delete=([2], [3]))
    assert hot.counts[0].tolist() == [0x10000, 0x10000, 0x10000, 0x101]
    assert hot.counts[1].tolist()[3] == 2  # looked through, and pulled
    hot.counts[0][:] = 0xFF
    stream._apply(*stream._prepare(tg.Batch(insert=([2], [3]))))
    assert hot.counts[0].tolist() == [0xFF00, 0xFF00, 0xFF00, 0xFF01]


def test_a_full_byte_stays() -> None:
    stream = tg.stream(tg.DynamicGraph(tg.from_edges([0], [1], num_vertices=2, runtime="numpy"), memory="1MiB"))
    kept = stream.keep("bfs", source=0)
    counts = hot_of(stream).counts[0]
    counts[:] = 0x1FF
    kept._kept._kernel.run(np.array([True, False]))
    assert counts.tolist() == [0x1FF, 0x1FF]


def ring(size: int, hot: int) -> Any:
    """A stream of vertices that lead to the next ten, and keep a search."""
    sources = np.repeat(np.arange(size), 10)
    targets = (sources + np.tile(np.arange(1, 11), size)) % size
    stream = tg.stream(tg.DynamicGraph(tg.from_edges(sources, targets, runtime="numpy"), memory="1MiB", hot=hot))
    stream.keep("bfs", source=0)
    return stream


def test_the_least_read_rows_are_given_up_where_a_batch_needs_room() -> None:
    stream = ring(100, hot=4000)
    hot = hot_of(stream)
    before = np.flatnonzero(hot.slots[0])
    assert hot.num_rows == before.size > 70
    hot.counts[0][:] = 0
    hot.counts[0][before[-5:]] = 3
    stream.graph.apply(insert=([0], [50]))
    hot.check()
    assert hot.num_rows >= before.size - 1  # there is room enough
    hot.pool[WANTED] = 300
    stream.graph.apply(insert=([0], [60]))
    hot.check()
    left = set(np.flatnonzero(hot.slots[0]).tolist())
    assert set(before[-5:].tolist()) <= left
    assert 40 <= len(left) <= 60  # a third of the cells is free


def test_short_rows_are_loaded_first() -> None:
    sources = np.concatenate([np.repeat(np.arange(50), 20), np.arange(50, 100)])
    targets = np.concatenate([np.tile(np.arange(50, 70), 50), np.arange(50)])
    stream = tg.stream(tg.DynamicGraph(tg.from_edges(sources, targets, runtime="numpy"), memory="1MiB", hot=1600))
    stream.keep("bfs", source=0)
    hot = hot_of(stream)
    hot.check()
    assert (hot.slots[0][50:] > 0).all()
    assert 0 < np.count_nonzero(hot.slots[0][:50]) < 20
    sides = stream.graph.gapped("out"), stream.graph.gapped("in")
    loaded = sum(side.degrees()[slots > 0].sum() for side, slots in zip(sides, hot.slots, strict=True))
    sent_far = 20 * np.count_nonzero(hot.slots[0][:20] == 0)  # 0 to 19 are reached
    assert hot.reads.far_bytes == 4 * (loaded + sent_far)  # what is loaded counts as moved


def test_rows_that_are_empty_are_not_read() -> None:
    graph = tg.from_edges([0, 1, 1], [1, 2, 3], directed=False, runtime="numpy")
    stream = tg.stream(tg.DynamicGraph(graph, memory="1MiB", hot=False))
    stream.keep("bfs", source=0)
    update = stream.apply(delete=([1], [3]))
    assert update.changes["bfs"].ids.tolist() == [3]
    assert update.changes["bfs"].trace[0].moved == {"rows": 0}


def test_a_neighbor_that_is_found_ends_the_search() -> None:
    """Vertices of one component are as good as each other: who loses its parent needs the first neighbour only."""
    sources, targets = (side.ravel() for side in np.triu_indices(40, 1))
    graph = tg.from_edges(sources, targets, directed=False, runtime="numpy")
    stream = tg.stream(tg.DynamicGraph(graph, memory="1MiB", hot=False))
    parent = int(stream.keep("wcc")._kept.parents[39])
    update = stream.apply(delete=([parent], [39]))
    assert update.changes["wcc"].ids.size == 0
    assert update.changes["wcc"].trace[0].active_edges <= 6


def test_linear_programs_read_all_cells() -> None:
    graph = tg.generate.rmat(8, 4, duplicates="first", runtime="numpy")
    stream = tg.stream(tg.DynamicGraph(graph, memory="1MiB"))
    kept = stream.keep("pagerank")
    update = stream.apply(insert=([0], [200]), delete=([1], [2]))
    sweeps = [one for one in update.changes["pagerank"].trace if one.direction == "pull"]
    assert sweeps
    assert all(one.moved == {"rows": 4 * one.active_edges} for one in sweeps)
    ranks = tg.pagerank(stream.graph.snapshot(), tol_l1=1e-12).to_numpy()
    assert np.abs(kept.result().to_numpy() - ranks).sum() < 1e-5


def test_the_budget_covers_what_is_kept() -> None:
    graph = tg.generate.rmat(10, 8, duplicates="first", runtime="numpy")
    with pytest.raises(MemoryBudgetError, match=r"memory=40.0 KiB is too small: vertex data needs 41.0 KiB"):
        tg.DynamicGraph(graph, memory="40KiB")
    stream = tg.stream(tg.DynamicGraph(graph, memory="110KiB"))
    stream.keep("bfs", source=0)
    assert stream.graph.far is not None
    budget = stream.graph.far.budget
    assert budget.used <= budget.limit
    assert budget.parts["hot subgraph"] == hot_of(stream).num_bytes <= hot_of(stream).limit
    with pytest.raises(MemoryBudgetError, match="BFS"):
        stream.keep("sssp", source=0)
    assert list(stream.results) == ["bfs"]
    gc.collect()
    with pytest.raises(MemoryBudgetError, match="give at least memory="):
        stream.apply(add_vertices=range(1024, 3000))
    assert stream.graph.num_vertices == 1024
    stream.apply(insert=([1024, 1025], [0, 1]))
    hot_of(stream).check()
    np.testing.assert_array_equal(stream["bfs"].result().to_numpy(), tg.bfs(stream.graph.snapshot(), 0).to_numpy())
    assert stream.graph.far.budget.used <= stream.graph.far.budget.limit
