"""Models, each a few lines on `tgraph.nn.neighbor_apply` and `tgraph.nn.pull`."""

from tgraph.nn.models.gat import GAT
from tgraph.nn.models.gcn import GCN
from tgraph.nn.models.gin import GIN
from tgraph.nn.models.lightgcn import LightGCN
from tgraph.nn.models.ngcf import NGCF
from tgraph.nn.models.recommender import Recommender
from tgraph.nn.models.sage import GraphSAGE

__all__ = ["GAT", "GCN", "GIN", "NGCF", "GraphSAGE", "LightGCN", "Recommender"]
