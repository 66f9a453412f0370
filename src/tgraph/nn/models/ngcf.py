"""Neural graph collaborative filtering (Wang and others 2019): messages that are stronger where tastes agree."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tgraph.graph import Graph
from tgraph.nn.block import Block
from tgraph.nn.models.layered import LayeredModel, target_rows, widths
from tgraph.nn.napa import pull
from tgraph.nn.normalize import normalized
from tgraph.nn.rows import Rows

SLOPE = 0.2


class NGCFLayer(nn.Module):
    """leaky_relu(W1 (x_i + the sum of x_j) + W2 (the sum of x_i * x_j)), i the vertex and j its neighbours.

    The sums are weighted by the block's weights; without any they are means. All products have x_i in common, so that
    their sum is x_i times the sum of x_j, which is there already: an algebraic rewrite of the paper's formula.
    `pull(block, x, neighbor_apply(block, x, own, "product"), h="add")`, which has both sums in it, does the same.
    """

    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.sums, self.products = nn.Linear(num_inputs, num_outputs), nn.Linear(num_inputs, num_outputs)
        for layer in (self.sums, self.products):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        f, own = "mean" if block.weights is None else "sum", target_rows(block, embeddings)
        summed = pull(block, embeddings, block.weights, f=f)
        return functional.leaky_relu(self.sums(own + summed) + self.products(own * summed), SLOPE)


class NGCF(LayeredModel):
    """Neural graph collaborative filtering: the embeddings of all layers side by side.

    Args:
        num_features: Of every vertex, such as the width of learnt embeddings.
        hidden: The width of every layer.
        num_layers: How many.
        dropout: The part of what a layer brings that is left out in training.

    >>> import tgraph as tg, torch
    >>> graph = tg.from_edges([0, 0, 1], [2, 3, 3], directed=False, runtime="torch")
    >>> block = tg.nn.Block.of_graph(tg.nn.normalized(graph, self_loops=False))
    >>> NGCF(8, 16, num_layers=3)(block, torch.ones(4, 8)).shape
    torch.Size([4, 56])
    """

    def __init__(self, num_features: int, hidden: int, num_layers: int = 3, dropout: float = 0.1) -> None:
        sizes = widths(num_features, hidden, hidden, num_layers)
        super().__init__([NGCFLayer(*width) for width in sizes], nn.Identity(), dropout)

    def collect(self, block: Block, layers: list[Any]) -> Tensor:
        """Return the embeddings of all layers side by side, those behind the features of length 1."""
        own = [target_rows(block, layer) for layer in layers]
        return torch.cat([own[0], *(functional.normalize(layer) for layer in own[1:])], dim=1)

    def step(self, number: int, block: Block, embeddings: Tensor | Rows) -> Tensor:
        """Return what one layer makes of embeddings; dropout comes behind it here."""
        return self.dropout(self.layers[number](block, embeddings))

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph with symmetric weights."""
        return normalized(graph, self_loops=False)
