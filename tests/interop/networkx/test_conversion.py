"""NetworkX graphs of every class, there and back."""

from __future__ import annotations

import sys
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import InvalidArgumentError, MissingDependencyError
from tgraph.interop import from_networkx, to_networkx

CLASSES = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@settings(deadline=None)
@given(graph=odd_graphs(weights=("none", "int64", "float64"), labels=("none", "integers", "strings", "tuples")))
def test_round_trip(graph: tg.Graph) -> None:
    converted = to_networkx(graph)
    assert converted.number_of_nodes() == graph.num_vertices
    assert converted.number_of_edges() == graph.num_edges
    found = from_networkx(converted)
    if graph.num_edges:
        assert_same(graph, found, order=False)
    else:
        assert_same(graph, from_networkx(converted, default_weight=1 if graph.weighted else None), order=False)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class(kind: Any) -> None:
    other = kind()
    other.add_nodes_from(["z", (1, 2), 7, "alone", 2.5, frozenset([1])])
    other.add_edges_from([("z", 7), (7, "z"), ("z", "z"), ("z", 7), ((1, 2), 2.5)])
    graph = from_networkx(other)
    assert graph.directed == other.is_directed()
    assert graph.num_edges == other.number_of_edges()
    assert graph.vertex_labels is not None
    assert graph.vertex_labels.tolist() == list(other)
    back = to_networkx(graph)
    assert sorted(map(str, back.edges())) == sorted(map(str, other.edges()))


@pytest.mark.parametrize("kind", CLASSES)
def test_views(kind: Any) -> None:
    other = kind([(i, (i * i + 1) % 40, {"weight": i}) for i in range(40)])
    view = other.subgraph([39, 3, 10, 1, 2, 26, 5, 0])  # its nodes come in the order of a set
    graph = from_networkx(view)
    sources, targets, weights = (column.tolist() for column in graph.edges())
    ends = tuple if graph.directed else frozenset
    found = [(ends(pair), weight) for *pair, weight in zip(sources, targets, weights, strict=True)]
    expected = [(ends(pair), weight) for *pair, weight in view.edges(data="weight")]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("kind", CLASSES)
def test_agrees_with_its_own_matrix(kind: Any) -> None:
    other = kind(nx.gnm_random_graph(20, 40, seed=1, directed=True))
    for i, (_, _, data) in enumerate(other.edges(data=True)):
        data["cost"] = i + 0.5
    graph = from_networkx(other, weight="cost", runtime="numpy")
    matrix = nx.to_scipy_sparse_array(other, weight="cost").toarray()
    found = tg.interop.to_scipy(graph).toarray()
    assert (found == matrix).all()


def test_node_order_and_numbers() -> None:
    ordered, other = nx.DiGraph(), nx.DiGraph([(1, 0)])
    ordered.add_nodes_from([0, 1])
    assert from_networkx(ordered).vertex_labels is None
    labels = from_networkx(other).vertex_labels
    assert labels is not None
    assert labels.tolist() == [1, 0]
    assert type(next(iter(to_networkx(from_networkx(other))))) is int


def test_weights() -> None:
    some = nx.Graph()
    some.add_edge("a", "b", weight=2.5)
    some.add_edge("b", "c")
    with pytest.raises(InvalidArgumentError, match=r"1 of 2 edges have no 'weight', \('b', 'c'\)"):
        from_networkx(some)
    assert from_networkx(some, weight=None).weights is None
    assert from_networkx(some, weight="absent").weights is None
    filled = from_networkx(some, default_weight=1.0)
    assert sorted(filled.edges()[2].tolist()) == [1.0, 2.5]
    assert from_networkx(nx.path_graph(3), default_weight=4, runtime="numpy").weights.tolist() == [4] * 4
    assert to_networkx(filled, weight="cost")["a"]["b"] == {"cost": 2.5}
    with pytest.raises(InvalidArgumentError, match="numbers"):
        from_networkx(nx.Graph([("a", "b", {"weight": "heavy"})]))


def test_values_are_plain_python() -> None:
    other = to_networkx(tg.from_edges([2**60, 5], [5, 7], [1.5, 2.5]))
    assert all(type(node) is int for node in other)
    assert all(type(value) is float for _, _, value in other.edges(data="weight"))


def test_refuses_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError, match="give a NetworkX graph"):
        from_networkx([(0, 1)])
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match="networkx"):
        to_networkx(tg.from_edges([0], [1]))
