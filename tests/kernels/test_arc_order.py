"""The order of a batch of arcs, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tgraph.kernels.cpu.arc_order import arc_order


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int64"])
@pytest.mark.parametrize("num_vertices", [1, 2, 2048, 2049, 3_000_000, 2**31 - 1])
def test_equal_to_a_stable_sort(num_vertices: int, dtype: str) -> None:
    rng = np.random.default_rng(num_vertices)
    sources, targets = (rng.integers(0, min(num_vertices, 2**31), 3000).astype(dtype) for _ in range(2))
    sources[::3] = sources[0]
    np.testing.assert_array_equal(arc_order(sources, targets, num_vertices), np.lexsort((targets, sources)))


def test_nothing() -> None:
    assert arc_order(np.empty(0, np.uint32), np.empty(0, np.uint32), 5).size == 0
