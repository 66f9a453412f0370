"""Proving a claim with z3, or finding numbers that refute it, which are tried on the program before they count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import z3

from tgraph.prove.calls import ArrayCalls, SymbolCalls, show
from tgraph.prove.claims import Claim, Setting
from tgraph.prove.domains import SMALL, is_among
from tgraph.prove.report import Property
from tgraph.prove.symbols import NoMeaningError, Symbol, Truth

NOT_SAID = "where no value is NaN, divided by 0 or too large for its type"


@dataclass(frozen=True)
class Question:
    """A claim on symbols."""

    variables: dict[str, Symbol]
    premise: Any  # z3: the inputs are as the claim wants them
    outcome: Truth  # the relation between the sides

    def among(self, numbers: range) -> Any:
        """Where all inputs are among the numbers."""
        return z3.And(*(is_among(variable, numbers) for variable in self.variables.values()))

    @property
    def said(self) -> Any:
        """Where the claim says something."""
        return z3.And(self.premise, z3.Not(self.outcome.undefined))

    @property
    def broken(self) -> Any:
        """Where the claim is wrong."""
        return z3.And(self.said, z3.Not(self.outcome.holds))


def settle(claim: Claim, setting: Setting, seconds: float) -> Property:
    """Return the claim with its verdict; z3 gets `seconds` for each question that it is asked."""
    try:
        question = _ask(claim, setting)
    except NoMeaningError as error:
        return _property(claim, "unknown", f"{error}")
    answer, reason = "", ""
    for limit in (*(question.among(numbers) for numbers in SMALL), z3.BoolVal(True)):
        answer, model, reason = _solve(z3.And(question.broken, limit), seconds)
        if answer == "sat":
            example = {name: claim.inputs[name].read(model, found) for name, found in question.variables.items()}
            words = _replay(claim, setting, example)
            if words is not None:
                return _property(claim, "refuted", f"{claim.says}; not so for {words}", example)
            reason = "it is wrong for real numbers, but no numbers of these types were found that show it"
    if answer == "unsat":
        return _proved(claim, question, seconds)
    return _property(claim, "unknown", f"{claim.says}; {reason}")


def _ask(claim: Claim, setting: Setting) -> Question:
    variables = {name: domain.variable(name) for name, domain in claim.inputs.items()}
    conditions = [domain.condition(variables[name]) for name, domain in claim.inputs.items()]
    if claim.premise is not None:
        conditions.append(claim.premise(variables).holds)
    calls = SymbolCalls(setting.plan, setting.dtypes)
    left, right = claim.sides(calls, variables)
    outcome = Truth(z3.BoolVal(True))
    for one, two in _pairs(left, right):
        outcome = outcome & claim.relation.holds(one, two)
    return Question(variables, z3.And(*conditions), outcome)


def _proved(claim: Claim, question: Question, seconds: float) -> Property:
    if _solve(question.said, seconds)[0] == "unsat":
        return _property(claim, "unknown", f"{claim.says}; but whatever the values are, the result is no number")
    may_fail = _solve(z3.And(question.premise, question.outcome.undefined), seconds)[0] != "unsat"
    return _property(claim, "proved", f"{claim.says}, {NOT_SAID}" if may_fail else claim.says)


def _solve(formula: Any, seconds: float) -> tuple[str, Any, str]:
    """Return sat, unsat or unknown, with a model or the reason."""
    solver = z3.Solver()
    solver.set("timeout", max(1, int(seconds * 1000)))
    solver.add(formula)
    answer = str(solver.check())
    model = solver.model() if answer == "sat" else None
    return answer, model, f"z3 did not find out within {seconds:g} seconds ({solver.reason_unknown()})"


def _replay(claim: Claim, setting: Setting, example: dict[str, Any]) -> str | None:
    """Call the program's functions with these numbers; return what happens, or None if the claim holds there."""
    values = {name: np.array([value], claim.inputs[name].dtype) for name, value in example.items()}
    calls = ArrayCalls(setting.plan, setting.dtypes)
    try:
        with np.errstate(all="ignore"):
            if claim.premise is not None and not claim.premise(values).all():
                return None
            pairs = _pairs(*claim.sides(calls, values))
    except Exception:  # a user's function may fail in any way
        return None
    for left, right in pairs:
        if _is_number(left) and _is_number(right) and not claim.relation.holds(left, right).all():
            given = ", ".join(f"{name}={show(values[name])}" for name in example)
            return f"{given}: " + "; ".join([*calls.log, f"{show(left)} {claim.relation.broken} {show(right)}"])
    return None


def _is_number(value: Any) -> bool:
    return bool((value == value).all())


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    return [(left[name], right[name]) for name in left] if isinstance(left, Mapping) else [(left, right)]


def _property(claim: Claim, verdict: str, explanation: str, example: Mapping[str, Any] | None = None) -> Property:
    return Property(claim.name, verdict, explanation, example or {}, claim.is_required)
