"""Floats of 16 bits against torch's bfloat16."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numba import njit

from tgraph.kernels.cpu.short_floats import lengthen, shorten


@njit
def there_and_back(values):
    found = np.empty(values.size, np.float32)
    for i in range(values.size):
        found[i] = lengthen(shorten(values[i]))
    return found


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1.0, 1e20, 1e37])
def test_they_are_rounded_as_bfloat16(scale: float) -> None:
    values = (np.random.default_rng(1).standard_normal(1000) * scale).astype(np.float32)
    expected = torch.from_numpy(values).bfloat16().float().numpy()
    np.testing.assert_array_equal(there_and_back(values), expected)


def test_odd_values() -> None:
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1.00390625], np.float32)
    expected = torch.from_numpy(values).bfloat16().float().numpy()
    np.testing.assert_array_equal(there_and_back(values), expected)
