"""Blocks of rows: everything is in one, none is too large, long rows come in pieces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tgraph.layout.partition import cut_by_edges


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 25))
def test_blocks_hold_every_row_and_edge_once_in_order(degrees: list[int], edges_per_block: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)]).astype(np.int64)
    blocks = cut_by_edges(offsets, edges_per_block)
    assert all(block.num_edges <= edges_per_block for block in blocks)
    edges = [edge for block in blocks for edge in range(block.first_edge, block.last_edge)]
    assert edges == list(range(offsets[-1]))
    assert sorted({row for block in blocks for row in range(block.first_row, block.last_row)}) == list(
        range(len(degrees))
    )
    for block in blocks:
        assert block.opens == (block.first_edge == offsets[block.first_row])
        assert block.closes == (block.last_edge == offsets[block.last_row])
        assert block.is_whole or block.last_row == block.first_row + 1
    for left, right in pairwise(blocks):
        assert right.first_edge == left.last_edge
        assert right.first_row == (left.last_row if left.closes else left.first_row)


def test_blocks_are_not_smaller_than_they_could_be() -> None:
    blocks = cut_by_edges(np.arange(0, 1001, 10), 55)
    assert [block.num_edges for block in blocks] == [50] * 20


def test_no_rows_are_no_blocks() -> None:
    assert cut_by_edges(np.zeros(1, np.int64), 8) == []
