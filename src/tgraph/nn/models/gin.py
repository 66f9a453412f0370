"""Graph isomorphism network (Xu, Hu, Leskovec, Jegelka 2019): a sum over neighbours, through a small dense network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tgraph.nn.block import Block
from tgraph.nn.models.layered import LayeredModel, target_rows, widths
from tgraph.nn.napa import pull
from tgraph.nn.rows import Rows


class GINLayer(nn.Module):
    """MLP((1 + epsilon) * x of the vertex + the sum over its neighbours), epsilon is learnt."""

    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.dense = nn.Sequential(nn.Linear(num_inputs, num_outputs), nn.ReLU(), nn.Linear(num_outputs, num_outputs))

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        return self.dense((1 + self.epsilon) * target_rows(block, embeddings) + pull(block, embeddings))


class GIN(LayeredModel):
    """A graph isomorphism network.

    Args:
        num_features: Of every vertex.
        hidden: The width between layers.
        num_outputs: Such as the number of classes.
        num_layers: How many.
        dropout: The part of the inputs of every layer that is left out in training.

    >>> import tgraph as tg, torch
    >>> block = tg.nn.Block.of_graph(tg.generate.rmat(5, 4, seed=1, runtime="torch"))
    >>> GIN(8, 16, 3)(block, torch.ones(32, 8)).shape
    torch.Size([32, 3])
    """

    def __init__(
        self, num_features: int, hidden: int, num_outputs: int, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        sizes = widths(num_features, hidden, num_outputs, num_layers)
        super().__init__([GINLayer(*width) for width in sizes], nn.ReLU(), dropout)
