"""Learning on graphs with PyTorch: aggregation along edges, samplers, models, training."""

from tgraph.nn.block import Block
from tgraph.nn.combine import aggregate_and_combine
from tgraph.nn.napa import EdgeProduct, apply, neighbor_apply, pull
from tgraph.nn.placement import Placed, Placement
from tgraph.nn.rows import Rows

__all__ = [
    "Block",
    "EdgeProduct",
    "Placed",
    "Placement",
    "Rows",
    "aggregate_and_combine",
    "apply",
    "neighbor_apply",
    "pull",
]
