"""From ids to vertex numbers, against a sorted set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph.config import config
from tgraph.kernels.cpu import team
from tgraph.kernels.cpu.vertex_ids import number_ids

LOWEST, HIGHEST = -(2**63), 2**63 - 1

ID_RANGES = [st.integers(0, 20), st.integers(0, 3000), st.integers(-5, 5), st.integers(LOWEST, HIGHEST)]


def check(columns: list[list[int]]) -> None:
    arrays = [np.array(column, np.int64) for column in columns]
    numbered, labels = number_ids(arrays)
    expected = sorted({label for column in columns for label in column})
    found = list(range(len(expected))) if labels is None else labels.tolist()
    assert found == expected
    assert (labels is None) == (expected == list(range(len(expected))))
    place = {label: number for number, label in enumerate(expected)}
    for column, numbers in zip(columns, numbered, strict=True):
        assert numbers.dtype == (np.int64 if labels is None else np.int32)  # the column itself, or new numbers
        assert numbers.tolist() == [place[label] for label in column]


@settings(max_examples=150, deadline=None)
@given(
    columns=st.one_of([st.lists(st.lists(ids, max_size=40), min_size=2, max_size=2) for ids in ID_RANGES]),
    num_threads=st.sampled_from([1, 2, 5]),
)
def test_numbers_equal_places_in_the_sorted_set(columns: Any, num_threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "num_threads", num_threads)
        patch.setattr(team, "MIN_WORK_PER_THREAD", 1)
        check(columns)


@pytest.mark.parametrize("step", [1, 3, 2**20, 2**44, 2**50 + 1])
def test_regular_ids_do_not_fill_one_region_of_the_table(step: int) -> None:
    ids = (np.arange(8000, dtype=np.int64) * step)[::-1].copy()
    numbered, labels = number_ids([ids, ids[:10]])
    assert numbered[0].tolist() == list(range(7999, -1, -1))
    assert numbered[1].tolist() == list(range(7999, 7989, -1))
    assert (labels is None) == (step == 1)


def test_extreme_ids() -> None:
    check([[LOWEST, HIGHEST, 0], [-1, HIGHEST, LOWEST]])
    check([[HIGHEST], [HIGHEST]])
    check([[], []])
    check([[], [7]])


def test_the_table_ends_where_ids_outgrow_the_edges() -> None:
    for largest in (4 * 4 + 1023, 4 * 4 + 1024, 4 * 4 + 1025):
        check([[0, largest], [1, 2]])


def test_one_more_id_than_the_table_of_a_large_graph() -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(LOWEST, HIGHEST, 200_000)
    numbered, labels = number_ids([ids, ids[::-1].copy()])
    assert labels is not None
    assert np.array_equal(labels[numbered[0]], ids)
    assert np.array_equal(labels[numbered[1]], ids[::-1])
    assert (np.diff(labels.astype(object)) > 0).all()
