"""Checks that every runtime makes in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tgraph.dtypes import check_reduction
from tgraph.errors import InvalidArgumentError, OutOfRangeError, check_choice

SCATTERED = ("min", "max", "sum", "any", "count")  # no mean: it needs the count of all values beside their sum


def check_scatter(op: str, into: np.dtype[Any], values: np.dtype[Any]) -> None:
    """Raise unless `op` can reduce values of one type into a tensor of the other."""
    check_choice("reduce", op, SCATTERED)
    check_reduction(op, values)
    if op != "count" and into != values:
        raise InvalidArgumentError(f"values of {values.name} cannot be reduced into {into.name}; convert one of them")


def check_one_each(num_positions: int, num_values: int) -> None:
    """Raise unless there is one value for every position; a single one would be spread over all of them."""
    if num_positions != num_values:
        raise InvalidArgumentError(f"there are {num_values} values for {num_positions} positions; give one for each")


def check_mask(num_entries: int, num_elements: int) -> None:
    """Raise unless a mask has one entry per element."""
    if num_entries != num_elements:
        raise OutOfRangeError(f"the mask has {num_entries} entries for {num_elements} elements")


def check_range(low: int, high: int, size: int) -> None:
    """Raise unless positions from `low` to `high` lie inside a tensor."""
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise OutOfRangeError(f"position {wrong} is outside the tensor, which has {size} elements")
