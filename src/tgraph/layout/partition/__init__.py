"""Cutting the rows of a graph into blocks that are moved and computed one by one."""

from tgraph.kernels.cpu.fused.blocks import Block
from tgraph.layout.partition.by_edges import cut_by_edges

__all__ = ["Block", "cut_by_edges"]
