"""Segment reductions and compaction in the interpreter against the runtime's primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from launched_cases import PAIRS

from tgraph.kernels.gpu import launch, operators
from tgraph.runtime.torch import reductions

FIFTY = settings(max_examples=50, deadline=None)


def values_of(dtype: str, count: int, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return torch.from_numpy(generator.random(count) < 0.3)
    values = generator.integers(0 if dtype == "uint8" else -100, 100, count)
    array = values.astype(dtype)
    if dtype.startswith("float"):
        array[generator.random(count) < 0.05] = np.nan
        array[generator.random(count) < 0.05] = -np.inf
    return torch.from_numpy(array)


@FIFTY
@given(
    st.sampled_from(PAIRS),
    st.lists(st.sampled_from([0, 0, 1, 2, 7, 30]), max_size=4),
    st.integers(0, 99),
    st.integers(0, 2),
)
@example(("float32", "min"), [0, 50, 0, 3], 1, 0)
@example(("int64", "sum"), [70], 2, 1)
@example(("float64", "mean"), [20, 20], 3, 0)
def test_segments_of_any_length(pair: tuple[str, str], counts: list[int], seed: int, before: int) -> None:
    dtype, reduce = pair
    offsets = torch.tensor([before, *(before + np.cumsum(counts)).tolist()], dtype=torch.int64)
    values = values_of(dtype, int(offsets[-1]) + 3, seed)
    found = operators.segment_reduce(values, offsets, reduce)
    expected = reductions.segment_reduce(
        values.double() if dtype == "float16" else values, offsets, reduce, np.dtype(dtype)
    )
    expected = expected.to(found.dtype)
    assert found.dtype == (torch.int64 if reduce == "count" else values.dtype)
    # Sums of halves are made in float32 and rounded once; the others only differ in the order of sums of floats.
    torch.testing.assert_close(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6, atol=0, equal_nan=True)


def test_integers_wrap_around_and_large_ones_stay_exact() -> None:
    offsets = torch.tensor([0, 20])
    assert operators.segment_reduce(torch.full((20,), 100, dtype=torch.int8), offsets, "sum").item() == np.int8(
        2000 % 256 - 256
    )
    large = torch.full((20,), 2**55 + 1)
    assert operators.segment_reduce(large, offsets, "sum").item() == 20 * (2**55 + 1)
    assert operators.segment_reduce(large, offsets, "max").item() == 2**55 + 1


@FIFTY
@given(st.lists(st.booleans(), max_size=40))
def test_a_mask_becomes_a_queue(mask: list[bool]) -> None:
    queue = torch.full((len(mask),), -1, dtype=torch.int32)
    count = operators.fill_queue(torch.tensor(mask, dtype=torch.bool), queue)
    assert queue[: int(count)].tolist() == [i for i, is_set in enumerate(mask) if is_set]


def test_programs_are_small_here() -> None:
    assert launch.sizes_on(torch.device("cpu")).pull_edges == 8
