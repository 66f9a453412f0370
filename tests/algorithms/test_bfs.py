"""Breadth-first search against NetworkX and its own check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import DIRECTIONS, SmallGraph, expected_levels, small_graphs, ways_to_run
from tgraph.verify import check_bfs


@settings(deadline=None, max_examples=500, derandomize=True)
@given(small_graphs(), ways_to_run(), st.data())
def test_levels_are_those_of_networkx(case: SmallGraph, how: dict[str, Any], data: st.DataObject) -> None:
    graph, source = case.build(), data.draw(st.integers(0, case.num_vertices - 1))
    result = tg.bfs(graph, source, **how)
    assert result.to_numpy().tolist() == expected_levels(case, source)
    check_bfs(graph, source, result.levels, result.parents)
    assert result.converged


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_direction_gives_the_same_parents(runtime_name: str, direction: str) -> None:
    graph = tg.generate.rmat(10, 8, seed=5)
    expected = tg.bfs(graph, 1, runtime="numpy", direction="pull")
    result = tg.bfs(graph, 1, runtime=runtime_name, direction=direction)
    check_bfs(graph, 1, result.levels, result.parents)
    assert result.column("levels").tolist() == expected.column("levels").tolist()
    assert result.column("parents").tolist() == expected.column("parents").tolist()
    if direction != "auto":
        assert {iteration.direction for iteration in result.trace} == {direction}


def test_auto_uses_both_directions_on_a_small_world(runtime_name: str) -> None:
    graph = tg.generate.rmat(12, 16, seed=1)
    source = int(np.argmax(np.asarray(graph.out_degrees())))
    graph.adjacency("in")  # built first: they take longer than the search
    result = tg.bfs(graph, source, runtime=runtime_name)
    check_bfs(graph, source, result.levels, result.parents)
    assert {iteration.direction for iteration in result.trace} == {"push", "pull"}


def test_types_parents_and_ids(runtime_name: str) -> None:
    graph = tg.from_edges(["ann", "bob", "eve"], ["bob", "cy", "ann"], runtime=runtime_name)
    result = tg.bfs(graph, "ann")
    assert result.to_numpy().dtype == np.int32
    assert result["cy"] == 2
    assert result["eve"] == -1
    assert result.column("parents").tolist() == ["ann", "ann", "bob", None]
    frame = result.to_pandas()
    assert frame.loc["cy", "parents"] == "bob"
    assert result.top(1) == [("cy", 2)]
    assert "parents" not in tg.bfs(graph, "ann", parents=False).fields


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_max_iterations_limits_the_depth(runtime_name: str, direction: str) -> None:
    graph = tg.from_edges([0, 1, 2, 3], [1, 2, 3, 4], runtime=runtime_name)
    result = tg.bfs(graph, 0, max_iterations=2, direction=direction)
    assert result.levels.tolist() == [0, 1, 2, -1, -1]
    assert result.parents.tolist() == [0, 0, 1, -1, -1]
    assert not result.converged
    assert tg.bfs(graph, 0, max_iterations=0).levels.tolist() == [0, -1, -1, -1, -1]


def test_threads_do_not_change_the_answer() -> None:
    graph = tg.generate.rmat(11, 16, seed=2)
    one, four = (tg.bfs(graph, 3, threads=threads) for threads in (1, 4))
    assert one.parents.tolist() == four.parents.tolist()
