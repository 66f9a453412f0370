"""Graph attention networks: GAT (Velickovic and others 2018) and GATv2 (Brody, Alon, Yahav 2022)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tgraph.graph import Graph
from tgraph.nn.block import Block
from tgraph.nn.dropout import Dropout
from tgraph.nn.models.layered import LayeredModel, target_rows
from tgraph.nn.napa import edge_softmax, neighbor_apply, pull
from tgraph.nn.normalize import with_self_loops
from tgraph.nn.rows import Rows

SLOPE = 0.2  # of the leaky ReLU of attention


class GATLayer(nn.Module):
    """Heads that weigh the neighbours by attention, side by side or averaged.

    GAT adds a number of the source and one of the target; GATv2 (`dynamic`) adds their vectors, with other weights for
    the targets, and weighs them after the leaky ReLU.
    """

    def __init__(
        self,
        num_inputs: int,
        num_outputs: int,
        num_heads: int,
        *,
        is_joined: bool = True,
        dropout: float = 0.0,
        dynamic: bool = False,
    ) -> None:
        super().__init__()
        self.num_heads, self.num_outputs, self.is_joined, self.dynamic = num_heads, num_outputs, is_joined, dynamic
        self.values = nn.Linear(num_inputs, num_heads * num_outputs, bias=dynamic)
        self.targets = nn.Linear(num_inputs, num_heads * num_outputs) if dynamic else None
        self.of_source = nn.Parameter(torch.empty(num_heads, num_outputs))
        self.of_target = None if dynamic else nn.Parameter(torch.empty(num_heads, num_outputs))
        self.bias = nn.Parameter(torch.zeros(num_heads * num_outputs if is_joined else num_outputs))
        self.dropout = Dropout(dropout)
        for parameter in (self.values.weight, self.of_source, self.of_target):
            if parameter is not None:
                nn.init.xavier_uniform_(parameter)

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        x = embeddings.gather() if isinstance(embeddings, Rows) else embeddings
        values = self._by_head(self.values(x))
        weights = self._scores(block, x, values)
        joined = pull(block, values, self.dropout(edge_softmax(block, weights)))
        return (joined.flatten(1) if self.is_joined else joined.mean(1)) + self.bias

    def _scores(self, block: Block, x: Tensor, values: Tensor) -> Tensor:
        """Return the weight of every edge for every head, before it is normalised."""
        if self.targets is not None:
            targets = self._by_head(self.targets(target_rows(block, x)))
            scores: Any = neighbor_apply(block, values, targets, "additive", self.of_source, SLOPE)
            return scores
        assert self.of_target is not None
        ends = (values * self.of_source).sum(-1), (target_rows(block, values) * self.of_target).sum(-1)
        added: Any = neighbor_apply(block, *ends, "additive")
        return functional.leaky_relu(added, SLOPE)

    def _by_head(self, embeddings: Tensor) -> Tensor:
        return embeddings.view(-1, self.num_heads, self.num_outputs)


class GAT(LayeredModel):
    """A graph attention network; give it a graph `tgraph.nn.with_self_loops`.

    Args:
        num_features: Of every vertex.
        hidden: The width of every head between layers.
        num_outputs: Such as the number of classes.
        num_layers: How many.
        num_heads: Of every layer but the last.
        num_last_heads: Of the last layer, whose heads are averaged.
        dropout: The part of inputs and of attention that is left out in training.
        dynamic: GATv2 instead of GAT.

    >>> import tgraph as tg, torch
    >>> graph = tg.generate.rmat(5, 4, seed=1, runtime="torch").symmetrize()
    >>> block = tg.nn.Block.of_graph(tg.nn.with_self_loops(graph))
    >>> GAT(8, 4, 3, num_heads=2, dynamic=True)(block, torch.ones(32, 8)).shape
    torch.Size([32, 3])
    """

    decays_last = True  # as in the papers

    def __init__(
        self,
        num_features: int,
        hidden: int,
        num_outputs: int,
        num_layers: int = 2,
        num_heads: int = 8,
        num_last_heads: int = 1,
        dropout: float = 0.6,
        dynamic: bool = False,
    ) -> None:
        sizes = [num_features, *[hidden * num_heads] * (num_layers - 1)]
        how = {"dropout": dropout, "dynamic": dynamic}
        layers: list[nn.Module] = [GATLayer(size, hidden, num_heads, **how) for size in sizes[:-1]]  # type: ignore[arg-type]
        layers.append(GATLayer(sizes[-1], num_outputs, num_last_heads, is_joined=False, **how))  # type: ignore[arg-type]
        super().__init__(layers, nn.ELU(), dropout)

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph with self-loops."""
        return with_self_loops(graph)
