"""The check of betweenness accepts right answers and no other."""

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
from tgraph.verify.betweenness import check_betweenness


@settings(deadline=None, max_examples=100)
@given(small_graphs(), st.data())
def test_accepts_exactly_the_scores_of_networkx(case: SmallGraph, data: st.DataObject) -> None:
    graph = case.build()
    simple = (nx.DiGraph if case.directed else nx.Graph)(case.to_networkx())
    expected = nx.betweenness_centrality(simple, normalized=False)
    scores = np.asarray([expected[vertex] for vertex in range(case.num_vertices)], np.float64)
    check_betweenness(graph, scores, normalized=False)
    scores[data.draw(st.integers(0, case.num_vertices - 1))] += data.draw(
        st.sampled_from([0.01, -0.01, np.nan, np.inf])
    )
    with pytest.raises(VerificationError):
        check_betweenness(graph, scores, normalized=False)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.0, 1.0], "one value per vertex"),
        ([0, 1, 0], "type int64"),
        ([0.0, 0.5, 0.0], r"vertex 1 \(score 0.5, sum 1.0\) .* sum of its shares"),
    ],
)
def test_names_the_rule_and_the_place(scores: list[Any], message: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2], directed=False)
    check_betweenness(graph, [0.0, 1.0, 0.0])
    with pytest.raises(VerificationError, match=message):
        check_betweenness(graph, scores)


def test_no_data_is_nan_and_only_that() -> None:
    graph = tg.from_edges([0, 1], [1, 2], directed=False)
    scores = tg.from_edges([0], [1]).runtime.full(3, 0.0, "float64")
    with pytest.raises(VerificationError):
        check_betweenness(graph, scores, samples=1)
