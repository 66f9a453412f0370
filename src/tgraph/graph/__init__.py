"""The graph as tensors: building, checking, generating."""

from tgraph.graph import generate
from tgraph.graph.adjacency import Adjacency
from tgraph.graph.build import from_csr, from_edges
from tgraph.graph.graph import Graph

__all__ = ["Adjacency", "Graph", "from_csr", "from_edges", "generate"]
