"""Bytes of near memory: how many a run may use, and for what it uses them."""

from __future__ import annotations

import operator
import re
from typing import Any

from tgraph.errors import InvalidArgumentError, MemoryBudgetError

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def parse_bytes(argument: str, value: Any) -> int:
    """Return a number of bytes from a number or a text with a unit.

    >>> parse_bytes("memory", "512MiB"), parse_bytes("memory", "1.5 GB"), parse_bytes("memory", 4096)
    (536870912, 1500000000, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    if found and found[2].lower() in _UNITS:
        return int(float(found[1]) * _UNITS[found[2].lower()])
    try:
        count = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = -1
    if count < 0:
        raise InvalidArgumentError(f"{argument}={value!r} is no size; give bytes, or a text such as '512MiB' or '2GB'")
    return count


def format_bytes(count: int) -> str:
    """Return a size as people read it.

    >>> format_bytes(536870912), format_bytes(1000)
    ('512.0 MiB', '1000 B')
    """
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


class Budget:
    """A number of bytes that is never exceeded: whoever needs some says so first.

    >>> budget = Budget(1000)
    >>> budget.take("vertex data", 700)
    >>> budget.free, budget.parts
    (300, {'vertex data': 700})
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.peak = limit, 0
        self.parts: dict[str, int] = {}

    @property
    def used(self) -> int:
        """The bytes that are taken now."""
        return sum(self.parts.values())

    @property
    def free(self) -> int:
        """The bytes that can still be taken."""
        return self.limit - self.used

    def take(self, purpose: str, num_bytes: int) -> None:
        """Take bytes for a purpose, or raise `MemoryBudgetError` with what is taken already."""
        if num_bytes > self.free:
            taken = ", ".join(f"{name} {format_bytes(size)}" for name, size in self.parts.items()) or "nothing"
            raise MemoryBudgetError(
                f"memory={format_bytes(self.limit)} is too small: {purpose} needs {format_bytes(num_bytes)}, taken "
                f"already: {taken}; give at least memory={self.used + num_bytes}"
            )
        self.parts[purpose] = self.parts.get(purpose, 0) + num_bytes
        self.peak = max(self.peak, self.used)

    def release(self, purpose: str) -> None:
        """Give back all that was taken for a purpose."""
        self.parts.pop(purpose, None)
