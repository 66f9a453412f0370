"""Wrong scores of Katz, eigenvector and hitting probabilities are refused."""

from __future__ import annotations

import numpy as np
import pytest

import tgraph as tg
from tgraph.algorithms.eigenvector import eigenvector
from tgraph.algorithms.katz import katz
from tgraph.algorithms.php import php
from tgraph.errors import VerificationError
from tgraph.verify.eigenvector import check_eigenvector
from tgraph.verify.katz import check_katz
from tgraph.verify.php import check_php

GRAPH = tg.generate.rmat(8, 8, seed=3, directed=False, runtime="numpy")


@pytest.mark.parametrize("vertex", [0, 100, 255])
def test_one_wrong_score_is_found(vertex: int) -> None:
    bump = np.zeros(GRAPH.num_vertices)
    bump[vertex] = 1e-3
    scores = katz(GRAPH, 0.001, normalized=False, tol_l1=1e-10).to_numpy()
    check_katz(GRAPH, scores, 0.001)
    with pytest.raises(VerificationError, match="one step leaves the scores"):
        check_katz(GRAPH, scores + bump, 0.001)
    scores = eigenvector(GRAPH, 1e-10).to_numpy()
    check_eigenvector(GRAPH, scores, 1e-8)
    with pytest.raises(VerificationError):
        check_eigenvector(GRAPH, scores + bump, 1e-8)
    scores = php(GRAPH, 3, tol_l1=1e-10).to_numpy()
    check_php(GRAPH, 3, scores)
    with pytest.raises(VerificationError, match="one step leaves the scores"):
        check_php(GRAPH, 3, scores + bump)


def test_shapes_types_and_numbers_are_checked() -> None:
    wrong = np.full(GRAPH.num_vertices, np.nan)
    for check in (
        lambda scores: check_katz(GRAPH, scores, 0.01),
        lambda scores: check_eigenvector(GRAPH, scores),
        lambda scores: check_php(GRAPH, 0, scores),
    ):
        with pytest.raises(VerificationError, match="one value per vertex"):
            check([1.0])
        with pytest.raises(VerificationError, match="right type"):
            check(np.zeros(GRAPH.num_vertices, int))
        with pytest.raises(VerificationError, match="number"):
            check(wrong)


def test_the_length_of_eigenvector_scores_is_checked() -> None:
    with pytest.raises(VerificationError, match="length 1"):
        check_eigenvector(GRAPH, 2 * eigenvector(GRAPH).to_numpy())
