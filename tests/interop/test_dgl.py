"""From and to DGL, which few machines have: a stand-in shows what is asked of its graphs."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
import torch

import tgraph as tg
from tgraph.errors import InvalidArgumentError, MissingDependencyError


class FakeDGLGraph:
    """As much of `dgl.DGLGraph` as is used."""

    is_homogeneous = True

    def __init__(self, ends: Any, num_nodes: int) -> None:
        self._ends, self._count, self.edata = ends, num_nodes, dict[str, Any]()

    def edges(self, order: str) -> Any:
        assert order == "eid"
        return self._ends

    def num_nodes(self) -> int:
        return self._count


def test_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("dgl")
    fake.graph = FakeDGLGraph  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dgl", fake)
    graph = tg.from_edges([0, 0, 2], [1, 2, 2], [0.5, 1.5, 2.5], num_vertices=4)
    made = tg.to_dgl(graph)
    back = tg.from_dgl(made, weight="weight")
    for ours, theirs in zip(graph.edges(), back.edges(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (back.num_vertices, back.weighted, tg.from_dgl(made).weighted) == (4, True, False)
    with pytest.raises(InvalidArgumentError, match=r"weight='cost' is not in graph.edata; it has weight"):
        tg.from_dgl(made, weight="cost")
    both = tg.to_dgl(tg.from_edges([0], [1], directed=False))
    assert [ends.tolist() for ends in both.edges("eid")] == [[0, 1], [1, 0]]


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match=r"graph is a Tensor of several kinds"):
        tg.from_dgl(torch.zeros(2))
    monkeypatch.setitem(sys.modules, "dgl", None)
    with pytest.raises(MissingDependencyError, match=r"to_dgl needs the package dgl"):
        tg.to_dgl(tg.from_edges([0], [1]))
