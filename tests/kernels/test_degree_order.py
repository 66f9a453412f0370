"""Vertices by descending degree, against Python's stable sort and the plain twin."""

from __future__ import annotations

import numpy as np
import pytest

from tgraph import runtime as runtimes
from tgraph.kernels.cpu.degree_order import degree_order
from tgraph.kernels.plain import degree_order as plain


@pytest.mark.parametrize(
    "degrees",
    [
        [],
        [0],
        [3, 0, 3, 7, 0, 1],
        [2**40, 0, 2**40, 1],
        np.random.default_rng(1).zipf(1.5, 5000).clip(0, 10**5).tolist(),
        np.random.default_rng(2).integers(0, 5, 200_000).tolist(),
    ],
    ids=["none", "one", "few", "huge", "skewed", "many"],
)
def test_hubs_come_first_and_equals_keep_their_order(degrees: list[int], runtime_name: str) -> None:
    offsets = np.concatenate([[0], np.cumsum(np.array(degrees, np.int64))])
    order = degree_order(offsets)
    assert order.dtype == np.int32
    assert order.tolist() == sorted(range(len(degrees)), key=lambda vertex: -degrees[vertex])
    rt = runtimes.get(runtime_name, "cpu")
    twin = rt.to_numpy(plain.degree_order(rt, rt.asarray(offsets)))
    assert twin.dtype == np.int32
    np.testing.assert_array_equal(order, twin)
