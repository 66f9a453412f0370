"""The five graph operators, built from runtime primitives.

TENSORIZE turns active vertices into a subgraph of flat tensors (`vertex_select`, `neighbor_select`, `reconstruct`);
COMPUTE meets the messages and changes the vertices (`aggregate`, `update`). All examples use one graph of seven
vertices and ten edges:

    0 -> 1, 2     1 -> 3     2 -> 3, 4, 5     3 -> 6     4 -> 6     5 -> 0, 6     6 ->

    offsets    0   2   3       6   7   8      10  10
    neighbors  1 2 3 3 4 5 6 6 0 6
"""

from tgraph.operators.aggregate import Accumulator, aggregate
from tgraph.operators.neighbor_select import find_edge_positions, neighbor_select
from tgraph.operators.reconstruct import Subgraph, reconstruct, split_by_edges, tensorize
from tgraph.operators.update import changed_mask, update
from tgraph.operators.vertex_select import vertex_select

__all__ = [
    "Accumulator",
    "Subgraph",
    "aggregate",
    "changed_mask",
    "find_edge_positions",
    "neighbor_select",
    "reconstruct",
    "split_by_edges",
    "tensorize",
    "update",
    "vertex_select",
]
