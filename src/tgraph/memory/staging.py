"""Edges that wait in a file until their vertices have numbers and the type of their weights is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tgraph.dtypes import index_dtype
from tgraph.io.files import write_array
from tgraph.kernels.cpu.vertex_ids import id_range
from tgraph.memory.vertex_numbers import VertexNumbers
from tgraph.runtime import Array

NARROW = np.iinfo(np.int32)


class _Block(NamedTuple):
    size: int
    ids: np.dtype[Any]
    weights: np.dtype[Any] | None
    chunk: int


class StagedEdges:
    """Columns of integers in one file, block by block: sources, targets and maybe weights."""

    def __init__(self, path: Path, edges_per_block: int) -> None:
        self._path, self._step = path, edges_per_block
        self._blocks: list[_Block] = []
        self.num_edges = 0

    def add(self, sources: Array, targets: Array, weights: Array | None, chunk: int) -> None:
        """Append edges; ids of 32 bits take half the room."""
        limits = [id_range(column) for column in (sources, targets)]
        is_narrow = min(low for low, _ in limits) >= NARROW.min and max(high for _, high in limits) <= NARROW.max
        dtype = np.dtype(np.int32 if is_narrow else np.int64)
        with self._path.open("ab") as file:
            for first in range(0, sources.size, self._step):
                some = slice(first, first + self._step)
                for column in (sources, targets):
                    write_array(file, column[some].astype(dtype, copy=False))
                if weights is not None:
                    write_array(file, weights[some])
                kind = None if weights is None else weights.dtype
                self._blocks.append(_Block(sources[some].size, dtype, kind, chunk))
        self.num_edges += sources.size

    def weight_dtype(self, otherwise: np.dtype[Any] | None) -> np.dtype[Any] | None:
        """Return the type that holds the weights of all blocks: real numbers if any are."""
        kinds = [block.weights for block in self._blocks if block.weights is not None]
        return np.result_type(*kinds) if kinds else otherwise

    def numbered(
        self, numbers: VertexNumbers, num_vertices: int, weight_dtype: np.dtype[Any] | None
    ) -> Iterator[tuple[Array, Array, Array | None]]:
        """Yield the edges as vertex numbers and weights, block by block, and remove the file at the end."""
        dtype = index_dtype(num_vertices)
        if not self._blocks:
            return
        with self._path.open("rb") as file:
            for block in self._blocks:
                ends = [np.fromfile(file, block.ids, block.size) for _ in range(2)]
                weights = None if block.weights is None else np.fromfile(file, block.weights, block.size)
                sources, targets = (numbers.numbers_of(one, block.chunk).astype(dtype, copy=False) for one in ends)
                yield sources, targets, None if weights is None else weights.astype(weight_dtype, copy=False)
        self._path.unlink()
