"""Parts that hold together: most edges lead to the part that they come from (TGraph, 5.2).

A part has at most an equal share of the edges and an eighth more, or an equal share and its largest vertex. A vertex
with more edges than a share has a part for itself; only vertices without outgoing edges may be with it.
"""

from __future__ import annotations

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.graph import Graph
from tgraph.kernels.cpu.csr import rows_from_edges
from tgraph.kernels.cpu.well_connected import Blocks, Sides, grow_blocks, improve_parts, join_blocks
from tgraph.runtime import Array

BLOCKS_PER_PART = 8  # a part is made of about so many blocks, and may have one more than its share


def well_connected_parts(graph: Graph, num_parts: int) -> tuple[Array, Array]:
    """Return the part of every vertex `[V] int32`, and the vertices `[V]` part by part, near ones together.

    >>> import tgraph as tg
    >>> two = tg.from_edges([0, 2, 4, 1, 3, 5], [2, 4, 0, 3, 5, 1], directed=False)
    >>> parts, order = well_connected_parts(two, 2)
    >>> parts.tolist(), order.tolist()
    ([0, 1, 0, 1, 0, 1], [0, 2, 4, 1, 3, 5])
    """
    rows = graph.adjacency("out").to_numpy()[:2]
    reverse = graph.adjacency("in").to_numpy()[:2] if graph.directed else None
    sides = Sides.of(rows, reverse)
    share = max(-(-graph.num_arcs // num_parts), 1)
    block_edges = max(share // BLOCKS_PER_PART, 1)
    blocks = grow_blocks(sides, block_edges)
    parts, block_order = join_blocks(sides, blocks, num_parts, share)
    improve_parts(sides, parts, num_parts, share + block_edges)
    return parts.astype(index_dtype(num_parts)), _order(blocks, block_order, parts, num_parts)


def _order(blocks: Blocks, block_order: Array, parts: Array, num_parts: int) -> Array:
    """Return the vertices by part, inside a part by block as they were joined, inside a block as they were found."""
    ranks = np.empty(block_order.size, np.int64)
    ranks[block_order] = np.arange(block_order.size)
    by_block = rows_from_edges(ranks[blocks.of_vertex[blocks.vertices]], blocks.vertices, None, block_order.size)[1]
    by_part = rows_from_edges(parts[by_block], by_block, None, num_parts)[1]
    return by_part.astype(index_dtype(by_part.size), copy=False)
