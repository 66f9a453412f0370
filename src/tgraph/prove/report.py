"""What `tgraph.check` found out about a program."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tgraph.errors import InvalidProgramError

WIDTH = 120
VERDICTS = ("proved", "refuted", "unknown")


@dataclass(frozen=True)
class Property:
    """One thing that was to be proved."""

    name: str

    verdict: str
    """`proved`; `refuted`, with a counter-example; or `unknown`, with the reason."""

    explanation: str
    """What was to be proved, and where it is not so, in words."""

    example: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Of a refuted property: the value of every name in the counter-example."""

    is_required: bool = True
    """Whether engines rely on it. Otherwise it is a fact that they may use."""


@dataclass(frozen=True, repr=False)
class Check:
    """All properties of a program that matter for what it says of itself.

    >>> found = Check("Sum", "floats as real numbers", (Property("reduce_idempotent", "refuted", "a + a is not a"),))
    >>> found
    Sum: 0 of 1 proved, 1 refuted (floats as real numbers)
      reduce_idempotent  refuted  a + a is not a
    >>> found.raise_if_refuted()
    Traceback (most recent call last):
    ...
    tgraph.errors.InvalidProgramError: Sum: reduce_idempotent is refuted: a + a is not a
    """

    program: str
    """The name of the program's class."""

    assumptions: str
    """What was taken for granted: the range of the weights, and the like."""

    properties: tuple[Property, ...]

    @property
    def is_proved(self) -> bool:
        """Whether everything that engines rely on is proved."""
        return all(found.verdict == "proved" for found in self._required)

    @property
    def refuted(self) -> tuple[Property, ...]:
        """What engines rely on and is not so."""
        return tuple(found for found in self._required if found.verdict == "refuted")

    @property
    def never_improves(self) -> bool | None:
        """Whether a message is never better than its sender's value; None = unknown, or not asked."""
        verdicts = [found.verdict for found in self.properties if found.name == "never_improves"]
        return {"proved": True, "refuted": False}.get(verdicts[0]) if verdicts else None

    def __getitem__(self, name: str) -> Property:
        """Return the property of that name."""
        for found in self.properties:
            if found.name == name:
                return found
        known = ", ".join(found.name for found in self.properties)
        raise KeyError(f"{name!r} was not looked at; there are {known}")

    def raise_if_refuted(self) -> None:
        """Raise `InvalidProgramError` with the counter-examples, if there are any."""
        if self.refuted:
            words = "; ".join(f"{found.name} is refuted: {found.explanation}" for found in self.refuted)
            raise InvalidProgramError(f"{self.program}: {words}")

    def __repr__(self) -> str:
        wide = max((len(found.name) for found in self.properties), default=0)
        return "\n".join([self._head(), *(_row(found, wide) for found in self.properties)])

    @property
    def _required(self) -> tuple[Property, ...]:
        return tuple(found for found in self.properties if found.is_required)

    def _head(self) -> str:
        required = [found.verdict for found in self._required]
        counts = [f"{required.count('proved')} of {len(required)} proved"]
        counts += [f"{required.count(verdict)} {verdict}" for verdict in VERDICTS[1:] if verdict in required]
        return f"{self.program}: {', '.join(counts)} ({self.assumptions})"


def _row(found: Property, wide: int) -> str:
    verdict = found.verdict if found.is_required else {"proved": "yes", "refuted": "no"}.get(found.verdict, "unknown")
    start = f"  {found.name:{wide}}  {verdict:7}  "
    return textwrap.fill(found.explanation, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
