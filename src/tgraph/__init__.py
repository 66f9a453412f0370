"""Graph processing on tensors: one program, written once, on any engine and any tensor runtime."""

from tgraph.graph import Graph, from_edges, from_csr
from tgraph import runtime
from tgraph.config import config
