"""Learning on graphs with PyTorch: aggregation along edges, samplers, models, training."""

from tgraph.nn.block import Block
from tgraph.nn.link_loader import LinkBatch, LinkLoader
from tgraph.nn.pipeline import Batch, Loader
from tgraph.nn.rows import Rows
from tgraph.nn.sampler import NeighborSampler, Sample
from tgraph.nn.tables import open_table

__all__ = ["Batch", "Block", "LinkBatch", "LinkLoader", "Loader", "NeighborSampler", "Rows", "Sample", "open_table"]
