"""Tables of pandas and polars."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.interop import from_pandas, to_pandas


@settings(deadline=None)
@given(graph=odd_graphs(labels=("none", "integers", "strings", "tuples")))
def test_round_trip(graph: tg.Graph) -> None:
    frame = to_pandas(graph)
    assert len(frame) == graph.num_edges
    kept = {"num_vertices": graph.num_vertices} if graph.vertex_labels is None else {"labels": graph.vertex_labels}
    weight = "weight" if graph.weighted else None
    assert_same(graph, from_pandas(frame, weight=weight, directed=graph.directed, **kept), order=False)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("ids", [["ann", "bob", "cy"], [2**60, -5, 7], [3, 4, 5]])
def test_pandas_and_polars(make: Any, ids: list[Any]) -> None:
    frame = make({"from": [ids[0], ids[1]], "to": [ids[1], ids[2]], "cost": [1.5, 2.5]})
    graph = from_pandas(frame, "from", "to", "cost", runtime="numpy")
    sources, targets, weights = graph.edges()
    found = set(zip(sources.tolist(), targets.tolist(), np.asarray(weights).tolist(), strict=True))
    assert found == {(ids[0], ids[1], 1.5), (ids[1], ids[2], 2.5)}


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "UInt16", "int8"])
def test_pandas_own_types(dtype: str) -> None:
    frame = pd.DataFrame({"source": [1, 2], "target": [2, 3], "w": [5, 6]}).astype(dtype)
    graph = from_pandas(frame, weight="w", runtime="numpy")
    assert graph.vertex_labels is not None
    assert graph.vertex_labels.tolist() == [1, 2, 3]
    assert graph.weights.tolist() == [5, 6]


@pytest.mark.parametrize("dtype", ["string", "category", "string[pyarrow]", object])
def test_pandas_texts(dtype: Any) -> None:
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}).astype(dtype)
    labels = from_pandas(frame).vertex_labels
    assert labels is not None
    assert labels.tolist() == ["a", "b", "c"]


def test_options_reach_from_edges() -> None:
    frame = pd.DataFrame({"source": [0, 0, 1], "target": [1, 1, 1]})
    graph = from_pandas(frame, directed=False, duplicates="first", self_loops="drop", num_vertices=4)
    assert (graph.num_vertices, graph.num_edges, graph.directed) == (4, 1, False)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"source": ["a", None], "target": ["b", "c"]}),
        pd.DataFrame({"source": [1, 2], "target": pd.array([1, None], "Int64")}),
        pd.DataFrame({"source": [1.0, np.nan], "target": [1, 2]}),
        pl.DataFrame({"source": [1, None], "target": [1, 2]}),
    ],
)
def test_missing_values_are_refused(frame: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="1 missing values"):
        from_pandas(frame)


def test_refuses_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match=r"source='source' is no column.*\['a', 'target'\]"):
        from_pandas(pd.DataFrame({"a": [1], "target": [2]}))
    with pytest.raises(InvalidArgumentError, match="pandas or polars"):
        from_pandas([(0, 1)])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pandas"):
        to_pandas(tg.from_edges([0], [1]))
