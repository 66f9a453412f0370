"""The order of a batch of arcs, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tgraph.kernels.cpu.arc_order import arc_order, order_arcs


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int64"])
@pytest.mark.parametrize("num_vertices", [1, 2, 2048, 2049, 3_000_000, 2**31 - 1])
def test_equal_to_a_stable_sort(num_vertices: int, dtype: str) -> None:
    rng = np.random.default_rng(num_vertices)
    sources, targets = (rng.integers(0, min(num_vertices, 2**31), 3000).astype(dtype) for _ in range(2))
    sources[::3] = sources[0]
    np.testing.assert_array_equal(arc_order(sources, targets, num_vertices), np.lexsort((targets, sources)))


@pytest.mark.parametrize("weighted", [True, False])
def test_what_belongs_to_arcs_goes_with_them(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    sources, targets = (rng.integers(0, 50, 400).astype(np.uint32) for _ in range(2))
    weights, kinds = rng.random(400 if weighted else 0), rng.integers(0, 3, 400).astype(np.uint8)
    order = np.lexsort((targets, sources))
    expected = sources[order], targets[order], weights[order] if weighted else weights, kinds[order], order
    *found, rows = order_arcs(sources, targets, weights, kinds, 50)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(rows, [*np.unique(sources[order], return_index=True)[1].tolist(), 400])


def test_nothing() -> None:
    nothing = np.empty(0, np.uint32)
    assert arc_order(nothing, nothing, 5).size == 0
    assert order_arcs(nothing, nothing, np.empty(0), np.empty(0, np.uint8), 5)[-1].tolist() == [0]
