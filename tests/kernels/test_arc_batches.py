"""Batches by vertex number as mutations of arcs."""

from __future__ import annotations

import numpy as np
import pytest

from tgraph.kernels.cpu.arc_batches import collect_arcs
from tgraph.kernels.cpu.arc_changes import CHANGE, DELETE, INSERT

GONE, DELETED = ([7], [1]), ([4, -1, 2], [2, 3, 2])
CHANGED, INSERTED = ([5], [0]), ([3, 9], [6, -1])


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_with_unknown_ends_are_left_out(directed: bool, weighted: bool) -> None:
    ends = [[np.array(column) for column in pair] for pair in (GONE, DELETED, CHANGED, INSERTED)]
    weights = [np.array(values) if weighted else np.empty(0) for values in ([2.5], [1.5, 9.0])]
    columns = *ends[0], *ends[1], *ends[2], weights[0], *ends[3], weights[1]
    sources, targets, found, kinds, *counts = collect_arcs(*columns, np.empty(0, np.uint32), directed, weighted)
    assert counts == [5, 1, 2]  # mutations, of removed vertices, left out
    arcs = list(zip(sources.tolist(), targets.tolist(), strict=True))
    as_given = [(7, 1), (4, 2), (2, 2), (5, 0), (3, 6)]
    lower_first = [(1, 7), (2, 4), (2, 2), (0, 5), (3, 6)]
    mirrored = [(7, 1), (4, 2), (5, 0), (6, 3)]  # a loop is its own mirror
    assert arcs == (as_given if directed else lower_first + mirrored)
    some = [DELETE, DELETE, DELETE, CHANGE, INSERT]
    assert kinds.tolist() == (some if directed else [*some, DELETE, DELETE, CHANGE, INSERT])
    expected = [0.0, 0.0, 0.0, 2.5, 1.5] if directed else [0.0, 0.0, 0.0, 2.5, 1.5, 0.0, 0.0, 2.5, 1.5]
    assert found.tolist() == (expected if weighted else [])
