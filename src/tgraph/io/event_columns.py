"""Which columns of a table of changes are the sources, targets, weights, times and operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tgraph.errors import InvalidArgumentError
from tgraph.io.edge_columns import PLACEHOLDER, SOURCE_NAMES, TARGET_NAMES, WEIGHT_NAMES, find_column, plain_name

TIME_NAMES = {"time", "timestamp", "ts", "t", "unixtime", "epoch", "date", "datetime", "when"}
OPERATION_NAMES = {"op", "operation", "sign", "action", "change"}
NAMES = {"source": SOURCE_NAMES, "target": TARGET_NAMES, "weight": WEIGHT_NAMES, "time": TIME_NAMES}
NAMES |= {"op": OPERATION_NAMES}


@dataclass(frozen=True)
class EventColumns:
    """The columns that the user asked for, by name or position: `"auto"` = to be found, None = there is none."""

    source: str | int = "auto"
    target: str | int = "auto"
    weight: str | int | None = "auto"
    time: str | int | None = "auto"
    op: str | int | None = "auto"

    def find(self, names: Sequence[str] | None, width: int) -> dict[str, int]:
        """Return the positions of the columns that there are, by what they hold: source, target, ..."""
        asked = {part: value for part, value in vars(self).items() if value not in ("auto", None)}
        found = {part: find_column(part, value, names, width) for part, value in asked.items()}
        is_named = names is not None and not all(PLACEHOLDER.fullmatch(plain_name(name)) for name in names)
        if names is not None and is_named:
            wanted = [part for part in NAMES if getattr(self, part) == "auto" and part not in found]
            found = _find_by_name(names, wanted) | found
        found |= self._find_by_place([place for place in range(width) if place not in found.values()], found, is_named)
        _check(found)
        return {part: found[part] for part in NAMES if part in found}

    def _find_by_place(self, free: list[int], known: dict[str, int], is_named: bool) -> dict[str, int]:
        """Take what is left one by one: source, target, weight, time; where one column is left, it is the time.

        Columns that have names of another meaning are no weights and no times.
        """
        found = {}
        for part in ("source", "target"):
            if part not in known and free:
                found[part] = free.pop(0)
        if is_named:
            return found
        is_weight_first = self.weight in ("auto", None)
        if self.time == "auto" and free:
            found["time"] = free.pop(1 if is_weight_first and len(free) > 1 else 0)
        if self.weight == "auto" and free:
            found["weight"] = free.pop(0)
        return found


def _find_by_name(names: Sequence[str], wanted: list[str]) -> dict[str, int]:
    plain = [plain_name(name) for name in names]
    found = {part: next((place for place, name in enumerate(plain) if name in NAMES[part]), None) for part in wanted}
    return {part: place for part, place in found.items() if place is not None}


def _check(found: dict[str, Any]) -> None:
    """Raise unless there are sources and targets and no column is used twice."""
    missing = [part for part in ("source", "target") if part not in found]
    if missing:
        raise InvalidArgumentError(f"no column of {missing[0]}s was found; give {missing[0]}= by name or position")
    for part, place in found.items():
        others = [other for other in found if other != part and found[other] == place]
        if others:
            raise InvalidArgumentError(f"{part}= and {others[0]}= are the same column, {place}; give another one")
