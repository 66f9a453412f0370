"""GraphSAGE (Hamilton, Ying, Leskovec 2017): a vertex beside what its neighbours bring, each through a dense layer."""

from __future__ import annotations

from torch import Tensor, nn

from tgraph.errors import check_choice
from tgraph.nn.block import Block
from tgraph.nn.combine import aggregate_and_combine
from tgraph.nn.models.layered import LayeredModel, target_rows, widths
from tgraph.nn.napa import pull
from tgraph.nn.placement import Placement
from tgraph.nn.rows import Rows


class SAGELayer(nn.Module):
    """W1 x of the vertex + W2 (mean, sum or maximum over its neighbours) + b."""

    def __init__(self, num_inputs: int, num_outputs: int, aggregation: str = "mean", order: str = "auto") -> None:
        super().__init__()
        check_choice("aggregation", aggregation, ("mean", "sum", "max"))
        self.own, self.others = nn.Linear(num_inputs, num_outputs), nn.Linear(num_inputs, num_outputs, bias=False)
        self.aggregation, self.placement = aggregation, Placement(order)

    def forward(self, block: Block, embeddings: Tensor | Rows) -> Tensor:
        own = self.own(target_rows(block, embeddings))
        if self.aggregation == "max":
            return own + self.others(pull(block, embeddings, f="max"))
        weight, f = self.others.weight, self.aggregation
        return own + aggregate_and_combine(block, embeddings, weight, f=f, placement=self.placement)


class GraphSAGE(LayeredModel):
    """GraphSAGE.

    Args:
        num_features: Of every vertex.
        hidden: The width between layers.
        num_outputs: Such as the number of classes.
        num_layers: How many.
        aggregation: `"mean"`, `"sum"` or `"max"` over the neighbours.
        dropout: The part of the inputs of every layer that is left out in training.
        order: Whether layers aggregate or combine first: `"auto"` by measured costs, see `tgraph.nn.Placement`.

    >>> import tgraph as tg, torch
    >>> sampler = tg.nn.NeighborSampler(tg.generate.rmat(8, 8, seed=1, runtime="torch"), fanouts=(5, 5))
    >>> sample = sampler.sample([0, 1, 2], number=0)
    >>> GraphSAGE(8, 16, 3)(sample.blocks, torch.ones(256, 8)[sample.vertices]).shape
    torch.Size([3, 3])
    """

    def __init__(
        self,
        num_features: int,
        hidden: int,
        num_outputs: int,
        num_layers: int = 2,
        aggregation: str = "mean",
        dropout: float = 0.5,
        order: str = "auto",
    ) -> None:
        sizes = widths(num_features, hidden, num_outputs, num_layers)
        super().__init__([SAGELayer(*width, aggregation, order) for width in sizes], nn.ReLU(), dropout)
