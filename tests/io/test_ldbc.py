"""LDBC Graphalytics: the three files, their properties, damage, the validation graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io import read, write

PROPERTIES = "# about\ngraph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.directed = {}\n"


def parse(tmp_path: Path, vertices: str, edges: str, properties: str | None = None, **options: object) -> Graph:
    (tmp_path / "g.v").write_text(vertices)
    (tmp_path / "g.e").write_text(edges)
    (tmp_path / "g.properties").write_text(PROPERTIES.format("true") if properties is None else properties)
    return read(tmp_path / "g.e", runtime="numpy", **options)


def test_sparse_ids_and_isolated_vertices(tmp_path: Path) -> None:
    graph = parse(tmp_path, "9000000000000000000\n5\n77\n", "5 9000000000000000000 0.5\n")
    assert graph.vertex_labels.tolist() == [9 * 10**18, 5, 77]
    assert [column.tolist() for column in graph.edges()] == [[5], [9 * 10**18], [0.5]]


def test_directed_flag(tmp_path: Path) -> None:
    assert not parse(tmp_path, "1\n2\n", "1 2\n", PROPERTIES.format("false")).directed
    assert parse(tmp_path, "1\n2\n", "1 2\n", PROPERTIES.format("false"), directed=True).directed
    with pytest.raises(FileFormatError, match="directed = 'perhaps'"):
        parse(tmp_path, "1\n2\n", "1 2\n", PROPERTIES.format("perhaps"))
    with pytest.raises(FileFormatError, match="give directed=True or directed=False"):
        parse(tmp_path, "1\n2\n", "1 2\n", "")
    with pytest.raises(FileFormatError, match=r"line 1: must be 'key = value'"):
        parse(tmp_path, "1\n2\n", "1 2\n", "nonsense\n")


def test_properties_may_be_absent(tmp_path: Path) -> None:
    (tmp_path / "g.v").write_text("1\n2\n")
    (tmp_path / "g.e").write_text("1 2\n")
    assert read(tmp_path / "g", directed=False).num_edges == 1


def test_weight_column_by_name(tmp_path: Path) -> None:
    named = "graph.g.edge-properties.names = age, length\ngraph.g.sssp.weight-property = length\n"
    properties = PROPERTIES.format("true") + named
    assert parse(tmp_path, "1\n2\n", "1 2 9 0.5\n", properties).weights.tolist() == [0.5]
    assert parse(tmp_path, "1\n2\n", "1 2\n", properties).weights is None
    assert parse(tmp_path, "1\n2\n", "1 2 9 0.5\n", properties, weights=None).weights is None
    with pytest.raises(InvalidArgumentError, match="weights"):
        parse(tmp_path, "1\n2\n", "1 2 9\n", weights="length")


def test_names_in_the_properties_stay_in_the_folder(tmp_path: Path) -> None:
    properties = "graph.g.vertex-file = ../../elsewhere/other.v\ngraph.g.directed = true\n"
    (tmp_path / "other.v").write_text("1\n2\n3\n")
    assert parse(tmp_path, "1\n2\n", "1 2\n", properties).num_vertices == 3


def test_empty_files(tmp_path: Path) -> None:
    assert parse(tmp_path, "", "").num_vertices == 0
    assert parse(tmp_path, "4\n", "").vertex_labels.tolist() == [4]


@pytest.mark.parametrize(
    ("vertices", "edges", "file", "where", "reason"),
    [
        ("1\n2\n1\n", "1 2\n", "g.v", "line 3", "repeats the vertex 1"),
        ("1\nx\n", "1 2\n", "g.v", "line 2", "'x'"),
        ("1\n99999999999999999999\n", "1 2\n", "g.v", "line 2", "64 bits"),
        ("1\n2\n", "1 2\n\n2 3\n", "g.e", "line 3", "vertex 3"),
        ("1\n2\n", "1 2\n2\n", "g.e", "line 2", "has 1 column"),
        ("1\n2\n", "1 2 5\n2 1\n", "g.e", "line 2", "has 2 column"),
        ("1\n2\n", "1 2 x\n", "g.e", "line 1", "'x'"),
        ("", "1 2\n", "g.e", "line 1", "vertex 1"),
    ],
)
def test_damage_is_named(tmp_path: Path, vertices: str, edges: str, file: str, where: str, reason: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(tmp_path, vertices, edges)
    assert caught.value.path.endswith(file)
    assert caught.value.where == where
    assert reason in str(caught.value)


def test_strings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="relabel"):
        write(from_edges(["a"], ["b"]), tmp_path / "g.v")
    assert not list(tmp_path.iterdir())


def test_validation_graphs(shared_data: Path) -> None:
    files = sorted((shared_data / "ldbc").glob("*.properties"))
    assert len(files) == 14
    for file in files:
        text = file.read_text()
        facts = dict(line.split(" = ") for line in text.splitlines() if " = " in line and not line.startswith("#"))
        about = f"graph.{file.stem}"
        graph = read(file)
        assert graph.num_vertices == int(facts[f"{about}.meta.vertices"])
        assert graph.num_edges == int(facts[f"{about}.meta.edges"])
        assert str(graph.directed).lower() == facts[f"{about}.directed"]
        assert graph.weighted == ("edge-properties.names" in text)
        graph.check()
    assert read(shared_data / "ldbc" / "example-directed").num_edges == 17
