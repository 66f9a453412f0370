"""The check of nearest sources accepts right answers and no other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, expected_levels, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.multi_source_bfs import check_multi_source_bfs


@settings(deadline=None, max_examples=200)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_right_answer(case: SmallGraph, data: st.DataObject) -> None:
    graph, count = case.build(), case.num_vertices
    sources = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    searches = [(expected_levels(case, source), source) for source in sources]
    pairs = [min(((row[v], s) for row, s in searches if row[v] >= 0), default=(-1, -1)) for v in range(count)]
    levels, origins = [level for level, _ in pairs], [origin for _, origin in pairs]
    check_multi_source_bfs(graph, sources, levels, origins)
    vertex, other = data.draw(st.integers(0, count - 1)), data.draw(st.integers(-1, count))
    for right in (levels, origins):
        changed = [*right[:vertex], other, *right[vertex + 1 :]]
        if changed != right:
            answer = (changed, origins) if right is levels else (levels, changed)
            with pytest.raises(VerificationError):
                check_multi_source_bfs(graph, sources, *answer)


@pytest.mark.parametrize(
    ("levels", "origins", "message"),
    [
        ([0, 1, 0, -2], [0, 0, 2, -1], "a level is -1 or more"),
        ([0, 1, 0, -1], [2, 0, 2, -1], "a source has level 0 and itself"),
        ([0, 0, 0, -1], [0, 0, 2, -1], "only a source has level 0"),
        ([0, 1, 0, -1], [0, 0, 2, 0], "who is not reached has origin -1"),
        ([0, -1, 0, -1], [0, -1, 2, -1], "from a reached vertex to one not reached"),
        ([0, 2, 0, -1], [0, 0, 2, -1], "at most one level further"),
        ([0, 1, 0, -1], [0, 2, 2, -1], "smaller origin one level closer"),
        ([0, 1, 0, 1], [0, 0, 2, 2], "one level closer with the same origin"),
        ([0, 1, 0], [0, 0, 2], "one value per vertex"),
    ],
)
def test_names_the_rule(levels: list[int], origins: list[int], message: str) -> None:
    graph = tg.from_edges([0, 2], [1, 1], num_vertices=4)
    check_multi_source_bfs(graph, [0, 2], [0, 1, 0, -1], [0, 0, 2, -1])
    with pytest.raises(VerificationError, match=message):
        check_multi_source_bfs(graph, [0, 2], levels, origins)
