"""PyTorch Geometric's Data."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Data, HeteroData

import tgraph as tg
from odd_graphs import assert_same, odd_graphs
from tgraph.errors import InvalidArgumentError, InvalidGraphError, MissingDependencyError
from tgraph.interop import from_pyg, to_pyg

EDGES = torch.tensor([[0, 2], [1, 0]])


@settings(deadline=None)
@given(graph=odd_graphs(labels=("none", "integers", "strings", "tuples")))
def test_round_trip(graph: tg.Graph) -> None:
    data = to_pyg(graph)
    assert data.num_nodes == graph.num_vertices
    assert data.edge_index.dtype == torch.int64
    assert data.validate()
    assert_same(graph, from_pyg(data, directed=graph.directed), order=False)


@pytest.mark.parametrize(
    "weights",
    [
        {"edge_weight": torch.tensor([1.5, 2.5])},
        {"edge_attr": torch.tensor([1.5, 2.5])},
        {"edge_attr": torch.tensor([[1.5], [2.5]])},
        {"edge_weight": torch.tensor([1.5, 2.5], dtype=torch.bfloat16)},
        {"edge_weight": torch.tensor([1.5, 2.5], requires_grad=True)},
        {"edge_weight": torch.tensor([1.5, 2.5]), "edge_attr": torch.zeros(2)},
    ],
)
def test_weights(weights: dict[str, Any]) -> None:
    data = Data(edge_index=EDGES, num_nodes=5, **weights)
    graph = from_pyg(data)
    assert graph.num_vertices == 5
    assert graph.weights.tolist() == [1.5, 2.5]
    assert from_pyg(data, weight=None).weights is None


def test_features_of_edges_are_no_weights() -> None:
    data = Data(edge_index=EDGES, num_nodes=3, edge_attr=torch.zeros(2, 4), cost=torch.tensor([3, 4]))
    assert from_pyg(data).weights is None
    assert from_pyg(data, weight="cost").weights.tolist() == [3, 4]
    with pytest.raises(InvalidArgumentError, match=r"data\.edge_attr does not hold one number per edge"):
        from_pyg(data, weight="edge_attr")


def test_number_of_vertices_comes_from_features() -> None:
    assert from_pyg(Data(x=torch.zeros(7, 2), edge_index=EDGES)).num_vertices == 7


def test_undirected() -> None:
    both = torch.tensor([[0, 1, 2], [1, 0, 2]])
    assert from_pyg(Data(edge_index=both, num_nodes=3), directed=False).num_edges == 2
    with pytest.raises(InvalidGraphError, match="one direction only"):
        from_pyg(Data(edge_index=EDGES, num_nodes=3), directed=False)


def test_no_memory_is_shared() -> None:
    graph = tg.from_edges([0, 1], [1, 2], [1.0, 2.0])
    data = to_pyg(graph)
    data.edge_weight.zero_()
    data.edge_index.zero_()
    assert (graph.weights.tolist(), graph.out_targets.tolist()) == ([1.0, 2.0], [1, 2])


def test_refuses_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (Data(x=torch.zeros(2, 2)), HeteroData(), [(0, 1)], Data(edge_index=torch.zeros(3, 2))):
        with pytest.raises(InvalidArgumentError, match="edge_index"):
            from_pyg(data)
    with pytest.raises(InvalidArgumentError, match="num_vertices=2"):
        from_pyg(Data(edge_index=EDGES, num_nodes=2))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(MissingDependencyError, match="torch_geometric"):
        to_pyg(tg.from_edges([0], [1]))
