"""Labels: columns of any library, and the way from a label to its vertex and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph import runtime as runtimes
from tgraph.errors import InvalidArgumentError, VertexNotFoundError
from tgraph.graph import from_edges
from tgraph.graph.labels import STRING_DTYPE, VertexLabels, as_column, check_distinct, number_vertices, object_array

integers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(codec="utf-8"), max_size=5)
objects = st.one_of(integers, texts, st.tuples(integers, texts))


@settings(deadline=None)
@given(
    labels=st.one_of([st.lists(kind, unique=True, max_size=20) for kind in (integers, texts, objects)]), data=st.data()
)
def test_there_and_back(labels: list[Any], data: st.DataObject) -> None:
    lookup = VertexLabels(as_column("labels", labels))
    assert lookup.array.tolist() == labels
    order = data.draw(st.permutations(range(len(labels))))
    assert lookup.numbers_of([labels[i] for i in order]).tolist() == order
    for number, label in enumerate(labels):
        assert lookup.number_of(label) == number


@settings(deadline=None)
@given(columns=st.lists(st.lists(texts, max_size=15), min_size=2, max_size=2))
def test_strings_are_numbered_in_ascending_order(columns: list[list[str]]) -> None:
    numbered, labels = number_vertices([as_column("sources", column) for column in columns])
    distinct = sorted({label for column in columns for label in column}, key=lambda label: label.encode())
    assert ([] if labels is None else labels.tolist()) == distinct
    assert [[distinct[i] for i in numbers] for numbers in numbered] == columns


def test_labels_that_are_not_there() -> None:
    whole = VertexLabels(np.array([30, 10, 20]))
    for label in (15, 31, -1, "10", 10.5, None, (10,)):
        with pytest.raises(VertexNotFoundError, match="is not in the graph"):
            whole.number_of(label)
    with pytest.raises(VertexNotFoundError, match="vertex 11 is not in the graph"):
        whole.numbers_of([10, 11, 12])
    with pytest.raises(VertexNotFoundError, match="whose ids are integers"):
        whole.numbers_of(["10"])
    text = VertexLabels(as_column("labels", ["a", "b"]))
    for label in ("c", 0, None):
        with pytest.raises(VertexNotFoundError, match="is not in the graph"):
            text.number_of(label)
    with pytest.raises(VertexNotFoundError, match="vertex 5 is not in the graph"):
        VertexLabels(np.empty(0, np.int64)).number_of(5)


def test_an_error_reads_as_a_sentence() -> None:
    with pytest.raises(KeyError) as raised:
        VertexLabels(np.array([1])).number_of(2)
    assert str(raised.value) == "vertex 2 is not in the graph"


def test_numpy_scalars_are_labels_too() -> None:
    assert VertexLabels(np.array([30, 10])).number_of(np.int32(10)) == 1
    assert VertexLabels(as_column("labels", ["a", "b"])).number_of(np.str_("b")) == 1


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        ([1, 2], np.int64, [1, 2]),
        (range(3), np.int64, [0, 1, 2]),
        ([], np.int64, []),
        (np.array([], "U1"), np.int64, []),
        (["a", "é"], STRING_DTYPE, ["a", "é"]),
        (["a\0", "a"], STRING_DTYPE, ["a\0", "a"]),
        (pl.Series(["x"]), STRING_DTYPE, ["x"]),
        ([1, "1"], np.dtype(object), [1, "1"]),
        ([(1, 2), (3, 4)], np.dtype(object), [(1, 2), (3, 4)]),
        ([frozenset({1})], np.dtype(object), [frozenset({1})]),
        (np.array([True, 2], object), np.dtype(object), [True, 2]),
        (np.array([3, 4], np.uint64), np.int64, [3, 4]),
    ],
)
def test_columns(data: Any, dtype: Any, expected: list[Any]) -> None:
    column = as_column("sources", data)
    assert column.dtype == dtype
    assert column.tolist() == expected


def test_int64_columns_are_not_copied() -> None:
    array = np.arange(5)
    assert as_column("sources", array) is array


def test_check_distinct() -> None:
    check_distinct(np.array([1, 2]))
    check_distinct(object_array([(1,), "a", 1]))
    for labels in (np.array([1, 2, 1]), as_column("labels", ["a", "b", "a"]), object_array([(1,), "a", (1,)])):
        with pytest.raises(InvalidArgumentError, match="labels has 3 entries but only 2 distinct ones"):
            check_distinct(labels)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "sources=None must be a column of values"),
        (7, "sources=7 must be a column of values"),
        ("ab", r"sources='ab' must be a column of values; write \['ab'\]"),
        (b"ab", "sources=b'ab' must be a column"),
        (["a", "\ud800"], "half of a surrogate pair"),
        (np.array(["\ud800", "a"], object), "half of a surrogate pair"),
    ],
)
def test_what_is_no_column_says_so(data: Any, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        as_column("sources", data)


def test_a_tensor_that_is_wrapped_is_a_column() -> None:
    tensor = runtimes.get("jax").asarray(np.array([3, 1, 2]))
    assert as_column("sources", tensor).tolist() == [3, 1, 2]
    assert from_edges(tensor, tensor).vertices_of(tensor).tolist() == [2, 0, 1]
