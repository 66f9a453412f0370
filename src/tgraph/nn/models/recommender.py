"""Learnt embeddings of users and items, spread over the graph of what was chosen."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tgraph.nn.block import Block
from tgraph.nn.models.layered import LayeredModel
from tgraph.nn.rows import Rows


class Recommender(nn.Module):
    """One embedding per vertex, and a model that spreads them: `NGCF` or `LightGCN`. Scores are dot products.

    Args:
        num_vertices: Users and items.
        width: Of an embedding.
        model: Takes embeddings of this width.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1], [2, 3, 3], directed=False, runtime="torch")
    >>> model = Recommender(4, 8, tg.nn.LightGCN(num_layers=2))
    >>> block = tg.nn.Block.of_graph(model.spread.prepare(graph))
    >>> model(block).shape
    torch.Size([4, 8])
    """

    def __init__(self, num_vertices: int, width: int, model: LayeredModel) -> None:
        super().__init__()
        self.embeddings = nn.Parameter(torch.empty(num_vertices, width))
        self.spread = model
        nn.init.normal_(self.embeddings, std=0.1)

    def forward(self, blocks: Block | Sequence[Block], vertices: Tensor | None = None) -> Tensor:
        """Return the embeddings of the last block's targets; `vertices` are the first block's sources, None = all."""
        return self.spread(blocks, self.embeddings if vertices is None else Rows(self.embeddings, vertices))
