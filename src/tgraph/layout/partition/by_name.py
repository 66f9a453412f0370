"""Every vertex in a part: `tgraph.partition`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tgraph.errors import InvalidArgumentError, check_choice
from tgraph.graph import Graph
from tgraph.kernels.cpu.csr import count_between
from tgraph.layout.partition.by_edges import parts_by_edges
from tgraph.layout.partition.well_connected import well_connected_parts
from tgraph.runtime import Array

WAYS = ("well_connected", "edges")


@dataclass(frozen=True, repr=False)
class Partition:
    """Every vertex of a graph in one of `num_parts` parts, some of which may be empty."""

    graph: Graph
    by: str
    parts: Array  # [V]: the part of every vertex, in vertex order
    order: Array  # [V]: vertex numbers part by part
    num_vertices: Array  # [P]
    num_arcs: Array  # [P]: stored edges that begin in a part
    num_cut_edges: int  # edges between two parts; an undirected edge once

    @property
    def num_parts(self) -> int:
        """The number of parts, empty ones included."""
        return int(self.num_vertices.size)

    def vertex_ids(self, part: int) -> Array:
        """Return the user's ids of the vertices in a part."""
        end = int(self.num_vertices[: part + 1].sum())
        return self.graph.labels_of(self.order[end - int(self.num_vertices[part]) : end])

    def __repr__(self) -> str:
        cut = self.num_cut_edges / max(self.graph.num_edges, 1)
        most = int(self.num_arcs.max())
        return (
            f"Partition({self.num_parts} parts by {self.by}: {self.graph.num_vertices:,} vertices, at most {most:,} "
            f"edges in one, {self.num_cut_edges:,} of {self.graph.num_edges:,} edges cut ({cut:.1%}))"
        )


def partition(graph: Graph, num_parts: int, by: str = "well_connected") -> Partition:
    """Divide the vertices of a graph into parts with about equally many outgoing edges.

    Args:
        graph: Any graph in memory.
        num_parts: How many parts; where vertices or edges are few, some are empty.
        by: `well_connected`: few edges between parts. Parts grow side by side from many vertices, along edges in
            either direction (TGraph, 5.2); one has at most a share of the edges and an eighth more, or a share and its
            largest vertex. `edges`: consecutive vertices, found at once; at most a share and the largest vertex.

    The same graph has the same parts on any number of threads.

    >>> import tgraph as tg
    >>> triangles = tg.from_edges(list("acebdfa"), list("ceadfbb"), directed=False)
    >>> found = tg.partition(triangles, 2)
    >>> found.parts.tolist(), found.num_cut_edges, found.vertex_ids(1).tolist()
    ([0, 1, 0, 1, 0, 1], 1, ['b', 'd', 'f'])
    >>> tg.partition(triangles, 2, by="edges")
    Partition(2 parts by edges: 6 vertices, at most 8 edges in one, 4 of 7 edges cut (57.1%))
    """
    check_choice("by", by, WAYS)
    if num_parts < 1:
        raise InvalidArgumentError(f"num_parts={num_parts} must be 1 or more")
    offsets, targets, _ = graph.adjacency("out").to_numpy()
    if by == "edges":
        parts, order = parts_by_edges(offsets, num_parts), np.arange(offsets.size - 1, dtype=targets.dtype)
    else:
        parts, order = well_connected_parts(graph, num_parts)
    sizes = np.bincount(parts, minlength=num_parts)
    ends = np.concatenate([[0], np.cumsum(np.diff(offsets)[order])])[np.concatenate([[0], np.cumsum(sizes)])]
    cut_arcs = count_between(offsets, targets, parts)
    return Partition(graph, by, parts, order, sizes, np.diff(ends), cut_arcs if graph.directed else cut_arcs // 2)
