"""Parquet and Arrow IPC tables of edges."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.graph import Graph, from_edges
from tgraph.io import read, write


def parse(tmp_path: Path, data: dict, ending: str = "parquet", **options: object) -> Graph:
    path = tmp_path / f"edges.{ending}"
    frame = pl.DataFrame(data)
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    return read(path, runtime="numpy", **options)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_columns_by_name_or_place(tmp_path: Path, ending: str) -> None:
    graph = parse(tmp_path, {"weight": [0.5], "target": [7], "time": [1], "source": [5]}, ending)
    assert [column.tolist() for column in graph.edges()] == [[5], [7], [0.5]]
    graph = parse(tmp_path, {"a": [5], "b": [7], "c": [3]}, ending)
    assert [column.tolist() for column in graph.edges()] == [[5], [7], [3]]
    assert parse(tmp_path, {"src": [5], "dst": [7], "time": [3]}, ending).weights is None


def test_options(tmp_path: Path) -> None:
    columns = {"when": [3, 4], "who": ["x", "y"], "whom": ["y", "x"]}
    graph = parse(tmp_path, columns, columns=("who", "whom"), weights="when", directed=False, duplicates="sum")
    assert (graph.num_edges, graph.weights.tolist(), graph.vertex_labels.tolist()) == (1, [7, 7], ["x", "y"])
    assert parse(tmp_path, columns, columns=(1, 2), weights=None).weights is None
    with pytest.raises(InvalidArgumentError, match="names the column 'cost'"):
        parse(tmp_path, columns, weights="cost")


@pytest.mark.parametrize("kind", [pl.Int32, pl.UInt8, pl.UInt64, pl.Int64])
def test_integer_types(tmp_path: Path, kind: type) -> None:
    graph = parse(tmp_path, {"source": pl.Series([1, 2], dtype=kind), "target": pl.Series([2, 9], dtype=kind)})
    assert graph.vertex_labels.tolist() == [1, 2, 9]


def test_categories_are_strings(tmp_path: Path) -> None:
    column = pl.Series(["b", "a"], dtype=pl.Categorical)
    assert parse(tmp_path, {"source": column, "target": ["c", "c"]}).vertex_labels.tolist() == ["a", "b", "c"]


def test_files_of_pyarrow(tmp_path: Path) -> None:
    table = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.5, 2.5]})
    pyarrow.parquet.write_table(table, tmp_path / "p.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "f.feather")
    for name in ("p.parquet", "f.feather"):
        assert read(tmp_path / name).weights.tolist() == [1.5, 2.5]


def test_compressed_as_a_whole(tmp_path: Path) -> None:
    graph = from_edges([1, 2], [2, 5], weights=[1, 2])
    for name in ("g.parquet.gz", "g.feather.zst"):
        write(graph, tmp_path / name)
        assert read(tmp_path / name).vertex_labels.tolist() == [1, 2, 5]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"source": [1]}, "sources and targets are needed"),
        ({"source": [1, None], "target": [1, 2]}, "'source': has 1 missing values, the first in row 1"),
        ({"source": [1.0], "target": [2.0]}, "ids are integers or strings"),
        ({"source": pl.Series([2**64 - 1], dtype=pl.UInt64), "target": [1]}, "64 bits"),
        ({"source": [1], "target": [2], "weight": ["x"]}, "weights are numbers"),
        ({"source": [1], "target": [2], "weight": pl.Series([None], dtype=pl.Float64)}, "missing"),
    ],
)
def test_unfit_columns(tmp_path: Path, columns: dict, reason: str) -> None:
    with pytest.raises(FileFormatError, match=reason):
        parse(tmp_path, columns)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"edges.{ending}"
    write(from_edges(list(range(100)), list(range(100))), path)
    whole = path.read_bytes()
    for content in (b"", b"abc", whole[: len(whole) // 2], whole[:-4], b"\xff" * 999):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="damaged"):
            read(path)
