"""Learning on graphs with PyTorch: aggregation along edges, samplers, models, training."""

from importlib.util import find_spec

from tgraph.errors import MissingDependencyError

if find_spec("torch") is None:
    raise MissingDependencyError("torch", "tgraph.nn", "nn")

from tgraph.nn.block import Block
from tgraph.nn.combine import aggregate_and_combine
from tgraph.nn.inference import infer
from tgraph.nn.link_loader import LinkBatch, LinkLoader
from tgraph.nn.models import GAT, GCN, GIN, NGCF, GraphSAGE, LightGCN, Recommender
from tgraph.nn.napa import EdgeProduct, apply, edge_softmax, neighbor_apply, pull
from tgraph.nn.normalize import normalized, with_self_loops
from tgraph.nn.pipeline import Batch, Loader
from tgraph.nn.placement import Placed, Placement
from tgraph.nn.pyg import PyGBatches
from tgraph.nn.rows import Rows
from tgraph.nn.sampler import NeighborSampler, Sample
from tgraph.nn.tables import open_table

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "NGCF",
    "Batch",
    "Block",
    "EdgeProduct",
    "GraphSAGE",
    "LightGCN",
    "LinkBatch",
    "LinkLoader",
    "Loader",
    "NeighborSampler",
    "Placed",
    "Placement",
    "PyGBatches",
    "Recommender",
    "Rows",
    "Sample",
    "aggregate_and_combine",
    "apply",
    "edge_softmax",
    "infer",
    "neighbor_apply",
    "normalized",
    "open_table",
    "pull",
    "with_self_loops",
]
