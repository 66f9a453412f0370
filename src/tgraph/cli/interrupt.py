"""Ctrl-C on the command line."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class Interrupted(Exception):  # noqa: N818 - it reports what the user did, not a mistake
    """The user pressed Ctrl-C; the text says how far the work was, and `left` what is left of it."""

    def __init__(self, text: str, left: str = "nothing was written") -> None:
        super().__init__(text)
        self.left = left


class InterruptibleGroup(TyperGroup):
    """The verbs. Typer would end at a KeyboardInterrupt without a word, so it travels as another exception."""

    def invoke(self, ctx: Any) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(str(interrupt) or "interrupted") from interrupt
