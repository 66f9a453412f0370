"""Blocks, and rows of blocks, on their way to near memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tgraph as tg
from tgraph.layout.partition import cut_by_edges
from tgraph.memory import BlockLoader, LoadedBlock


def rows_of(loaded: LoadedBlock, offsets: np.ndarray) -> dict[int, tuple[list[int], list[int]]]:
    """Return the neighbours and weights of every row that came."""
    block, weights = loaded.block, loaded.weights
    assert weights is not None
    if loaded.rows is None:
        rows = range(block.first_row, block.last_row)
        starts = weight_starts = (offsets[rows] - block.first_edge).tolist()
        counts = np.diff(offsets[block.first_row : block.last_row + 1]).tolist()
    else:
        rows, counts = loaded.rows.rows.tolist(), loaded.rows.counts.tolist()
        starts, weight_starts = loaded.rows.starts.tolist(), loaded.rows.weight_starts.tolist()
    columns = zip(rows, counts, starts, weight_starts, strict=True)
    return {
        row: (loaded.neighbors[start:][:count].tolist(), weights[weight_start:][:count].tolist())
        for row, count, start, weight_start in columns
    }


@pytest.mark.parametrize("way", ["compact", "zero_copy"])
def test_rows_that_are_moved_alike_come_together(way: str, tmp_path: Path) -> None:
    graph = tg.generate.rmat(12, 16, seed=1, weights=(1, 99), runtime="numpy").symmetrize().simplify()
    offsets, targets, weights = graph.adjacency("out").to_numpy()
    assert weights is not None
    tg.write(graph, tmp_path / "graph.safetensors")
    far = tg.open(tmp_path / "graph.safetensors", "1MiB", "numpy")
    blocks, active = cut_by_edges(offsets, 8192), np.zeros(graph.num_vertices, np.bool_)
    active[[block.last_row - 1 for block in blocks]] = True
    ways = [way if number % 2 else "filter" for number in range(len(blocks))]
    with far.open_file() as file:
        loader = BlockLoader(file, far.far_rows("out"), offsets, blocks, kept_bytes=0)
        loads = [
            (loaded.rows is None, rows_of(loaded, offsets))
            for loaded in loader.stream(range(len(blocks)), ways, active)
        ]
        moved = loader.take_moved()
    assert [is_whole for is_whole, _ in loads] == sorted((is_whole for is_whole, _ in loads), reverse=True)
    assert len(loads) < len(blocks) * 3 // 4
    assert moved.num_blocks == {"filter": (len(blocks) + 1) // 2, way: len(blocks) // 2}
    came = {row: edges for _, rows in loads for row, edges in rows.items()}
    for block, how in zip(blocks, ways, strict=True):
        for row in range(block.first_row, block.last_row):
            first, last = offsets[row : row + 2]
            if last > first and (active[row] or how == "filter"):
                assert came[row] == (targets[first:last].tolist(), weights[first:last].tolist())
