"""The check of label propagation accepts right answers and no other."""

from __future__ import annotations

import numpy as np
import pytest

import tgraph as tg
from tgraph.errors import VerificationError
from tgraph.verify.cdlp import check_cdlp

RIGHT = [0, 0, 0, 3, 3, 3]


def _triangles() -> tg.Graph:
    return tg.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5], directed=False)


@pytest.mark.parametrize("vertex", range(6))
@pytest.mark.parametrize("label", [-1, 0, 3, 5, 6])
def test_one_wrong_label_is_refused(vertex: int, label: int) -> None:
    labels = [*RIGHT[:vertex], label, *RIGHT[vertex + 1 :]]
    if labels == RIGHT:
        check_cdlp(_triangles(), labels)
        return
    with pytest.raises(VerificationError, match=f"vertex {vertex} .*most frequent one around the vertex, 10 times"):
        check_cdlp(_triangles(), labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0, 0], "one value per vertex"), ([0.0] * 6, "type float64"), ([3] * 3 + [0] * 3, "vertex")],
)
def test_other_forms_are_refused(labels: list[float], message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        check_cdlp(_triangles(), labels)


def test_the_number_of_iterations_counts() -> None:
    pair = tg.from_edges([0], [1])
    check_cdlp(pair, [1, 0], max_iterations=3)
    check_cdlp(pair, [0, 1], max_iterations=4)
    with pytest.raises(VerificationError):
        check_cdlp(pair, [0, 1], max_iterations=3)
    check_cdlp(tg.from_edges([], []), np.zeros(0, np.int64))
