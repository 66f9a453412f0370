"""The graph as tensors: building, checking, generating, and changing."""

from tgraph.graph import generate
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.batch import Batch
from tgraph.graph.build import from_csr, from_edges
from tgraph.graph.compressed import CompressedGraph
from tgraph.graph.dynamic import Applied, DynamicGraph
from tgraph.graph.graph import Graph
from tgraph.graph.sharded import ShardedGraph, shard

__all__ = [
    "Adjacency",
    "Applied",
    "Batch",
    "CompressedGraph",
    "DynamicGraph",
    "Graph",
    "ShardedGraph",
    "from_csr",
    "from_edges",
    "generate",
    "shard",
]
