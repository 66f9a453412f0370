"""What a benchmark run measures and how, as given on the command line."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tgraph.config import config

MIN_ROUNDS = 5
MIN_HARD_LIMIT_SECONDS = 60.0


@dataclass(frozen=True)
class Settings:
    """The choices of one run; an empty tuple means all that there are.

    >>> Settings(tasks=("bfs",)).rounds
    5
    """

    tasks: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    rounds: int = MIN_ROUNDS
    threads: int = field(default_factory=lambda: config.num_threads)
    limit_seconds: float = 60.0  # a slower candidate is run once; after three times as long it is ended
    gap: Path | None = None  # folder of a built GAP suite
    data: Path | None = None  # folder of real graphs
    cache: Path = field(default_factory=lambda: Path(tempfile.gettempdir()) / "tgraph-bench")
    memory: bool = False
    memory_graph: str = "rmat22"
    cold: bool = False

    @property
    def hard_limit_seconds(self) -> float:
        """After how many seconds a candidate is ended."""
        return max(3 * self.limit_seconds, MIN_HARD_LIMIT_SECONDS)
