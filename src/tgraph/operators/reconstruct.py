"""reconstruct: selected vertices and their edges as a small graph in compressed rows.

    vertices   2      4  5            rows 0, 1, 2 of the subgraph
    offsets    0      3  4   6        a zero in front of the ends
    neighbors  3 4 5  6  0 6          vertex ids of the whole graph

`tensorize` is all of TENSORIZE for one direction. Where all vertices are wanted, it takes slices of the graph's own
tensors and copies nothing; `split_by_edges` cuts a large selection into blocks, so that what an iteration makes per
edge stays within the cache and the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tgraph.dtypes import OFFSET_DTYPE
from tgraph.graph import Adjacency
from tgraph.operators.neighbor_select import neighbor_select
from tgraph.runtime import Runtime, Tensor

EDGES_PER_BLOCK = 1 << 22  # per-edge tensors of a block: 16 to 32 MB each


@dataclass(frozen=True)
class Subgraph:
    """Some vertices (rows) and all their edges in one direction."""

    runtime: Runtime
    vertices: Tensor | range  # [S] ids, or consecutive ids
    offsets: Tensor  # [S+1] int64, into neighbors
    neighbors: Tensor  # [N] ids
    edge_positions: Tensor | slice  # [N] into the adjacency's tensors

    @property
    def num_arcs(self) -> int:
        """The number of edges."""
        return int(self.neighbors.shape[0])

    def at_rows(self, values: Tensor) -> Tensor:
        """Return `values [V]` at the rows, `[S]`."""
        if isinstance(self.vertices, range):
            return values[self.vertices.start : self.vertices.stop]
        return self.runtime.index_select(values, self.vertices)

    def at_neighbors(self, values: Tensor) -> Tensor:
        """Return `values [V]` at the neighbours, `[N]`."""
        return self.runtime.index_select(values, self.neighbors)

    def at_edges(self, values: Tensor) -> Tensor:
        """Return edge data `[E]` of the selected edges, `[N]`."""
        if isinstance(self.edge_positions, slice):
            return values[self.edge_positions]
        return self.runtime.index_select(values, self.edge_positions)

    def expand(self, row_values: Tensor) -> Tensor:
        """Return `row_values [S]` once per edge of the row, `[N]`."""
        return self.runtime.repeat_interleave(row_values, self.row_sizes, self.num_arcs)

    @cached_property
    def row_sizes(self) -> Tensor:
        """The number of edges of every row, `[S]`."""
        return self.offsets[1:] - self.offsets[:-1]

    def row_ids(self) -> Tensor:
        """Return the ids of the rows, `[S]`."""
        if isinstance(self.vertices, range):
            dtype = self.runtime.dtype(self.neighbors)
            return self.runtime.arange(self.vertices.start, self.vertices.stop, dtype)
        return self.vertices


def reconstruct(
    runtime: Runtime, vertices: Tensor, neighbors: Tensor, edge_positions: Tensor, ends: Tensor
) -> Subgraph:
    """Return the subgraph of what `neighbor_select` found."""
    offsets = runtime.concatenate([runtime.full(1, 0, OFFSET_DTYPE), ends])
    return Subgraph(runtime, vertices, offsets, neighbors, edge_positions)


def tensorize(adjacency: Adjacency, vertices: Tensor | range) -> Subgraph:
    """Return the subgraph of these vertices and their edges.

    >>> import tgraph as tg
    >>> graph = tg.from_edges([0, 0, 1, 2, 2, 2, 3, 4, 5, 5], [1, 2, 3, 3, 4, 5, 6, 6, 0, 6], runtime="numpy")
    >>> tensorize(graph.adjacency("out"), graph.vertices_of([2, 4, 5])).offsets
    array([0, 3, 4, 6])
    """
    if not isinstance(vertices, range):
        return reconstruct(adjacency.runtime, vertices, *neighbor_select(adjacency, vertices))
    offsets = adjacency.offsets[vertices.start : vertices.stop + 1]
    first, last = 0, adjacency.num_arcs
    if len(vertices) < adjacency.num_vertices:
        first, last = int(offsets[0]), int(offsets[-1])
        offsets = offsets - first
    edges = slice(first, last)
    return Subgraph(adjacency.runtime, vertices, offsets, adjacency.neighbors[edges], edges)


def split_by_edges(
    adjacency: Adjacency, vertices: Tensor | None, num_arcs: int, edges_per_block: int | None = None
) -> Iterator[Subgraph]:
    """Yield subgraphs of about `edges_per_block` edges that together hold these vertices (None = all), in order.

    The edges of a vertex stay together, so a block may exceed the limit by those of one vertex. `num_arcs` is the
    number of edges in all, known to the caller; one block needs no further look at the sizes. The limit is
    `EDGES_PER_BLOCK` unless given.
    """
    edges_per_block = EDGES_PER_BLOCK if edges_per_block is None else edges_per_block
    count = adjacency.num_vertices if vertices is None else int(vertices.shape[0])
    if num_arcs <= edges_per_block:
        cuts = [0, count]
    else:
        cuts = _find_cuts(adjacency, vertices, num_arcs, edges_per_block)
    for first, last in pairwise(cuts):
        yield tensorize(adjacency, range(first, last) if vertices is None else vertices[first:last])


def _find_cuts(adjacency: Adjacency, vertices: Tensor | None, num_arcs: int, edges_per_block: int) -> list[int]:
    runtime = adjacency.runtime
    if vertices is None:
        ends, count = adjacency.offsets[1:], adjacency.num_vertices
    else:
        ends, count = runtime.cumsum(runtime.index_select(adjacency.degrees(), vertices)), int(vertices.shape[0])
    limits = runtime.asarray(list(range(edges_per_block, num_arcs, edges_per_block)), OFFSET_DTYPE)
    inner = runtime.to_numpy(runtime.unique(runtime.searchsorted(ends, limits, "right"))).tolist()
    return [0, *(cut for cut in inner if 0 < cut < count), count]
