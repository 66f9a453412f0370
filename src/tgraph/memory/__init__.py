"""Graphs whose edges do not fit into memory: near and far memory, and what moves between them.

Near memory is where the compute is, under a hard budget in bytes; far memory is where the edges live: here RAM and a
file on disk. Vertex data stays near, edges come in blocks.
"""

from tgraph.memory.budget import Budget, parse_bytes
from tgraph.memory.builder import build_file
from tgraph.memory.edge_stream import EdgeStream
from tgraph.memory.far_file import FarFile
from tgraph.memory.far_graph import FarGraph, open
from tgraph.memory.link import Link, link_for
from tgraph.memory.loader import BlockLoader, LoadedBlock, Moved

__all__ = [
    "BlockLoader",
    "Budget",
    "EdgeStream",
    "FarFile",
    "FarGraph",
    "Link",
    "LoadedBlock",
    "Moved",
    "build_file",
    "link_for",
    "open",
    "parse_bytes",
]
