"""What models that go layer by layer have in common: each layer on a block of its own, or all on one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from tgraph.errors import InvalidArgumentError
from tgraph.graph import Graph
from tgraph.nn.block import Block
from tgraph.nn.dropout import Dropout
from tgraph.nn.rows import Rows


class LayeredModel(nn.Module):
    """Layers one after the other, with dropout before and an activation between them.

    A layer takes a block and the embeddings of its sources, and returns those of its targets. `decays_last` says
    whether training lets the weights of the last layer decay, too.
    """

    decays_last = False

    def __init__(self, layers: Sequence[nn.Module], activation: nn.Module, dropout: float) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise InvalidArgumentError(f"dropout={dropout!r} must be from 0 to less than 1")
        self.layers = nn.ModuleList(layers)
        self.activation, self.dropout = activation, Dropout(dropout)

    def forward(self, blocks: Block | Sequence[Block], features: Tensor | Rows) -> Tensor:
        """Return the embeddings of the last block's targets.

        Args:
            blocks: One block per layer, the outermost first; or one for all, of the whole graph.
            features: Of the first block's sources.
        """
        chosen = [blocks] * len(self.layers) if isinstance(blocks, Block) else list(blocks)
        if len(chosen) != len(self.layers):
            raise InvalidArgumentError(f"{len(chosen)} blocks were given for {len(self.layers)} layers; give one each")
        values: list[Any] = [features]
        for number, block in enumerate(chosen):
            values.append(self.step(number, block, values[-1]))
        return self.collect(chosen[-1], values)

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph as this model wants it: with weights, or with self-loops. Here as it is."""
        return graph

    def collect(self, block: Block, layers: list[Any]) -> Tensor:
        """Return what counts for the targets of the last block, of the features and of all layers: here the last."""
        return layers[-1]

    def step(self, number: int, block: Block, embeddings: Tensor | Rows) -> Tensor:
        """Return what one layer makes of embeddings, with what comes before and after it."""
        if self.training and self.dropout.p:
            embeddings = self.dropout(embeddings.gather() if isinstance(embeddings, Rows) else embeddings)
        new = self.layers[number](block, embeddings)
        return new if number == len(self.layers) - 1 else self.activation(new)


def widths(num_features: int, hidden: int, num_outputs: int, num_layers: int) -> list[tuple[int, int]]:
    """Return the numbers of inputs and outputs of every layer.

    >>> widths(100, 64, 7, 3)
    [(100, 64), (64, 64), (64, 7)]
    """
    for name, value in {"num_features": num_features, "hidden": hidden, "num_outputs": num_outputs}.items():
        if value < 1:
            raise InvalidArgumentError(f"{name}={value} must be 1 or more")
    if num_layers < 1:
        raise InvalidArgumentError(f"num_layers={num_layers} must be 1 or more")
    sizes = [num_features, *[hidden] * (num_layers - 1), num_outputs]
    return list(pairwise(sizes))


def target_rows(block: Block, embeddings: Tensor | Rows) -> Tensor:
    """Return the embeddings of a block's targets, which are its first sources."""
    if isinstance(embeddings, Rows):
        return embeddings[: block.num_targets].gather()
    return embeddings[: block.num_targets]
