"""The cache of hot rows: its rows are the graph's, its bytes are within the limit, and cold rows are not kept."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph.kernels.cpu.fused.block_push import ListedRows
from tgraph.kernels.cpu.hot_rows import ROW_BYTES
from tgraph.layout.partition import Block, cut_by_edges
from tgraph.memory.loader import LoadedBlock
from tgraph.memory.vertex_cache import BYTES_PER_VERTEX, VertexCache

INT32, FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


def whole(block: Block, neighbors: np.ndarray, weights: np.ndarray | None) -> LoadedBlock:
    part = slice(block.first_edge, block.last_edge)
    return LoadedBlock(block, neighbors[part].copy(), None if weights is None else weights[part].copy())


@settings(deadline=None, max_examples=60)
@given(
    degrees=st.lists(st.integers(0, 9), min_size=1, max_size=60),
    limit=st.integers(0, 900),
    has_weights=st.booleans(),
    seed=st.integers(0, 1000),
    rounds=st.integers(1, 12),
)
def test_cached_rows_are_those_of_the_graph(
    degrees: list[int], limit: int, has_weights: bool, seed: int, rounds: int
) -> None:
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    neighbors = random.integers(0, len(degrees), offsets[-1]).astype(np.int32)
    weights = random.random(offsets[-1]).astype(np.float32) if has_weights else None
    cache = VertexCache(offsets, [INT32, FLOAT32] if has_weights else [INT32], limit)
    popularity = random.random(len(degrees))
    for _ in range(rounds):
        active = random.random(len(degrees)) < popularity
        before, held = active.copy(), cache.holds(np.arange(len(degrees)))
        rows, cached_neighbors, cached_weights = cache.take(active)
        np.testing.assert_array_equal(np.sort(rows.rows), np.flatnonzero(before & held))
        np.testing.assert_array_equal(active, before & ~held)
        for row, count, start in zip(rows.rows, rows.counts, rows.starts, strict=True):
            there, here = slice(offsets[row], offsets[row + 1]), slice(start, start + count)
            np.testing.assert_array_equal(cached_neighbors[here], neighbors[there])
            if weights is not None:
                assert cached_weights is not None
                np.testing.assert_array_equal(cached_weights[here], weights[there])
        for block in cut_by_edges(offsets, 16):
            cache.offer(whole(block, neighbors, weights))
        assert cache.num_bytes <= limit
        cache.refresh()


def ring(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count + 1, dtype=np.int64), np.roll(np.arange(count, dtype=np.int32), -1)


def test_rows_that_were_read_once_are_not_kept() -> None:
    offsets, neighbors = ring(100)
    cache = VertexCache(offsets, [INT32], 1 << 20)
    everything = Block(0, 100, 0, 100)
    for start in range(0, 100, 25):
        active = np.zeros(100, np.bool_)
        active[start : start + 25] = True
        assert cache.take(active)[0].rows.size == 0
        cache.offer(whole(everything, neighbors, None))
        cache.refresh()
    assert cache.num_bytes == 0


def test_the_limit_holds_while_all_rows_are_taken() -> None:
    offsets, neighbors = ring(50_000)
    everything, active = whole(Block(0, 50_000, 0, 50_000), neighbors, None), np.ones(50_000, np.bool_)
    tracemalloc.start()
    try:
        cache = VertexCache(offsets, [INT32], limit := 1 << 20)
        for _ in range(4):
            active[:] = True
            tracemalloc.reset_peak()
            taken = cache.take(active)[0].rows.size
            cache.offer(everything)
            cache.refresh()
        assert taken > 10_000
        assert tracemalloc.get_traced_memory()[1] <= limit + BYTES_PER_VERTEX * 50_000 + 10_000
    finally:
        tracemalloc.stop()


def test_the_hottest_rows_take_the_place_of_others() -> None:
    offsets, neighbors = ring(100)
    row = ROW_BYTES + INT32.itemsize
    cache = VertexCache(offsets, [INT32], 10 * row)
    cache.leave_out(90, 100)
    everything = Block(0, 100, 0, 100)

    def read(vertices: range, times: int) -> None:
        for _ in range(times):
            active = np.zeros(100, np.bool_)
            active[list(vertices)] = True
            cache.take(active)
            cache.refresh()
            cache.offer(whole(everything, neighbors, None))

    read(range(80, 100), 8)
    assert np.flatnonzero(cache.holds(np.arange(100))).tolist() == list(range(80, 90))
    read(range(30, 40), 20)
    assert np.flatnonzero(cache.holds(np.arange(100))).tolist() == list(range(30, 40))
    assert cache.num_bytes == 10 * row


def test_pieces_of_rows_pass_by_and_lists_of_rows_do_not() -> None:
    offsets, neighbors = ring(8)
    cache = VertexCache(offsets, [INT32], 1 << 10)
    for _ in range(4):
        cache.take(np.ones(8, np.bool_))
        cache.refresh()
    cache.offer(whole(Block(0, 1, 0, 1, opens=True, closes=False), neighbors, None))
    assert cache.num_bytes == 0
    some = ListedRows(np.array([2, 5]), np.array([1, 0]), np.array([1, 0]), np.array([1, 0]))
    cache.offer(LoadedBlock(Block(0, 8, 0, 8), np.array([9, 3], np.int32), None, some))
    assert np.flatnonzero(cache.holds(np.arange(8))).tolist() == [2]
    cache.offer(whole(Block(0, 8, 0, 8), neighbors, None))
    rows, cached, _ = cache.take(np.ones(8, np.bool_))
    assert dict(zip(rows.rows.tolist(), cached[rows.starts].tolist(), strict=True)) == {
        v: (v + 1) % 8 for v in range(8)
    }
