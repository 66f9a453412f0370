"""The check of connected communities refuses communities in pieces, and what the check of Louvain refuses."""

from __future__ import annotations

import pytest

import tgraph as tg
from tgraph.errors import VerificationError
from tgraph.verify.leiden import check_leiden


@pytest.mark.parametrize(
    ("labels", "modularity", "message"),
    [
        ([0] * 6, 0.0, r"vertex 3 \(label 0\) .* a community is connected"),
        ([0, 0, 0, 3, 3, 3], 0.4, "modularity 0.4"),
        ([0, 0, 2, 3, 3, 3], 0.34375, "joining 0 and 2"),
        ([1, 1, 1, 3, 3, 3], 0.5, "smallest vertex of the community"),
    ],
)
def test_names_the_rule_and_the_place(labels: list[int], modularity: float, message: str) -> None:
    paths = tg.from_edges([0, 1, 3, 4], [1, 2, 4, 5], directed=False)
    check_leiden(paths, [0, 0, 0, 3, 3, 3], 0.5)
    with pytest.raises(VerificationError, match=message):
        check_leiden(paths, labels, modularity)


def test_an_edge_without_weight_connects_nobody() -> None:
    graph = tg.from_edges([0, 0, 2], [1, 2, 3], [1, 0, 1])
    check_leiden(graph, [0, 0, 2, 2], 0.5)
    with pytest.raises(VerificationError, match="connected"):
        check_leiden(graph, [0, 0, 0, 0], 1.0, resolution=0.0)
