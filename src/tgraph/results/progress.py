"""A line on the terminal for runs that take longer than a second; lines in a log where it is asked for."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from tgraph.results.trace import Iteration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

QUIET_SECONDS = 1.0
SECONDS_BETWEEN_LINES = 1.0  # where the line cannot be overwritten


class Progress:
    """Shows iterations as they end; stays silent for short runs and where nobody looks."""

    def __init__(self, name: str, mode: str, max_iterations: int | None) -> None:
        self._name, self._max = name, max_iterations
        self._wanted = mode == "on" or (mode == "auto" and sys.stderr.isatty())
        self._quiet_until = time.perf_counter() + (0.0 if mode == "on" else QUIET_SECONDS)
        self._count = 0
        self._console: Console | None = None
        self._status: Status | None = None
        self._next_line, self._unprinted = 0.0, ""

    def __enter__(self) -> Progress:
        return self

    def show(self, iteration: Iteration, count: int | None = None) -> None:
        """Note that an iteration has ended; `count` is how many have, one more than before unless given."""
        self._count = self._count + 1 if count is None else count
        of = f" of at most {self._max}" if self._max else ""
        self.say(
            f"iteration {self._count}{of}, {iteration.direction}, "
            f"{iteration.active_vertices:,} active vertices, {iteration.active_edges:,} edges"
        )

    def say(self, words: str) -> None:
        """Show how far the run is, in place of what was shown before."""
        if not self._wanted or time.perf_counter() < self._quiet_until:
            return
        text = f"{self._name}: {words}"
        if self._console is None:
            self._start(text)
        if self._status is None:
            self._print(text)
        else:
            self._status.update(text)

    def _start(self, text: str) -> None:
        """Look once whether there is a terminal, and show the first text there."""
        from rich.console import Console
        from rich.status import Status

        self._console = Console(stderr=True)
        if self._console.is_interactive:
            self._status = Status(text, console=self._console)
            self._status.start()

    def _print(self, text: str) -> None:
        now = time.perf_counter()
        self._unprinted = text
        if now >= self._next_line:
            print(text, file=sys.stderr)
            self._next_line, self._unprinted = now + SECONDS_BETWEEN_LINES, ""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
        if self._unprinted:
            print(self._unprinted, file=sys.stderr)
