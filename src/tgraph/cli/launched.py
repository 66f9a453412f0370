"""Verbs that a launcher such as torchrun has started on several processes: they run as one, and rank 0 speaks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR")  # the environment variables that launchers set


@contextlib.contextmanager
def launched_group() -> Iterator[None]:
    """Let a verb run in the group of processes that a launcher has started, or alone where there is none."""
    if not all(name in os.environ for name in LAUNCHED):
        yield
        return
    from tgraph.group import distributed

    with distributed() as group, contextlib.ExitStack() as stack:
        if group.rank:
            silence = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(silence))
        yield
