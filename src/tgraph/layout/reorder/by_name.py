"""Choosing an order by its name, and the graph in it."""

from __future__ import annotations

import numpy as np

from tgraph.errors import check_choice
from tgraph.graph import Graph
from tgraph.kernels.cpu.cuthill_mckee import cuthill_mckee_order
from tgraph.kernels.cpu.degree_order import degree_order
from tgraph.layout.partition import well_connected_parts
from tgraph.layout.reorder.hubs import hub_order
from tgraph.runtime import Array

ORDERS = ("hubs", "degree", "senders_first", "cuthill_mckee", "well_connected")
WELL_CONNECTED_PARTS = 64  # of blocks that follow each other by how they are connected, so that other cuts do well too


def reorder(graph: Graph, by: str) -> Graph:
    """Return the same graph with its vertices in another order; results on it carry the same ids.

    Args:
        graph: Any graph in memory.
        by: `hubs`: the most important 8 % of the vertices first (out-degree times in-degree), the others as they were.
            `degree`: all by their number of outgoing edges, the largest first. `senders_first`: vertices with outgoing
            edges, then those without. `cuthill_mckee`: neighbours near each other, for meshes and road networks
            (reverse Cuthill-McKee, edges seen both ways). `well_connected`: 64 parts with few edges between them, one
            behind the other, as `tgraph.partition` finds them.

    >>> import tgraph as tg
    >>> star = tg.from_edges(["a", "b", "c"], ["hub", "hub", "hub"], directed=False)
    >>> tg.reorder(star, "hubs").vertex_labels.tolist()
    ['hub', 'a', 'b', 'c']
    """
    check_choice("by", by, ORDERS)
    return graph.subgraph(graph.labels_of(_order(graph, by)))


def _order(graph: Graph, by: str) -> Array:
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    if by == "degree":
        return degree_order(offsets)
    if by == "hubs":
        numpy = graph.runtime.to_numpy
        return hub_order(numpy(graph.out_degrees()), numpy(graph.in_degrees()))
    if by == "senders_first":
        return np.argsort(np.diff(offsets) == 0, kind="stable")
    if by == "well_connected":
        return well_connected_parts(graph, WELL_CONNECTED_PARTS)[1]
    both = graph.symmetrize().adjacency("out").to_numpy()[:2] if graph.directed else (offsets, targets)
    return cuthill_mckee_order(*both)
