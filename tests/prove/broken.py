"""Whether a counter-example is one: properties spelled out a second time, on plain numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import tgraph as tg

REDUCE: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "any": lambda left, right: left or right,
    "sum": lambda left, right: left + right,
    "mean": lambda left, right: left + right,
    "count": lambda left, right: left + right,
}


class Plain:
    """A program's functions on single numbers."""

    def __init__(self, program: tg.Program, example: dict[str, Any], main: str) -> None:
        self.program, self.example, self.main = program, {**example}, main

    def call(self, function: str, **changed: Any) -> Any:
        values = {**self.example, **changed}
        names = inspect.signature(getattr(self.program, function)).parameters
        with np.errstate(all="ignore"):
            return getattr(self.program, function)(**{name: _scalar(values[name]) for name in names})

    def update(self, state: dict[str, Any], incoming: Any) -> dict[str, Any]:
        """Return the state after an update; fields keep their types."""
        returned = self.call("update", **state, incoming=incoming)
        named = returned if isinstance(returned, dict) else {self.main: returned}
        return {**state, **{name: type(_plain(self.example.get(name, 0.0)))(new) for name, new in named.items()}}


def is_broken(program: tg.Program, name: str, example: dict[str, Any], main: str = "value") -> bool:
    """Say whether these numbers break the property of that name."""
    plain = Plain(program, example, main)
    group = name.partition("_")[0]
    if group == "reduce":
        return _is_reduce_broken(REDUCE[program.reduce], name, example)
    if name.endswith(("additive", "homogeneous", "ignores_old_value")):
        return _is_linear_broken(plain, name, example)
    if group == "update":
        return _is_update_broken(plain, name, example)
    if name == "message_monotonic":
        value, better = example[main], example[f"better_{main}"]
        before, after = plain.call("message"), plain.call("message", **{main: better})
        return not is_better(program, value, better) and is_better(program, before, after)
    assert name == "never_improves"
    return is_better(program, plain.call("message"), example[main])


def is_better(program: tg.Program, left: Any, right: Any) -> bool:
    """Say whether the left value is strictly better."""
    if program.reduce == "min":
        return bool(left < right)
    return bool(left > right)


def _is_reduce_broken(reduce: Callable[[Any, Any], Any], name: str, example: dict[str, Any]) -> bool:
    messages = [example[key] for key in ("first", "second", "third") if key in example]
    if name == "reduce_idempotent":
        return bool(reduce(messages[0], messages[0]) != messages[0])
    if name == "reduce_commutative":
        return bool(reduce(*messages) != reduce(*reversed(messages)))
    first, second, third = messages
    return bool(reduce(reduce(first, second), third) != reduce(first, reduce(second, third)))


def _is_update_broken(plain: Plain, name: str, example: dict[str, Any]) -> bool:
    state = {key: value for key, value in example.items() if key not in ("incoming", "other_incoming")}
    one, other = example["incoming"], example.get("other_incoming")
    once = plain.update(state, one)
    if name == "update_directed":
        return is_better(plain.program, state[plain.main], once[plain.main])
    if name == "update_idempotent":
        return plain.update(once, one) != once
    in_turn = plain.update(once, other)
    if name == "update_commutative":
        return in_turn != plain.update(plain.update(state, other), one)
    assert name == "update_combines"
    return in_turn != plain.update(state, REDUCE[plain.program.reduce](one, other))


def _is_linear_broken(plain: Plain, name: str, example: dict[str, Any]) -> bool:
    function = name.partition("_")[0]
    if name == "update_ignores_old_value":
        return bool(plain.call("update") != plain.call("update", **{plain.main: example[f"other_{plain.main}"]}))
    names = [plain.main] if function != "update" else [key for key in ("incoming", "total") if key in example]
    at_zero = plain.call("update", **dict.fromkeys(names, 0.0)) if function == "update" else 0.0
    once = plain.call(function)
    if name.endswith("additive"):
        others = {key: example[f"other_{key}"] for key in names}
        both = plain.call(function, **{key: example[key] + others[key] for key in names})
        return bool(both + at_zero != once + plain.call(function, **others))
    factor = example["factor"]
    multiple = plain.call(function, **{key: factor * example[key] for key in names})
    return bool(multiple - at_zero != factor * (once - at_zero))


def _scalar(value: Any) -> Any:
    """Return a number that NumPy calculates with: ~True is False, 1.0 / 0.0 is inf."""
    return np.asarray(value)[()]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
