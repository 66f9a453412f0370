"""Sizes as text, and a budget that nobody exceeds."""

from __future__ import annotations

from typing import Any

import pytest

from tgraph.budget import Budget, format_bytes, parse_bytes
from tgraph.errors import InvalidArgumentError, MemoryBudgetError


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("2KiB", 2048), ("2 kb", 2000), ("0.5GiB", 1 << 29), (" 3 TB ", 3 * 10**12), (7, 7), (0, 0)],
)
def test_sizes_are_read(text: Any, count: int) -> None:
    assert parse_bytes("memory", text) == count


@pytest.mark.parametrize("value", ["", "MiB", "-3", "3 parsecs", -1, 1.5, None, True, "1e9"])
def test_other_values_name_the_argument(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="memory="):
        parse_bytes("memory", value)


def test_sizes_are_shown() -> None:
    assert [format_bytes(count) for count in (0, 1023, 1024, 3 << 29, 1 << 50)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 GiB",
        "1024.0 TiB",
    ]


def test_a_budget_says_what_it_was_used_for() -> None:
    budget = Budget(100)
    budget.take("fields", 60)
    budget.take("fields", 10)
    with pytest.raises(MemoryBudgetError, match=r"100 B is too small: buffers needs 31 B.*fields 70 B.*memory=101"):
        budget.take("buffers", 31)
    assert budget.parts == {"fields": 70}
    budget.release("fields")
    budget.take("buffers", 100)
    assert (budget.free, budget.peak) == (0, 100)
