"""Drawing the edges of one layer: from rows at hand, or by the ranks that own the vertices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tgraph.kernels.cpu.neighbor_sampling import count_rows, sample_rows
from tgraph.nn.buffers import BufferPool
from tgraph.nn.sampled_rows import SampledRows
from tgraph.runtime import Array

Counted = Callable[[int], None]


@dataclass(frozen=True)
class Drawn:
    """Edges in rows, one per vertex that was asked for."""

    offsets: Array  # [N+1] int64
    neighbors: Array  # [E] vertex numbers
    times: Array | None = None  # [E], handed down to the neighbours
    weights: Array | None = None  # [E]
    numbers: Array | None = None  # [E], which edges of the graph these are


class Draws(Protocol):
    """Where a sampler's edges come from."""

    def draw(
        self, vertices: Array, times: Array | None, fanout: int, key: np.uint64, counted: Counted | None = None
    ) -> Drawn:
        """Draw edges of every vertex; `counted` is told how many there will be, as soon as that is known."""


class LocalDraws:
    """Draws from rows; what is drawn for a vertex depends on key, vertex and time alone."""

    def __init__(self, rows: SampledRows, pool: BufferPool, *, replace: bool, weighted: bool) -> None:
        self._rows, self._take, self._replace, self._weighted = rows, pool.take, replace, weighted

    def draw(
        self, vertices: Array, times: Array | None, fanout: int, key: np.uint64, counted: Counted | None = None
    ) -> Drawn:
        return self.draw_rows(vertices, vertices, times, fanout, key, counted)

    def draw_rows(
        self,
        row_numbers: Array,
        vertices: Array,
        times: Array | None,
        fanout: int,
        key: np.uint64,
        counted: Counted | None = None,
    ) -> Drawn:
        """Draw for vertices whose rows have other numbers than they."""
        rows, take, count = self._rows, self._take, vertices.size
        firsts, degrees, offsets = take(count, np.uint64), take(count, np.int64), take(count + 1, np.int64)
        counting = (rows.offsets, rows.times, fanout, self._replace, firsts, degrees, offsets)
        total = count_rows(row_numbers, times, *counting)
        if counted is not None:
            counted(total)
        edges, neighbors = take(total, np.int64), take(total, rows.neighbors.dtype)
        new_times = None if times is None else take(total, np.int64)
        chances = (rows.sums, rows.weights if self._weighted and not self._replace else None)
        new, places = (edges, neighbors, new_times), (vertices, times)
        sample_rows(rows.neighbors, chances, (firsts, degrees, offsets), places, fanout, self._replace, key, new)
        return Drawn(offsets, neighbors, new_times, self._pick(rows.weights, edges), self._pick(rows.numbers, edges))

    def _pick(self, array: Array | None, edges: Array) -> Array | None:
        if array is None:
            return None
        return np.take(array, edges, out=self._take(edges.size, array.dtype), mode="clip")
