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
