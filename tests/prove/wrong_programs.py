"""Programs that say of themselves what is not so, each with the properties that it breaks."""

from __future__ import annotations

from typing import Any

import tgraph as tg


class Shortest(tg.Program):
    """Right: what the others spoil."""

    reduce, monotonic = "min", True
    dtype: Any = "float64"

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(0, self.dtype), None

    def message(self, value: Any, weight: Any) -> Any:
        return value + weight

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming)


class FlippedMessage(Shortest):
    def message(self, value: Any, weight: Any) -> Any:
        return weight - value


class SquaredMessage(Shortest):
    dtype = "int32"

    def message(self, value: Any) -> Any:
        return value * value


class JumpingMessage(Shortest):
    """The shorter a path is, the longer it gets, but only around 3."""

    def message(self, value: Any, weight: Any) -> Any:
        return tg.where(value < 3, value + 10, value) + weight


class MagnitudeMessage(Shortest):
    def message(self, value: Any, weight: Any) -> Any:
        return tg.absolute(value) + weight


class TargetMessage(Shortest):
    """A receiver's value turns the message around."""

    def message(self, value: Any, target_value: Any) -> Any:
        return value * target_value


class RemainderMessage(Shortest):
    dtype = "int64"

    def message(self, value: Any) -> Any:
        return value % 3 + value // 4


class TakesLast(Shortest):
    def update(self, value: Any, incoming: Any) -> Any:
        return incoming


class AddsUp(Shortest):
    def update(self, value: Any, incoming: Any) -> Any:
        return value + incoming


class TakesLarger(Shortest):
    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


class HalfWay(Shortest):
    def update(self, value: Any, incoming: Any) -> Any:
        return tg.where(incoming < value, (value + incoming) / 2, value)


class OnlySmall(Shortest):
    """Messages below 2 get lost, alone or with others."""

    dtype = "int32"

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.where(incoming < 2, value, tg.minimum(value, incoming))


class CutOff(Shortest):
    """Whole numbers are stored, so a half is lost at every step."""

    dtype = "int64"

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.minimum(value, incoming) - 0.5


class SumsMonotonic(Shortest):
    reduce = "sum"

    def update(self, value: Any, incoming: Any) -> Any:
        return value + incoming


class CountsMonotonic(SumsMonotonic):
    reduce = "count"


class Spreading(tg.Program):
    """Reachability, the wrong way round."""

    reduce, monotonic = "any", True

    def init(self, graph: tg.Graph) -> Any:
        return graph.full(False, "bool"), None

    def message(self, value: Any) -> Any:
        return ~value

    def update(self, value: Any, incoming: Any) -> Any:
        return value ^ incoming


class NarrowestOfWide(Shortest):
    reduce = "max"

    def message(self, value: Any, weight: Any) -> Any:
        return -tg.minimum(value, weight)

    def update(self, value: Any, incoming: Any) -> Any:
        return tg.maximum(value, incoming)


class TwoFields(tg.Program):
    """A second field counts the messages, so that order and repetition matter."""

    reduce, monotonic = "min", True

    def init(self, graph: tg.Graph) -> Any:
        return {"value": graph.full(0.0, "float64"), "seen": graph.full(0, "int64")}, None

    def message(self, value: Any) -> Any:
        return value

    def update(self, value: Any, seen: Any, incoming: Any) -> Any:
        return {"value": tg.minimum(value, incoming), "seen": seen + 1}


class Scores(tg.Program):
    """Right: what the others spoil."""

    reduce, active, linear = "sum", "all", True

    def init(self, graph: tg.Graph) -> Any:
        return {"value": graph.full(1.0, "float64"), "share": graph.full(0.5, "float64")}, None

    def message(self, value: Any, share: Any) -> Any:
        return value * share

    def update(self, incoming: Any) -> Any:
        return 0.5 * incoming + 1.0


class AddedMessage(Scores):
    def message(self, value: Any, share: Any) -> Any:
        return value * share + 1.0


class PositiveMessage(Scores):
    """Twice a value gives twice a message, but a sum does not give the sum."""

    def message(self, value: Any) -> Any:
        return tg.maximum(value, 0.0)


class SquaredUpdate(Scores):
    def update(self, incoming: Any) -> Any:
        return incoming * incoming


class CappedUpdate(Scores):
    def update(self, incoming: Any) -> Any:
        return tg.minimum(incoming, 3.0)


class MixedUpdate(Scores):
    """A multiple of each, but not a sum of multiples."""

    def total(self, value: Any) -> Any:
        return value

    def update(self, incoming: Any, total: Any) -> Any:
        return incoming * total


class SquaredTotal(Scores):
    def total(self, value: Any) -> Any:
        return value * value

    def update(self, incoming: Any, total: Any) -> Any:
        return incoming + total


class Remembers(Scores):
    def update(self, value: Any, incoming: Any) -> Any:
        return 0.5 * value + incoming


WRONG: list[tuple[type[tg.Program], set[str]]] = [
    (FlippedMessage, {"message_monotonic"}),
    (SquaredMessage, {"message_monotonic"}),
    (JumpingMessage, {"message_monotonic"}),
    (MagnitudeMessage, {"message_monotonic"}),
    (TargetMessage, {"message_monotonic"}),
    (RemainderMessage, {"message_monotonic"}),
    (TakesLast, {"update_commutative", "update_combines", "update_directed"}),
    (AddsUp, {"update_idempotent", "update_combines", "update_directed"}),
    (TakesLarger, {"update_combines", "update_directed"}),
    (HalfWay, {"update_commutative", "update_idempotent", "update_combines"}),
    (OnlySmall, {"update_combines"}),
    (CutOff, {"update_commutative", "update_idempotent", "update_combines"}),
    (SumsMonotonic, {"reduce_idempotent"}),
    (CountsMonotonic, {"reduce_idempotent"}),
    (Spreading, {"message_monotonic", "update_idempotent", "update_combines", "update_directed"}),
    (NarrowestOfWide, {"message_monotonic"}),
    (TwoFields, {"update_idempotent", "update_combines"}),
    (AddedMessage, {"message_additive", "message_homogeneous"}),
    (PositiveMessage, {"message_additive", "message_homogeneous"}),
    (SquaredUpdate, {"update_additive", "update_homogeneous"}),
    (CappedUpdate, {"update_additive", "update_homogeneous"}),
    (MixedUpdate, {"update_additive", "update_homogeneous"}),
    (SquaredTotal, {"total_additive", "total_homogeneous"}),
    (Remembers, {"update_ignores_old_value"}),
]
