"""Conversions from and to igraph, NetworKit, Arrow, polars, GraphML and GEXF: there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import InvalidArgumentError, MissingDependencyError


def edges_of(graph: tg.Graph) -> list[tuple[Any, ...]]:
    """The edges under the user's ids, in one order; an undirected edge from its smaller end."""
    sources, targets, weights = graph.edges()
    columns = [sources.tolist(), targets.tolist(), *([] if weights is None else [weights.tolist()])]
    rows = zip(*columns, strict=True)
    if graph.directed:
        return sorted(rows)
    return sorted((*sorted(row[:2]), *row[2:]) for row in rows)


@settings(max_examples=50, deadline=None)
@given(odd_graphs(weights=("none", "float64"), labels=("none", "strings")))
def test_igraph_there_and_back(graph: tg.Graph) -> None:
    pytest.importorskip("igraph")
    back = tg.from_igraph(tg.to_igraph(graph), runtime="numpy")
    assert (back.directed, back.num_vertices) == (graph.directed, graph.num_vertices)
    assert (
        back.labels_of(np.arange(back.num_vertices)).tolist() == graph.labels_of(np.arange(graph.num_vertices)).tolist()
    )
    assert edges_of(back) == edges_of(graph)


@settings(max_examples=50, deadline=None)
@given(odd_graphs(weights=("none", "float64")))
def test_networkit_there_and_back(graph: tg.Graph) -> None:
    pytest.importorskip("networkit")
    back = tg.from_networkit(tg.to_networkit(graph), runtime="numpy")
    assert (back.directed, back.num_vertices) == (graph.directed, graph.num_vertices)
    assert edges_of(back) == edges_of(graph)


def test_removed_nodes_of_networkit_leave_their_numbers() -> None:
    networkit = pytest.importorskip("networkit")
    other = networkit.Graph(4)
    other.addEdge(0, 3)
    other.removeNode(1)
    graph = tg.from_networkit(other, runtime="numpy")
    assert graph.vertex_labels is not None
    assert graph.vertex_labels.tolist() == [0, 2, 3]
    assert edges_of(graph) == [(0, 3)]


@settings(max_examples=50, deadline=None)
@given(odd_graphs(weights=("none", "int64", "float64"), labels=("none", "integers", "strings")))
def test_tables_there_and_back(graph: tg.Graph) -> None:
    weight = None if graph.weights is None else "weight"
    options: dict[str, Any] = {"directed": graph.directed, "runtime": "numpy"}
    options["labels"] = graph.labels_of(np.arange(graph.num_vertices))
    assert edges_of(tg.from_arrow(tg.to_arrow(graph), weight=weight, **options)) == edges_of(graph)
    assert edges_of(tg.from_pandas(tg.to_polars(graph), weight=weight, **options)) == edges_of(graph)


def test_tables_say_what_is_missing() -> None:
    table = tg.to_arrow(tg.from_edges([0, 1], [1, 2]))
    with pytest.raises(InvalidArgumentError, match="weight='cost' is no column of the table"):
        tg.from_arrow(table, weight="cost")
    with pytest.raises(InvalidArgumentError, match="give a pyarrow table"):
        tg.from_arrow([1, 2])  # type: ignore[arg-type]
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(InvalidArgumentError, match="1 missing values"):
        tg.from_arrow(pa.table({"source": [1, None], "target": [1, 2]}))


@pytest.mark.parametrize("kind", ["graphml", "gexf"])
@pytest.mark.parametrize("directed", [True, False])
def test_files_of_other_tools_there_and_back(kind: str, directed: bool, tmp_path: Path) -> None:
    ends = ["ann", "bob", "cy"], ["bob", "cy", "cy"]
    graph = tg.from_edges(*ends, [1.5, 2.0, 0.0], directed=directed, labels=["ann", "bob", "cy", "dee"])
    path = tmp_path / f"small.{kind}"
    getattr(tg, f"write_{kind}")(graph, path)
    back = getattr(tg, f"read_{kind}")(path, runtime="numpy")
    assert_same(back, graph.to("numpy"))
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


class EdgeList:
    """What cuGraph shows of a graph."""

    def __init__(self, **columns: list[Any]) -> None:
        self._frame = pd.DataFrame(columns)

    def view_edge_list(self) -> Any:
        return self._frame

    def is_directed(self) -> bool:
        return False


def test_edge_lists_of_cugraph() -> None:
    graph = tg.from_cugraph(EdgeList(src=[7, 7], dst=[8, 9], weights=[1.5, 2.5]), runtime="numpy")
    assert not graph.directed
    assert edges_of(graph) == [(7, 8, 1.5), (7, 9, 2.5)]
    with pytest.raises(InvalidArgumentError, match="no target column"):
        tg.from_cugraph(EdgeList(src=[1], there=[2]))
    with pytest.raises(MissingDependencyError, match="cugraph"):
        tg.to_cugraph(graph)
