"""Sets of vertex numbers as bits, and renumbering by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph.graph import local_rows
from tgraph.kernels.cpu.id_bits import IdBits


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(0, 300)), first=st.integers(0, 300), count=st.integers(0, 200))
def test_others_get_places_behind_own_ones(ids: list[int], first: int, count: int) -> None:
    last = min(first + count, 301)
    others = sorted({number for number in ids if not first <= number < last})
    expected = [n - first if first <= n < last else last - first + others.index(n) for n in ids]
    column = np.array(ids, np.int32)
    bits = IdBits(301)
    bits.add(column)
    bits.remove_range(first, last)
    assert bits.listed(np.dtype(np.int64)).tolist() == others
    bits.renumber(column, first, last - first, column)  # in the same memory
    assert column.tolist() == expected


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_ways_of_renumbering_agree(dtype: type) -> None:
    neighbors = np.random.default_rng(1).integers(0, 1_000, 500).astype(dtype)
    by_bits = local_rows._renumber(neighbors.copy(), 200, 300, 1_000)
    by_search = local_rows._renumber_by_search(neighbors.copy(), 200, 300, 1_000)
    for left, right in zip(by_bits, by_search, strict=True):
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype == np.int32
