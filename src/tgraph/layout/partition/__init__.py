"""Cutting a graph: its rows into blocks that are moved and computed one by one, its vertices into parts."""

from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.layout.partition.by_edges import cut_by_edges
from tgraph.layout.partition.by_name import WAYS, Partition, partition
from tgraph.layout.partition.well_connected import well_connected_parts

__all__ = ["WAYS", "Block", "Partition", "cut_by_edges", "partition", "well_connected_parts"]
