"""Pages of some rows, and the choice of a way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgraph.memory.far_file import ALIGNMENT, FarArray, FarFile, aligned_bytes, make_buffer
from tgraph.memory.link import Link
from tgraph.memory.transfer import TRANSFERS, choose_transfers, plan_compact
from tgraph.memory.transfer.choose import COMPACT_GAIN
from tgraph.memory.transfer.compact import JOINED_BYTES

COUNT = 200_000


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
    st.tuples(st.floats(1e6, 1e11), st.floats(1e-7, 1e-2), st.floats(1e-7, 1e-2)),
)
def test_the_choice_is_the_cheapest(
    block_bytes: int, requests: int, page_bytes: int, speeds: tuple[float, float, float]
) -> None:
    link = Link(*speeds)
    [way] = choose_transfers(link, *(np.array([value]) for value in (block_bytes, requests, page_bytes)))
    costs = {
        "filter": block_bytes / link.bytes_per_second + link.seconds_per_request,
        "compact": (requests * link.seconds_per_request + page_bytes / link.bytes_per_second) / COMPACT_GAIN,
        "zero_copy": page_bytes / ALIGNMENT * link.seconds_per_fault,
    }
    assert costs[TRANSFERS[way]] == pytest.approx(min(costs.values()))
