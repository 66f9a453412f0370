from __future__ import annotations

import pytest

from tgraph.engine.schedule import PUSH_COST_PER_EDGE, choose_direction


@pytest.mark.parametrize("wanted", ["push", "pull"])
def test_a_wish_is_followed(wanted: str) -> None:
    assert {choose_direction(wanted, edges, 1000, 10) for edges in (0, 1, 500, 1000)} == {wanted}


def test_auto_weighs_the_edges_of_both() -> None:
    limit = int((1000 + 200) / PUSH_COST_PER_EDGE)
    assert choose_direction("auto", limit, 1000, 200) == "push"
    assert choose_direction("auto", limit + 1, 1000, 200) == "pull"


def test_a_tiny_frontier_never_looks_at_all_vertices() -> None:
    assert choose_direction("auto", 5, 0, 1_000_000) == "push"


def test_an_empty_graph_pushes() -> None:
    assert choose_direction("auto", 0, 0, 0) == "push"
