"""Dense products: every remainder of rows and columns, both ways, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tgraph.kernels.cpu.dense_products import multiply


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 17), (11, 130, 33), (64, 300, 100), (600, 129, 47), (7, 256, 64)])
def test_multiply(shape: tuple[int, int, int], is_transposed: bool, dtype: type) -> None:
    rows, depth, width = shape
    random = np.random.default_rng(0)
    a, b = random.standard_normal((rows, depth)).astype(dtype), random.standard_normal((depth, width)).astype(dtype)
    given = np.ascontiguousarray(a.T) if is_transposed else a
    expected = a.astype(np.float64) @ b.astype(np.float64)
    largest = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    tolerance = largest * depth * np.finfo(dtype).eps  # of a sum of `depth` rounded products, at the most
    for adds in (False, True):
        new = np.ones((rows, width), dtype)
        multiply(given, b, is_transposed, adds, new)
        assert (np.abs(new - (expected + adds)) <= tolerance + np.finfo(dtype).eps * 2).all()
