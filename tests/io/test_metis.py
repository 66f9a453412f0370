"""METIS: format codes, comments, counts, symmetry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io import read, write


def parse(tmp_path: Path, text: str | bytes, name: str = "graph.metis") -> Graph:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path, runtime="numpy")


SAME_GRAPH = {  # the path 1 - 2 - 3 and the isolated vertex 4
    "plain": "4 2\n2\n1 3\n2\n\n",
    "code 0": "4 2 0\n2\n1 3\n2\n\n",
    "vertex weights": "4 2 10\n9 2\n9 1 3\n9 2\n9\n",
    "two vertex weights": "4 2 010 2\n9 9 2\n9 9 1 3\n9 9 2\n9 9\n",
    "vertex sizes": "4 2 100\n9 2\n9 1 3\n9 2\n9\n",
    "sizes and two weights": "4 2 110 2\n9 9 9 2\n9 9 9 1 3\n9 9 9 2\n9 9 9\n",
    "comments": "% a\n4 2\n% b\n2\n1 3\n% c\n2\n\n",
    "blanks": "  4\t2 \r\n 2\r\n1   3 \r\n\t2\r\n\r\n",
    "more empty lines": "4 2\n2\n1 3\n2\n\n\n\n",
    "descending neighbours": "4 2\n2\n3 1\n2\n\n",
}


@pytest.mark.parametrize("layout", SAME_GRAPH)
def test_layouts(tmp_path: Path, layout: str) -> None:
    graph = parse(tmp_path, SAME_GRAPH[layout])
    assert (graph.num_vertices, graph.num_edges, graph.directed, graph.weighted) == (4, 2, False, False)
    assert graph.out_offsets.tolist() == [0, 1, 3, 4, 4]
    assert graph.out_targets.tolist() == [1, 0, 2, 1]
    assert graph.vertex_labels.tolist() == [1, 2, 3, 4]
    graph.check()


@pytest.mark.parametrize(
    "text",
    ["3 2 1\n2 5\n1 5 3 -6\n2 -6\n", "3 2 011\n9 2 5\n9 1 5 3 -6\n9 2 -6\n", "3 2 101\n9 2 5\n9 1 5 3 -6\n9 2 -6"],
)
def test_edge_weights(tmp_path: Path, text: str) -> None:
    graph = parse(tmp_path, text)
    assert graph.weights.tolist() == [5, 5, -6, -6]
    graph.check()


def test_graph_ending(tmp_path: Path) -> None:
    assert parse(tmp_path, "2 1\n2\n1\n", name="x.graph").num_edges == 1


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("", "line 1", "must be '<vertices>"),
        ("4\n", "line 1", "must be"),
        ("4 2 012\n", "line 1", "'012'"),
        ("4 2 1 3\n", "line 1", "3 weights per vertex"),
        ("-4 2\n", "line 1", "'-4'"),
        ("1000000000000000 1\n2\n1\n", "line 1", "2 lines follow"),
        ("2 1000000000000000\n2\n1\n", "line 1", "hold 2 neighbours"),
        ("2 1\n2\n1\n2\n", "line 1", "3 lines follow"),
        ("3 1\n2\n1\n", "line 1", "2 lines follow"),
        ("2 1\n2\nx\n", "line 3", "'x'"),
        ("2 1\n2\n99999999999999999999999\n", "line 3", "whole numbers"),
        ("% c\n2 1\n% d\n2\n% e\n3\n", "line 6", "outside 1 to"),
        ("2 1\n2\n0\n", "line 3", "outside"),
        ("2 1\n1\n2\n", "line 2", "self-loops"),
        ("3 2\n2 3\n1 3\n\n", "line 2", "other vertex lacks"),
        ("3 3\n2 3\n1 1\n2 2\n", "line 3", "other vertex lacks"),
        ("2 1 1\n2 5\n1 6\n", "line 2", "another weight"),
        ("2 1 1\n2\n1 6\n", "line 2", "without a weight"),
        ("2 1 10\n9 2\n\n", "line 3", "fewer than the 1 weights"),
        (b"2 1\n\xff\xfe\n1\n", "line 2", "whole numbers"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str | bytes, where: str, reason: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(tmp_path, text)
    assert reason in str(caught.value)
    assert caught.value.where == where


def test_what_metis_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "g.metis"
    with pytest.raises(InvalidArgumentError, match="symmetrize"):
        write(from_edges([0], [1]), path)
    with pytest.raises(InvalidArgumentError, match="simplify"):
        write(from_edges([0], [0], directed=False), path)
    for weight in (0.5, np.inf, np.nan, 1e300):
        with pytest.raises(InvalidArgumentError, match="whole numbers"):
            write(from_edges([0], [1], weights=[weight], directed=False), path)
    write(from_edges([0], [1], weights=[3.0], directed=False), path)
    assert path.read_text() == "2 1 001\n2 3\n1 3\n"
    write(from_edges([], [], directed=False), path)
    assert read(path).num_vertices == 0
