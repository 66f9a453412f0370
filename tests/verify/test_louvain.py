"""The checks of communities accept right answers and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tgraph as tg
from tgraph.errors import VerificationError
from tgraph.verify.louvain import check_louvain


def _barbell() -> tg.Graph:
    return tg.from_edges([0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5], directed=False)


@pytest.mark.parametrize(
    ("labels", "modularity", "message"),
    [
        ([0, 0, 0, 3, 3, 3], 0.36, "modularity 0.36, expected 0.357.* modularity is that of the labels"),
        ([0, 0, 0, 3, 3, 3], float("nan"), "modularity nan"),
        ([1, 1, 1, 3, 3, 3], 5 / 14, "vertex 0 .*smallest vertex of the community"),
        ([0, 0, 0, 3, 3, 4], 5 / 14, "vertex 5 .*smallest vertex of the community"),
        ([0, 0, 0, 3, 3, -1], 5 / 14, "vertex 5"),
        ([0, 0, 2, 3, 3, 3], 0.19387755102040816, "joining 0 and 2.*no two communities gain"),
        ([0, 0, 0], 5 / 14, "one value per vertex"),
        ([0.0] * 6, 5 / 14, "type float64"),
    ],
)
def test_names_the_rule_and_the_place(labels: Any, modularity: float, message: str) -> None:
    check_louvain(_barbell(), [0, 0, 0, 3, 3, 3], 5 / 14)
    with pytest.raises(VerificationError, match=message):
        check_louvain(_barbell(), labels, modularity)


def test_resolution_loops_directions_and_no_weight() -> None:
    check_louvain(_barbell(), [0] * 6, 1.0, resolution=0.0)
    with pytest.raises(VerificationError, match="gain by being one"):
        check_louvain(_barbell(), [0, 0, 0, 3, 3, 3], 12 / 14, resolution=0.0)
    check_louvain(tg.from_edges([0, 1], [0, 1], directed=False), [0, 1], 0.5)
    check_louvain(tg.from_edges([0, 1, 2], [1, 0, 3], [1.0, 2.0, 3.0]), [0, 0, 2, 2], 0.5)
    check_louvain(tg.from_edges([], [], num_vertices=2), np.arange(2), 0.0)
    with pytest.raises(VerificationError, match="modularity"):
        check_louvain(tg.from_edges([], []), np.zeros(0, int), 0.5)
