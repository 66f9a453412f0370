"""Pages of some rows, and the choice of a way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, aligned_bytes, make_buffer
from tgraph.memory.link import Link
from tgraph.memory.transfer import TRANSFERS, choose_transfers, plan_compact, smallest_block_bytes
from tgraph.memory.transfer.choose import COMPACT_GAIN, ROWS_AT_LEAST
from tgraph.memory.transfer.compact import JOINED_BYTES

COUNT = 200_000
SPEEDS = st.tuples(st.floats(1e6, 1e11), st.floats(1e-7, 1e-2), st.floats(1e-7, 1e-2), st.floats(0, 1e-2))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("far") / "numbers"
    content = np.arange(COUNT, dtype=np.int32)
    path.write_bytes(bytes(24) + content.tobytes())
    return path, content


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, COUNT), min_size=2, max_size=60, unique=True))
def test_every_row_is_found_where_the_plan_says(numbers: tuple[Path, np.ndarray], cuts: list[int]) -> None:
    path, content = numbers
    bounds = np.sort(cuts)[: len(cuts) // 2 * 2].reshape(-1, 2)
    array = FarArray(24, content.dtype, COUNT)
    plan = plan_compact(array, bounds[:, 0], bounds[:, 1])
    assert plan.num_bytes <= aligned_bytes(int(bounds[-1, 1] - bounds[0, 0]) * 4)
    assert not (plan.ranges % ALIGNMENT).any()
    assert (plan.ranges[1:, 0] - plan.ranges[:-1, 1] > JOINED_BYTES).all()
    with FarFile(path) as file:
        read = file.start_ranges(plan.ranges, 24 + array.num_bytes, make_buffer(plan.num_bytes), content.dtype).wait()
    for (first, last), start in zip(bounds.tolist(), plan.starts.tolist(), strict=True):
        np.testing.assert_array_equal(read[start : start + last - first], content[first:last])


@given(
    st.integers(1, 10**9),
    st.integers(0, 10**6),
    st.integers(0, 10**9),
    SPEEDS,
    st.floats(1.0, 8.0),
)
def test_the_choice_is_the_cheapest(
    block_bytes: int, requests: int, page_bytes: int, speeds: tuple[float, float, float, float], times: float
) -> None:
    link = Link(*speeds)
    given_of_block = (np.array([value]) for value in (block_bytes, requests, page_bytes))
    [way] = choose_transfers(link, *given_of_block, times=times)
    reading = (requests * link.seconds_per_request + page_bytes / link.bytes_per_second) / COMPACT_GAIN
    costs = {
        "filter": block_bytes / link.bytes_per_second + link.seconds_per_request,
        "compact": times * (reading + link.seconds_per_plan),
        "zero_copy": times * (page_bytes / ALIGNMENT * link.seconds_per_fault + link.seconds_per_plan),
    }
    assert costs[TRANSFERS[way]] == pytest.approx(min(costs.values()))


@given(st.integers(1, 2), SPEEDS)
def test_a_block_below_the_smallest_is_moved_whole_unless_very_few_rows_are_active(
    num_arrays: int, speeds: tuple[float, float, float, float]
) -> None:
    link = Link(*speeds)
    smallest = smallest_block_bytes(link, num_arrays)
    block_bytes = np.array([smallest * 0.999, smallest * 1.001 + 1])
    pages = (np.full(2, ROWS_AT_LEAST * num_arrays * size) for size in (1, ALIGNMENT))
    below, above = choose_transfers(link, block_bytes, *pages)
    assert TRANSFERS[below] == "filter" or not smallest
    assert TRANSFERS[above] != "filter"
