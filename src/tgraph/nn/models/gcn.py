"""Graph convolutional network (Kipf and Welling 2017): a weighted sum of the neighbours, then a dense layer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tgraph.graph import Graph
from tgraph.nn.block import Block
from tgraph.nn.combine import aggregate_and_combine
from tgraph.nn.models.layered import LayeredModel, widths
from tgraph.nn.normalize import normalized
from tgraph.nn.placement import Placement
from tgraph.nn.rows import Rows


class GCNLayer(nn.Module):
    """Sums by the weights of the block, such as `tgraph.nn.normalized` gives them; without weights it is a mean."""

    def __init__(self, num_inputs: int, num_outputs: int, order: str = "auto") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_outputs, num_inputs))
        self.bias = nn.Parameter(torch.zeros(num_outputs))
        self.placement = Placement(order)
        nn.init.uniform_(self.weight, -1, 1)
        with torch.no_grad():
            self.weight *= math.sqrt(6 / (num_inputs + num_outputs))  # Glorot's

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        f = "mean" if block.weights is None else "sum"
        return aggregate_and_combine(block, embeddings, self.weight, self.bias, block.weights, f, self.placement)


class GCN(LayeredModel):
    """A graph convolutional network.

    Args:
        num_features: Of every vertex.
        hidden: The width between layers.
        num_outputs: Such as the number of classes.
        num_layers: How many.
        dropout: The part of the inputs of every layer that is left out in training.
        order: Whether layers aggregate or combine first: `"auto"` by measured costs, see `tgraph.nn.Placement`.

    >>> import tgraph as tg, torch
    >>> graph = tg.generate.rmat(5, 4, seed=1, runtime="torch").symmetrize()
    >>> block = tg.nn.Block.of_graph(tg.nn.normalized(graph))
    >>> GCN(8, 16, 3)(block, torch.ones(32, 8)).shape
    torch.Size([32, 3])
    """

    def __init__(
        self,
        num_features: int,
        hidden: int,
        num_outputs: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        order: str = "auto",
    ) -> None:
        layers = [GCNLayer(*width, order) for width in widths(num_features, hidden, num_outputs, num_layers)]
        super().__init__(layers, nn.ReLU(), dropout)

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph with self-loops and symmetric weights."""
        return normalized(graph)
