"""Every comparison accepts what is right and notices what is not."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import tgraph as tg
from tgraph.bench import checks

SQUARE = tg.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False, num_vertices=5, runtime="numpy")  # and one alone


@pytest.mark.parametrize(
    ("check", "right", "wrong", "parameters"),
    [
        (checks.same_values, [0, 1, 2, 1, -1], [0, 1, 2, 1, 0], {}),
        (checks.same_values, [0.0, 1.5, np.inf, 1.0, 2.0], [0.0, 1.5, 3.0, 1.0, 2.0], {}),
        (checks.same_values, [1, 2, 3, 4, 5], [1, 2, 3, 4], {}),
        (checks.same_partition, [0, 0, 0, 0, 4], [0, 0, 0, 0, 0], {}),
        (checks.same_partition, [0, 0, 0, 0, 4], [0, 0, 1, 1, 4], {}),
        (checks.close_shares, [0.2, 0.2, 0.2, 0.2, 0.2], [0.3, 0.1, 0.2, 0.2, 0.2], {"bound_l1": 0.1}),
        (checks.close_values, [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.1], {}),
        (checks.close_values, [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, np.nan, 4.0, 5.0], {}),
        (checks.independent_sets, [1, 0, 1, 0, 1], [1, 1, 0, 0, 1], {}),
        (checks.independent_sets, [0, 1, 0, 1, 1], [0, 1, 0, 1, 0], {}),
        (checks.proper_colorings, [0, 1, 0, 1, 0], [0, 1, 1, 0, 0], {}),
        (checks.real_walks, [[0, 1, 2], [3, 0, 1], [4, -1, -1]], [[0, 1, 2], [0, 2, 1], [4, -1, -1]], {"length": 2}),
    ],
)
def test_a_wrong_answer_is_noticed(check: Any, right: Any, wrong: Any, parameters: dict[str, Any]) -> None:
    assert check(SQUARE, right, right, parameters).agrees
    verdict = check(SQUARE, right, wrong, parameters)
    assert not verdict.agrees
    assert verdict.note


def test_distances_that_are_not_reached_are_equal() -> None:
    assert checks.same_values(SQUARE, [0.0, np.inf], [0.0, np.inf], {}).agrees


def test_names_of_groups_do_not_matter() -> None:
    assert checks.same_partition(SQUARE, [0, 0, 2, 2, 4], [7, 7, 1, 1, 0], {}).agrees


def test_ours_may_not_have_clearly_less_modularity() -> None:
    good, bad = np.array([0, 0, 1, 1, 2]), np.zeros(5, int)
    assert checks.good_communities(SQUARE, good, bad, {}).agrees
    assert not checks.good_communities(SQUARE, np.arange(5), good, {}).agrees


def test_modularity_is_that_of_networkx() -> None:
    graph = nx.karate_club_graph()
    labels = np.array([vertex % 3 for vertex in graph])
    groups = [{vertex for vertex in graph if vertex % 3 == group} for group in range(3)]
    ours = checks.modularity(tg.from_networkx(graph, runtime="numpy").relabel(None), labels)
    assert ours == pytest.approx(nx.community.modularity(graph, groups, weight=None))
