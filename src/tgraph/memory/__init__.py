"""Graphs whose edges do not fit into memory: near and far memory, and what moves between them.

Near memory is where the compute is, under a hard budget in bytes; far memory is where the edges live: RAM and a file on
disk are one such pair, a device's memory and the host's another. Vertex data stays near, edges come in blocks.
"""

from tgraph.budget import Budget, parse_bytes
from tgraph.memory.builder import build_file
from tgraph.memory.device import Device
from tgraph.memory.device_loader import BUFFERS, Buffer, DeviceLoader, buffer_bytes, bytes_per_edge
from tgraph.memory.edge_stream import EdgeStream, release_stream
from tgraph.memory.far_file import FarFile
from tgraph.memory.far_graph import FarGraph, open
from tgraph.memory.far_shard import FarRows, agreed
from tgraph.memory.host_edges import DeviceLink, HostEdges
from tgraph.memory.link import Link, link_for
from tgraph.memory.loader import BlockLoader, LoadedBlock, Moved
from tgraph.memory.near_rows import NearBlock, NearRows, some_rows
from tgraph.memory.offloaded_graph import OffloadedGraph, offload

__all__ = [
    "BUFFERS",
    "BlockLoader",
    "Budget",
    "Buffer",
    "Device",
    "DeviceLink",
    "DeviceLoader",
    "EdgeStream",
    "FarFile",
    "FarGraph",
    "FarRows",
    "HostEdges",
    "Link",
    "LoadedBlock",
    "Moved",
    "NearBlock",
    "NearRows",
    "OffloadedGraph",
    "agreed",
    "buffer_bytes",
    "build_file",
    "bytes_per_edge",
    "link_for",
    "offload",
    "open",
    "parse_bytes",
    "release_stream",
    "some_rows",
]
