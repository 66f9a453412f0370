"""Coded ids: every array comes back, with and without the processor's shuffle, and damage is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from tgraph.kernels.cpu import byte_shuffle, coded_ids
from tgraph.kernels.cpu.coded_ids import FRAME_IDS, PADDING_BYTES, decode_frames, encode_ids, last_frame_ids, num_frames
from tgraph.kernels.cpu.team import JIT

LARGEST = 2**31 - 2


def decode(coded: Any, begins: Any, count: int, limit: int = LARGEST + 1) -> Any:
    ids = np.empty((begins.size - 1) * FRAME_IDS, np.uint32)
    padded = np.append(coded, np.zeros(PADDING_BYTES, np.uint8))
    damaged = decode_frames(padded, begins[:-1], begins[1:], last_frame_ids(0, begins.size - 1, count), limit, ids)
    return damaged, ids[:count].view(np.int32)


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 99),
    count=st.sampled_from([0, 1, 3, 4, 5, FRAME_IDS - 1, FRAME_IDS, FRAME_IDS + 1, 3 * FRAME_IDS + 7]),
    limit=st.sampled_from([1, 2, 300, 70_000, 20_000_000, LARGEST + 1]),
    ascending=st.booleans(),
)
def test_every_array_comes_back(seed: int, count: int, limit: int, ascending: bool) -> None:
    ids = np.random.default_rng(seed).integers(0, limit, count).astype(np.int32)
    if ascending:
        ids = np.sort(ids)
    coded, begins = encode_ids(ids)
    assert begins.size == num_frames(count) + 1
    damaged, found = decode(coded, begins, count, limit)
    assert damaged is None
    np.testing.assert_array_equal(found, ids)


def test_neighbours_that_follow_each_other_take_two_bits() -> None:
    coded, begins = encode_ids(np.arange(7, 7 + FRAME_IDS, dtype=np.int32))
    assert coded.size == begins[-1] == 1 + FRAME_IDS // 4 + 1


@pytest.mark.parametrize("kind", range(len(coded_ids.LENGTHS)))
def test_every_kind_of_frame_is_used_where_it_is_smallest(kind: int) -> None:
    """Differences of those lengths only."""
    lengths = [int(length) for length in coded_ids.LENGTHS[kind]]
    jumps = [1 if length == 0 else (1 << 8 * length - 2) for length in lengths] * (FRAME_IDS // 4)
    signs = np.where(np.arange(FRAME_IDS) // 4 % 2 == 0, 1, -1)
    ids = np.cumsum(np.where(np.array(jumps) > 1, jumps * signs, 1))
    ids = (ids - ids.min()).astype(np.int32)
    coded, begins = encode_ids(ids)
    assert coded[0] == kind
    np.testing.assert_array_equal(decode(coded, begins, ids.size)[1], ids)


@njit(**{**JIT, "cache": False})
def _run_both(coded, places, row, last, left, right):
    one = byte_shuffle.add_four(coded, np.uint64(0), places, row, last, left, np.uint64(0))
    other = byte_shuffle.add_four_bytewise(coded, np.uint64(0), places, row, last, right, np.uint64(0))
    return one, other


def test_bytes_one_by_one_give_the_same_bits() -> None:
    random = np.random.default_rng(1)
    for kind in range(len(coded_ids.LENGTHS)):
        for four in range(0, 256, 5):
            content = random.integers(0, 256, 16).astype(np.uint8)
            left, right = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
            row = np.uint64((kind * 256 + four) * 16)
            one, other = _run_both(content, coded_ids.DECODING_TABLES[0], row, np.uint32(four * 99991), left, right)
            assert one == other == left[3]
            np.testing.assert_array_equal(left, right)


def test_another_processor_than_this_one_gets_no_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_shuffle.config, "CPU_NAME", "generic")
    assert byte_shuffle.find_shuffle() is None
    monkeypatch.undo()
    monkeypatch.setattr(byte_shuffle.platform, "machine", lambda: "riscv64")
    assert byte_shuffle.find_shuffle() is None


@settings(deadline=None, max_examples=150)
@given(place=st.integers(0, 10**6), value=st.integers(0, 255))
def test_damage_ends_with_a_number_or_with_ids_below_the_limit(place: int, value: int) -> None:
    ids = np.sort(np.random.default_rng(5).integers(0, 5000, 2500)).astype(np.int32)
    coded, begins = encode_ids(ids)
    coded[place % coded.size] = value
    damaged, found = decode(coded, begins, ids.size, 5000)
    frame = int(np.searchsorted(begins, place % coded.size, "right")) - 1
    if damaged is None:
        assert 0 <= found.min() <= found.max() < 5000
    else:
        assert damaged == frame


def test_a_frame_with_too_few_bytes_is_damaged() -> None:
    coded, begins = encode_ids(np.arange(10, dtype=np.int32))
    for missing in range(1, coded.size + 1):
        assert decode(coded[:-missing], np.array([0, coded.size - missing]), 10)[0] == 0
    assert decode(coded, begins, 10, limit=9)[0] == 0
