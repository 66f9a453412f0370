"""Random edge weights, and the checks of the arguments that generators share.

| `weights` | meaning |
|---|---|
| None | no weights |
| `"uniform"` | float64, from 0 to below 1 |
| `(low, high)`, integers | int64, from low to high - 1 |
| `(low, high)`, floats | float64, from low to below high |
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tgraph.errors import InvalidArgumentError
from tgraph.kernels.cpu.counter_random import uniform
from tgraph.runtime import Array

WEIGHT_STREAM = 100
_REAL = (int, float, np.integer, np.floating)


def random_weights(weights: Any, count: int, seed: int) -> Array | None:
    """Return what the table above says about `weights`, for `count` edges.

    >>> random_weights((1, 4), 1000, seed=3).max()
    np.int64(3)
    """
    if weights is None:
        return None
    numbers = uniform(count, check_seed(seed), WEIGHT_STREAM)
    if isinstance(weights, str) and weights == "uniform":
        return numbers
    low, high = _check_range(weights)
    numbers *= high - low
    if isinstance(low, int):
        return numbers.astype(np.int64) + np.int64(low)
    numbers += low
    return np.minimum(numbers, np.nextafter(high, low), out=numbers)  # rounding may have reached high


def _check_range(weights: Any) -> tuple[Any, Any]:
    is_pair = isinstance(weights, (tuple, list)) and len(weights) == 2
    if not is_pair or any(isinstance(end, bool) or not isinstance(end, _REAL) for end in weights):
        raise InvalidArgumentError(f"weights={weights!r} is not known; use None, 'uniform' or a pair (low, high)")
    whole = all(isinstance(end, (int, np.integer)) for end in weights)
    low, high = (int(end) if whole else float(end) for end in weights)
    if not low < high or (whole and (high - low > 2**53 or abs(low) >= 2**62)) or not np.isfinite(high - low):
        raise InvalidArgumentError(f"weights={weights!r}: low must be below high, by at most 2^53 for integers")
    return low, high


def check_seed(seed: Any) -> int:
    """Return a seed, or raise an error that gives its limits."""
    return check_whole("seed", seed, 0, 2**64 - 1)


def check_whole(argument: str, value: Any, low: int, high: int | None = None, meaning: str = "") -> int:
    """Return a whole number within its limits, or raise an error that gives them."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < low or (high is not None and number > high):
        limit = f"{low} or more" if high is None else f"from {low} to {high}"
        reason = f" ({meaning})" if meaning else ""
        raise InvalidArgumentError(f"{argument}={value!r} must be a whole number, {limit}{reason}")
    return number


def check_share(argument: str, value: Any) -> float:
    """Return a number from 0 to 1, or raise."""
    if not isinstance(value, _REAL) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InvalidArgumentError(f"{argument}={value!r} must be a number from 0 to 1")
    return float(value)
