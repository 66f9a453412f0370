"""The check of random walks accepts walks along edges and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.errors import VerificationError
from tgraph.verify.random_walks import check_random_walks


@pytest.mark.parametrize(
    ("walks", "message"),
    [
        ([[0, 2, -1]], "step 1 of walk 0 .* a step follows an edge"),
        ([[0, 1, 2], [2, 1, -1]], r"step 1 of walk 1 \(2 -> 1\) .* a step follows an edge"),
        ([[0, 1, -1]], r"step 2 of walk 0 \(1 -> None\) .* only where no edge leads on"),
        ([[2, -1, 2]], "step 2 .* does not go on"),
        ([[-1, -1, -1]], "begins at one"),
        ([[0, 1, 3]], "a number that is none"),
        ([[0, -2, -1]], "a number that is none"),
        ([0, 1, 2], "rows of vertex numbers"),
        ([[0.0, 1.0]], "rows of vertex numbers"),
    ],
)
def test_names_the_rule_and_the_place(walks: Any, message: str) -> None:
    graph = tg.from_edges([0, 1], [1, 2])
    check_random_walks(graph, [[0, 1, 2], [1, 2, -1], [2, -1, -1]])
    with pytest.raises(VerificationError, match=message):
        check_random_walks(graph, walks)


def test_edges_without_weight_lead_nowhere_in_weighted_walks() -> None:
    graph = tg.from_edges([0, 0, 1], [1, 2, 2], [1.0, 0.0, 0.0])
    check_random_walks(graph, [[0, 2], [1, 2]])
    check_random_walks(graph, [[0, 1], [1, -1]], weighted=True)
    for walks in ([[0, 2]], [[0, -1]], [[1, 2]]):
        with pytest.raises(VerificationError):
            check_random_walks(graph, walks, weighted=True)
    check_random_walks(tg.from_edges([], []), np.zeros((0, 3), np.int32))
