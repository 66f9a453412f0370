"""DIMACS shortest-path graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io import read, write


def parse(tmp_path: Path, text: str, **options: object) -> Graph:
    path = tmp_path / "road.gr"
    path.write_text(text)
    return read(path, runtime="numpy", **options)


@pytest.mark.parametrize(
    "text",
    [
        "c road\nc\np sp 4 2\nc arcs\na 1 2 7\na 3 1 9\n",
        "p sp 4 2\r\na 1 2 7\r\na 3 1 9\r\n",
        "p  sp\t4 2\n a 1   2 7 \nc x\n\na\t3 1 9",
    ],
)
def test_layouts(tmp_path: Path, text: str) -> None:
    graph = parse(tmp_path, text)
    assert (graph.num_vertices, graph.num_edges, graph.directed) == (4, 2, True)
    assert [column.tolist() for column in graph.edges()] == [[1, 3], [2, 1], [7, 9]]
    assert graph.vertex_labels.tolist() == [1, 2, 3, 4]


def test_both_arcs_are_one_undirected_edge(tmp_path: Path) -> None:
    graph = parse(tmp_path, "p sp 3 3\na 1 2 7\na 2 1 5\na 3 3 1\n", directed=False)
    assert (graph.num_edges, graph.weights.tolist()) == (2, [5, 5, 1])
    graph.check()


def test_real_weights_are_accepted(tmp_path: Path) -> None:
    assert parse(tmp_path, "p sp 2 1\na 1 2 0.5\n").weights.tolist() == [0.5]


def test_no_arcs(tmp_path: Path) -> None:
    assert parse(tmp_path, "p sp 5 0\n").num_vertices == 5


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("", "line 1", "must be 'p sp"),
        ("c only\n", "line 1", "must be 'p sp"),
        ("a 1 2 3\n", "line 1", "must be 'p sp"),
        ("c x\np max 2 1\n", "line 2", "'max'"),
        ("p sp -2 1\n", "line 1", "'-2'"),
        ("p sp 2 2\na 1 2 3\n", "line 1", "declares 2 arcs, but the file holds 1"),
        ("p sp 2 1\nc x\na 1 3 3\n", "line 3", "vertex 3"),
        ("p sp 2 1\na 0 1 3\n", "line 2", "vertex 0"),
        ("p sp 2 1\na 1 2\n", "line 2", "has 3 column"),
        ("p sp 2 1\na 1 2 3 4\n", "line 2", "has 5 columns"),
        ("p sp 2 2\na 1 2 x\n", "line 2", "'x'"),
        ("p sp 2 2\na 1 2 3\ne 1 2 3\n", "line 3", "begins with 'e'"),
        ("p sp 1000000000000000 1\na 1 2 3\n", "counts", "1000000000000000 vertices"),
        ("p sp 2 99999999999999999999\na 1 2 3\n", "line 1", "below 10^18"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, where: str, reason: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(tmp_path, text)
    assert reason in str(caught.value)
    assert caught.value.where == where


def test_written_form(tmp_path: Path) -> None:
    write(from_edges(["a"], ["b"]), tmp_path / "g.gr")
    assert (tmp_path / "g.gr").read_text() == "p sp 2 1\na 1 2 1\n"
    write(from_edges([0], [1], directed=False, weights=[4.0]), tmp_path / "g.gr.gz")
    assert read(tmp_path / "g.gr.gz", directed=False).num_edges == 1
    with pytest.raises(InvalidArgumentError, match="whole numbers"):
        write(from_edges([0], [1], weights=[0.5]), tmp_path / "g.gr")
