"""tgraph in the comparison of batches: features are read in place by the first aggregation.

`tgraph` makes every batch when it is wanted, `tgraph_ahead` makes two ahead in background threads, `tgraph_auto` does
what is faster, as a loader does unless told, `tgraph_copy` and `tgraph_copy_ahead` copy the features of a batch. `pull`
computes the mean of x_j + x_i * x_j as (1 + x_i) * mean(x_j), which is the same by algebra.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import torch
from gnn_worker import BATCH_SIZE, FANOUTS, HIDDEN, LEARNING_RATE, SLOPE, THREADS, Data
from torch import Tensor, nn
from torch.nn import functional

import tgraph as tg
from tgraph.nn import GCN, Block, Loader, Rows, neighbor_apply, pull
from tgraph.nn.models.layered import LayeredModel, widths


class ProductLayer(nn.Module):
    """The mean of x_j + x_i * x_j over the neighbours, and a dense layer."""

    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.dense = nn.Linear(num_inputs, num_outputs)

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        products = neighbor_apply(block, embeddings, embeddings[: block.num_targets], "product")
        return self.dense(pull(block, embeddings, products, h="add", f="mean"))


class Trainer:
    """Batches of a `Loader`, and a step on each."""

    def __init__(self, data: Data, model: str, ahead: int | str = 0, lookup: str = "through") -> None:
        tg.config.num_threads = THREADS
        graph = tg.from_csr(data.offsets, data.sources, runtime="numpy")
        sizes = (data.features.shape[1], HIDDEN, data.num_classes)
        if model == "gcn":
            self.model: LayeredModel = GCN(*sizes, dropout=0.0)
        else:
            layers = [ProductLayer(*width) for width in widths(*sizes, 2)]
            self.model = LayeredModel(layers, nn.LeakyReLU(SLOPE), 0.0)
        self.optimizer = torch.optim.Adam(self.model.parameters(), LEARNING_RATE, fused=True)
        tables = {"features": data.features, "labels": data.labels}
        how: dict[str, Any] = {"ahead": ahead, "lookup": lookup, "along": "in", "shuffle": False}
        self.loader = Loader(graph, data.seeds.ravel(), FANOUTS, BATCH_SIZE, **tables, **how)

    def run(self) -> list[dict[str, float]]:
        """Train for an epoch."""
        return [self._step(batch) for batch in self.loader]

    def _step(self, batch: Any) -> dict[str, float]:
        started = time.perf_counter()
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.model(batch.blocks, batch.features), batch.labels)
        ahead = time.perf_counter()
        loss.backward()
        back = time.perf_counter()
        self.optimizer.step()
        ended = time.perf_counter()
        stages = {"forward": ahead - started, "backward": back - ahead, "update": ended - back}
        return {**batch.seconds, **stages}


TRAINERS = {
    "tgraph": Trainer,
    "tgraph_ahead": partial(Trainer, ahead=2),
    "tgraph_auto": partial(Trainer, ahead="auto"),
    "tgraph_copy": partial(Trainer, lookup="copy"),
    "tgraph_copy_ahead": partial(Trainer, lookup="copy", ahead=2),
}
