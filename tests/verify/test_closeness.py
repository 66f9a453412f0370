"""The check of closeness accepts right answers and no other."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tgraph as tg
from small_graphs import SmallGraph, small_graphs
from tgraph.errors import VerificationError
from tgraph.verify.closeness import check_closeness


@settings(deadline=None, max_examples=100)
@given(small_graphs(), st.booleans(), st.data())
def test_accepts_exactly_the_scores_of_networkx(case: SmallGraph, harmonic: bool, data: st.DataObject) -> None:
    graph = case.build()
    expected = (nx.harmonic_centrality if harmonic else nx.closeness_centrality)(case.to_networkx())
    scores = np.asarray([expected[vertex] for vertex in range(case.num_vertices)], np.float64)
    check_closeness(graph, scores, harmonic=harmonic)
    scores[data.draw(st.integers(0, case.num_vertices - 1))] += data.draw(
        st.sampled_from([0.01, -0.01, np.nan, np.inf])
    )
    with pytest.raises(VerificationError):
        check_closeness(graph, scores, harmonic=harmonic)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.0, 1.0], "one value per vertex"),
        ([0, 1, 0], "type int64"),
        ([0.0, 0.5, 0.5], r"vertex 2 \(score 0.5, search 0.66.*\) .* follows from the distances"),
        ([np.nan, 0.5, 2 / 3], "vertex 0"),
    ],
)
def test_names_the_rule_and_the_place(scores: list[Any], message: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    check_closeness(graph, [0.0, 0.5, 2 / 3])
    with pytest.raises(VerificationError, match=message):
        check_closeness(graph, scores)


def test_vertices_not_asked_for_have_no_score() -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    check_closeness(graph, [np.nan, 0.5, np.nan], vertices=[1])
    with pytest.raises(VerificationError, match="vertex 2"):
        check_closeness(graph, [np.nan, 0.5, 2 / 3], vertices=[1])
