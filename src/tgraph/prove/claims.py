"""What engines rely on, as claims about a program's functions.

A claim compares two sides for all values of its inputs. Its sides are written once: called on symbols they are to be
proved, called on numbers they show a counter-example.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tgraph.dtypes import IDEMPOTENT_REDUCTIONS
from tgraph.program import Plan
from tgraph.prove.calls import Calls, Values
from tgraph.prove.domains import Domain

BETTER = {"min": "smaller", "max": "larger", "any": "True"}


@dataclass(frozen=True)
class Relation:
    """How the left side must stand to the right one, and the words for where it does not."""

    holds: Callable[[Any, Any], Any]
    broken: str


EQUAL = Relation(operator.eq, "is not")
NOT_WORSE = {
    "min": Relation(operator.le, "is larger than"),
    "max": Relation(operator.ge, "is smaller than"),
    "any": Relation(lambda left, right: left | ~right, "is worse than"),
}


@dataclass(frozen=True)
class Claim:
    """Something to be proved: `relation` holds between the sides wherever `premise` holds."""

    name: str
    says: str
    inputs: dict[str, Domain]
    sides: Callable[[Calls, Values], tuple[Any, Any]]  # two values, or two mappings with values to be compared in turn
    relation: Relation = EQUAL
    premise: Callable[[Values], Any] | None = None
    is_required: bool = True


@dataclass(frozen=True)
class Setting:
    """A program, the domain of every name that its functions may ask for, and the fields that `update` changes."""

    plan: Plan
    domains: dict[str, Domain]
    changed: tuple[str, ...]

    @property
    def main(self) -> str:
        """The main field."""
        return self.plan.main_field

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """The type of every name."""
        return {name: domain.dtype for name, domain in self.domains.items()}

    def inputs(self, function: str, *extra: str, is_finite: bool = False) -> dict[str, Domain]:
        """Return the domains of the names that a function asks for, and of some more."""
        names = dict.fromkeys((*self.plan.parameters[function], *extra))
        return {name: self.domains[name].finite() if is_finite else self.domains[name] for name in names}

    def number(self) -> Domain:
        """Return the domain of a finite number of the main field's type."""
        return Domain(self.domains[self.main].dtype, is_finite=True)

    def unused(self, name: str) -> str:
        """Return a name like this one that no field has."""
        while name in self.domains:
            name += "_"
        return name


def all_claims(setting: Setting) -> Iterator[Claim]:
    """Yield what must hold for what the program says of itself."""
    program = setting.plan.program
    yield from reduce_claims(setting)
    if program.monotonic and program.reduce in IDEMPOTENT_REDUCTIONS:
        yield from update_claims(setting)
        yield message_is_monotonic(setting)
        yield message_never_improves(setting)
    if program.linear:
        yield from multiple_claims(setting, "message")
        if program.total is not None:
            yield from multiple_claims(setting, "total")
        yield from sum_claims(setting)
        yield update_ignores_old_value(setting)


def reduce_claims(setting: Setting) -> Iterator[Claim]:
    """Yield what lets messages meet in any order and grouping, and twice."""
    op, domain = setting.plan.program.reduce, setting.domains["incoming"]
    one, two, three = (dict.fromkeys(("first", "second", "third")[:count], domain) for count in (1, 2, 3))

    def grouped(calls: Calls, v: Values) -> tuple[Any, Any]:
        early = calls.reduce(calls.reduce(v["first"], v["second"]), v["third"])
        return early, calls.reduce(v["first"], calls.reduce(v["second"], v["third"]))

    def swapped(calls: Calls, v: Values) -> tuple[Any, Any]:
        return calls.reduce(v["first"], v["second"]), calls.reduce(v["second"], v["first"])

    def doubled(calls: Calls, v: Values) -> tuple[Any, Any]:
        return calls.reduce(v["first"], v["first"]), v["first"]

    yield Claim("reduce_associative", f"{op} is the same however messages are grouped", three, grouped)
    yield Claim("reduce_commutative", f"{op} is the same in any order of messages", two, swapped)
    if setting.plan.program.monotonic:
        says = f"{op} is the same if a message comes twice, as monotonic programs need (reduce = min, max or any)"
        yield Claim("reduce_idempotent", says, one, doubled)


def update_claims(setting: Setting) -> Iterator[Claim]:
    """Yield what lets a monotonic program take messages early, late, together or again."""
    op, other = setting.plan.program.reduce, setting.unused("other_incoming")
    state = setting.inputs("update", *setting.changed, setting.main, "incoming")
    pair = {**state, other: setting.domains["incoming"]}

    def fields(values: Values) -> Values:
        return {name: values[name] for name in setting.changed}

    def in_turn(calls: Calls, values: Values, *messages: Any) -> Values:
        for message in messages:
            values = calls.update({**values, "incoming": message})
        return fields(values)

    def swapped(calls: Calls, v: Values) -> tuple[Any, Any]:
        return in_turn(calls, v, v["incoming"], v[other]), in_turn(calls, v, v[other], v["incoming"])

    def doubled(calls: Calls, v: Values) -> tuple[Any, Any]:
        return in_turn(calls, v, v["incoming"], v["incoming"]), in_turn(calls, v, v["incoming"])

    def together(calls: Calls, v: Values) -> tuple[Any, Any]:
        at_once = in_turn(calls, v, calls.reduce(v["incoming"], v[other]))
        return in_turn(calls, v, v["incoming"], v[other]), at_once

    def moved(calls: Calls, v: Values) -> tuple[Any, Any]:
        return calls.update(v)[setting.main], v[setting.main]

    yield Claim("update_commutative", "two updates give the same in either order", pair, swapped)
    yield Claim("update_idempotent", "an update with the same message again changes nothing", state, doubled)
    yield Claim("update_combines", f"two updates give the same as one with the {op} of both messages", pair, together)
    says = f"an update never makes a value worse ({BETTER[op]} is better)"
    yield Claim("update_directed", says, state, moved, NOT_WORSE[op])


def message_is_monotonic(setting: Setting) -> Claim:
    """Return the claim that messages keep the order of their senders."""
    op, main, better = setting.plan.program.reduce, setting.main, setting.unused(f"better_{setting.main}")
    inputs = {**setting.inputs("message", main), better: setting.domains[main]}

    def both(calls: Calls, v: Values) -> tuple[Any, Any]:
        return calls.message({**v, main: v[better]}), calls.message(v)

    says = f"a sender with a better value never sends a worse message ({BETTER[op]} is better)"
    relation = NOT_WORSE[op]
    return Claim(
        "message_monotonic", says, inputs, both, relation, premise=lambda v: relation.holds(v[better], v[main])
    )


def message_never_improves(setting: Setting) -> Claim:
    """Return the claim that no message is better than its sender's value: a fact that not all programs have."""
    op, main = setting.plan.program.reduce, setting.main

    def both(calls: Calls, v: Values) -> tuple[Any, Any]:
        return v[main], calls.message(v)

    says = f"a message is never better than its sender's value ({BETTER[op]} is better)"
    return Claim("never_improves", says, setting.inputs("message", main), both, NOT_WORSE[op], is_required=False)


def multiple_claims(setting: Setting, function: str) -> Iterator[Claim]:
    """Yield what makes `message` or `total` a multiple of the main field."""
    main, other, factor = setting.main, setting.unused(f"other_{setting.main}"), setting.unused("factor")
    inputs = setting.inputs(function, main, is_finite=True)

    def made(calls: Calls, values: Values, main_value: Any) -> Any:
        return getattr(calls, function)({**values, main: main_value})

    def summed(calls: Calls, v: Values) -> tuple[Any, Any]:
        return made(calls, v, v[main] + v[other]), made(calls, v, v[main]) + made(calls, v, v[other])

    def scaled(calls: Calls, v: Values) -> tuple[Any, Any]:
        return made(calls, v, v[factor] * v[main]), v[factor] * made(calls, v, v[main])

    says = f"the {function} of a sum of values is the sum of their {function}s"
    yield Claim(f"{function}_additive", says, {**inputs, other: inputs[main]}, summed)
    says = f"the {function} of a multiple of a value is that multiple of its {function}"
    yield Claim(f"{function}_homogeneous", says, {**inputs, factor: setting.number()}, scaled)


def sum_claims(setting: Setting) -> Iterator[Claim]:
    """Yield what makes `update` a multiple of `incoming`, one of `total` and a number of the vertex, added up."""
    moving = [name for name in ("incoming", "total") if name in setting.plan.parameters["update"]]
    other = {name: setting.unused(f"other_{name}") for name in moving}
    factor = setting.unused("factor")
    inputs = setting.inputs("update", is_finite=True)

    def new(calls: Calls, values: Values, parts: Values) -> Any:
        return calls.update({**values, **parts})[setting.main]

    def start(calls: Calls, v: Values) -> Any:
        return new(calls, v, {name: v[name] * 0 for name in moving})

    def summed(calls: Calls, v: Values) -> tuple[Any, Any]:
        at_sum = new(calls, v, {name: v[name] + v[other[name]] for name in moving})
        at_other = new(calls, v, {name: v[other[name]] for name in moving})
        return at_sum + start(calls, v), new(calls, v, {}) + at_other

    def scaled(calls: Calls, v: Values) -> tuple[Any, Any]:
        at_multiple = new(calls, v, {name: v[factor] * v[name] for name in moving})
        return at_multiple - start(calls, v), v[factor] * (new(calls, v, {}) - start(calls, v))

    what = " and ".join(moving) or "nothing"
    says = f"apart from its value for 0, update of a sum of {what} is the sum of both updates"
    yield Claim("update_additive", says, {**inputs, **{other[name]: inputs[name] for name in moving}}, summed)
    says = f"apart from its value for 0, update of a multiple of {what} is that multiple of the update"
    yield Claim("update_homogeneous", says, {**inputs, factor: setting.number()}, scaled)


def update_ignores_old_value(setting: Setting) -> Claim:
    """Return the claim that a new value does not depend on the old one."""
    main, other = setting.main, setting.unused(f"other_{setting.main}")
    inputs = setting.inputs("update", main, is_finite=True)

    def both(calls: Calls, v: Values) -> tuple[Any, Any]:
        return calls.update(v)[main], calls.update({**v, main: v[other]})[main]

    says = "the new value does not depend on the old one"
    return Claim("update_ignores_old_value", says, {**inputs, other: inputs[main]}, both)
