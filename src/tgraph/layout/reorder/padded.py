"""Ids with gaps, so that the part of a vertex is its id divided by one number (Graphie, algorithms 2 and 3).

Vertices with outgoing edges come first, part by part, and every part has as many ids as the largest one has vertices;
vertices without outgoing edges follow behind all parts.

    part              0        1        (none)       part_size = 3
    padded id         0 1 2    3 4 5    6 7
    vertex            a b c    d - -    e f          - = padding: an id without a vertex

This is no order of the vertices alone, so it is not one of `tgraph.reorder`: padding would turn up as vertices in
results. It is a second name of every vertex instead. The graph under these names is made when it is asked for, and
values found there are turned back by `undo`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.graph import Graph, from_csr
from tgraph.kernels.cpu.csr import select_rows
from tgraph.layout.partition import partition
from tgraph.runtime import Array


@dataclass(frozen=True, repr=False)
class PaddedIds:
    """A padded id for every vertex of a graph; `ids // part_size` is its part."""

    graph: Graph
    num_parts: int
    part_size: int  # ids per part
    ids: Array  # [V]: the padded id of every vertex, in vertex order

    @property
    def num_ids(self) -> int:
        """One more than the largest id that a vertex or the padding of a part has."""
        return max(self.num_parts * self.part_size, int(self.ids.max(initial=-1)) + 1)

    @property
    def is_vertex(self) -> Array:
        """`[num_ids] bool`: which ids are no padding."""
        mask = np.zeros(self.num_ids, np.bool_)
        mask[self.ids] = True
        return mask

    def parts_of(self, ids: Array) -> Array:
        """Return the parts of padded ids; `num_parts` and above: a vertex without outgoing edges, in no part."""
        return ids // self.part_size

    def vertices_of(self, ids: Array) -> Array:
        """Return the vertex numbers of padded ids, -1 for padding and for -1."""
        vertices = np.full(self.num_ids + 1, -1, self.ids.dtype)  # -1 finds the last one
        vertices[self.ids] = np.arange(self.ids.size)
        return vertices[ids]

    def to_graph(self) -> Graph:
        """Return the graph whose vertex numbers are padded ids; padding is vertices without edges.

        Values per vertex found on it are turned back by `undo`. An algorithm that counts vertices has to leave padding
        out: `tgraph.pagerank(..., personalization=padded.is_vertex)`.
        """
        order = np.argsort(self.ids)
        offsets, targets, weights = select_rows(*self.graph.adjacency("out").to_numpy(), order, self.ids)
        degrees = np.zeros(self.num_ids + 1, np.int64)
        degrees[self.ids[order] + 1] = np.diff(offsets)
        runtime = self.graph.runtime
        rows = (np.cumsum(degrees), targets, weights)
        return from_csr(*rows, directed=self.graph.directed, runtime=runtime.name, device=runtime.device)

    def undo(self, values: Any) -> Array:
        """Return values per padded id, `[num_ids]`, as values per vertex, `[V]`, in the graph's own order."""
        array: Array = self.graph.runtime.to_numpy(self.graph.runtime.asarray(values))
        return array[self.ids]

    def __repr__(self) -> str:
        return f"PaddedIds({self.ids.size:,} vertices in {self.num_parts} parts of {self.part_size:,} ids)"


def pad(graph: Graph, num_parts: int, by: str = "edges") -> PaddedIds:
    """Give every vertex a padded id, so that its part is `id // part_size`: one division instead of a search.

    Args:
        graph: Any graph in memory.
        num_parts: How many parts.
        by: How the parts are found, as for `tgraph.partition`.

    >>> import tgraph as tg
    >>> graph = tg.from_edges(["hub", "hub", "hub", "a", "b"], ["a", "b", "c", "b", "c"])
    >>> padded = tg.pad(graph, 2)
    >>> graph.vertex_labels.tolist(), padded.ids.tolist(), padded.parts_of(padded.ids).tolist()
    (['a', 'b', 'c', 'hub'], [0, 1, 4, 2], [0, 0, 2, 1])
    >>> levels = tg.bfs(padded.to_graph(), padded.ids[graph.vertex_of("hub")]).levels
    >>> padded.undo(levels).tolist()
    [1, 1, 1, 0]
    """
    cut = partition(graph, num_parts, by)
    sends = np.diff(graph.adjacency("out").to_numpy()[0])[cut.order] > 0
    senders, others = cut.order[sends], cut.order[~sends]
    counts = np.bincount(cut.parts[senders], minlength=num_parts)
    part_size = max(int(counts.max()), 1)
    gaps = np.concatenate([[0], np.cumsum(part_size - counts)])  # padding before each part, and behind the last one
    num_ids = num_parts * part_size + others.size
    ids = np.empty(cut.order.size, index_dtype(num_ids))
    ids[senders] = np.arange(senders.size) + gaps[cut.parts[senders]]
    ids[others] = np.arange(senders.size, cut.order.size) + gaps[-1]
    return PaddedIds(graph, num_parts, part_size, ids)
