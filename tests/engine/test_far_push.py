"""Monotonic programs on graphs in files: who changed pushes, or receivers pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from far_graphs import stored
from small_graphs import SmallGraph, small_graphs
from tgraph.engine import far_push, far_runs
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.memory import Link
from tgraph.run import TRANSFERS
from tgraph.verify.bfs import check_bfs


class Largest(tg.Program):
    """The largest number among all that a vertex is connected with; active vertices have different values."""

    reduce, monotonic = "max", True

    def init(self, graph: tg.Graph) -> Any:
        return (graph.numbers() * 7919) % 1009, None

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


@pytest.fixture
def known_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk whose speed is the same on every machine."""
    link = Link(1.5e9, seconds_per_request=6e-5, seconds_per_fault=2e-4, seconds_per_plan=1e-4)
    monkeypatch.setattr(far_runs, "link_for", lambda path: link)


@pytest.fixture
def pulls_always(small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs with which receivers always pull."""
    monkeypatch.setattr(far_push, "SECONDS_PER_EDGE", 1e9)
    monkeypatch.setattr(far_push, "SECONDS_PER_MARK", 0.0)
    monkeypatch.setattr(far_push, "EDGES_LEFT_OUT", 1e9)


@pytest.mark.usefixtures("pulls_always")
@settings(deadline=None, max_examples=60)
@given(case=small_graphs(("none",)), transfer=st.sampled_from(TRANSFERS), threads=st.sampled_from([1, 2]))
def test_pulling_reaches_the_same_fixed_point(case: SmallGraph, transfer: str, threads: int) -> None:
    graph = case.build().symmetrize()
    with stored(graph) as far:
        for run in (lambda g, **how: tg.run(Largest(), g, **how), lambda g, **how: tg.bfs(g, 0, parents=False, **how)):
            found = run(far, transfer=transfer, threads=threads)
            np.testing.assert_array_equal(found.to_numpy(), run(graph).to_numpy())
            assert {one.direction for one in found.trace if one.active_edges} <= {"pull"}


@pytest.mark.usefixtures("known_link")
@pytest.mark.parametrize("transfer", TRANSFERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_large_frontiers_are_pulled(transfer: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1)
    graph = tg.generate.rmat(13, 16, seed=3, directed=False, runtime="numpy")
    with stored(graph, memory=40 * graph.num_vertices + graph.num_arcs // 2) as far:
        result = tg.bfs(far, 0, transfer=transfer, threads=threads)
        pushed = tg.bfs(far, 0, transfer=transfer, threads=threads, direction="push")
    check_bfs(graph, 0, result.levels, result.parents)
    np.testing.assert_array_equal(result.levels, pushed.levels)
    assert {one.direction for one in result.trace} == {"push", "pull"}
    assert {one.direction for one in pushed.trace} == {"push"}
    assert result.trace.moved_bytes <= pushed.trace.moved_bytes


@pytest.mark.usefixtures("known_link")
def test_small_frontiers_are_pushed() -> None:
    graph = tg.generate.grid(40, 40, seed=1, runtime="numpy")
    with stored(graph, memory="100KiB") as far:
        result = tg.bfs(far, 0, parents=False)
    assert {one.direction for one in result.trace} == {"push"}
    np.testing.assert_array_equal(result.levels, tg.bfs(graph, 0, parents=False).levels)


class CountedPushes:
    """Stands in for a kernel: 100 vertices send at first, and so many become active by each push."""

    def __init__(self, coming: list[int]) -> None:
        self.coming, self.num_pushes = coming, 0

    def push(self, *edges: Any) -> int:
        self.num_pushes += 1
        return 100

    def num_coming(self, block: Block) -> int:
        return self.coming[self.num_pushes - 1]


@pytest.mark.parametrize(
    ("coming", "closes", "times"), [([10], True, 1), ([11, 11, 10], True, 3), ([50] * 9, True, 8), ([50] * 9, False, 1)]
)
def test_how_often_a_block_sent_is_told(coming: list[int], closes: bool, times: int) -> None:
    kernel: Any = CountedPushes(coming)
    block = Block(0, 1, 0, 1, closes=closes)
    assert far_push.push_loaded(kernel, far_push.LoadedBlock(block, np.zeros(1, np.int32), None)) == times
    assert kernel.num_pushes == times


def test_the_choice_of_transfers_knows_how_often_blocks_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    known = []
    stream = far_runs.Transfers.stream

    def remember(self: Any, loader: Any, counts: Any, active: Any, times: float = 1.0) -> Any:
        known.append(times)
        return stream(self, loader, counts, active, times)

    monkeypatch.setattr(far_runs.Transfers, "stream", remember)
    graph = tg.generate.grid(40, 40, seed=1, runtime="numpy")  # neighbours lie together: a block goes on by itself
    with stored(graph, memory="100KiB") as far:
        tg.bfs(far, 0, parents=False, direction="push")
    assert known[0] == 1.0
    assert 1.0 < max(known) <= far_push.TIMES_WHILE_NEAR
