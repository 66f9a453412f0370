"""The trace: what a run did, iteration by iteration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Iteration:
    """One iteration of a run."""

    direction: str  # push or pull; in an algorithm that is no program, the name of a step
    active_vertices: int  # vertices that sent
    active_edges: int  # edges of those vertices
    seconds: float
    residual: float | None = None  # None = the program has no residual


@dataclass
class Trace:
    """The iterations of a run, and the seconds of its parts.

    >>> trace = Trace(engine="in_memory")
    >>> trace.add(Iteration("push", 1, 3, 0.001))
    >>> len(trace), trace.total_edges
    (1, 3)
    """

    engine: str
    kernel: str = "plain"  # or fused: compiled code
    iterations: list[Iteration] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # part of the run -> seconds

    def add(self, iteration: Iteration) -> None:
        """Record one iteration."""
        self.iterations.append(iteration)

    def __len__(self) -> int:
        return len(self.iterations)

    def __iter__(self) -> Iterator[Iteration]:
        return iter(self.iterations)

    def __getitem__(self, position: int) -> Iteration:
        return self.iterations[position]

    @property
    def total_edges(self) -> int:
        """The number of active edges over all iterations."""
        return sum(iteration.active_edges for iteration in self)

    @property
    def total_seconds(self) -> float:
        """The seconds of all iterations."""
        return sum(iteration.seconds for iteration in self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary per iteration."""
        return [{"iteration": number, **asdict(iteration)} for number, iteration in enumerate(self, 1)]

    def to_json(self) -> str:
        """Return the whole trace as JSON."""
        parts = {"engine": self.engine, "kernel": self.kernel, "seconds": self.seconds, "iterations": self.to_dicts()}
        return json.dumps(parts, indent=1)

    def to_pandas(self) -> Any:
        """Return one row per iteration as a pandas DataFrame."""
        from tgraph.results.result import import_pandas

        return import_pandas().DataFrame(self.to_dicts())

    def __repr__(self) -> str:
        counted = Counter(iteration.direction for iteration in self)
        directions = ", ".join(f"{count} {direction}" for direction, count in counted.items())
        return (
            f"Trace({self.engine}, {self.kernel}: {len(self)} iterations ({directions or 'none'}), "
            f"{self.total_edges:,} active edges, {self.total_seconds:.3f} s)"
        )
