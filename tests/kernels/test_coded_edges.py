"""Windows of coded edges and opened blocks: every edge in turn, damage said before ids are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import tgraph as tg
from tgraph.errors import StoreReadError
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.coded_edges import (
    DAMAGED,
    WINDOW_FRAMES,
    CodedBlock,
    as_edges,
    make_scratch,
    near_ids,
    open_block,
    run_on_block,
    window_end,
)
from tgraph.kernels.cpu.coded_ids import FRAME_IDS, PADDING_BYTES, encode_ids
from tgraph.kernels.cpu.team import JIT

ZERO = np.uint64(0)


@njit(**JIT)
def copy_all(rank, size, shared, edges, first, last, copied):
    edge = first
    while edge < last:
        until = window_end(edges, edge, last)
        ids, base, damaged = near_ids(edges, rank, first, edge, until)
        if damaged >= 0:
            shared[DAMAGED] = damaged + 1
            return
        for e in range(edge, until):
            copied[e - first] = ids[e - base]
        edge = until


def coded_block(ids: Any, limit: int) -> CodedBlock:
    coded, begins = encode_ids(ids)
    near = np.append(coded, np.zeros(PADDING_BYTES, np.uint8))
    return CodedBlock.build(near, begins, 0, ids.size, limit, make_scratch(1), "some file")


@pytest.fixture(scope="module")
def ids() -> Any:
    return np.random.default_rng(1).integers(0, 1 << 20, 3 * WINDOW_FRAMES * FRAME_IDS + 77).astype(np.int32)


@pytest.mark.parametrize(("first", "num_edges"), [(0, None), (5, 1), (1023, 2), (1500, 45_000), (7, 0)])
def test_windows_hold_every_edge(ids: Any, first: int, num_edges: int | None) -> None:
    last = ids.size if num_edges is None else first + num_edges
    for neighbors in (coded_block(ids, 1 << 20), ids[first:last]):
        copied = np.zeros(last - first, np.uint32)
        run_on_block(copy_all, 1, neighbors, [as_edges(neighbors), np.uint64(first), np.uint64(last), copied])
        np.testing.assert_array_equal(copied, ids[first:last])


def test_damage_is_said_with_its_frame(ids: Any) -> None:
    block = coded_block(ids, 1 << 20)
    block.edges.coded[block.edges.begins[33]] = 77
    with pytest.raises(StoreReadError, match="some file: frame 33 of the coded neighbours is damaged"):
        run_on_block(copy_all, 1, block, [block.edges, ZERO, np.uint64(ids.size), np.zeros(ids.size, np.uint32)])


def test_a_block_is_opened_by_several_threads(ids: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MIN_WORK_PER_THREAD", 1000)
    monkeypatch.setattr(tg.config, "num_threads", 3)
    block, room = coded_block(ids, 1 << 20), np.zeros(ids.size + 2 * FRAME_IDS, np.int32)
    for first, last in ((0, ids.size), (1500, 45_000), (1023, 1025), (ids.size, ids.size)):
        np.testing.assert_array_equal(open_block(block, first, last, room), ids[first:last])
    block.edges.coded[block.edges.begins[33]] = 77
    with pytest.raises(StoreReadError, match="some file: frame 33 of the coded neighbours is damaged"):
        open_block(block, 0, ids.size, room)
