"""One direction of a graph in compressed rows."""

from __future__ import annotations

from dataclasses import dataclass

from tgraph.runtime import Array, Runtime, Tensor


@dataclass(frozen=True)
class Adjacency:
    """The neighbours of every vertex, one behind the other.

    The edges of vertex v are the positions `offsets[v]` to `offsets[v + 1] - 1` of `neighbors` and `weights`.
    """

    runtime: Runtime
    offsets: Tensor  # [V+1] int64
    neighbors: Tensor  # [E] int32 or int64
    weights: Tensor | None  # [E], None = unweighted

    @property
    def num_vertices(self) -> int:
        """The number of rows."""
        return int(self.offsets.shape[0]) - 1

    @property
    def num_arcs(self) -> int:
        """The number of stored edges."""
        return int(self.neighbors.shape[0])

    def degrees(self) -> Tensor:
        """Return the number of edges of every vertex, `[V] int64`."""
        return self.offsets[1:] - self.offsets[:-1]

    def without_edges(self) -> Adjacency:
        """Return no rows, with neighbours and weights of the same types."""
        weights = None if self.weights is None else self.weights[:0]
        return Adjacency(self.runtime, self.offsets[:1], self.neighbors[:0], weights)

    def to(self, runtime: Runtime) -> Adjacency:
        """Return the same rows on another runtime or device, without a copy where that is possible."""
        weights = None if self.weights is None else runtime.share(self.weights)
        return Adjacency(runtime, runtime.share(self.offsets), runtime.share(self.neighbors), weights)

    def to_numpy(self) -> tuple[Array, Array, Array | None]:
        """Return offsets, neighbours and weights as NumPy arrays, without a copy on the CPU."""
        weights = None if self.weights is None else self.runtime.to_numpy(self.weights)
        return self.runtime.to_numpy(self.offsets), self.runtime.to_numpy(self.neighbors), weights

    @property
    def memory_bytes(self) -> int:
        """The bytes of all tensors."""
        return sum(array.nbytes for array in self.to_numpy() if array is not None)
