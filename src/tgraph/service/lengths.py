"""How much goes into a batch or a window: a number of edges, or a length of time."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tgraph.errors import InvalidArgumentError, check_choice

EDGES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Length:
    """A number of edges, or a length of time in the unit in which times are given."""

    amount: int | float
    is_time: bool


def parse_length(argument: str, value: Any, time_unit: str = "s") -> Length:
    """Return what a number (of edges), a text such as `"100k"` or `"1h"`, or a timedelta means.

    >>> parse_length("batch", "100k"), parse_length("window", "1.5h", "ms")
    (Length(amount=100000, is_time=False), Length(amount=5400000, is_time=True))
    """
    check_choice("time_unit", time_unit, tuple(UNITS_PER_SECOND))
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    length = None
    if isinstance(value, timedelta):
        length = Length(_whole(value.total_seconds() * UNITS_PER_SECOND[time_unit]), True)
    elif found and found[2] in EDGES:
        length = Length(_whole(float(found[1]) * EDGES[found[2]]), False)
    elif found and found[2] in SECONDS:
        length = Length(_whole(float(found[1]) * SECONDS[found[2]] * UNITS_PER_SECOND[time_unit]), True)
    elif not isinstance(value, (bool, str)) and hasattr(value, "__index__"):
        length = Length(operator.index(value), False)
    if length is None or length.amount <= 0 or not (length.is_time or isinstance(length.amount, int)):
        raise InvalidArgumentError(
            f"{argument}={value!r} is no number of edges such as 1000, '100k' or '2M', and no length of time such as "
            "'30s', '10min', '1h', '2d' or '1w'"
        )
    return length


def _whole(number: float) -> int | float:
    """Return an integer where the number is one."""
    return int(number) if number == int(number) else number
