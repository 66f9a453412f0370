"""SciPy's sparse files, against SciPy itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import FileFormatError, InvalidArgumentError
from tgraph.io import npz

KEEP_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@KEEP_FOLDER
@given(graph=odd_graphs(labels=("none", "integers", "strings")), compression=st.sampled_from(["", ".gz"]))
def test_round_trip(tmp_path: Path, graph: tg.Graph, compression: str) -> None:
    path = tmp_path / f"graph.npz{compression}"
    npz.write(graph, path)
    assert_same(graph, npz.read(path))


@KEEP_FOLDER
@given(graph=odd_graphs(weights=("none", "float64"), labels=("none", "strings")))
def test_scipy_reads_it(tmp_path: Path, graph: tg.Graph) -> None:
    npz.write(graph, tmp_path / "g.npz")
    matrix = sp.load_npz(tmp_path / "g.npz")
    assert matrix.nnz == graph.num_arcs
    np.testing.assert_array_equal(matrix.indices, graph.out_targets)
    if graph.weights is not None:
        np.testing.assert_array_equal(matrix.data, graph.weights)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
@pytest.mark.parametrize("compressed", [True, False])
def test_reads_what_scipy_writes(tmp_path: Path, layout: str, make: Any, compressed: bool) -> None:
    matrix = make(([1.5, 0.0, 2.5, 3.5], ([0, 1, 3, 0], [1, 1, 0, 3])), shape=(5, 5)).asformat(layout)
    sp.save_npz(tmp_path / "g.npz", matrix, compressed=compressed)
    graph = npz.read(tmp_path / "g.npz")
    sources, targets, weights = graph.edges()
    assert graph.num_vertices == 5
    found = sorted(zip(sources.tolist(), targets.tolist(), np.asarray(weights).tolist(), strict=True))
    assert found == [(0, 1, 1.5), (0, 3, 3.5), (1, 1, 0.0), (3, 0, 2.5)]  # the explicit zero is an edge


def test_duplicate_entries_are_parallel_edges(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "g.npz", sp.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2)))
    assert npz.read(tmp_path / "g.npz").num_edges == 2


def test_weights(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    sp.save_npz(path, sp.csr_array(np.eye(3, dtype=np.int8)))
    assert npz.read(path, runtime="numpy").weights.tolist() == [1, 1, 1]
    assert npz.read(path, weights=None).weights is None
    sp.save_npz(path, sp.csr_array(np.eye(3, dtype=bool)))
    assert npz.read(path).weights is None
    sp.save_npz(path, sp.csr_array(np.eye(3, dtype=complex)))
    with pytest.raises(FileFormatError, match="complex"):
        npz.read(path)
    with pytest.raises(InvalidArgumentError, match="weights="):
        npz.read(path, weights="all")


def test_undirected_needs_a_symmetric_matrix(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    sp.save_npz(path, sp.csr_array([[0, 3], [3, 0]]))
    assert npz.read(path, directed=False).num_edges == 1
    sp.save_npz(path, sp.csr_array([[0, 3], [0, 0]]))
    with pytest.raises(FileFormatError, match="one direction only"):
        npz.read(path, directed=False)


GOOD = {
    "format": np.array(b"csr"),
    "shape": np.array([2, 2]),
    "data": np.array([1.0]),
    "indices": np.array([1]),
    "indptr": np.array([0, 1, 1]),
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "layout": ({"format": np.array(b"dia")}, "csr, csc, coo"),
    "no format": ({"format": None}, "format: is missing"),
    "not square": ({"shape": np.array([2, 3])}, "square"),
    "indices outside": ({"indices": np.array([2])}, "holds 2 at position 0"),
    "indices negative": ({"indices": np.array([-1])}, "holds -1"),
    "indices of float": ({"indices": np.array([0.0])}, "not integers"),
    "indptr short": ({"indptr": np.array([0, 1])}, "2 entries for 2 vertices"),
    "indptr falls": ({"indptr": np.array([0, 2, 1])}, "falls"),
    "data long": ({"data": np.array([1.0, 2.0])}, "2 entries for 1"),
    "data of 2-D": ({"data": np.array([[1.0]])}, "2 dimensions"),
    "labels twice": ({"vertex_labels": np.array([7, 7])}, "distinct"),
    "labels short": ({"vertex_labels": np.array([7])}, "1 entries for 2"),
    "objects": ({"vertex_labels": np.array([{}, ()], object)}, "plain arrays"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(tmp_path: Path, name: str) -> None:
    changes, reason = WRONG[name]
    arrays = {key: array for key, array in {**GOOD, **changes}.items() if array is not None}
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(FileFormatError, match=reason):
        npz.read(tmp_path / "g.npz")


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    for content in (b"", b"hello", b"PK\x03\x04 no zip at all"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            npz.read(path)
    np.save(tmp_path / "one.npy", np.arange(3))
    with pytest.raises(FileFormatError, match="one array"):
        npz.read(tmp_path / "one.npy")
    with pytest.raises(FileNotFoundError):
        npz.read(tmp_path / "absent.npz")


@pytest.mark.parametrize(("labels", "reason"), [([(0, 1), (2, 3)], "relabel"), (["a\0", "b"], "NUL")])
def test_labels_that_would_be_lost_are_refused(tmp_path: Path, labels: list[Any], reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=reason):
        npz.write(tg.from_edges([0], [1]).relabel(labels), tmp_path / "g.npz")
