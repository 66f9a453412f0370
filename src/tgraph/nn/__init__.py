"""Learning on graphs with PyTorch: aggregation along edges, samplers, models, training."""

from tgraph.nn.block import Block
from tgraph.nn.napa import EdgeProduct, apply, neighbor_apply, pull
from tgraph.nn.rows import Rows

__all__ = ["Block", "EdgeProduct", "Rows", "apply", "neighbor_apply", "pull"]
