"""LightGCN (He and others 2020): embeddings spread along edges, without weights of layers and without activations."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from tgraph.graph import Graph
from tgraph.nn.block import Block
from tgraph.nn.models.layered import LayeredModel, target_rows
from tgraph.nn.napa import pull
from tgraph.nn.normalize import normalized
from tgraph.nn.rows import Rows


class SpreadLayer(nn.Module):
    """The sum over neighbours by the block's weights; without any it is a mean."""

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        return pull(block, embeddings, block.weights, f="mean" if block.weights is None else "sum")


class LightGCN(LayeredModel):
    """LightGCN: the mean of the embeddings of all layers. Nothing is learnt but what it is given.

    Args:
        num_layers: How far embeddings spread.

    >>> import tgraph as tg, torch
    >>> graph = tg.from_edges([0, 0, 1], [2, 3, 3], directed=False, runtime="torch")
    >>> block = tg.nn.Block.of_graph(tg.nn.normalized(graph, self_loops=False))
    >>> LightGCN()(block, torch.ones(4, 8)).shape
    torch.Size([4, 8])
    """

    def __init__(self, num_layers: int = 3) -> None:
        super().__init__([SpreadLayer() for _ in range(num_layers)], nn.Identity(), 0.0)

    def collect(self, block: Block, layers: list[Any]) -> Tensor:
        """Return the mean of the features and all layers."""
        own = [target_rows(block, layer) for layer in layers]
        if len(own) == 1:
            return own[0]
        total = own[0] + own[1]
        for layer in own[2:]:
            total += layer
        return total.div_(len(own))

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph with symmetric weights."""
        return normalized(graph, self_loops=False)
