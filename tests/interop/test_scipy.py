"""SciPy's sparse matrices and arrays of every layout."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import InvalidArgumentError, InvalidGraphError, MissingDependencyError
from tgraph.interop import from_scipy, to_scipy


@settings(deadline=None)
@given(graph=odd_graphs(labels=("none", "integers", "strings")))
def test_round_trip(graph: tg.Graph) -> None:
    assert_same(graph, from_scipy(to_scipy(graph), directed=graph.directed, labels=graph.vertex_labels))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_every_layout(layout: str, make: Any) -> None:
    matrix = make(([1.5, 2.5, 3.5], ([0, 3, 0], [1, 0, 3])), shape=(4, 4)).asformat(layout)
    graph = from_scipy(matrix)
    assert graph.num_edges == 3
    np.testing.assert_array_equal(to_scipy(graph).toarray(), matrix.toarray())


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_explicit_zeros_are_edges(layout: str) -> None:
    matrix = sp.coo_array(([0.0, 2.0], ([0, 1], [1, 0])), shape=(3, 3)).asformat(layout)
    graph = from_scipy(matrix, runtime="numpy")
    assert sorted(graph.weights.tolist()) == [0.0, 2.0]
    assert to_scipy(graph).nnz == 2


def test_duplicates_are_parallel_edges() -> None:
    graph = from_scipy(sp.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2)))
    assert graph.num_edges == 2
    matrix = to_scipy(graph)
    assert matrix.nnz == 2
    assert matrix.toarray().tolist() == [[0, 3], [0, 0]]


def test_no_memory_is_shared() -> None:
    matrix = sp.csr_array(np.array([[0, 3], [4, 0]]))
    graph = from_scipy(matrix, runtime="numpy")
    matrix.data[:] = 9
    assert graph.weights.tolist() == [3, 4]
    result = to_scipy(graph)
    result.data[:] = 7
    result.indices[:] = 0
    assert (graph.weights.tolist(), graph.out_targets.tolist()) == ([3, 4], [1, 0])


@pytest.mark.parametrize("runtime", ["numpy", "torch"])
def test_memory_is_shared_on_demand(runtime: str) -> None:
    matrix = sp.csr_array(np.array([[0, 3.0], [4.0, 0]]))
    graph = from_scipy(matrix, copy=False, runtime=runtime)
    _, targets, weights = graph.adjacency("out").to_numpy()
    assert np.shares_memory(targets, matrix.indices)
    assert np.shares_memory(weights, matrix.data)
    result = to_scipy(graph, copy=False)
    assert np.shares_memory(result.indices, matrix.indices)
    assert np.shares_memory(result.data, matrix.data)
    assert (result @ np.array([1.0, 2.0])).tolist() == [6.0, 4.0]
    with pytest.raises(ValueError, match="read-only"):
        result.data[:] = 7


def test_what_does_not_fit_is_copied() -> None:
    matrix = sp.csr_array(np.array([[0, 3], [4, 0]], np.int8))
    graph = from_scipy(matrix, copy=False, runtime="numpy")
    assert graph.weights.dtype == np.int32
    assert np.shares_memory(graph.out_targets, matrix.indices)
    assert from_scipy(matrix.tocsc(), copy=False, runtime="numpy").weights.tolist() == [3, 4]


def test_weights_and_directions() -> None:
    assert from_scipy(sp.eye_array(3, dtype=bool)).weights is None
    assert from_scipy(sp.eye_array(3), weights=None).weights is None
    assert from_scipy(sp.eye_array(3, dtype=np.uint8, format="coo"), runtime="numpy").weights.dtype == np.int64
    assert from_scipy(sp.csr_array([[0, 1], [1, 0]]), directed=False).num_edges == 1
    with pytest.raises(InvalidGraphError, match="one direction only"):
        from_scipy(sp.csr_array([[0, 1], [0, 0]]), directed=False)
    with pytest.raises(InvalidArgumentError, match="complex"):
        from_scipy(sp.eye_array(2, dtype=complex, format="csc"))


def test_refuses_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match="square"):
        from_scipy(sp.csr_array((2, 3)))
    with pytest.raises(InvalidArgumentError, match=r"scipy\.sparse"):
        from_scipy(np.eye(3))
    with pytest.raises(InvalidArgumentError, match="weights="):
        from_scipy(sp.eye_array(3), weights="yes")
    with pytest.raises(InvalidArgumentError, match="2 entries for 3"):
        from_scipy(sp.eye_array(3), labels=["a", "b"])
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingDependencyError, match="scipy"):
        to_scipy(tg.from_edges([0], [1]))
