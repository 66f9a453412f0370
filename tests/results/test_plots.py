"""Drawings of traces."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import tgraph as tg
from tgraph.errors import InvalidArgumentError
from tgraph.results import Iteration, Trace
from tgraph.results.plots import page


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


def test_a_page_stands_alone() -> None:
    trace = Trace("out_of_memory")
    for iteration in (Iteration("push", 1, 3, 0.5, None, {"compact": 4096}), Iteration("push", 2, 9, 0.1, None, {})):
        trace.add(iteration)
    text = page(trace, "BFS <of> a graph")
    assert "BFS &lt;of&gt; a graph" in text
    assert text.count("<tr>") == 3
    assert "http" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    for picture in text.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + picture.partition("</svg>")[0] + "</svg>")
