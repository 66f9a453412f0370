"""Learning on graphs with PyTorch: aggregation along edges, samplers, models, training."""

from tgraph.nn.block import Block

__all__ = ["Block"]
