"""Drawings of traces."""

from __future__ import annotations

from pathlib import Path

import pytest

import tgraph as tg
from tgraph.errors import InvalidArgumentError


def test_a_plot_has_a_bar_for_every_iteration() -> None:
    result = tg.pagerank(tg.generate.rmat(6, 4, seed=1, runtime="numpy"), tol_l1=0, max_iterations=7)
    axis, other = result.plot().axes
    assert len(axis.patches) == 7
    assert other.lines[0].get_ydata().tolist() == [one.active_edges for one in result.trace]
    with pytest.raises(InvalidArgumentError, match="all edges were near"):
        result.plot("transfers")
    with pytest.raises(InvalidArgumentError, match="kind="):
        result.plot("colours")


def test_transfers_are_stacked_by_way(tmp_path: Path) -> None:
    graph = tg.generate.rmat(9, 8, seed=1, runtime="numpy").symmetrize()
    tg.write(graph, tmp_path / "graph.safetensors")
    result = tg.bfs(tg.open(tmp_path / "graph.safetensors", "1MiB"), 0)
    axis = result.plot("transfers").axes[0]
    drawn = sum(bar.get_height() for bar in axis.patches) * 2**20
    assert drawn == pytest.approx(result.trace.moved_bytes)
