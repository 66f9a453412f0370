"""Models against the layers of PyTorch Geometric with the same parameters, on whole graphs and on samples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import tgraph as tg
from tgraph import nn
from tgraph.errors import InvalidArgumentError
from tgraph.nn import lookup
from tgraph.nn.models.layered import LayeredModel

geometric = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")


def a_graph() -> tg.Graph:
    """A graph with an isolated vertex, a self-loop and a hub."""
    graph = tg.generate.rmat(6, 4, seed=3, runtime="torch").symmetrize().simplify()
    sources, targets, _ = graph.edges()
    kept = (sources != 7) & (targets != 7)
    ends = np.append(sources[kept], 5), np.append(targets[kept], 5)
    return tg.from_edges(*ends, directed=False, num_vertices=64, runtime="torch")


GRAPH = a_graph()
EDGES = tg.to_pyg(GRAPH).edge_index
FEATURES = torch.randn(64, 12, generator=torch.Generator().manual_seed(0))


def copied(layer: Any, **parameters: Tensor) -> Any:
    """Return a layer with these parameters."""
    state = {name: parameter.detach() for name, parameter in parameters.items()}
    layer.load_state_dict({**layer.state_dict(), **state})
    return layer


def check_same(model: LayeredModel, layers: list[Any], activation: Any) -> None:
    """Compare outputs and the gradient of the features."""
    model.eval()
    results = []
    for run in (
        lambda x: model(nn.Block.of_graph(model.prepare(GRAPH)), x),
        lambda x: layers[1](activation(layers[0](x, EDGES)), EDGES),
    ):
        x = FEATURES.clone().requires_grad_()
        out = run(x)
        (out * torch.arange(out.numel()).view(out.shape).sin()).sum().backward()
        results.append((out.detach(), x.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=2e-4)


def test_gcn() -> None:
    model = nn.GCN(12, 8, 3)
    theirs = [
        copied(geometric.GCNConv(*size), **{"lin.weight": layer.weight, "bias": layer.bias})
        for layer, size in zip(model.layers, [(12, 8), (8, 3)], strict=True)
    ]
    check_same(model, theirs, torch.relu)


@pytest.mark.parametrize("aggregation", ["mean", "sum", "max"])
def test_sage(aggregation: str) -> None:
    model = nn.GraphSAGE(12, 8, 3, aggregation=aggregation)
    theirs = []
    for layer, size in zip(model.layers, [(12, 8), (8, 3)], strict=True):
        others: Any = {
            "lin_r.weight": layer.own.weight,
            "lin_l.weight": layer.others.weight,
            "lin_l.bias": layer.own.bias,
        }
        theirs.append(copied(geometric.SAGEConv(*size, aggr=aggregation), **others))
    check_same(model, theirs, torch.relu)


@pytest.mark.parametrize("dynamic", [False, True])
def test_gat(dynamic: bool) -> None:
    model = nn.GAT(12, 4, 3, num_heads=2, dynamic=dynamic)
    theirs = []
    for layer, size, heads, joined in zip(model.layers, [(12, 4), (8, 3)], [2, 1], [True, False], strict=True):
        if dynamic:
            parameters: Any = {"lin_l.weight": layer.values.weight, "lin_l.bias": layer.values.bias}
            parameters |= {"lin_r.weight": layer.targets.weight, "lin_r.bias": layer.targets.bias}
            parameters["att"] = layer.of_source[None]
        else:
            parameters = {"lin.weight": layer.values.weight, "att_src": layer.of_source[None]}
            parameters["att_dst"] = layer.of_target[None]
        torch.nn.init.normal_(layer.bias)
        kind = geometric.GATv2Conv if dynamic else geometric.GATConv
        theirs.append(copied(kind(*size, heads=heads, concat=joined), **parameters, bias=layer.bias))
    check_same(model, theirs, torch.nn.functional.elu)


def test_gin() -> None:
    model = nn.GIN(12, 8, 3)
    with torch.no_grad():
        model.layers[0].epsilon += 0.5
    theirs = [geometric.GINConv(layer.dense, eps=layer.epsilon.item()) for layer in model.layers]
    check_same(model, theirs, torch.relu)


def test_lightgcn() -> None:
    model, layer = nn.LightGCN(2), geometric.LGConv()
    block = nn.Block.of_graph(model.prepare(GRAPH))
    first = layer(FEATURES, EDGES)
    expected = (FEATURES + first + layer(first, EDGES)) / 3
    torch.testing.assert_close(model(block, FEATURES), expected, atol=1e-5, rtol=1e-5)


def test_ngcf_against_the_formula() -> None:
    model = nn.NGCF(12, 8, num_layers=1).eval()
    block = nn.Block.of_graph(GRAPH)  # without weights: means
    dense = torch.zeros(64, 64)
    dense[EDGES[1], EDGES[0]] = 1.0
    means = (dense @ FEATURES) / dense.sum(1, keepdim=True).clamp(min=1)
    products = torch.stack([(dense[i][:, None] * FEATURES * FEATURES[i]).sum(0) for i in range(64)])
    products /= dense.sum(1, keepdim=True).clamp(min=1)
    layer: Any = model.layers[0]
    made = torch.nn.functional.leaky_relu(layer.sums(FEATURES + means) + layer.products(products), 0.2)
    expected = torch.cat([FEATURES, torch.nn.functional.normalize(made)], dim=1)
    torch.testing.assert_close(model(block, FEATURES), expected, atol=1e-5, rtol=1e-4)


MODELS = {
    "gcn": lambda: nn.GCN(12, 8, 3),
    "sage": lambda: nn.GraphSAGE(12, 8, 3),
    "gat": lambda: nn.GAT(12, 4, 3, num_heads=2),
    "gatv2": lambda: nn.GAT(12, 4, 3, num_heads=2, dynamic=True),
    "gin": lambda: nn.GIN(12, 8, 3),
    "ngcf": lambda: nn.NGCF(12, 8, num_layers=2),
    "lightgcn": lambda: nn.LightGCN(2),
}


@pytest.mark.parametrize("name", MODELS)
def test_samples_of_all_neighbours_give_what_the_whole_graph_gives(name: str) -> None:
    model = MODELS[name]().eval()
    graph = model.prepare(GRAPH)
    whole = model(nn.Block.of_graph(graph), FEATURES)
    sample = nn.NeighborSampler(graph, (-1, -1)).sample([5, 7, 0])
    for features in (FEATURES[sample.vertices], nn.Rows(FEATURES, sample.vertices)):
        torch.testing.assert_close(model(sample.blocks, features), whole[[5, 7, 0]], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_inference_layer_by_layer(name: str, tmp_path: Path) -> None:
    model = MODELS[name]().train()
    graph = model.prepare(GRAPH)
    whole = model.eval()(nn.Block.of_graph(graph), FEATURES)
    model.train()
    near = nn.infer(model, graph, FEATURES, edges_at_once=40)
    mapped = nn.infer(model, graph, FEATURES.numpy(), tmp_path / "out.npy", edges_at_once=1)
    assert model.training
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]
    for found in (near, mapped, np.load(tmp_path / "out.npy")):
        torch.testing.assert_close(torch.as_tensor(found), whole, atol=1e-5, rtol=1e-4)


def test_inference_on_a_graph_larger_than_memory(tmp_path: Path) -> None:
    model = nn.GCN(12, 8, 3).eval()
    graph = model.prepare(GRAPH)
    tg.write(graph, tmp_path / "graph.safetensors")
    np.save(tmp_path / "features.npy", FEATURES.numpy())
    far = tg.open(tmp_path / "graph.safetensors", "1MiB")
    found = nn.infer(model, far, nn.open_table(tmp_path / "features.npy"), tmp_path / "out.npy", edges_at_once=30)
    expected = model(nn.Block.of_graph(graph), FEATURES)
    torch.testing.assert_close(found.clone(), expected.detach(), atol=1e-5, rtol=1e-4)


def test_inference_asks_for_rows_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("pages are asked for on Linux alone")
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(lookup, "ask_for_rows", lambda table, rows: asked.append((table.shape[1], *rows.tolist())))
    np.save(tmp_path / "features.npy", FEATURES.numpy())
    model = nn.GCN(12, 8, 3)
    everyone = range(GRAPH.num_vertices)
    nn.infer(model, model.prepare(GRAPH), nn.open_table(tmp_path / "features.npy"))
    assert [(width, sorted(rows)) for width, *rows in asked] == [
        (4 * 12, [*everyone])
    ] * 2  # the last collects them all
    asked.clear()
    nn.infer(model, model.prepare(GRAPH), FEATURES, tmp_path / "out.npy")
    assert [(width, sorted(rows)) for width, *rows in asked] == [(4 * 8, [*everyone])]


def test_recommender_learns_embeddings_of_a_batch_alone() -> None:
    model = nn.Recommender(64, 8, nn.LightGCN(2))
    graph = model.spread.prepare(GRAPH)
    sample = nn.NeighborSampler(graph, (-1, -1), reverse=True).sample([5, 0])
    whole = model(nn.Block.of_graph(graph))
    part = model(sample.blocks, sample.vertices)
    torch.testing.assert_close(part, whole[[5, 0]], atol=1e-6, rtol=1e-5)
    gradients = []
    for values in (part, whole[[5, 0]]):
        model.zero_grad()
        values.square().sum().backward()
        gradients.append(model.embeddings.grad.clone())  # type: ignore[union-attr]
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=1e-5)


def test_empty_graphs_and_what_is_refused() -> None:
    empty = nn.Block.of_graph(tg.from_edges([], [], num_vertices=0, runtime="torch"))
    assert nn.GCN(3, 4, 2)(empty, torch.empty(0, 3)).shape == (0, 2)
    assert nn.infer(nn.GIN(3, 4, 2), tg.from_edges([], [], num_vertices=0), torch.empty(0, 3)).shape[0] == 0
    with pytest.raises(InvalidArgumentError, match=r"1 blocks were given for 2 layers"):
        nn.GCN(3, 4, 2)([empty], torch.empty(0, 3))
    with pytest.raises(InvalidArgumentError, match=r"dropout=1.5 must be"):
        nn.GIN(3, 4, 2, dropout=1.5)
    with pytest.raises(InvalidArgumentError, match=r"num_layers=0 must be"):
        nn.GCN(3, 4, 2, num_layers=0)
    with pytest.raises(InvalidArgumentError, match=r"must end in .npy"):
        nn.infer(nn.GIN(3, 4, 2), GRAPH, FEATURES, "out.bin")


def test_batches_for_models_of_pyg() -> None:
    graph, labels = nn.normalized(GRAPH, self_loops=False), torch.arange(64)
    loader = nn.Loader(graph, [3, 5, 7], (-1, -1), 2, features=FEATURES, labels=labels, shuffle=False)
    layer = geometric.GraphConv(12, 4)
    whole = layer(FEATURES, tg.to_pyg(graph).edge_index, graph.weights)
    seen = []
    for data in nn.PyGBatches(loader):
        assert data.y.tolist() == data.n_id[: data.batch_size].tolist()
        assert sum(data.num_sampled_nodes) == data.num_nodes
        assert sum(data.num_sampled_edges) == data.edge_index.shape[1]
        torch.testing.assert_close(data.x, FEATURES[data.n_id])
        inner = layer(data.x, data.edge_index, data.edge_weight)
        complete = data.num_sampled_nodes[0] + data.num_sampled_nodes[1]
        torch.testing.assert_close(inner[:complete], whole[data.n_id[:complete]], atol=1e-5, rtol=1e-4)
        seen += data.y.tolist()
    assert seen == [3, 5, 7]
    assert len(nn.PyGBatches(loader)) == 2


def test_normalized_weights() -> None:
    graph = tg.from_edges([0, 0, 1], [1, 2, 2], [2.0, 6.0, 2.0], runtime="numpy")
    mean = nn.normalized(graph, "mean", self_loops=False)
    np.testing.assert_allclose(mean.weights, [1.0, 0.75, 0.25])
    looped = nn.with_self_loops(graph)
    assert looped.edges()[1].tolist() == [0, 1, 2, 1, 2, 2]
    np.testing.assert_allclose(looped.weights, [1.0, 2.0, 6.0, 1.0, 2.0, 1.0])
    labelled = nn.normalized(tg.from_edges(["a"], ["b"], directed=False))
    assert labelled.vertex_of("b") == 1
