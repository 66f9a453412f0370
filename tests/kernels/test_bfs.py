"""The search kernel by itself: hubs, threads, one direction or both, rows in any order, interruption."""

from __future__ import annotations

import numpy as np
import pytest

import tgraph as tg
from tgraph.kernels.cpu import bfs as kernel
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.bfs import search
from tgraph.kernels.cpu.watch import STOP, Watch
from tgraph.verify import check_bfs


def rows(graph: tg.Graph, side: str) -> tuple[np.ndarray, np.ndarray]:
    return graph.adjacency(side).to_numpy()[:2]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_any_number_of_threads_and_both_widths(monkeypatch: pytest.MonkeyPatch, threads: int, dtype: str) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(tg.config, "num_threads", threads)
    graph = tg.generate.rmat(11, 8, seed=5, runtime="numpy")
    source = int(np.argmax(graph.out_degrees()))
    out, incoming = ((offsets, ids.astype(dtype)) for offsets, ids in (rows(graph, "out"), rows(graph, "in")))
    pushed = search(out, None, np.array([source]), ascending=True)
    both = search(out, incoming, np.array([source]), ascending=True)
    assert {row[0] for row in pushed.rows.tolist()} == {0}
    assert {row[0] for row in both.rows.tolist()} == {0, 1}
    assert pushed.rows[:, 1:].tolist() == both.rows[:, 1:].tolist()
    for found in (pushed, both):
        assert found.parents.dtype == dtype
        check_bfs(graph, source, found.levels, found.parents)


def test_the_smallest_parent_of_rows_in_any_order() -> None:
    graph = tg.generate.rmat(9, 12, seed=2, directed=False, runtime="numpy")
    source = int(np.argmax(graph.out_degrees()))
    offsets, targets = rows(graph, "out")
    turned = np.concatenate([row[::-1] for row in np.split(targets, offsets[1:-1])])
    expected = search((offsets, targets), (offsets, targets), np.array([source]), ascending=True)
    found = search((offsets, turned), (offsets, turned), np.array([source]), ascending=False)
    assert found.levels.tolist() == expected.levels.tolist()
    assert found.parents.tolist() == expected.parents.tolist()


GRAPHS = {
    "grid": lambda: tg.generate.grid(120, 120, runtime="numpy"),  # small levels, divided among threads
    "ribbon": lambda: tg.generate.grid(3, 3000, runtime="numpy"),  # tiny levels, followed by one
    "both": lambda: tg.generate.rmat(13, 4, seed=3, runtime="numpy").symmetrize(),
    "star": lambda: tg.generate.star(40_000, runtime="numpy"),  # a level with many more edges than the one before
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("num_sources", [1, 3])
def test_levels_of_every_size_are_the_same_for_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, name: str, num_sources: int
) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = GRAPHS[name]()
    out = rows(graph, "out")
    for seed in range(3):
        sources = np.random.default_rng(seed).choice(graph.num_vertices, num_sources, replace=False)
        found = []
        for threads, incoming in ((1, None), (1, out), (2, None), (2, out), (4, out)):
            monkeypatch.setattr(tg.config, "num_threads", threads)
            found.append(search(out, incoming, sources, ascending=True))
            alone = search(out, incoming, sources, ascending=True, wants_parents=False)
            assert alone.levels.tolist() == found[0].levels.tolist()
            assert alone.parents.size == 0
            assert found[-1].levels.tolist() == found[0].levels.tolist()
            assert found[-1].parents.tolist() == found[0].parents.tolist()
            assert found[-1].rows[:, 1:].tolist() == found[0].rows[:, 1:].tolist()
        if num_sources == 1:
            check_bfs(graph, int(sources[0]), found[-1].levels, found[-1].parents)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_edges_of_a_hub_are_shared(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    monkeypatch.setattr(tg.config, "num_threads", threads)
    spokes = np.arange(1, kernel.HUB_EDGES * 2)
    graph = tg.from_edges(np.zeros_like(spokes), spokes, runtime="numpy")
    found = search(rows(graph, "out"), None, np.array([0]), ascending=True)
    assert found.levels.tolist() == [0, *[1] * spokes.size]
    assert (found.parents == 0).all()


def test_a_long_path_has_as_many_iterations_as_levels() -> None:
    graph = tg.from_edges(np.arange(30_000), np.arange(1, 30_001), runtime="numpy")
    result = tg.bfs(graph, 0)
    assert result.levels[-1] == 30_000
    assert result.iterations == 30_001


def test_the_stop_word_ends_a_search() -> None:
    class Stopped(Watch):
        def run(self, worker, size, *args):
            def stopping(rank, team, shared, *rest):
                shared[STOP] = 1
                worker(rank, team, shared, *rest)

            return super().run(stopping, size, *args)

    graph = tg.from_edges(np.arange(100), np.arange(1, 101), runtime="numpy")
    found = search(rows(graph, "out"), None, np.array([0]), ascending=True, watch=Stopped())
    assert found.levels.max() == 1
    assert len(found.rows) == 1
