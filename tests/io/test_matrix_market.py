"""Matrix Market: fields, symmetries, damage, and SciPy as the other reader and writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from tgraph.errors import FileFormatError
from tgraph.graph import Graph, from_edges
from tgraph.io import read, write

BANNER = "%%MatrixMarket matrix coordinate"


def parse(tmp_path: Path, text: str | bytes, **options: object) -> Graph:
    path = tmp_path / "matrix.mtx"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path, runtime="numpy", **options)


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_scipy_writes_and_we_read(tmp_path: Path, field: str, symmetry: str) -> None:
    matrix = scipy.sparse.random(30, 30, 0.2, random_state=1, data_rvs=lambda n: np.arange(1, n + 1))
    matrix = matrix + matrix.T if symmetry == "symmetric" else matrix
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix.tocoo(), field=field, symmetry=symmetry)
    graph = read(tmp_path / "m.mtx", runtime="numpy")
    assert graph.directed == (symmetry == "general")
    rows = scipy.sparse.csr_matrix(
        (np.ones(graph.num_arcs) if graph.weights is None else graph.weights, graph.out_targets, graph.out_offsets)
    )
    expected = matrix.tocsr()
    assert abs(rows - (expected != 0 if field == "pattern" else expected)).max() == 0


@pytest.mark.parametrize("directed", [True, False])
def test_we_write_and_scipy_reads(tmp_path: Path, directed: bool) -> None:
    graph = from_edges([4, 0, 2], [1, 3, 2], [0.1, 1e300, -7.0], directed, num_vertices=6, runtime="numpy")
    write(graph, tmp_path / "m.mtx")
    matrix = scipy.io.mmread(tmp_path / "m.mtx").tocsr()
    assert matrix.shape == (6, 6)
    assert np.array_equal(matrix.indptr, graph.out_offsets)
    assert np.array_equal(matrix.sorted_indices().data, graph.weights)


def test_labels_are_renumbered_from_one(tmp_path: Path) -> None:
    write(from_edges(["x", "y"], ["y", "z"]), tmp_path / "m.mtx.gz")
    assert read(tmp_path / "m.mtx.gz").vertex_labels.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "body",
    [
        "% c\n%\n\n3 3 2\n1 2 0.5\n3 3 1e-3\n",
        "3\t3  2\n 1   2 0.5 \n3\t3\t1e-3",
        "3 3 2\r\n1 2 0.5\r\n% x\r\n3 3 1e-3\r\n",
    ],
)
def test_layouts(tmp_path: Path, body: str) -> None:
    graph = parse(tmp_path, f"{BANNER} real general\n{body}")
    assert graph.edges()[0].tolist() == [1, 3]
    assert graph.weights.tolist() == [0.5, 1e-3]


def test_header_may_be_missing(tmp_path: Path) -> None:
    graph = parse(tmp_path, "3 3 2\n2 1\n3 2\n")
    assert graph.directed
    assert not graph.weighted
    assert not parse(tmp_path, "3 3 2\n2 1\n3 2\n", symmetric=True).directed
    assert parse(tmp_path, "3 3 1\n2 1 5\n").weights.tolist() == [5]


def test_empty_matrix(tmp_path: Path) -> None:
    graph = parse(tmp_path, f"{BANNER} pattern general\n4 4 0\n")
    assert (graph.num_vertices, graph.num_edges) == (4, 0)
    assert parse(tmp_path, "0 0 0\n").num_vertices == 0


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("", "line 1", "must hold the rows"),
        ("%%MatrixMarket matrix array real general\n2 2\n", "line 1", "'array'"),
        (f"{BANNER} complex general\n1 1 0\n", "line 1", "'complex'"),
        (f"{BANNER} real skew-symmetric\n1 1 0\n", "line 1", "'skew-symmetric'"),
        (f"{BANNER} real hermitian\n1 1 0\n", "line 1", "'hermitian'"),
        (f"{BANNER} real\n1 1 0\n", "line 1", "must be"),
        (f"{BANNER} real general\n2 3 0\n", "line 2", "square"),
        (f"{BANNER} real general\n-2 -2 0\n", "line 2", "'-2'"),
        (f"{BANNER} pattern general\n3 3 2\n1 2\n", "line 2", "declares 2 entries, but the file holds 1"),
        (f"{BANNER} pattern general\n3 3 1\n1 2\n1 3\n", "line 2", "holds 2"),
        (f"{BANNER} pattern general\n3 3 2\n% c\n1 2\n0 3\n", "line 5", "vertex 0"),
        (f"{BANNER} pattern general\n3 3 2\n1 2\n1 4\n", "line 4", "1 to 3"),
        (f"{BANNER} real general\n3 3 2\n1 2 0.5\n1 3\n", "line 4", "has 2 column"),
        (f"{BANNER} real general\n3 3 1\n1 2 x\n", "line 3", "'x'"),
        (f"{BANNER} integer general\n3 3 1\n1 2 1.5\n", "line 3", "no integer"),
        (f"{BANNER} pattern general\n3 3 1\n1 2 7\n", "line 3", "has 3 columns"),
        (f"{BANNER} pattern general\n3 3 1\n1 99999999999999999999\n", "line 3", "64 bits"),
        (
            f"{BANNER} pattern general\n1000000000000000 1000000000000000 1\n1 2\n",
            "counts",
            "1000000000000000 vertices",
        ),
        (f"{BANNER} pattern general\n3 3 1000000000000000\n1 2\n", "line 2", "declares 1000000000000000"),
        ("9" * 5000 + " 1 1\n", "line 1", "below 10^18"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, where: str, reason: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(tmp_path, text)
    assert caught.value.where == where
    assert reason in str(caught.value)


def test_roads(shared_data: Path) -> None:
    graph = read(shared_data / "road-usroads" / "road-usroads.mtx.gz", symmetric=True)
    assert (graph.num_vertices, graph.num_edges, graph.directed) == (129_164, 165_435, False)
    assert graph.vertex_labels[0] == 1
