"""PyTorch Geometric in the comparison of batches: NeighborLoader and layers that go only as far as they must.

`pyg` gathers and scatters, as its layers do by default; `pyg_fused` gives the edges as `EdgeIndex`, sorted by target,
so that plain means are sparse matrix products. The loader's sampler is pyg-lib's if that is installed, else
torch-sparse's; both number the vertices while they sample.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
from gnn_worker import BATCH_SIZE, FANOUTS, HIDDEN, LEARNING_RATE, SLOPE, Data
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric import EdgeIndex
from torch_geometric.data import Data as Graph
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import MessagePassing, SAGEConv
from torch_geometric.sampler import NodeSamplerInput


class ProductConv(MessagePassing):
    """The mean of x_j + x_i * x_j over the neighbours, and a dense layer."""

    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__(aggr="mean")
        self.dense = nn.Linear(num_inputs, num_outputs)

    def forward(self, x: tuple[Tensor, Tensor], edge_index: Tensor) -> Tensor:
        return self.dense(self.propagate(edge_index, x=x, size=(x[0].shape[0], x[1].shape[0])))

    def message(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        return x_j + x_i * x_j


class Trainer:
    """What NeighborLoader does one by one, so that each can be timed; no worker processes."""

    def __init__(self, data: Data, model: str, is_fused: bool = False) -> None:
        self.data, self.is_fused = data, is_fused and model == "gcn"
        offsets, sources = torch.from_numpy(data.offsets), torch.from_numpy(data.sources).long()
        targets = torch.repeat_interleave(torch.arange(len(data.labels)), offsets.diff())
        graph = Graph(x=data.features, y=data.labels, edge_index=torch.stack([sources, targets]))
        self.loader = NeighborLoader(graph, list(FANOUTS), batch_size=BATCH_SIZE, is_sorted=True)
        sizes = (data.features.shape[1], HIDDEN), (HIDDEN, data.num_classes)
        make: Any = partial(SAGEConv, aggr="mean", root_weight=False) if model == "gcn" else ProductConv
        self.layers = nn.ModuleList([make(*size) for size in sizes])
        self.activation = nn.ReLU() if model == "gcn" else nn.LeakyReLU(SLOPE)
        self.optimizer = torch.optim.Adam(self.layers.parameters(), LEARNING_RATE, fused=True)

    def run(self) -> list[dict[str, float]]:
        """Train for an epoch."""
        return [self._step(torch.from_numpy(seeds)) for seeds in self.data.seeds]

    def _step(self, seeds: Tensor) -> dict[str, float]:
        times = [time.perf_counter()]
        found = self.loader.node_sampler.sample_from_nodes(NodeSamplerInput(torch.arange(len(seeds)), seeds))
        times.append(time.perf_counter())
        batch = self.loader.filter_fn(found)
        times.append(time.perf_counter())
        self.optimizer.zero_grad()
        vertices, edges = batch.num_sampled_nodes, batch.num_sampled_edges
        hidden = self._layer(0, batch.x, batch.edge_index, vertices[0] + vertices[1])
        told = self._layer(1, self.activation(hidden), batch.edge_index[:, : edges[0]], vertices[0])
        loss = functional.cross_entropy(told, batch.y[: vertices[0]])
        times.append(time.perf_counter())
        loss.backward()
        times.append(time.perf_counter())
        self.optimizer.step()
        times.append(time.perf_counter())
        stages = ("sample", "lookup", "forward", "backward", "update")
        return {stage: times[i + 1] - times[i] for i, stage in enumerate(stages)}

    def _layer(self, number: int, x: Tensor, edge_index: Tensor, num_targets: int) -> Tensor:
        if self.is_fused:
            edge_index = EdgeIndex(edge_index, sparse_size=(x.shape[0], num_targets), sort_order="col")
        return self.layers[number]((x, x[:num_targets]), edge_index)


TRAINERS = {"pyg": Trainer, "pyg_fused": partial(Trainer, is_fused=True)}
