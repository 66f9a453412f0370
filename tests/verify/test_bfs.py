"""The check of breadth-first search accepts right answers and no other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, expected_levels, small_graphs
from tgraph.errors import TGraphError, VerificationError, VertexNotFoundError
from tgraph.verify import check_bfs

DIAMOND = SmallGraph(6, ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (5, 0)), None, directed=True)
LEVELS, PARENTS = [0, 1, 1, 2, 3, -1], [0, 0, 0, 1, 3, -1]


@settings(deadline=None, max_examples=150, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_levels(case: SmallGraph, data: st.DataObject) -> None:
    graph, source = case.build(), data.draw(st.integers(0, case.num_vertices - 1))
    right = expected_levels(case, source)
    check_bfs(graph, source, np.asarray(right, np.int32))
    wrong = data.draw(st.lists(st.integers(-1, 5), min_size=case.num_vertices, max_size=case.num_vertices))
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    one_wrong = [level if number != vertex else wrong[vertex] for number, level in enumerate(right)]
    for levels in (wrong, one_wrong):
        if levels != right:
            with pytest.raises(VerificationError):
                check_bfs(graph, source, levels)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_parents_one_level_closer(case: SmallGraph, data: st.DataObject) -> None:
    source = data.draw(st.integers(0, case.num_vertices - 1))
    levels, neighbors = expected_levels(case, source), case.to_matrix() > 0
    right = [_smallest_parent(vertex, source, levels, neighbors) for vertex in range(case.num_vertices)]
    check_bfs(case.build(), source, levels, right)
    vertex = data.draw(st.integers(0, case.num_vertices - 1))
    other = data.draw(st.integers(-1, case.num_vertices))
    inside = 0 <= other < case.num_vertices
    assume(other != right[vertex])
    changed = [*right[:vertex], other, *right[vertex + 1 :]]
    if levels[vertex] > 0 and inside and neighbors[other, vertex] and levels[other] == levels[vertex] - 1:
        check_bfs(case.build(), source, levels, changed)
    else:
        with pytest.raises(VerificationError):
            check_bfs(case.build(), source, levels, changed)


def _smallest_parent(vertex: int, source: int, levels: list[int], neighbors: np.ndarray) -> int:
    if vertex == source:
        return source
    closer = [u for u in range(len(levels)) if neighbors[u, vertex] and levels[u] == levels[vertex] - 1 >= 0]
    return min(closer, default=-1)


@pytest.mark.parametrize(
    ("levels", "parents", "message"),
    [
        ([0, 1, 1, 2, 3, -2], None, r"vertex 5 \(level -2\) breaks the rule: a level is -1 or more"),
        ([1, 1, 1, 2, 3, -1], None, "vertex 0 .* the source has level 0"),
        ([0, 1, 0, 2, 3, -1], None, "vertex 2 .* only the source has level 0"),
        ([0, 1, 1, 2, -1, -1], None, "edge 3 -> 4 .*levels 2 and -1.* no edge leads from a reached vertex to one not"),
        ([0, 1, 2, 2, 3, -1], None, "edge 0 -> 2 .* at most one level further"),
        ([0, 1, 1, 2, 2, -1], None, "vertex 4 .* comes from one level closer"),
        ([0, 1, 1, 2, 3, 1], None, "vertex 5 .* comes from one level closer"),
        (LEVELS, [1, 0, 0, 1, 3, -1], "vertex 0 .* the source is its own parent"),
        (LEVELS, [0, 0, 0, 1, 3, 0], "vertex 5 .* not reached has parent -1"),
        (LEVELS, [0, 0, 0, 6, 3, -1], "vertex 3 .* is a vertex"),
        (LEVELS, [0, 0, 0, 1, -1, -1], "vertex 4 .* is a vertex"),
        (LEVELS, [0, 0, 0, 0, 3, -1], "vertex 3 .* a parent is one level closer"),
        (LEVELS[:5], None, r"shape \(5,\) breaks the rule: levels has one value per vertex"),
        ([0.0, 1.0, 1.0, 2.0, 3.0, -1.0], None, "type float64"),
    ],
)
def test_names_the_rule_and_the_place(levels: list[int], parents: list[int] | None, message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        check_bfs(DIAMOND.build(), 0, levels, parents)


def test_an_edge_must_join_parent_and_child() -> None:
    graph = tg.from_edges([0, 0, 1, 2], [1, 2, 3, 4])
    with pytest.raises(VerificationError, match=r"vertex 3 .* an edge comes from the parent"):
        check_bfs(graph, 0, [0, 1, 1, 2, 2], [0, 0, 0, 2, 2])


def test_takes_and_names_the_users_ids(runtime_name: str) -> None:
    graph = tg.from_edges(["ann", "bob"], ["bob", "cy"], runtime=runtime_name)
    check_bfs(graph, "ann", graph.runtime.asarray(np.asarray([0, 1, 2])))
    with pytest.raises(VerificationError, match="edge 'bob' -> 'cy'") as caught:
        check_bfs(graph, "ann", [0, 1, 3])
    assert caught.value.rule == "an edge leads at most one level further"
    assert isinstance(caught.value, TGraphError)
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(VertexNotFoundError):
        check_bfs(graph, "dora", [0, 1, 2])


def test_extreme_levels_do_not_wrap() -> None:
    graph = tg.from_edges([0], [1])
    for level in (2**63 - 1, -(2**63), 2**31 - 1):
        with pytest.raises(VerificationError):
            check_bfs(graph, 0, np.asarray([0, level]))
