"""DGL in the comparison of batches: its neighbour sampling, blocks, and built-in messages."""

from __future__ import annotations

import time
from typing import Any

import dgl
import dgl.function as fn
import torch
from gnn_worker import FANOUTS, HIDDEN, LEARNING_RATE, SLOPE, Data
from torch import Tensor, nn
from torch.nn import functional


class MeanLayer(nn.Module):
    """The mean of the neighbours, or of x_j + x_i * x_j, and a dense layer."""

    def __init__(self, num_inputs: int, num_outputs: int, has_products: bool) -> None:
        super().__init__()
        self.dense, self.has_products = nn.Linear(num_inputs, num_outputs), has_products

    def forward(self, block: Any, embeddings: Tensor) -> Tensor:
        block.srcdata["x"] = embeddings
        block.update_all(fn.copy_u("x", "m"), fn.mean("m", "summed"))
        summed = block.dstdata["summed"]
        if self.has_products:
            block.dstdata["y"] = embeddings[: block.num_dst_nodes()]
            block.update_all(fn.u_mul_v("x", "y", "m"), fn.mean("m", "products"))
            summed = summed + block.dstdata["products"]
        return self.dense(summed)


class Trainer:
    """The steps of DGL's NeighborSampler and DataLoader one by one, so that each can be timed; no worker processes."""

    def __init__(self, data: Data, model: str) -> None:
        self.data = data
        rows = torch.from_numpy(data.offsets), torch.from_numpy(data.sources).long(), torch.empty(0, dtype=torch.int64)
        self.graph = dgl.graph(("csc", rows), num_nodes=len(data.labels))
        sizes = (data.features.shape[1], HIDDEN), (HIDDEN, data.num_classes)
        self.layers = nn.ModuleList([MeanLayer(*size, model == "ngcf") for size in sizes])
        self.activation = nn.ReLU() if model == "gcn" else nn.LeakyReLU(SLOPE)
        self.optimizer = torch.optim.Adam(self.layers.parameters(), LEARNING_RATE, fused=True)

    def run(self) -> list[dict[str, float]]:
        """Train for an epoch."""
        return [self._step(torch.from_numpy(seeds)) for seeds in self.data.seeds]

    def _step(self, seeds: Tensor) -> dict[str, float]:
        blocks, stages = self._sample(seeds)
        times = [time.perf_counter()]
        features = self.data.features[blocks[0].srcdata[dgl.NID]]
        labels = self.data.labels[blocks[-1].dstdata[dgl.NID]]
        times.append(time.perf_counter())
        self.optimizer.zero_grad()
        hidden = self.activation(self.layers[0](blocks[0], features))
        loss = functional.cross_entropy(self.layers[1](blocks[1], hidden), labels)
        times.append(time.perf_counter())
        loss.backward()
        times.append(time.perf_counter())
        self.optimizer.step()
        times.append(time.perf_counter())
        for i, stage in enumerate(("lookup", "forward", "backward", "update")):
            stages[stage] = times[i + 1] - times[i]
        return stages

    def _sample(self, seeds: Tensor) -> tuple[list[Any], dict[str, float]]:
        seconds, blocks = {"sample": 0.0, "reindex": 0.0}, []
        for fanout in FANOUTS:
            started = time.perf_counter()
            frontier = self.graph.sample_neighbors(seeds, fanout)
            drawn = time.perf_counter()
            block = dgl.to_block(frontier, seeds)
            seeds = block.srcdata[dgl.NID]
            blocks.insert(0, block)
            seconds["sample"] += drawn - started
            seconds["reindex"] += time.perf_counter() - drawn
        return blocks, seconds


TRAINERS = {"dgl": Trainer}
